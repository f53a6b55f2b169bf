//! A stub of Docker Hub that keeps its rules (*Docker Hub usage and limits*): manifests that are read count as pulls,
//! HEAD and lists of tags do not; a client that has none left is refused for hours. The real one cannot be had.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bumpwright_http::{Deadline, Peer, RetryPolicy};
use bumpwright_policy::{Reference, Validation};
use bumpwright_registry::{Login, Registry};
use bumpwright_testkit::digests::sha256;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use serde_json::{Value as Json, json};

const CONFIG: &str = r#"{"created":"2024-05-01T10:00:00Z"}"#;
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
const SPENT: &str = "You have reached your unauthenticated pull rate limit. https://www.docker.com/increase-rate-limit";

/// What is behind the tag 1.
struct Contents {
    image: Json,
    index: Json,
}

impl Contents {
    fn new() -> Self {
        let image = json!({"config": {"digest": sha256(CONFIG.as_bytes()), "size": CONFIG.len()}, "mediaType": IMAGE});
        let digest = sha256(image.to_string().as_bytes());
        let platform = json!({"os": "linux", "architecture": "amd64"});
        let index =
            json!({"mediaType": INDEX, "manifests": [{"digest": digest, "mediaType": IMAGE, "platform": platform}]});
        Self { image, index }
    }

    fn manifest(&self, request: &Request, pulls: &AtomicUsize, most: usize) -> Reply {
        let counted = request.method == "GET";
        let before = pulls.load(Ordering::SeqCst);
        if counted && before >= most {
            return Reply::registry_error(429, "TOOMANYREQUESTS", SPENT)
                .header("ratelimit-limit", &format!("{most};w=21600"))
                .header("ratelimit-remaining", "0;w=21600");
        }
        pulls.fetch_add(usize::from(counted), Ordering::SeqCst);
        let (manifest, kind) = if request.path.ends_with("/1") {
            (self.index.to_string(), INDEX)
        } else {
            (self.image.to_string(), IMAGE)
        };
        let digest = sha256(manifest.as_bytes());
        Reply::bytes(200, kind, manifest.into_bytes()).header("Docker-Content-Digest", &digest)
    }
}

/// The registry, and how many pulls were counted.
fn hub(most: usize) -> (StubHttp, Arc<AtomicUsize>) {
    let (contents, pulls) = (Contents::new(), Arc::<AtomicUsize>::default());
    let counted = Arc::clone(&pulls);
    let hub = StubHttp::start(move |request| {
        let challenge = format!(
            "Bearer realm=\"http://{}/token\",service=\"registry.docker.io\"",
            request.header("host").unwrap()
        );
        let path = request.path.as_str();
        match path {
            "/token" => Reply::json(&json!({"token": "anybody", "expires_in": 300})),
            _ if request.header("authorization").is_none() => Reply::status(401).header("WWW-Authenticate", &challenge),
            _ if path.ends_with("/tags/list") => Reply::json(&json!({"tags": ["1"]})),
            _ if path.contains("/blobs/") => Reply::bytes(200, "application/json", CONFIG),
            _ => contents.manifest(request, &counted, most),
        }
    });
    (hub, pulls)
}

fn client() -> Registry {
    let retry_policy = RetryPolicy {
        first: Duration::from_millis(1),
        ..RetryPolicy::default()
    };
    Registry::with_patience(Peer::default(), false, retry_policy)
}

#[test]
fn tags_digests_and_known_ages_are_no_pulls() {
    let (hub, pulls) = hub(2);
    let image = Reference::parse(&format!("{}/team/app:1", hub.host()), Validation::Weak).unwrap();
    let (client, soon) = (client(), Deadline::after(Duration::from_secs(60)));
    for _ in 0..10 {
        assert_eq!(*client.tags(&image, &Login::Anonymous, soon).unwrap(), ["1"]);
        assert!(
            client
                .digest(&image, &Login::Anonymous, soon)
                .unwrap()
                .starts_with("sha256:")
        );
    }
    assert_eq!(pulls.load(Ordering::SeqCst), 0);
    for _ in 0..10 {
        assert!(client.created(&image, &Login::Anonymous, soon).unwrap().is_some());
    }
    assert_eq!(pulls.load(Ordering::SeqCst), 2, "the index and the image, once");
}

#[test]
fn who_has_no_pulls_left_reads_the_hubs_words() {
    let (hub, _) = hub(1);
    let image = Reference::parse(&format!("{}/team/app:1", hub.host()), Validation::Weak).unwrap();
    let soon = Deadline::after(Duration::from_secs(60));
    let error = client()
        .created(&image, &Login::Anonymous, soon)
        .unwrap_err()
        .to_string();
    assert!(error.ends_with(&format!("TOOMANYREQUESTS: {SPENT}")), "{error}");
    // What is no pull goes on.
    assert!(client().digest(&image, &Login::Anonymous, soon).is_ok());
}
