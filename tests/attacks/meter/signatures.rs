//! Signatures of images: lists of them, manifests, bundles, entries of transparency logs, envelopes of Notation, and
//! the trusted root of a Secret.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value as Json, json};

use super::registries::{INDEX, LARGEST_MANIFEST, MANIFEST, artifact, artifacts, empty};
use super::{Place, Row, Specs};
use bumpwright_testkit::hostile::Pour;
use bumpwright_testkit::tarball::packed;
use bumpwright_testkit::tls::Certificates;
use bumpwright_testkit::world::OCI_REPOSITORY;

const NOTATION: &str = "application/vnd.cncf.notary.signature";

pub const ROWS: &[Row] = &[
    Row::new("referrers", OCI_REPOSITORY, referrers),
    Row::new("bundles", OCI_REPOSITORY, bundles),
    Row::new("notes", OCI_REPOSITORY, notes),
    Row::new("rekor", OCI_REPOSITORY, rekor),
    Row::new("notation", OCI_REPOSITORY, notation),
    Row::new("trusted-root", OCI_REPOSITORY, trusted_root),
];

fn verified(place: &Place) -> Specs {
    place.secret("cosign", &[("cosign.pub", KEY)]);
    artifacts(
        place,
        json!({"verify": {"provider": "cosign", "secretRef": {"name": "cosign"}}}),
    )
}

/// A list of signatures with as many entries as fit.
fn referrers(place: &Place) -> Specs {
    let layer = packed([]);
    for number in 0..8 {
        let repository = format!("app-{number}");
        let digest = artifact(&place.hostile, &repository, &layer);
        let list = Pour::new(INDEX, r#"{"schemaVersion":2,"manifests":["#, empty);
        let target = format!("/v2/{repository}/referrers/{digest}");
        place.hostile.answer(
            &target,
            list.sized(LARGEST_MANIFEST, "{}]}").paged(&format!("{target}?page=")),
        );
        let signatures = Pour::json(r#"{"schemaVersion":2,"layers":["#, empty).sized(LARGEST_MANIFEST, "{}]}");
        let tag = format!("{}.sig", digest.replace(':', "-"));
        place
            .hostile
            .content(&repository, Some(&tag), MANIFEST, &signatures.bytes());
    }
    verified(place)
}

/// Signatures of the new format, of many small parts.
fn bundles(place: &Place) -> Specs {
    const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
    let first =
        r#"{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"tlogEntries":["#;
    let bundle = Pour::json(first, empty).sized(15 << 20, "{}]}}").bytes();
    let layer = packed([]);
    for number in 0..8 {
        let repository = format!("app-{number}");
        let digest = artifact(&place.hostile, &repository, &layer);
        let blob = place.hostile.content(&repository, None, BUNDLE, &bundle);
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": BUNDLE,
            "layers": [{"mediaType": BUNDLE, "digest": blob, "size": bundle.len()}],
        });
        let manifest = manifest.to_string();
        let signature = place.hostile.content(&repository, None, MANIFEST, manifest.as_bytes());
        let list = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
            {"mediaType": MANIFEST, "artifactType": BUNDLE, "digest": signature, "size": manifest.len()},
        ]});
        place
            .hostile
            .whole(&format!("/v2/{repository}/referrers/{digest}"), INDEX, list.to_string());
    }
    verified(place)
}

/// Artifacts, each with the signature that is made for its repository and digest.
fn signed(place: &Place, sign: impl Fn(&str, &str)) {
    let layer = packed([]);
    for number in 0..8 {
        let repository = format!("app-{number}");
        sign(&repository, &artifact(&place.hostile, &repository, &layer));
    }
}

/// A manifest of cosign 2 for a digest.
fn simple(place: &Place, repository: &str, digest: &str, manifest: &[u8]) {
    let tag = format!("{}.sig", digest.replace(':', "-"));
    place.hostile.content(repository, Some(&tag), MANIFEST, manifest);
}

