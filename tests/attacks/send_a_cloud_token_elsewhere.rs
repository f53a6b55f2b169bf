//! Servers of tenants in place of a cloud's, to get the controller's token for the cloud.

use serde_json::json;

use crate::siege::{OUTSIDE, siege};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::proxy::Proxy;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::rsa::Rsa;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tls::Certificates;
use bumpwright_testkit::world::{
    AUTOMATION, BUCKET, GIT_REPOSITORY, IMAGE_REPOSITORY, OCI_REPOSITORY, ObjectKind, SECRET, World, automation,
    git_repository,
};

/// The token of the clouds, which must not be sent elsewhere.
const TOKEN: &str = "hunter2-token";

/// A namespace with a controller that has an identity at Azure and at Google.
struct Clouds {
    controller: Controller,
    world: World<'static>,
    /// Issues the tokens.
    _issuer: StubHttp,
}

impl std::ops::Deref for Clouds {
    type Target = World<'static>;

    fn deref(&self) -> &World<'static> {
        &self.world
    }
}

impl Clouds {
    /// None without openssl.
    fn start(cluster: &'static Cluster, namespace: &str) -> Option<Self> {
        let world = World::new(cluster, namespace).labelled("siege", OUTSIDE);
        let rsa = Rsa::make(world.folder.path())?;
        let issuer = StubHttp::start(|_| Reply::json(&json!({"access_token": TOKEN, "expires_in": 3599})));
        let key = json!({
            "type": "service_account", "client_email": "a@b.iam.gserviceaccount.com", "private_key": rsa.key,
            "token_uri": issuer.url("token"),
        });
        let file = world.folder.path().join("google.json");
        std::fs::write(&file, key.to_string()).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let starter = world.starter("controller").flags(&[
            "--controllers=source,image-reflector,image-automation".to_owned(),
            format!("--storage-addr={address}"),
            format!("--storage-adv-addr={address}"),
        ]);
        let starter = starter
            .variable("GOOGLE_APPLICATION_CREDENTIALS", &file)
            .variable("AZURE_TENANT_ID", "tenant")
            .variable("AZURE_CLIENT_ID", "client")
            .variable("AZURE_CLIENT_SECRET", "hunter2-secret")
            .variable("AZURE_AUTHORITY_HOST", issuer.url(""));
        let controller = starter.start();
        Some(Self {
            controller,
            world,
            _issuer: issuer,
        })
    }

    /// Waits until an object is refused, with a message that `liked` accepts and without a secret.
    fn refused(&self, kind: ObjectKind, name: &str, liked: &str) {
        let said = self.ready(kind, name, "False", |_, said| said.contains(liked));
        assert!(!said.contains("hunter2"), "{said}");
        assert!(!self.controller.log().contains("hunter2"), "{}", self.controller.log());
    }
}

/// Whether a request contains a part of a token, plain or in Base64.
fn has_token(request: &Request) -> bool {
    let login = request.login().is_some_and(|(_, password)| password.contains(TOKEN));
    login
        || request.headers.values().any(|value| value.contains(TOKEN))
        || String::from_utf8_lossy(&request.body).contains(TOKEN)
}

/// The tenant declares a Git server to be Azure's, to get the controller's token for all of Azure DevOps; by source and
/// automation alike.
#[test]
fn a_git_login_to_a_server_of_the_tenants() {
    let Some(siege) = siege() else { return };
    let Some(clouds) = Clouds::start(siege.cluster, "mallory-git-login") else {
        return;
    };
    let url = clouds.git.url("app.git");
    clouds.repository("app.git");
    add_choice(&clouds, "app", "2.0.0");
    let mut spec = git_repository(&url);
    spec["provider"] = json!("azure");
    clouds.add(GIT_REPOSITORY, "app", spec);
    clouds.add(AUTOMATION, "app", automation("app"));
    let liked = "invalid Azure DevOps Git URL";
    clouds.refused(GIT_REPOSITORY, "app", liked);
    clouds.refused(AUTOMATION, "app", liked);
    assert!(!clouds.git.requests().iter().any(|seen| has_token(seen)));
    siege.stands();
}

