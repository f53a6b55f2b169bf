//! The sources, named after their purpose.

use serde_json::{Value as Json, json};

use super::stores::Stores;
use crate::rounds::Case;
use bumpwright_testkit::object_stores::{Access, Azurite, Versity};

/// The Secrets that the sources name.
pub fn secrets(stores: &Stores) -> Vec<Json> {
    let sas = |container| {
        Azurite::signature(Access {
            container,
            ..Access::to_read("podinfo")
        })
    };
    let podinfo = Some("podinfo");
    let all = [
        (
            "s3",
            json!({"accesskey": Versity::KEY.id, "secretkey": Versity::KEY.secret}),
        ),
        ("s3-wrong", json!({"accesskey": Versity::KEY.id, "secretkey": "no"})),
        (
            "s3-unknown",
            json!({"accesskey": "AKNOBODY", "secretkey": Versity::KEY.secret}),
        ),
        ("azure", json!({"accountKey": Azurite::KEY})),
        (
            "proxy",
            json!({"address": format!("socks5://{}", stores.proxy.address)}),
        ),
        ("sas", json!({"sasKey": sas(podinfo)})),
        ("sas-question", json!({"sasKey": format!("?{}", sas(podinfo))})),
        ("sas-account", json!({"sasKey": sas(None)})),
    ];
    let secret =
        |(name, data)| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
    all.map(secret).into()
}

pub fn cases(stores: &Stores) -> Vec<Case> {
    let all = [s3(stores), gcs(), azure(stores)];
    let case = |(name, spec, change)| Case { name, spec, change };
    all.into_iter().flatten().map(case).collect()
}

type Specs = Vec<(&'static str, Json, Option<Json>)>;

/// A spec of these parts.
fn spec(parts: &[&Json]) -> Json {
    let fields = parts.iter().flat_map(|part| part.as_object().unwrap().clone());
    Json::Object(fields.collect())
}

fn s3(stores: &Stores) -> Specs {
    let at = json!({"endpoint": stores.s3.address().to_string(), "insecure": true});
    let of =
        |bucket: &str, more: Json| spec(&[&at, &json!({"bucketName": bucket, "secretRef": {"name": "s3"}}), &more]);
    let nobody = |bucket: &str| spec(&[&at, &json!({"bucketName": bucket})]);
    let by = |secret: &str, more: Json| of("podinfo", spec(&[&json!({"secretRef": {"name": secret}}), &more]));
    let region = |region: &str| json!({"region": region});
    vec![
        ("s3-plain", of("podinfo", json!({})), None),
        ("s3-region", of("podinfo", region("eu-west-1")), None),
        ("s3-other-region", of("podinfo", region("us-east-2")), None),
        (
            "s3-aws",
            of("podinfo", json!({"provider": "aws", "region": "eu-west-1"})),
            None,
        ),
        ("s3-prefix", of("podinfo", json!({"prefix": "deploy/"})), None),
        ("s3-prefix-of-names", of("podinfo", json!({"prefix": "deploy/h"})), None),
        (
            "s3-prefix-of-nothing",
            of("podinfo", json!({"prefix": "nothing/"})),
            None,
        ),
        ("s3-ignore", of("podinfo", json!({"ignore": "/*\n!/deploy\n"})), None),
        ("s3-sourceignore", of("ruled", json!({})), None),
        (
            "s3-sourceignore-and-prefix",
            of("ruled", json!({"prefix": "deploy"})),
            None,
        ),
        ("s3-odd", of("odd", json!({})), None),
        ("s3-empty", of("empty", json!({})), None),
        ("s3-parts", of("parts", json!({})), None),
        ("s3-versioned", of("versioned", json!({})), None),
        ("s3-foreign", of("foreign", json!({})), None),
        ("s3-moving", of("moving", json!({})), None),
        ("s3-many", of("many", json!({"timeout": "3m"})), None),
        ("s3-missing", of("missing", json!({})), None),
        ("s3-missing-of-region", of("missing", region("eu-west-1")), None),
        ("s3-wrong", by("s3-wrong", json!({})), None),
        ("s3-wrong-of-region", by("s3-wrong", region("eu-west-1")), None),
        ("s3-unknown", by("s3-unknown", json!({})), None),
        ("s3-unknown-of-region", by("s3-unknown", region("eu-west-1")), None),
        ("s3-public", nobody("public"), None),
        ("s3-nobody", nobody("podinfo"), None),
        ("s3-nobody-missing", nobody("missing"), None),
        (
            "s3-then-wrong",
            of("podinfo", json!({})),
            Some(json!({"secretRef": {"name": "s3-wrong"}})),
        ),
        (
            "s3-then-lost",
            of("podinfo", json!({})),
            Some(json!({"bucketName": "missing"})),
        ),
    ]
}

fn gcs() -> Specs {
    let of = |bucket: &str, more: Json| {
        // The endpoint is required, and not used.
        let own = json!({"provider": "gcp", "endpoint": "storage.googleapis.com", "bucketName": bucket});
        spec(&[&own, &more])
    };
    vec![
        ("gcs-plain", of("podinfo", json!({})), None),
        ("gcs-prefix", of("podinfo", json!({"prefix": "deploy/"})), None),
        (
            "gcs-prefix-of-nothing",
            of("podinfo", json!({"prefix": "nothing/"})),
            None,
        ),
        ("gcs-ignore", of("podinfo", json!({"ignore": "/*\n!/deploy\n"})), None),
        ("gcs-sourceignore", of("ruled", json!({})), None),
        ("gcs-odd", of("odd", json!({})), None),
        ("gcs-empty", of("empty", json!({})), None),
        ("gcs-moving", of("moving", json!({})), None),
        ("gcs-packed", of("packed", json!({})), None),
        ("gcs-missing", of("missing", json!({})), None),
    ]
}

fn azure(stores: &Stores) -> Specs {
    let at = json!({"provider": "azure", "endpoint": stores.azure.endpoint()});
    let by = |secret: &str, container: &str, more: Json| {
        let own = json!({"bucketName": container, "secretRef": {"name": secret}});
        spec(&[&at, &own, &more])
    };
    let of = |container: &str, more: Json| by("azure", container, more);
    let sas = |secret: &str| by(secret, "podinfo", json!({}));
    vec![
        ("azure-plain", of("podinfo", json!({})), None),
        ("azure-prefix", of("podinfo", json!({"prefix": "deploy/"})), None),
        (
            "azure-prefix-of-nothing",
            of("podinfo", json!({"prefix": "nothing/"})),
            None,
        ),
        ("azure-ignore", of("podinfo", json!({"ignore": "/*\n!/deploy\n"})), None),
        ("azure-sourceignore", of("ruled", json!({})), None),
        ("azure-odd", of("odd", json!({})), None),
        ("azure-empty", of("empty", json!({})), None),
        ("azure-moving", of("moving", json!({})), None),
        ("azure-many", of("many", json!({"timeout": "3m"})), None),
        ("azure-missing", of("missing", json!({})), None),
        (
            "azure-host",
            of(
                "podinfo",
                json!({"endpoint": format!("http://{}", Azurite::OTHER.1), "proxySecretRef": {"name": "proxy"}}),
            ),
            None,
        ),
        ("sas", sas("sas"), None),
        ("sas-question", sas("sas-question"), None),
        ("sas-account", sas("sas-account"), None),
    ]
}
