//! Registries: tags, manifests, layers, tokens.

use std::io::Write as _;

use serde_json::{Value as Json, json};

use super::{Place, Row, Specs, TIMEOUT};
use bumpwright_testkit::hostile::{Hostile, Pour};
use bumpwright_testkit::tarball::{header, packed};
use bumpwright_testkit::world::{IMAGE_REPOSITORY, OCI_REPOSITORY};

pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// The largest manifest, and nearly the largest page of tags.
pub const LARGEST_MANIFEST: u64 = 4 << 20;
const LARGEST_PAGE: u64 = 63 << 20;

pub const ROWS: &[Row] = &[
    Row::new("tags", IMAGE_REPOSITORY, tags),
    Row::new("long-tags", IMAGE_REPOSITORY, long_tags),
    Row::new("versions", OCI_REPOSITORY, versions),
    Row::new("layers", OCI_REPOSITORY, layers),
    Row::new("annotations", OCI_REPOSITORY, annotations),
    Row::new("index", OCI_REPOSITORY, index),
    Row::new("files", OCI_REPOSITORY, files),
    Row::new("tokens", IMAGE_REPOSITORY, tokens),
];

/// The registry answers with pages of such tags, without an end.
fn tagged(place: &Place, tag: fn(u64, &mut Vec<u8>)) {
    place.hostile.whole("/v2/", "application/json", "{}");
    for number in 0..8 {
        let page = Pour::json(r#"{"tags":["#, move |number, out| {
            out.push(b'"');
            tag(number, out);
            out.extend_from_slice(b"\",");
        });
        let list = format!("/v2/app-{number}/tags/list");
        let page = page
            .sized(LARGEST_PAGE, r#""0"]}"#)
            .paged(&format!("{list}?n=1000&last="));
        place.hostile.answer(&list, page);
    }
}

fn images(place: &Place) -> Specs {
    let host = place.hostile.host();
    Box::new(
        move |number| json!({"image": format!("{host}/app-{number}"), "interval": "1h", "timeout": TIMEOUT, "insecure": true}),
    )
}

/// As long as a tag may be.
fn tags(place: &Place) -> Specs {
    tagged(place, |number, out| write!(out, "t{number:0>127}").unwrap());
    images(place)
}

fn long_tags(place: &Place) -> Specs {
    tagged(place, |number, out| write!(out, "t{number:0>60000}").unwrap());
    images(place)
}

pub fn artifacts(place: &Place, spec: Json) -> Specs {
    place.hostile.whole("/v2/", "application/json", "{}");
    let host = place.hostile.host();
    Box::new(move |number| {
        let mut whole = json!({
            "url": format!("oci://{host}/app-{number}"), "interval": "1h", "timeout": TIMEOUT, "insecure": true, "ref": {"tag": "v1"},
        });
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        whole
    })
}

fn versions(place: &Place) -> Specs {
    tagged(place, |number, out| {
        write!(out, "1.0.{number}-{:0>100}", number).unwrap()
    });
    artifacts(place, json!({"ref": {"semver": ">=1.0.0-0"}}))
}

/// A manifest of the largest size, of many small parts.
fn manifest(place: &Place, kind: &str, first: &str, part: fn(u64, &mut Vec<u8>), last: &str) -> Specs {
    let body = Pour::json(first, part).sized(LARGEST_MANIFEST, last).bytes();
    for number in 0..8 {
        place.hostile.content(&format!("app-{number}"), Some("v1"), kind, &body);
    }
    artifacts(place, json!({}))
}

pub fn empty(_: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{},");
}

fn layers(place: &Place) -> Specs {
    manifest(place, MANIFEST, r#"{"schemaVersion":2,"layers":["#, empty, "{}]}")
}

fn annotations(place: &Place) -> Specs {
    let part = |number, out: &mut Vec<u8>| write!(out, r#""{number:x}":"","#).unwrap();
    manifest(
        place,
        MANIFEST,
        r#"{"schemaVersion":2,"annotations":{"#,
        part,
        r#""":""}}"#,
    )
}

fn index(place: &Place) -> Specs {
    let first = format!(r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":["#);
    manifest(place, INDEX, &first, empty, "{}]}")
}

/// A small layer of many files with long names.
fn files(place: &Place) -> Specs {
    let entries = (0..150_000).map(|number| (header(&format!("{number:0>99}"), 0, b'0', ""), &b""[..]));
    let layer = packed(entries);
    for number in 0..8 {
        artifact(&place.hostile, &format!("app-{number}"), &layer);
    }
    artifacts(place, json!({}))
}

/// An artifact with one layer; returns its digest.
pub fn artifact(hostile: &Hostile, repository: &str, layer: &[u8]) -> String {
    let digest = hostile.content(repository, None, LAYER, layer);
    let config = hostile.content(repository, None, "application/json", b"{}");
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST,
        "config": {"mediaType": "application/vnd.cncf.flux.config.v1+json", "digest": config, "size": 2},
        "layers": [{"mediaType": LAYER, "digest": digest, "size": layer.len()}],
    });
    hostile.content(repository, Some("v1"), MANIFEST, manifest.to_string().as_bytes())
}

/// A token server with an answer of the largest size.
fn tokens(place: &Place) -> Specs {
    let realm = format!(r#"Bearer realm="{}",service="x""#, place.url("token"));
    let refusal = Pour::json("{}", |_, _| {})
        .sized(2, "")
        .status(401)
        .header("WWW-Authenticate", &realm);
    place.hostile.answer("/v2/", refusal);
    let answer = Pour::repeated("application/json", r#"{"expires_in":["#, r#"{"":0},"#);
    place.hostile.answer("/token", answer.sized(64 << 10, "{}]}"));
    let host = place.hostile.host();
    Box::new(
        move |number| json!({"image": format!("{host}/secret-{number}"), "interval": "1h", "timeout": TIMEOUT, "insecure": true}),
    )
}
