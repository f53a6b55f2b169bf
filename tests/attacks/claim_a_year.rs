//! Servers that announce long waits or large sizes.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::siege::siege;
use crate::tarpit::{Tarpit, request, say, trickle};
use bumpwright_testkit::digests::sha256;
use bumpwright_testkit::world::{GIT_REPOSITORY, IMAGE_REPOSITORY, OCI_REPOSITORY, World, git_repository};

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The manifest of an artifact with one layer that claims this size.
fn manifest(size: u64) -> String {
    let layer = json!({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": DIGEST, "size": size});
    json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "layers": [layer],
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": DIGEST, "size": 0},
    })
    .to_string()
}

/// A registry that sends layers at a byte per second.
fn registry(size: u64) -> Tarpit {
    let manifest = manifest(size);
    Tarpit::start(move |stream| {
        while let Some(head) = request(stream) {
            let answer = match head.split(' ').nth(1).unwrap_or_default() {
                path if path.contains("/manifests/") => format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.oci.image.manifest.v1+json\r\n\
                     Content-Length: {}\r\n\r\n{manifest}",
                    manifest.len()
                ),
                path if path.contains("/blobs/") => {
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n");
                    if say(stream, head.as_bytes()) {
                        trickle(stream);
                    }
                    return;
                }
                _ => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_owned(),
            };
            if head.starts_with("HEAD") {
                let (head, _) = answer.split_once("\r\n\r\n").unwrap();
                let digest = sha256(manifest.as_bytes());
                let head = format!("{head}\r\nDocker-Content-Digest: {digest}\r\n\r\n");
                if !say(stream, head.as_bytes()) {
                    return;
                }
            } else if !say(stream, answer.as_bytes()) {
                return;
            }
        }
    })
}

/// A registry claims that a layer has a petabyte, which at the slowest bearable pace takes longer than a year.
#[test]
fn a_layer_of_a_petabyte_is_not_waited_for() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-claims");
    let registry = registry(1_000_000_000_000_000);
    for one in ["a", "b", "c", "d"] {
        let url = format!("oci://{}/app-{one}", registry.host());
        let spec = json!({"interval": "1h", "timeout": "2s", "url": url, "insecure": true, "ref": {"tag": "v1"}});
        world.add(OCI_REPOSITORY, one, spec);
    }
    for one in ["a", "b", "c", "d"] {
        world.ready(OCI_REPOSITORY, one, "False", |_, message| {
            message.contains("1000000000000000 bytes") && message.contains("--max-content-size raises the bound")
        });
    }
    siege.stands();
}

/// A registry claims a size that is allowed, and sends a byte each second: the object's own timeout counts
/// for all of it.
#[test]
fn a_layer_that_trickles_ends_with_the_objects_timeout() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-trickles");
    let registry = registry(1 << 30);
    for (name, operation) in [("unpacked", "extract"), ("copied", "copy")] {
        let url = format!("oci://{}/{name}", registry.host());
        let mut spec = json!({"interval": "1h", "timeout": "2s", "url": url, "insecure": true, "ref": {"tag": "v1"}});
        spec["layerSelector"] = json!({
            "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "operation": operation,
        });
        world.add(OCI_REPOSITORY, name, spec);
    }
    for name in ["unpacked", "copied"] {
        world.ready(OCI_REPOSITORY, name, "False", |_, message| {
            message.contains("2s") || message.contains("2 s")
        });
    }
    siege.stands();
}

/// Servers demand a retry in half a minute, again and again: a reconciliation ends with its timeout.
#[test]
fn who_asks_for_patience_gets_none_beyond_the_timeout() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-later");
    let busy = Tarpit::start(|stream| {
        while request(stream).is_some() {
            let answer = b"HTTP/1.1 503 Later\r\nRetry-After: 29\r\nContent-Length: 0\r\n\r\n";
            if !say(stream, answer) {
                return;
            }
        }
    });
    let host = busy.host();
    let began = Instant::now();
    let image = json!({"image": format!("{host}/app"), "insecure": true, "interval": "1h", "timeout": "2s"});
    world.add(IMAGE_REPOSITORY, "later", image);
    let url = format!("oci://{host}/app");
    let oci = json!({"interval": "1h", "timeout": "2s", "url": url, "insecure": true, "ref": {"tag": "v1"}});
    world.add(OCI_REPOSITORY, "later", oci);
    let mut git = git_repository(&format!("http://{host}/app.git"));
    git["timeout"] = json!("2s");
    world.add(GIT_REPOSITORY, "later", git);
    for kind in [IMAGE_REPOSITORY, OCI_REPOSITORY, GIT_REPOSITORY] {
        world.ready(kind, "later", "False", |_, message| !message.is_empty());
    }
    // Four attempts with the demanded pauses take a minute and a half.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    siege.stands();
}
