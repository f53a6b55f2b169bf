//! The charts, named after their purpose.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::world::World;
use crate::rounds::Case;

/// The sources and Secrets that the charts name.
pub fn objects(world: &World) -> Vec<Json> {
    let secret = |name: &str, kind: &str, data: Json| json!({"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {"name": name}, "stringData": data});
    let source = |kind: &str, name: &str, spec: Json| {
        let mut spec = spec;
        spec["interval"] = json!("10m");
        json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
    };
    let http = |name: &str, more: Json| {
        let mut spec = json!({"url": world.plain.url(name)});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        source("HelmRepository", &format!("from-{name}"), spec)
    };
    let oci = |name: &str, host: String, more: Json| {
        let mut spec = json!({"url": format!("oci://{host}/charts"), "type": "oci", "insecure": true});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        source("HelmRepository", name, spec)
    };
    let auth = STANDARD.encode("ann:hunter2");
    let docker = json!({".dockerconfigjson": json!({"auths": {world.closed.host(): {"auth": auth}}}).to_string()});
    let elsewhere = json!({".dockerconfigjson": json!({"auths": {"other.example": {"auth": auth}}}).to_string()});
    const DOCKER: &str = "kubernetes.io/dockerconfigjson";
    let login = |name: &str| json!({"secretRef": {"name": name}});
    vec![
        secret("login", "Opaque", json!({"username": "ann", "password": "pw"})),
        secret(
            "registry-login",
            "Opaque",
            json!({"username": "ann", "password": "hunter2"}),
        ),
        secret("docker", DOCKER, docker),
        secret("elsewhere", DOCKER, elsewhere),
        secret("key", "Opaque", json!({"cosign.pub": world.public_key})),
        secret("other-key", "Opaque", json!({"cosign.pub": world.other_key})),
        secret("no-key", "Opaque", json!({"a": "b"})),
        http("plain", json!({})),
        http("moving", json!({})),
        http("broken", json!({})),
        http("closed", login("login")),
        oci("registry", world.open.host(), json!({})),
        oci("registry-closed", world.closed.host(), login("registry-login")),
        oci("registry-docker", world.closed.host(), login("docker")),
        oci("registry-elsewhere", world.closed.host(), login("elsewhere")),
        oci("registry-missing", world.closed.host(), login("none")),
        oci("registry-anonymous", world.closed.host(), json!({})),
        source(
            "HelmRepository",
            "registry-http",
            json!({"url": world.plain.url("plain"), "type": "oci"}),
        ),
        source(
            "GitRepository",
            "git",
            json!({"url": world.git.url("charts.git"), "ref": {"branch": "main"}}),
        ),
        source(
            "GitRepository",
            "git-missing",
            json!({"url": world.git.url("none.git"), "ref": {"branch": "main"}}),
        ),
        source(
            "Bucket",
            "bucket",
            json!({"bucketName": "charts", "endpoint": world.moto.address().to_string(), "insecure": true}),
        ),
    ]
}

fn with(mut spec: Json, more: Json) -> Json {
    let more = more.as_object().unwrap().clone();
    spec.as_object_mut().unwrap().extend(more);
    spec
}

pub fn cases() -> Vec<Case> {
    let of = |kind: &str, name: &str, chart: &str| json!({"chart": chart, "sourceRef": {"kind": kind, "name": name}});
    let http = |more: Json| with(of("HelmRepository", "from-plain", "web"), more);
    let version = |version: &str| http(json!({"version": version}));
    let odd = |version: &str| with(of("HelmRepository", "from-plain", "odd"), json!({"version": version}));
    let oci = |more: Json| with(of("HelmRepository", "registry", "web"), more);
    let tag = |version: &str| oci(json!({"version": version}));
    let git = |chart: &str| of("GitRepository", "git", chart);
    let chart = |name: &str| git(&format!("./charts/{name}"));
    let files = |names: &[&str]| json!({"valuesFiles": names});
    let verify = |chart: &str, secret: &str| {
        let verify = json!({"provider": "cosign", "secretRef": {"name": secret}});
        with(
            of("HelmRepository", "registry", chart),
            json!({"version": "1.0.0", "verify": verify}),
        )
    };
    let bucket = |chart: &str| of("Bucket", "bucket", chart);
    let all = [
        ("http", http(json!({}))),
        ("http-exact", version("1.0.0")),
        ("http-range", version("~1.0")),
        ("http-build", version("1.1.0+later")),
        ("http-any", version("*")),
        ("http-prerelease", version(">=1.0.0-0")),
        ("http-none", version(">=5")),
        ("http-not-a-range", version("x y")),
        ("http-unknown", of("HelmRepository", "from-plain", "unknown")),
        ("http-empty", of("HelmRepository", "from-plain", "empty")),
        ("http-name", of("HelmRepository", "from-plain", "Not_A_Name")),
        ("http-closed", of("HelmRepository", "from-closed", "web")),
        ("http-gone", odd("1.0.0")),
        ("http-nowhere", odd("2.0.0")),
        ("http-text", odd("3.0.0")),
        ("http-nameless", odd("4.0.0")),
        ("http-refused", odd("5.0.0")),
        ("http-other-name", odd("6.0.0")),
        ("http-values", http(files(&["values.yaml", "values-prod.yaml"]))),
        ("http-other-values", http(files(&["values-prod.yaml"]))),
        ("http-own-values", http(files(&["./values.yaml"]))),
        ("http-missing-values", http(files(&["values-none.yaml"]))),
        (
            "http-ignored-values",
            http(json!({"valuesFiles": ["values-none.yaml", "values-prod.yaml"], "ignoreMissingValuesFiles": true})),
        ),
        ("http-list-values", http(files(&["values-list.yaml"]))),
        ("http-suspended", http(json!({"suspend": true}))),
        ("http-moving", of("HelmRepository", "from-moving", "web")),
        ("http-verified", http(json!({"verify": {"provider": "cosign"}}))),
        ("no-artifact", of("HelmRepository", "from-broken", "web")),
        ("no-source", of("HelmRepository", "none", "web")),
        ("no-git", of("GitRepository", "git-missing", "web")),
        ("no-bucket", of("Bucket", "none", "web")),
        ("oci", oci(json!({}))),
        ("oci-exact", tag("1.0.0")),
        ("oci-range", tag("1.x")),
        ("oci-build", tag("1.2.0+build.1")),
        ("oci-prerelease", tag(">=1.0.0-0")),
        ("oci-none", tag(">=20")),
        ("oci-missing", tag("7.0.0")),
        ("oci-not-a-range", tag("x y")),
        ("oci-path", of("HelmRepository", "registry", "org/web")),
        ("oci-unknown", of("HelmRepository", "registry", "unknown")),
        (
            "oci-odd",
            with(of("HelmRepository", "registry", "odd"), json!({"version": "1.0.0"})),
        ),
        ("oci-values", oci(files(&["values.yaml", "values-prod.yaml"]))),
        (
            "oci-login",
            with(
                of("HelmRepository", "registry-closed", "web"),
                json!({"version": "1.0.0"}),
            ),
        ),
        ("oci-docker", of("HelmRepository", "registry-docker", "web")),
        ("oci-elsewhere", of("HelmRepository", "registry-elsewhere", "web")),
        ("oci-no-secret", of("HelmRepository", "registry-missing", "web")),
        ("oci-anonymous", of("HelmRepository", "registry-anonymous", "web")),
        ("oci-http", of("HelmRepository", "registry-http", "web")),
        ("oci-signed", verify("signed", "key")),
        ("oci-signed-by-other", verify("signed", "other-key")),
        ("oci-unsigned", verify("web", "key")),
        ("oci-no-key", verify("signed", "no-key")),
        ("oci-keys-missing", verify("signed", "none")),
        (
            "oci-notation",
            oci(json!({"version": "1.0.0", "verify": {"provider": "notation"}})),
        ),
        ("bucket", bucket("charts/plain")),
        ("bucket-packed", bucket("packed/web.tgz")),
        ("bucket-text", bucket("packed/text.tgz")),
        ("bucket-none", bucket("charts/none")),
        ("bucket-local", bucket("charts/local")),
        (
            "bucket-values",
            with(
                bucket("charts/plain"),
                files(&["charts/plain/values.yaml", "envs/prod.yaml"]),
            ),
        ),
        (
            "bucket-revision",
            with(bucket("charts/plain"), json!({"reconcileStrategy": "Revision"})),
        ),
        ("git", chart("plain")),
        ("git-slash", git("charts/plain/")),
        ("git-above", git("../../charts/plain")),
        ("git-absolute", git("/charts/plain")),
        ("git-none", chart("none")),
        ("git-file", git("envs/prod.yaml")),
        ("git-packed", git("packed/web.tgz")),
        ("git-text", git("packed/text.tgz")),
        (
            "git-values",
            with(chart("plain"), files(&["charts/plain/values.yaml", "envs/prod.yaml"])),
        ),
        (
            "git-packed-values",
            with(git("packed/web.tgz"), files(&["envs/prod.yaml"])),
        ),
        ("git-same-values", with(chart("moving"), files(&["envs/same.yaml"]))),
        ("git-missing-values", with(chart("plain"), files(&["envs/none.yaml"]))),
        ("git-folder-values", with(chart("plain"), files(&["envs"]))),
        ("git-list-values", with(chart("plain"), files(&["envs/list.yaml"]))),
        (
            "git-ignored-values",
            with(
                chart("plain"),
                json!({"valuesFiles": ["envs/none.yaml", "envs/prod.yaml"], "ignoreMissingValuesFiles": true}),
            ),
        ),
        ("git-no-values", with(chart("novalues"), files(&["envs/prod.yaml"]))),
        (
            "git-revision",
            with(chart("moving"), json!({"reconcileStrategy": "Revision"})),
        ),
        (
            "git-revision-values",
            with(
                chart("moving"),
                json!({"reconcileStrategy": "Revision", "valuesFiles": ["envs/prod.yaml"]}),
            ),
        ),
        ("git-version", chart("moving")),
        ("git-local", chart("local")),
        ("git-old", chart("old")),
        ("git-other", chart("other")),
        ("git-lost", chart("lost")),
        ("git-outside", chart("outside")),
        ("git-aliased", chart("aliased")),
        ("git-wrong", chart("wrong")),
        ("git-nothing", chart("nothing")),
        ("git-http", chart("http")),
        ("git-locked", chart("locked")),
        ("git-oci", chart("oci")),
        ("git-nameless", chart("nameless")),
        ("git-schema", chart("schema")),
        ("git-no-version", chart("noversion")),
        ("git-not-yaml", chart("notyaml")),
    ];
    let still = all.into_iter().map(|(name, spec)| Case {
        name,
        spec,
        change: None,
    });
    let changed = [
        ("then-exact", http(json!({})), json!({"version": "1.0.0"})),
        ("then-values", http(json!({})), files(&["values-prod.yaml"])),
        ("then-none", http(json!({})), json!({"version": ">=5"})),
        ("then-there", version(">=5"), json!({"version": "*"})),
        (
            "then-git",
            http(json!({})),
            json!({"chart": "charts/plain", "sourceRef": {"kind": "GitRepository", "name": "git"}}),
        ),
        ("then-lost", chart("plain"), json!({"chart": "charts/none"})),
        ("then-suspended", chart("plain"), json!({"suspend": true})),
    ];
    let changed = changed.into_iter().map(|(name, spec, change)| Case {
        name,
        spec,
        change: Some(change),
    });
    still.chain(changed).collect()
}
