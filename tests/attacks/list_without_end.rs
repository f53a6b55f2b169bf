//! Servers that list more than there is memory for: tags, references, keys of buckets.

use serde_json::{Value as Json, json};

use crate::siege::{Siege, siege};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::world::{BUCKET, IMAGE_POLICY, IMAGE_REPOSITORY, OCI_REPOSITORY, SECRET, World, newest};

/// How many objects of a tenant list at the same time.
const AT_ONCE: usize = 4;

/// Tags of a page, each as long as one may be.
const PAGE: usize = 100_000;

/// A registry whose list of tags has other tags on each page, and no last page.
fn registry() -> StubHttp {
    StubHttp::start(|request| match request.path.as_str() {
        "/v2/" => Reply::json(&json!({})),
        path if path.ends_with("/tags/list") => {
            let page: usize = request
                .parameter("page")
                .and_then(|page| page.parse().ok())
                .unwrap_or_default();
            let tags: Vec<String> = (0..PAGE).map(|n| format!("1.{page}.{n}-{:x<100}", "")).collect();
            let next = format!("<{path}?page={}>; rel=\"next\"", page + 1);
            Reply::json(&json!({"name": "app", "tags": tags})).header("Link", &next)
        }
        _ => Reply::status(404),
    })
}

/// Several ImageRepositories of a tenant, and OCIRepositories with a range, read tags without end. Before,
/// each took a gibibyte.
#[test]
fn tags() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-tags-without-end");
    let registry = registry();
    for n in 0..AT_ONCE {
        let image = json!({"image": format!("{}/app-{n}", registry.host()), "interval": "1h", "insecure": true});
        world.add(IMAGE_REPOSITORY, &format!("app-{n}"), image);
        let url = format!("oci://{}/oci-{n}", registry.host());
        let oci = json!({"interval": "1h", "url": url, "insecure": true, "ref": {"semver": ">=1"}});
        world.add(OCI_REPOSITORY, &format!("oci-{n}"), oci);
    }
    for n in 0..AT_ONCE {
        for (kind, name) in [(IMAGE_REPOSITORY, "app"), (OCI_REPOSITORY, "oci")] {
            refused(&world, kind, &format!("{name}-{n}"));
        }
    }
    ends(siege);
}

/// A Git server that lists references without end, in a line of up to 64 KiB each.
#[test]
fn references() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-references-without-end");
    let server = StubHttp::start(|request| match request.path.as_str() {
        path if path.ends_with("/info/refs") => {
            let mut body = b"001e# service=git-upload-pack\n0000".to_vec();
            let id = "1".repeat(40);
            for n in 0..2_000_000 {
                let line = format!("{id} refs/tags/{n:0>60}\n");
                body.extend_from_slice(format!("{:04x}{line}", line.len() + 4).as_bytes());
            }
            body.extend_from_slice(b"0000");
            Reply::bytes(200, "application/x-git-upload-pack-advertisement", body)
        }
        _ => Reply::status(404),
    });
    for n in 0..AT_ONCE {
        let spec = json!({"image": format!("{}/app-{n}", server.host()), "interval": "1h", "insecure": true});
        let annotations = json!({"bumpwright.dev/kind": "git-tags"});
        world.annotated(IMAGE_REPOSITORY, &format!("app-{n}"), &annotations, spec);
    }
    for n in 0..AT_ONCE {
        refused(&world, IMAGE_REPOSITORY, &format!("app-{n}"));
    }
    ends(siege);
}

/// A bucket with keys of a kibibyte, and one with a key of a mebibyte.
#[test]
fn keys() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-keys-without-end");
    let server = StubHttp::start(|request| {
        let list = |keys: &mut dyn Iterator<Item = String>, next: &str| {
            let objects: String = keys
                .map(|key| format!("<Contents><Key>{key}</Key><ETag>e</ETag><Size>1</Size></Contents>"))
                .collect();
            let document = format!(
                "<ListBucketResult><IsTruncated>true</IsTruncated>{objects}<NextContinuationToken>{next}</NextContinuationToken>\
                 </ListBucketResult>"
            );
            Reply::bytes(200, "application/xml", document)
        };
        if request.parameter("list-type").is_none() {
            return if request.parameter("location").is_some() || request.path.ends_with('/') || request.method == "HEAD"
            {
                Reply::bytes(200, "application/xml", "<LocationConstraint></LocationConstraint>")
            } else {
                Reply::bytes(404, "application/xml", "<Error><Code>NoSuchKey</Code></Error>")
            };
        }
        let page: usize = request
            .parameter("continuation-token")
            .and_then(|page| page.parse().ok())
            .unwrap_or_default();
        if request.path.contains("long") {
            list(&mut std::iter::once("k".repeat(1 << 20)), "1")
        } else {
            list(
                &mut (0..10_000).map(|n| format!("{page}-{n}-{:x<1000}", "")),
                &(page + 1).to_string(),
            )
        }
    });
    world.put(
        SECRET,
        "keys",
        json!({"stringData": {"accesskey": "a", "secretkey": "b"}}),
    );
    let bucket = |name: &str| {
        json!({
            "interval": "1h", "endpoint": server.host(), "bucketName": name, "insecure": true, "provider": "generic",
            "region": "us-east-1", "secretRef": {"name": "keys"},
        })
    };
    for n in 0..AT_ONCE {
        world.add(BUCKET, &format!("many-{n}"), bucket(&format!("many-{n}")));
    }
    world.add(BUCKET, "long", bucket("long"));
    for n in 0..AT_ONCE {
        refused(&world, BUCKET, &format!("many-{n}"));
    }
    world.ready(BUCKET, "long", "False", |_, message| {
        message.contains("1048576 characters, 1024 at most")
    });
    ends(siege);
}

fn refused(world: &World<'_>, kind: bumpwright_testkit::world::ObjectKind, name: &str) {
    world.ready(kind, name, "False", |_, message| {
        message.contains("--fetch-memory raises the bound")
    });
}

/// A neighbour's image is scanned and chosen.
fn ends(siege: &Siege) {
    let host = StubHttp::start(|request| match request.path.as_str() {
        "/v2/" => Reply::json(&json!({})),
        "/v2/app/tags/list" => Reply::json(&json!({"name": "app", "tags": ["1.0.0"]})),
        _ => Reply::status(404),
    });
    let neighbour = World::new(siege.cluster, "neighbour-of-endless-lists");
    let spec: Json = json!({"image": format!("{}/app", host.host()), "interval": "1h", "insecure": true});
    neighbour.add(IMAGE_REPOSITORY, "app", spec);
    neighbour.add(IMAGE_POLICY, "app", newest("app"));
    neighbour.ready(IMAGE_POLICY, "app", "True", |_, message| message.contains("1.0.0"));
    siege.stands();
}