/// A signature with as many annotations as fit.
fn notes(place: &Place) -> Specs {
    signed(place, |repository, digest| {
        let first = format!(r#"{{"schemaVersion":2,"layers":[{{"digest":"{digest}","annotations":{{"#);
        let part = |number, out: &mut Vec<u8>| write!(out, r#""{number:x}":"","#).unwrap();
        let manifest = Pour::json(&first, part).sized(LARGEST_MANIFEST, r#""":""}}]}"#);
        simple(place, repository, digest, &manifest.bytes());
    });
    verified(place)
}

/// An entry of a transparency log with a body of many parts.
fn rekor(place: &Place) -> Specs {
    let certificate = Certificates::make().map(|made| String::from_utf8(made.server.0).unwrap());
    let body = Pour::json(r#"{"apiVersion":"0.0.1","kind":"hashedrekord","spec":["#, empty).sized(2 << 20, "{}]}");
    let log = json!({"SignedEntryTimestamp": "AAAA", "Payload": {
        "body": STANDARD.encode(body.bytes()), "integratedTime": 1, "logIndex": 1, "logID": "00"}});
    let annotations = json!({
        "dev.cosignproject.cosign/signature": "AAAA", "dev.sigstore.cosign/certificate": certificate,
        "dev.sigstore.cosign/bundle": log.to_string(),
    });
    signed(place, |repository, digest| {
        let payload = json!({"critical": {"image": {"docker-manifest-digest": digest}, "type": "cosign container image signature"}});
        let payload = payload.to_string();
        let kind = "application/vnd.dev.cosign.simplesigning.v1+json";
        let blob = place.hostile.content(repository, None, kind, payload.as_bytes());
        let layer = json!({"mediaType": kind, "digest": blob, "size": payload.len(), "annotations": annotations});
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "layers": [layer]});
        simple(place, repository, digest, manifest.to_string().as_bytes());
    });
    let identity = json!({"issuer": ".*", "subject": ".*"});
    let verify = json!({"provider": "cosign", "matchOIDCIdentity": [identity]});
    artifacts(place, json!({ "verify": verify }))
}

/// Fifty signatures of Notation, whose headers have many parts.
fn notation(place: &Place) -> Specs {
    let headers = Pour::json(r#"{"alg":"ES256","crit":["#, empty).sized(2 << 20, "{}]}");
    let protected = URL_SAFE_NO_PAD.encode(headers.bytes());
    let envelope = json!({"payload": "", "protected": protected, "signature": "", "header": {"x5c": ["AAAA"]}});
    let envelope = envelope.to_string();
    signed(place, |repository, digest| {
        let kind = "application/jose+json";
        let blob = place.hostile.content(repository, None, kind, envelope.as_bytes());
        let entries: Vec<Json> = (0..50)
            .map(|number| {
                let manifest = json!({
                    "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": NOTATION, "annotations": {"n": number.to_string()},
                    "layers": [{"mediaType": kind, "digest": blob, "size": envelope.len()}],
                });
                let manifest = manifest.to_string();
                let signature = place.hostile.content(repository, None, MANIFEST, manifest.as_bytes());
                json!({"mediaType": MANIFEST, "artifactType": NOTATION, "digest": signature, "size": manifest.len()})
            })
            .collect();
        listed(place, repository, digest, &entries);
    });
    let statement = json!({"name": "all", "registryScopes": ["*"], "signatureVerification": {"level": "strict"},
        "trustStores": ["ca:acme"], "trustedIdentities": ["*"]});
    let policy = json!({"version": "1.0", "trustPolicies": [statement]});
    let authority = Certificates::make().map(|made| String::from_utf8(made.ca).unwrap());
    let entries = [
        ("trustpolicy.json", policy.to_string()),
        ("ca.crt", authority.unwrap_or_default()),
    ];
    place.secret(
        "notation",
        &entries.each_ref().map(|(name, text)| (*name, text.as_str())),
    );
    let verify = json!({"provider": "notation", "secretRef": {"name": "notation"}});
    artifacts(place, json!({ "verify": verify }))
}

/// The list of what refers to a digest.
fn listed(place: &Place, repository: &str, digest: &str, entries: &[Json]) {
    let list = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
    let target = format!("/v2/{repository}/referrers/{digest}");
    place.hostile.whole(&target, INDEX, list.to_string());
}

/// A trusted root as large as a Secret can be, of many parts.
fn trusted_root(place: &Place) -> Specs {
    let first = r#"{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1","tlogs":["#;
    let log = r#"{"publicKey":{"rawBytes":"","keyDetails":""},"logId":{"keyId":""}},"#;
    let last = format!("{}]}}", log.trim_end_matches(','));
    let root = Pour::new("", first, |_, out| out.extend_from_slice(log.as_bytes())).sized(1_000_000, &last);
    let root = String::from_utf8(root.bytes()).unwrap();
    place.secret("root", &[("trusted_root.json", &root)]);
    signed(place, |_, _| {});
    let identity = json!({"issuer": ".*", "subject": ".*"});
    let verify =
        json!({"provider": "cosign", "trustedRootSecretRef": {"name": "root"}, "matchOIDCIdentity": [identity]});
    artifacts(place, json!({ "verify": verify }))
}

/// A public key.
const KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt
6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==
-----END PUBLIC KEY-----
";