/// The tenant names Google's own hosts with a proxy, which answers with certificates that the object makes the
/// controller trust, or with any where verification is off: for images, artifacts, buckets and Git.
#[test]
fn a_login_through_a_proxy_that_reads_along() {
    let Some(siege) = siege() else { return };
    let hosts = ["gcr.io", "storage.googleapis.com", "dev.azure.com"];
    let Some(certificates) = Certificates::for_host(&hosts.join(",DNS:")) else {
        return;
    };
    let reader = StubHttp::with(Some(certificates.server_config(false)), |request| {
        match request.login() {
            None if request.header("authorization").is_none() => {
                Reply::status(401).header("WWW-Authenticate", "Basic realm=\"gcr.io\"")
            }
            _ => Reply::status(403),
        }
    });
    let ports: Vec<String> = hosts.iter().map(|host| format!("{host}:443")).collect();
    let leads: Vec<_> = ports.iter().map(|port| (port.as_str(), reader.address())).collect();
    let proxy = Proxy::leading(None, &leads);
    let Some(clouds) = Clouds::start(siege.cluster, "mallory-reads-along") else {
        return;
    };
    let address = format!("http://{}", proxy.address);
    clouds.put(SECRET, "proxy", json!({"stringData": {"address": address}}));
    let ca = String::from_utf8(certificates.ca.clone()).unwrap();
    clouds.put(SECRET, "ca", json!({"stringData": {"ca.crt": ca}}));
    let through = json!({"interval": "1h", "provider": "gcp", "proxySecretRef": {"name": "proxy"}});
    let spec = |fields: serde_json::Value| {
        let mut spec = through.clone();
        spec.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        spec
    };
    let ca = json!({"name": "ca"});
    clouds.add(
        OCI_REPOSITORY,
        "ca",
        spec(json!({"url": "oci://gcr.io/p/app", "certSecretRef": ca})),
    );
    clouds.add(
        OCI_REPOSITORY,
        "insecure",
        spec(json!({"url": "oci://gcr.io/p/app", "insecure": true})),
    );
    clouds.add(
        IMAGE_REPOSITORY,
        "ca",
        spec(json!({"image": "gcr.io/p/app", "certSecretRef": ca})),
    );
    clouds.add(
        IMAGE_REPOSITORY,
        "insecure",
        spec(json!({"image": "gcr.io/p/app", "insecure": true})),
    );
    let bucket = json!({"bucketName": "b", "endpoint": "storage.googleapis.com", "certSecretRef": ca});
    clouds.add(BUCKET, "ca", spec(bucket));
    let url = "https://dev.azure.com/o/p/_git/r";
    let fields = json!({"url": url, "ref": {"branch": "main"}, "provider": "azure", "secretRef": ca});
    clouds.add(GIT_REPOSITORY, "ca", spec(fields));
    let liked = "own identity is not sent where the object gives";
    for name in ["ca", "insecure"] {
        clouds.refused(OCI_REPOSITORY, name, liked);
        clouds.refused(IMAGE_REPOSITORY, name, liked);
    }
    clouds.refused(BUCKET, "ca", liked);
    clouds.refused(GIT_REPOSITORY, "ca", liked);
    assert!(!reader.requests().iter().any(has_token));
    siege.stands();
}

/// The tenant's own server in place of Azure's storage.
#[test]
fn a_login_at_a_bucket_of_the_tenants() {
    let Some(siege) = siege() else { return };
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let server = StubHttp::with(Some(certificates.server_config(false)), |_| Reply::status(403));
    let Some(clouds) = Clouds::start(siege.cluster, "mallory-bucket") else {
        return;
    };
    let ca = String::from_utf8(certificates.ca.clone()).unwrap();
    clouds.put(SECRET, "ca", json!({"stringData": {"ca.crt": ca}}));
    clouds.put(
        SECRET,
        "identity",
        json!({"stringData": {"clientId": "of-the-machine"}}),
    );
    let spec = json!({"interval": "1h", "provider": "azure", "bucketName": "b", "endpoint": server.url(""),
        "certSecretRef": {"name": "ca"}});
    let mut machine = spec.clone();
    machine["secretRef"] = json!({"name": "identity"});
    clouds.add(BUCKET, "process", spec);
    clouds.add(BUCKET, "machine", machine);
    clouds.refused(BUCKET, "process", "is not at Azure");
    clouds.refused(BUCKET, "machine", "is not at Azure");
    assert!(!server.requests().iter().any(has_token));
    siege.stands();
}
