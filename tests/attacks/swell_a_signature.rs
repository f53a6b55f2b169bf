//! Signatures that take many times their bytes once they are read, and lists of signatures without end.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value as Json, json};

use crate::siege::siege;
use crate::signed_artifacts::{BUNDLE, Contents, NOTATION, answer, refer, referrer, registry, tagged, verify, world};
use bumpwright_testkit::images::Media;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::sigstore::{Key, Sigstore, Wish};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::world::{OCI_REPOSITORY, World};
use sha2::{Digest as _, Sha256};

const JWS: &str = "application/jose+json";
const COSE: &str = "application/cose";

/// How many objects of a tenant read a signature at the same time, and how often each of them does.
const AT_ONCE: usize = 4;
const EACH: usize = 4;

/// The size of a bundle, and of an envelope of Notation: somewhat less than what is read.
const OF_BUNDLE: usize = 15 << 20;
const OF_ENVELOPE: usize = (4 << 20) - 1024;

/// A text so often that it has this size.
fn often(text: &str, size: usize) -> String {
    text.repeat(size / text.len())
}

/// `[PART,PART,…]` of this size.
fn list(part: &str, size: usize) -> String {
    format!("[{}{part}]", often(&format!("{part},"), size))
}

/// A bundle of cosign 3 around a payload, with these signatures.
fn enveloped(payload: &str, signatures: &str) -> String {
    let payload = STANDARD.encode(payload);
    format!(
        r#"{{"mediaType":"{BUNDLE}","verificationMaterial":{{"publicKey":{{}}}},"dsseEnvelope":{{
        "payload":"{payload}","payloadType":"application/vnd.in-toto+json","signatures":{signatures}}}}}"#
    )
}

/// A statement whose predicate swells, by a key that is trusted.
fn statement(key: &Key) -> String {
    let size = OF_BUNDLE / 4 * 3;
    let payload = format!(
        r#"{{"subject":{},"predicate":{}}}"#,
        list("{}", size / 2),
        list("0", size / 2)
    );
    let kind = "application/vnd.in-toto+json";
    let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
    let signature = json!([{"sig": STANDARD.encode(key.sign(signed.as_bytes()))}]);
    enveloped(&payload, &signature.to_string())
}

