//! Pulls from odd, faulty and hostile registries: valid layers, their addresses, and the reach of credentials.

use std::io::Read;
use std::time::Duration;

use bumpwright_http::{Deadline, Peer, RetryPolicy};
use bumpwright_policy::{Reference, Validation};
use bumpwright_registry::{Layer, Login, Registry};
use bumpwright_secret::Secret;
use bumpwright_testkit::digests::sha256;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use serde_json::json;

const LAYER: &[u8] = b"a layer of some bytes";

fn client() -> Registry {
    let retry_policy = RetryPolicy {
        tries: 3,
        first: Duration::from_millis(1),
        most: Duration::from_secs(5),
    };
    Registry::with_patience(Peer::default(), false, retry_policy)
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

fn ann() -> Login {
    Login::Basic {
        username: "ann".to_owned(),
        password: Secret::new("hunter2"),
    }
}

fn layer() -> Layer {
    Layer {
        digest: sha256(LAYER),
        size: LAYER.len() as u64,
        ..Layer::default()
    }
}

/// A registry that answers pings, without a challenge.
fn open(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> StubHttp {
    StubHttp::start(move |request| match request.path.as_str() {
        "/v2/" => Reply::status(200),
        _ => answer(request),
    })
}

fn image(server: &StubHttp) -> Reference {
    Reference::parse(&format!("{}/team/app:1", server.address()), Validation::Weak).unwrap()
}

fn pulled(server: &StubHttp, layer: &Layer) -> Result<Vec<u8>, String> {
    let blob = client().layer(&image(server), layer, &ann(), soon());
    let mut bytes = Vec::new();
    let read = blob.map_err(|error| error.to_string())?.read_to_end(&mut bytes);
    read.map(|_| bytes).map_err(|error| error.to_string())
}

fn blob(bytes: &'static [u8]) -> Reply {
    Reply::bytes(200, "application/octet-stream", bytes)
}

#[test]
fn a_layer_that_lies_elsewhere_is_asked_for_without_the_login() {
    let elsewhere = StubHttp::start(|_| blob(LAYER));
    // By another name of the same machine: a host is what its address says.
    let address = format!("http://localhost:{}/layer?signature=s3cret", elsewhere.address().port());
    let server = open(move |_| Reply::status(307).header("location", &address));
    assert_eq!(pulled(&server, &layer()).unwrap(), LAYER);
    assert!(server.requests().iter().any(|request| request.login().is_some()));
    assert!(
        elsewhere
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
}

#[test]
fn a_layer_is_no_more_and_no_less_than_the_manifest_says() {
    let wrong = open(|_| blob(b"a layer of some Bytes"));
    let error = pulled(&wrong, &layer()).unwrap_err();
    let expected = "error verifying sha256 checksum after reading 21 bytes; got \"sha256:";
    assert!(error.starts_with(expected), "{error}");
    let endless = open(|_| blob(LAYER).chunked(7).endless());
    assert_eq!(pulled(&endless, &layer()).unwrap(), LAYER);
    let short = open(|_| blob(b"a layer").chunked(3));
    assert_eq!(
        pulled(&short, &layer()).unwrap_err(),
        "error verifying size; got 7, want 21"
    );
    let announced = open(|_| blob(b"a layer"));
    let error = pulled(&announced, &layer()).unwrap_err();
    assert!(
        error.ends_with(": Content-Length header 7 does not match expected size 21"),
        "{error}"
    );
}

#[test]
fn a_layer_is_asked_for_again_when_the_registry_is_busy() {
    let server = open(|request| match request.number {
        0..=3 => Reply::status(503),
        _ => blob(LAYER),
    });
    assert_eq!(pulled(&server, &layer()).unwrap(), LAYER);
    let gone = open(|_| Reply::registry_error(404, "BLOB_UNKNOWN", "blob unknown to registry"));
    let error = pulled(&gone, &layer()).unwrap_err();
    assert!(error.ends_with(": BLOB_UNKNOWN: blob unknown to registry"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn what_an_index_leads_to() {
    let manifest = json!({"schemaVersion": 2, "layers": [{"mediaType": "x/y", "digest": sha256(LAYER), "size": 21}]});
    let child = manifest.to_string();
    let index = |platforms: &[(&str, &str)]| {
        let entry = |(os, architecture): &(&str, &str)| {
            json!({
                "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": sha256(child.as_bytes()), "size": 1,
                "platform": {"os": os, "architecture": architecture},
            })
        };
        let entries: Vec<_> = platforms.iter().map(entry).collect();
        json!({"schemaVersion": 2, "manifests": entries}).to_string()
    };
    let serve = |index: String| {
        let child = child.clone();
        open(move |request| {
            if request.path.ends_with("/manifests/1") {
                Reply::bytes(200, "application/vnd.oci.image.index.v1+json", index.clone())
            } else {
                Reply::bytes(200, "application/vnd.oci.image.manifest.v1+json", child.clone())
            }
        })
    };
    let server = serve(index(&[("linux", "arm64"), ("linux", "amd64")]));
    let image_of = |server: &StubHttp| client().image(&image(server), &Login::Anonymous, soon());
    assert_eq!(image_of(&server).unwrap().layers[0].media_type, "x/y");
    let server = serve(index(&[("linux", "arm64")]));
    assert_eq!(
        image_of(&server).unwrap_err().to_string(),
        format!(
            "no child with platform linux/amd64 in index {}/team/app:1",
            server.address()
        )
    );
    // An index of itself ends.
    let digest_of_any = json!({"schemaVersion": 2, "manifests": [{
        "mediaType": "application/vnd.oci.image.index.v1+json", "digest": "sha256:../../x", "size": 1,
    }]});
    let server = serve(digest_of_any.to_string());
    let error = image_of(&server).unwrap_err().to_string();
    assert_eq!(error, "unsupported hash: \"sha256:../../x\"");
}

#[test]
fn a_tag_is_resolved_where_head_does_not_work() {
    let body = "{\"schemaVersion\":2}";
    let server = open(move |request| match request.method.as_str() {
        "HEAD" => Reply::status(403),
        _ => Reply::bytes(200, "application/vnd.oci.image.manifest.v1+json", body),
    });
    let found = client().resolve(&image(&server), &Login::Anonymous, soon()).unwrap();
    assert_eq!(found, sha256(body.as_bytes()));
}
