//! Logins by tokens: of an application at Azure, and of a ServiceAccount at AWS' token service.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bumpwright_cloud::{Cloud, Endpoints, Environment};
use bumpwright_http::{Deadline, Peer};
use bumpwright_object_store::{Bucket, BucketProvider, Index, Keys, Limits, Settings};
use bumpwright_secret::Secret;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::aws_signature::AwsKey;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::moto::Moto;
use bumpwright_testkit::object_stores::{Access, Azurite};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::{StubHttp, forward};
use bumpwright_testkit::tls::Certificates;
use bumpwright_testkit::world::{BUCKET, SERVICE_ACCOUNT, World};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

fn soon() -> Deadline {
    Deadline::after(std::time::Duration::from_secs(30))
}

/// How many blobs the container `podinfo` has for who logs in with this Secret.
fn listed(azurite: &Azurite, data: &[(&str, &str)], ca: Option<&[u8]>) -> Result<usize, String> {
    let mut peer = Peer {
        environment: false,
        ..Peer::default()
    };
    peer.tls.ca = ca.map(<[u8]>::to_vec);
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), Secret::new(*value)));
    let settings = Settings {
        provider: BucketProvider::Azure,
        bucket: "podinfo".to_owned(),
        endpoint: azurite.endpoint(),
        region: String::new(),
        insecure: false,
        secret: Some(Keys {
            name: "login".to_owned(),
            data: data.collect(),
        }),
        sts: None,
        service_account: None,
        cloud: Cloud::new(Environment::default(), Endpoints::default(), peer.clone()),
        peer,
    };
    let bucket = Bucket::open(&settings, soon()).map_err(|error| error.to_string())?;
    let rules = Index::ignore_file(&bucket, soon()).map_err(|error| error.to_string())?;
    assert_eq!(rules, None);
    let index = Index::of(&bucket, "", |_| false, Limits::default(), soon());
    index.map(|index| index.len()).map_err(|error| error.to_string())
}

/// Each in one line, without the signature. (Flux shows the whole answer, with the time and a number of the request.)
#[test]
fn keys_and_signatures_that_are_no_good_at_azurite() {
    let Some(azurite) = Azurite::start() else { return };
    azurite.make_container(Azurite::ACCOUNT, "podinfo");
    azurite.put_blob(Azurite::ACCOUNT, "podinfo/a.yaml", b"a: 1\n");
    let good = Access::to_read("podinfo");
    let sas = Azurite::signature;
    assert_eq!(listed(&azurite, &[("accountKey", Azurite::KEY)], None), Ok(1));
    assert_eq!(listed(&azurite, &[("sasKey", &sas(good))], None), Ok(1));
    let list = format!(
        "failed to confirm existence of 'podinfo' bucket: GET {}/podinfo answered",
        azurite.endpoint()
    );
    let blob = format!(
        "failed to get Etag for '.sourceignore' object: GET {}/podinfo/.sourceignore answered",
        azurite.endpoint()
    );
    let (unknown, forbidden) = (
        "403 Forbidden: AuthorizationFailure: Server failed to authenticate the request.",
        "403 Forbidden: AuthorizationPermissionMismatch: This request is not authorized to perform this operation",
    );
    let access = |permissions| Access { permissions, ..good };
    let elsewhere = Access::to_read("another");
    let over = Access {
        expires: "2020-01-01T00:00:00Z",
        ..good
    };
    for (key, secret, place, why) in [
        ("accountKey", "b3RoZXI=".to_owned(), &list, unknown),
        ("sasKey", sas(access("r")), &list, forbidden),
        ("sasKey", sas(access("l")), &blob, forbidden),
        ("sasKey", sas(elsewhere), &list, unknown),
        ("sasKey", sas(over), &list, unknown),
        ("sasKey", sas(good).replace("sig=", "sig=A"), &list, unknown),
    ] {
        let said = listed(&azurite, &[(key, &secret)], None).unwrap_err();
        assert!(said.starts_with(&format!("{place} {why}")), "{said}");
        let signature = secret.split("sig=").nth(1).unwrap_or(&secret);
        assert!(!said.contains(signature) && !said.contains('\n'), "{said}");
    }
}

/// A token of Entra with these claims. Azurite reads them, and does not verify signatures.
fn token(audience: &str, issuer: &str, expires: u64) -> String {
    let claims = json!({"aud": audience, "iss": issuer, "nbf": 1, "iat": 1, "exp": expires});
    let part = |json: &Json| URL_SAFE_NO_PAD.encode(json.to_string());
    let header = json!({"alg": "RS256", "typ": "JWT"});
    format!("{}.{}.c2lnbmF0dXJl", part(&header), part(&claims))
}

