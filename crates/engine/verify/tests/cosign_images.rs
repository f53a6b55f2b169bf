//! Images signed by sigstore's own libraries in both formats of cosign, with the results of Flux's calls of cosign
//! (`fixtures/verify/cosign.jsonl`).
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bumpwright_verify::cosign::{self, CosignKeys, Evidence, SimpleSignature};
use serde::Deserialize;

mod support;

const CASES: &str = include_str!("../../../../fixtures/verify/cosign.jsonl");

#[derive(Deserialize)]
struct Case {
    name: String,
    digest: String,
    entries: BTreeMap<String, String>,
    referrers: String,
    manifests: BTreeMap<String, String>,
    blobs: BTreeMap<String, String>,
    upstream: String,
    claims: String,
}

/// Results that differ from the cosign program's: the message here, and why.
const OTHERWISE: &[(&str, &str)] = &[
    // An attestation by another key does not invalidate a signature.
    ("bad bundle beside a simple signature", "verified"),
    ("message signature", "verified"), // beside a simple one
    // cosign writes and reads one type; another program signed for another purpose.
    ("other type", "no matching signatures were found for 'REFERENCE'"),
    // Go's message has details of its parser.
    ("key: no DER", "x509: malformed public key"),
];

/// A signature that Flux accepts though it is of another image.
const REPLAYED: [&str; 2] = ["signature of another image", "no JSON"];

impl Case {
    fn blob(&self, digest: &str) -> Vec<u8> {
        STANDARD.decode(&self.blobs[digest]).unwrap()
    }

    /// Follows the digest to the blobs as a client does.
    fn verdict(&self) -> String {
        let keys = self.entries.iter().map(|(name, text)| (name.as_str(), text.as_bytes()));
        let keys = CosignKeys::from_entries(keys);
        let referrers = cosign::referrers(self.referrers.as_bytes()).unwrap();
        let manifests = referrers.iter().map(|digest| self.manifests[digest].as_bytes());
        let bundles: Vec<_> = manifests
            .filter_map(cosign::bundle_layer)
            .map(|layer| self.blob(&layer.digest))
            .collect();
        let bundles: Vec<&[u8]> = bundles.iter().map(Vec::as_slice).collect();
        let manifest = self.manifests.get(&cosign::signature_tag(&self.digest).unwrap());
        let layers = manifest.map(|manifest| cosign::signature_layers(manifest.as_bytes()).unwrap());
        let layers: Vec<_> = layers
            .into_iter()
            .flatten()
            .map(|layer| (self.blob(&layer.digest), layer))
            .collect();
        let layers: Vec<_> = layers
            .iter()
            .map(|(payload, layer)| SimpleSignature { layer, payload })
            .collect();
        let evidence = Evidence {
            bundles: &bundles,
            layers: &layers,
        };
        match cosign::verify(&keys, &self.digest, "REFERENCE", &evidence) {
            Ok(_) => "verified".to_owned(),
            Err(error) => error.to_string(),
        }
    }
}

#[test]
fn verdicts_are_those_of_cosign() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in CASES.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let replayed = REPLAYED.contains(&case.name.as_str());
        assert_eq!(case.upstream != case.claims, replayed, "{}", case.name);
        let other = OTHERWISE.iter().find(|(name, _)| *name == case.name);
        let expected = other.map_or(case.claims.as_str(), |(_, said)| said);
        let verdict = case.verdict();
        if verdict != expected {
            wrong.push(format!("{}: {verdict:?}, not {expected:?}", case.name));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 60, "{count}");
}

/// Signs a payload with a key that openssl makes, and verifies it.
fn signed_by_openssl(arguments: &[&str]) {
    let bench = support::Bench::new();
    let digest = format!("sha256:{}", "ab".repeat(32));
    let payload = format!(
        r#"{{"critical":{{"identity":{{"docker-reference":"r"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"cosign container image signature"}},"optional":null}}"#
    );
    std::fs::write(bench.path().join("payload"), &payload).unwrap();
    bench.run("openssl", &[&["genpkey", "-out", "key"], arguments].concat());
    let public = bench.run("openssl", &["pkey", "-in", "key", "-pubout"]);
    let raw: &[&str] = if arguments.contains(&"ed25519") {
        &["-rawin"]
    } else {
        &["-rawin", "-digest", "sha256"]
    };
    let sign = ["pkeyutl", "-sign", "-inkey", "key", "-in", "payload"];
    let signature = STANDARD.encode(bench.run("openssl", &[&sign[..], raw].concat()));
    let layer = bench.line("sha256sum", &["payload"]);
    let manifest = format!(
        r#"{{"layers":[{{"digest":"sha256:{}","size":1,"annotations":{{"dev.cosignproject.cosign/signature":"{signature}"}}}}]}}"#,
        layer.split(' ').next().unwrap()
    );
    let layers = cosign::signature_layers(manifest.as_bytes()).unwrap();
    let keys = CosignKeys::from_entries([("cosign.pub", public.as_slice())]);
    let verdict = |digest: &str, payload: &str| {
        let layers = [SimpleSignature {
            layer: &layers[0],
            payload: payload.as_bytes(),
        }];
        cosign::verify(
            &keys,
            digest,
            "r",
            &Evidence {
                bundles: &[],
                layers: &layers,
            },
        )
    };
    assert_eq!(verdict(&digest, &payload), Ok("cosign.pub".to_owned()), "{arguments:?}");
    assert!(verdict(&digest.replace("ab", "cd"), &payload).is_err());
    assert!(verdict(&digest, &payload.replace("null", "{}")).is_err());
}

#[test]
fn what_openssl_signs_is_verified() {
    for arguments in [
        &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"][..],
        &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
        &["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        &["-algorithm", "ed25519"],
    ] {
        signed_by_openssl(arguments);
    }
}

#[test]
fn the_condition_names_the_revision() {
    assert_eq!(
        cosign::verified_message("v1@sha256:00"),
        "verified signature of revision v1@sha256:00"
    );
}
