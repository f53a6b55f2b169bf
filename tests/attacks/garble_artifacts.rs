//! A registry whose manifests, indexes, lists of tags and layers are mutated at random, with fixed seeds, or refer to
//! each other in circles. The digests are always right, so that they are read.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::json;

use crate::garble::garbled;
use crate::siege::siege;
use bumpwright_testkit::digests::sha256;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::images::Media;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tarball::archive;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{IMAGE_REPOSITORY, OCI_REPOSITORY, World, condition_of};

/// So many artifacts and lists of tags are looked at, each from another seed.
const SEEDS: u64 = 40;

const LAYER: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";

/// Problematic texts for parsers of such documents.
const WORDS: &[&str] = &[
    "{\"layers\":",
    "[[[[[[[[",
    "}",
    "]",
    "\"",
    ",",
    "\\u0000",
    "\u{feff}",
    "\"size\":-1,",
    "\"size\":18446744073709551615,",
    "1e400",
    "null",
    "\"digest\":\"sha256:\",",
    "\"digest\":\"md5:../../x\",",
    "\"mediaType\":\"\",",
    "\"urls\":[\"file:///etc/passwd\"],",
    "\"subject\":{},",
];

/// What the registry has: by the end of the path.
type Contents = BTreeMap<String, (&'static str, Vec<u8>)>;

/// A manifest under its tag and its digest.
fn manifest(contents: &mut Contents, tag: &str, media: &'static str, bytes: Vec<u8>) {
    contents.insert(format!("app/manifests/{}", sha256(&bytes)), (media, bytes.clone()));
    contents.insert(format!("app/manifests/{tag}"), (media, bytes));
}

fn blob(contents: &mut Contents, bytes: Vec<u8>) -> (String, usize) {
    let (digest, size) = (sha256(&bytes), bytes.len());
    contents.insert(format!("app/blobs/{digest}"), ("application/octet-stream", bytes));
    (digest, size)
}

/// An artifact from a seed: the layer, its manifest, an index of it, or the list of tags is garbled.
fn by_chance(contents: &mut Contents, seed: u64) {
    let random = &mut Rng::with_seed(seed);
    let mut layer = archive(&[("app.yaml", b"a: 1\n"), ("folder/more.yaml", b"b: 1\n")]);
    if seed.is_multiple_of(4) {
        layer = garbled(&layer, WORDS, random);
    }
    let (layer, size) = blob(contents, layer);
    let (config, _) = blob(contents, b"{}".to_vec());
    let whole = json!({
        "schemaVersion": 2, "mediaType": Media::Oci.manifest(),
        "config": {"mediaType": "application/vnd.cncf.flux.config.v1+json", "digest": config, "size": 2},
        "layers": [{"mediaType": LAYER, "digest": layer, "size": size}],
        "annotations": {"org.opencontainers.image.revision": "main@sha1:0", "org.opencontainers.image.source": "x"},
    });
    let mut bytes = whole.to_string().into_bytes();
    if seed % 4 == 1 {
        bytes = garbled(&bytes, WORDS, random);
    }
    let tag = format!("seed-{seed}");
    if seed % 4 == 2 {
        let entry = json!({"mediaType": Media::Oci.manifest(), "digest": sha256(&bytes), "size": bytes.len()});
        let entries: Vec<_> = std::iter::repeat_n(entry, random.usize(1..400)).collect();
        manifest(contents, "of-index", Media::Oci.manifest(), bytes);
        let index = json!({"schemaVersion": 2, "mediaType": Media::Oci.index(), "manifests": entries});
        let index = garbled(index.to_string().as_bytes(), WORDS, random);
        manifest(contents, &tag, Media::Oci.index(), index);
    } else {
        manifest(contents, &tag, Media::Oci.manifest(), bytes);
    }
    let tags: Vec<_> = (0..random.usize(1..2000)).map(|n| format!("1.0.{n}")).collect();
    let tags = json!({"name": "app", "tags": tags}).to_string();
    let tags = garbled(tags.as_bytes(), WORDS, random);
    contents.insert(format!("app-{seed}/tags/list"), ("application/json", tags));
}

/// Manifests made by hand.
fn by_design(contents: &mut Contents) -> Vec<&'static str> {
    let (config, _) = blob(contents, b"{}".to_vec());
    let config = json!({"mediaType": "application/vnd.cncf.flux.config.v1+json", "digest": config, "size": 2});
    let layer = json!({"mediaType": LAYER, "digest": sha256(b""), "size": 0});
    let text = |layers: &str, more: &str| {
        let media = Media::Oci.manifest();
        format!(r#"{{"schemaVersion":2,"mediaType":"{media}","config":{config},"layers":{layers}{more}}}"#)
    };
    let many = vec![layer.to_string(); 25_000].join(",");
    for (tag, bytes) in [
        ("layers", text(&format!("[{many}]"), "")),
        ("deep", text(&"[".repeat(1 << 20), "")),
        (
            "deeper",
            text("[]", &format!(r#","annotations":{}1"#, r#"{"a":"#.repeat(500_000))),
        ),
        (
            "notes",
            text("[]", &format!(r#","annotations":{{"a":"{}"}}"#, "x".repeat(4 << 20))),
        ),
        ("empty", String::new()),
    ] {
        manifest(contents, tag, Media::Oci.manifest(), bytes.into_bytes());
    }
    // An index that has itself in it, as far as a tag can.
    let itself = json!({"mediaType": Media::Oci.index(), "digest": sha256(b"itself"), "size": 6});
    let circle = json!({"schemaVersion": 2, "mediaType": Media::Oci.index(), "manifests": [itself]}).to_string();
    contents.insert(
        format!("app/manifests/{}", sha256(b"itself")),
        (Media::Oci.index(), circle.clone().into_bytes()),
    );
    manifest(contents, "circle", Media::Oci.index(), circle.into_bytes());
    vec!["layers", "deep", "deeper", "notes", "empty", "circle"]
}

fn answer(contents: &Contents, request: &Request) -> Reply {
    let Some(path) = request.path.strip_prefix("/v2/") else {
        return Reply::status(404);
    };
    if path.is_empty() {
        return Reply::json(&json!({}));
    }
    match contents.get(path) {
        Some((media, bytes)) => Reply::bytes(200, media, bytes.clone()).header("Docker-Content-Digest", &sha256(bytes)),
        None => Reply::registry_error(404, "MANIFEST_UNKNOWN", path),
    }
}

/// Whatever a registry sends: the reconciliation ends, and other objects are not affected.
#[test]
fn by_chance_and_by_design_in_a_registry() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-garbles-artifacts");
    let mut contents = Contents::new();
    (0..SEEDS).for_each(|seed| by_chance(&mut contents, seed));
    let mut tags: Vec<String> = by_design(&mut contents).into_iter().map(str::to_owned).collect();
    tags.extend((0..SEEDS).map(|seed| format!("seed-{seed}")));
    let registry = StubHttp::start(move |request| answer(&contents, request));
    let host = registry.address();
    for tag in &tags {
        let spec = json!({
            "interval": "1h", "timeout": "20s", "url": format!("oci://{host}/app"), "insecure": true, "ref": {"tag": tag},
        });
        world.add(OCI_REPOSITORY, tag, spec);
    }
    for seed in 0..SEEDS {
        let spec = json!({"interval": "1h", "image": format!("{host}/app-{seed}"), "insecure": true});
        world.add(IMAGE_REPOSITORY, &format!("seed-{seed}"), spec);
    }
    let artifacts = tags.iter().map(|tag| (OCI_REPOSITORY, tag.clone()));
    let images = (0..SEEDS).map(|seed| (IMAGE_REPOSITORY, format!("seed-{seed}")));
    let (mut good, mut bad) = (0, 0);
    for (kind, name) in artifacts.chain(images) {
        let ended = || {
            let object = world.get(kind, &name);
            let ready = condition_of(&object, "Ready")?;
            (ready["status"] != "Unknown").then(|| ready["status"] == "True")
        };
        if wait_for(ended, || format!("{name}: {:#}", world.get(kind, &name)["status"])) {
            good += 1
        } else {
            bad += 1
        }
    }
    println!("{good} good, {bad} bad");
    assert!(good > 10 && bad > 30, "{good} good, {bad} bad");
    siege.stands();
}