/// Azurite refuses tokens for other services, of other issuers, or that are over. Only who makes tokens is a stub.
#[test]
fn an_application_logs_in_at_azurite() {
    const STORAGE: &str = "https://storage.azure.com";
    const ISSUER: &str = "https://sts.windows.net/ten/";
    const LATER: u64 = 4_000_000_000;
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let Some(azurite) = Azurite::with(Some(&certificates)) else {
        return;
    };
    azurite.make_container(Azurite::ACCOUNT, "podinfo");
    azurite.put_blob(Azurite::ACCOUNT, "podinfo/a.yaml", b"a: 1\n");
    let issued = Arc::new(Mutex::new(String::new()));
    let given = Arc::clone(&issued);
    let entra = StubHttp::start(move |_| {
        let token = given.lock().clone();
        Reply::json(&json!({"access_token": token, "expires_in": 3600}))
    });
    let listed = |token: String| {
        *issued.lock() = token;
        let authority = entra.url("");
        let data = [
            ("tenantId", "ten"),
            ("clientId", "cli"),
            ("clientSecret", "hunter2"),
            ("authorityHost", authority.as_str()),
        ];
        listed(&azurite, &data, Some(&certificates.ca))
    };
    assert_eq!(listed(token(STORAGE, ISSUER, LATER)), Ok(1));
    for refused in [
        token("https://vault.azure.net", ISSUER, LATER),
        token(STORAGE, "https://elsewhere.example/", LATER),
        token(STORAGE, ISSUER, 2),
    ] {
        let said = listed(refused.clone()).unwrap_err();
        assert!(said.contains("40") && !said.contains(&refused), "{said}");
    }
}

/// The token of the API server for a ServiceAccount is exchanged at moto's STS, and the credentials from there sign all
/// requests. (versitygw has such a service too, for issuers that are on the internet alone.)
#[test]
fn a_service_account_takes_its_role_at_sts() {
    let (Some(cluster), Some(moto)) = (Cluster::shared(), Moto::start()) else {
        return;
    };
    cluster.define();
    let world = World::new(cluster, "bucket-roles");
    moto.put(
        "/podinfo",
        "<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>",
    );
    moto.put("/podinfo/a.yaml", "a: 1\n");
    let (address, credentials) = (moto.address(), Arc::new(Mutex::new(Json::Null)));
    let kept = Arc::clone(&credentials);
    let sts = StubHttp::start(move |request| {
        let reply = forward(address, request).unwrap();
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        let inside = |name: &str| {
            text.split(&format!("<{name}>"))
                .nth(1)?
                .split('<')
                .next()
                .map(str::to_owned)
        };
        *kept.lock() = json!({
            "id": inside("AccessKeyId"), "secret": inside("SecretAccessKey"), "token": inside("SessionToken"),
        });
        reply
    });
    let known = Arc::clone(&credentials);
    let s3 = StubHttp::in_front_of(address, move |request| {
        let known = known.lock().clone();
        let text = |name: &str| known[name].as_str().unwrap_or_default().to_owned();
        let (id, secret) = (text("id"), text("secret"));
        let key = AwsKey {
            id: &id,
            secret: &secret,
            region: "eu-west-1",
            service: "s3",
        };
        let is_signed = key.check(request).is_ok() && request.header("x-amz-security-token") == Some(&text("token"));
        (!is_signed).then(|| Reply::status(403))
    });
    let role = "arn:aws:iam::123456789012:role/reader";
    let annotations = json!({"eks.amazonaws.com/role-arn": role});
    world.put(
        SERVICE_ACCOUNT,
        "reader",
        json!({"metadata": {"annotations": annotations}}),
    );
    let artifacts = format!("127.0.0.1:{}", free_port());
    let starter = world.starter("controller").flags(&[
        "--controllers=source",
        &format!("--storage-addr={artifacts}"),
        &format!("--storage-adv-addr={artifacts}"),
    ]);
    let controller = starter.variable("AWS_ENDPOINT_URL_STS", sts.url("")).start();
    let spec = json!({"interval": "1h", "provider": "aws", "bucketName": "podinfo", "endpoint": s3.host(), "insecure": true,
        "region": "eu-west-1", "serviceAccountName": "reader"});
    world.add(BUCKET, "podinfo", spec);
    world.ready(BUCKET, "podinfo", "True", |reason, _| reason == "Succeeded");
    let artifact = world.get(BUCKET, "podinfo")["status"]["artifact"].take();
    assert!(
        artifact["revision"].as_str().unwrap().starts_with("sha256:"),
        "{artifact}"
    );

    let exchanges: Vec<Request> = sts.requests();
    assert_eq!(exchanges.len(), 1, "the credentials are kept");
    let field = |name: &str| exchanges[0].fields(name).remove(0);
    assert_eq!(
        (field("Action"), field("RoleArn")),
        ("AssumeRoleWithWebIdentity".to_owned(), role.to_owned())
    );
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": {"token": field("WebIdentityToken"), "audiences": ["sts.amazonaws.com"]},
    });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let reviewed = cluster.request("POST", path, "", &review.to_string()).body["status"].clone();
    assert_eq!(
        reviewed["user"]["username"], "system:serviceaccount:bucket-roles:reader",
        "{reviewed}"
    );
    assert_eq!(controller.stop(), Some(0));
}
