//! Images signed by sigstore's own libraries in both formats of cosign, with the verdicts of Flux's way of calling cosign
//! (`fixtures/verify/cosign.jsonl`).
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bumpwright_verify::cosign::{self, CosignKeys, Evidence, SimpleSignature};
use serde::Deserialize;

const CASES: &str = include_str!("../../../fixtures/verify/cosign.jsonl");

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

/// Verdicts that are not those of the cosign program: what is said here, and why.
const OTHERWISE: &[(&str, &str)] = &[
    // cosign writes and reads one type; what another program signed was signed for another purpose.
    ("other type", "no matching signatures were found for 'REFERENCE'"),
    // Go tells of its parser.
    ("key: no DER", "x509: malformed public key"),
];

/// What Flux accepts though it is not about the image.
const REPLAYED: [&str; 2] = ["signature of another image", "no JSON"];

impl Case {
    fn blob(&self, digest: &str) -> Vec<u8> {
        STANDARD.decode(&self.blobs[digest]).unwrap()
    }

    /// Goes the way of a client from the digest to the blobs.
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