/// A bundle with the entry of a log that is known: what it says swells.
fn entry(sigstore: &Sigstore) -> String {
    let body = list("0", OF_BUNDLE / 4 * 3);
    let body = format!(r#"{{"kind":"dsse","apiVersion":"0.0.1","spec":{body}}}"#);
    let certificate = sigstore.signer(&Wish::default()).certificate;
    let id = Sha256::digest(sigstore.log.public());
    json!({"mediaType": BUNDLE, "verificationMaterial": {
        "certificate": {"rawBytes": STANDARD.encode(certificate)},
        "tlogEntries": [{"logId": {"keyId": STANDARD.encode(id)}, "canonicalizedBody": STANDARD.encode(body)}]},
        "dsseEnvelope": {"payload": "", "payloadType": "x", "signatures": [{"sig": ""}]}})
    .to_string()
}

/// An envelope of Notation in CBOR: lists of lists of lists of a byte each.
fn cbor() -> Vec<u8> {
    let row = [&[0x98, 0xff][..], &[0; 255]].concat();
    let table = [&[0x98, 0xff][..], &row.repeat(255)].concat();
    let tables = OF_ENVELOPE / table.len();
    [&[0xd2, 0x98, tables as u8][..], &table.repeat(tables)].concat()
}

/// An envelope of Notation in JSON whose headers swell, or its list of certificates.
fn json_envelope(headers: &str, certificates: &str) -> String {
    let headers = URL_SAFE_NO_PAD.encode(headers);
    format!(r#"{{"payload":"","protected":"{headers}","signature":"","header":{{"x5c":{certificates}}}}}"#)
}

/// An artifact without layers.
fn empty(contents: &mut Contents, tag: &str) -> String {
    let notes = json!({ "tag": tag });
    let manifest = json!({"schemaVersion": 2, "mediaType": Media::Oci.manifest(), "layers": [], "annotations": notes});
    tagged(contents, tag, &manifest)
}

fn add(world: &World<'_>, name: &str, (host, tag, by): (&str, &str, &str), timeout: &str) {
    let spec = json!({"interval": "1h", "timeout": timeout, "url": format!("oci://{host}/app"), "insecure": true,
        "ref": {"tag": tag}, "verify": verify(by)});
    world.add(OCI_REPOSITORY, name, spec);
}

/// Bundles, envelopes and annotations of the largest size that is read, each of which would take a
/// hundred megabytes and more.
#[test]
fn signatures_that_swell() {
    let Some(siege) = siege() else { return };
    let (sigstore, key) = (Sigstore::of("mallory"), Key::of("mallory"));
    let world = world(siege, "mallory-swells-signatures", &sigstore, &key);
    let none = json!({});
    let notes: Json = (0..200_000).map(|number| (format!("{number}"), json!(""))).collect();
    let bomb = list("0", OF_ENVELOPE / 4 * 3);
    let shapes = [
        (
            "signatures",
            "key",
            enveloped("", &list(r#"{"sig":""}"#, OF_BUNDLE)).into_bytes(),
            BUNDLE,
            &none,
        ),
        ("statement", "key", statement(&key).into_bytes(), BUNDLE, &none),
        ("entry", "identity", entry(&sigstore).into_bytes(), BUNDLE, &none),
        ("annotations", "key", b"{}".to_vec(), BUNDLE, &notes),
        ("cbor", "notation", cbor(), COSE, &none),
        (
            "headers",
            "notation",
            json_envelope(&format!(r#"{{"a":{bomb}}}"#), r#"["AA=="]"#).into_bytes(),
            JWS,
            &none,
        ),
        (
            "certificates",
            "notation",
            json_envelope("{}", &list(r#""""#, OF_ENVELOPE)).into_bytes(),
            JWS,
            &none,
        ),
    ];
    let mut contents = Contents::new();
    let mut objects = Vec::new();
    for (shape, by, blob, media, annotations) in shapes {
        let artifact_type = if by == "notation" { NOTATION } else { BUNDLE };
        let entry = referrer(&mut contents, artifact_type, media, blob, annotations);
        let digest = empty(&mut contents, shape);
        refer(&mut contents, &digest, &vec![entry; EACH]);
        objects.extend((0..AT_ONCE).map(|number| (format!("{shape}-{number}"), shape, by)));
    }
    let registry = registry(contents);
    for (name, tag, by) in &objects {
        add(&world, name, (&registry.host(), tag, by), "60s");
    }
    for (name, ..) in &objects {
        world.ready(OCI_REPOSITORY, name, "False", |reason, message| {
            reason == "VerificationError" && message.contains("failed to verify the signature")
        });
    }
    println!(
        "{} objects: peak {} KiB",
        objects.len(),
        siege.controller.memory("VmHWM")
    );
    siege.stands();
}

/// A registry that lists referrers on page after page, none of them a signature: 100,000 in all. Each object ends as
/// soon as there are too many for signatures, and long before its timeout.
#[test]
fn referrers_without_end() {
    let Some(siege) = siege() else { return };
    let (sigstore, key) = (Sigstore::of("mallory"), Key::of("mallory"));
    let world = world(siege, "mallory-refers-without-end", &sigstore, &key);
    let mut contents = Contents::new();
    let digest = empty(&mut contents, "app");
    let registry = StubHttp::start(move |request| {
        let page: usize = request
            .parameter("page")
            .and_then(|page| page.parse().ok())
            .unwrap_or_default();
        if request.path.ends_with(&format!("/referrers/{digest}")) {
            let entries: Vec<Json> = (0..500)
                .map(|number| {
                    let digest = format!("sha256:{page:032x}{number:032x}");
                    json!({"mediaType": Media::Oci.manifest(), "digest": digest, "size": 2})
                })
                .collect();
            let index = json!({"schemaVersion": 2, "mediaType": Media::Oci.index(), "manifests": entries});
            let next = format!("<{}?page={}>; rel=\"next\"", request.path, page + 1);
            return Reply::bytes(200, Media::Oci.index(), index.to_string()).header("Link", &next);
        }
        answer(&contents, request)
    });
    for (name, by) in [("key", "key"), ("identity", "identity"), ("notation", "notation")] {
        add(&world, name, (&registry.host(), "app", by), "10m");
    }
    for name in ["key", "identity", "notation"] {
        world.ready(OCI_REPOSITORY, name, "False", |reason, message| {
            let expected = match name {
                "notation" => "no signature is associated",
                _ => "number of layers (1500) exceeds the limit (1000)",
            };
            reason == "VerificationError" && message.contains(expected)
        });
    }
    let asked = registry.requests().len();
    println!("{asked} requests for three objects");
    assert!(asked < 5000, "{asked} requests");
    siege.stands();
}
