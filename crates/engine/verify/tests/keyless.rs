//! Keyless signatures, made with a Sigstore of the tests' own: each check has a signature that fails it alone.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bumpwright_re2::Regexp;
use bumpwright_verify::cosign::{Attestation, SimpleSignature, signature_layers};
use bumpwright_verify::sigstore::{Identity, Keyless, Pattern, TrustedRoot};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sigstore::{AT, ISSUER, Sigstore, Wish, hex, provenance, simple_payload, statement};

#[path = "../../../app/testkit/src/signature/sigstore.rs"]
#[allow(dead_code)] // suites of the program use the rest
mod sigstore;

const DIGEST: &str = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const OTHER_DIGEST: &str = "sha256:60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752";

fn world() -> Sigstore {
    Sigstore::of("acme")
}

fn found(pattern: &str) -> Pattern {
    Pattern::Found(Regexp::new(pattern).unwrap())
}

fn identity() -> Identity {
    Identity {
        issuer: Pattern::Exactly(ISSUER.to_owned()),
        subject: found("^https://github.com/acme/app/.*@refs/heads/main$"),
    }
}

fn verifier(root: &Value, identities: Vec<Identity>) -> Keyless {
    Keyless::new(TrustedRoot::read(root.to_string().as_bytes()).unwrap(), identities)
}

fn verdict_by(verifier: &Keyless, bundle: &Value, wanted: Option<&Attestation>) -> String {
    match verifier.bundle(bundle.to_string().as_bytes(), DIGEST, wanted) {
        Ok(()) => "verified".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// The verdict on a bundle with a trusted root and identities.
fn verdict_of(root: &Value, identities: Vec<Identity>, bundle: &Value, wanted: Option<&Attestation>) -> String {
    verdict_by(&verifier(root, identities), bundle, wanted)
}

fn usual() -> Keyless {
    verifier(&world().trusted_root(), vec![identity()])
}

fn verdict(bundle: &Value) -> String {
    verdict_by(&usual(), bundle, None)
}

fn signed(wish: &Wish) -> Value {
    world().bundle(&statement(DIGEST), wish)
}

/// What a change makes of a bundle that is verified.
fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut bundle = signed(&Wish::default());
    assert_eq!(verdict(&bundle), "verified");
    change(&mut bundle);
    verdict(&bundle)
}

#[test]
fn signatures_are_verified_however_their_time_is_proven() {
    for (name, wish) in [
        ("a log's promise", Wish::default()),
        (
            "a timestamp and a proof",
            Wish {
                promise: false,
                stamped: true,
                ..Wish::default()
            },
        ),
        (
            "a log of the second version",
            Wish {
                second: true,
                stamped: true,
                ..Wish::default()
            },
        ),
    ] {
        assert_eq!(verdict(&signed(&wish)), "verified", "{name}");
    }
    let old = |bundle: &mut Value| {
        bundle["mediaType"] = json!("application/vnd.dev.sigstore.bundle+json;version=0.1");
        let material = &mut bundle["verificationMaterial"];
        let certificate = material["certificate"].take();
        material.as_object_mut().unwrap().remove("certificate");
        material["x509CertificateChain"] = json!({"certificates": [certificate]});
        material["tlogEntries"][0]
            .as_object_mut()
            .unwrap()
            .remove("inclusionProof");
    };
    assert_eq!(changed(old), "verified");
}

#[test]
fn each_check_refuses_what_fails_it_alone() {
    let wished = |wish: Wish| verdict(&signed(&wish));
    let entry = "/verificationMaterial/tlogEntries/0";
    let with = |place: &str, value: Value| {
        let place = format!("{entry}{place}");
        changed(|bundle| *bundle.pointer_mut(&place).unwrap() = value)
    };
    let other = Sigstore::of("mallory").bundle(&statement(DIGEST), &Wish::default());
    let at = |bundle: &Value, place: &str| bundle.pointer(&format!("{entry}{place}")).unwrap().clone();
    let second = Wish {
        at: AT + 10,
        ..Wish::default()
    };
    let elsewhere = signed(&second);
    for (said, expected) in [
        (
            wished(Wish {
                subject: "https://github.com/mallory/app@refs/heads/main".to_owned(),
                ..Wish::default()
            }),
            "it is by \"https://github.com/mallory/app@refs/heads/main\" (issuer \"https://token.actions.githubusercontent.com\"), who is not accepted",
        ),
        (
            wished(Wish {
                issuer: "https://issuer.example".to_owned(),
                ..Wish::default()
            }),
            "it is by \"https://github.com/acme/app/.github/workflows/release.yaml@refs/heads/main\" (issuer \"https://issuer.example\"), who is not accepted",
        ),
        // The certificate had expired when it signed, or was not valid yet.
        (
            wished(Wish {
                validity: (600, -60),
                ..Wish::default()
            }),
            "a certificate of the chain was not valid at the time of signing",
        ),
        (
            wished(Wish {
                validity: (-60, 600),
                ..Wish::default()
            }),
            "a certificate of the chain was not valid at the time of signing",
        ),
        (
            wished(Wish {
                usage: "1.3.6.1.5.5.7.3.1",
                ..Wish::default()
            }),
            "the certificate is not for this use (its extended key usages)",
        ),
        (
            wished(Wish {
                certificate_logged: false,
                ..Wish::default()
            }),
            "its certificate has no timestamp of a log of certificates (SCT)",
        ),
        (
            wished(Wish {
                proof: false,
                ..Wish::default()
            }),
            "the inclusion proof of the transparency log is missing",
        ),
        (
            wished(Wish {
                promise: false,
                ..Wish::default()
            }),
            "nobody has signed the time: neither the transparency log nor a timestamp authority of the trusted root",
        ),
        // The log does not sign times before 2025 with this key.
        (
            wished(Wish {
                at: AT - 400 * 86_400,
                ..Wish::default()
            }),
            "the key of the transparency log was not in use at the time of the entry",
        ),
        (verdict(&other), "no transparency log of the trusted root has it"),
        // Another entry of the same log, with all of its proofs.
        (
            with("", at(&elsewhere, "")),
            "the entry of the transparency log is of another signature",
        ),
        // A proof of another entry, or a false time.
        (
            with("/inclusionProof/hashes/0", json!(STANDARD.encode([0; 32]))),
            "the inclusion proof does not lead from the entry to the root of the transparency log",
        ),
        (
            with("/inclusionProof/logIndex", json!("3")),
            "the inclusion proof does not lead from the entry to the root of the transparency log",
        ),
        (
            with("/inclusionProof/hashes", json!([])),
            "the inclusion proof does not lead from the entry to the root of the transparency log",
        ),
        (
            with("/inclusionProof/checkpoint", at(&other, "/inclusionProof/checkpoint")),
            "the checkpoint is not signed by the key of the transparency log",
        ),
        (
            with("/integratedTime", json!((AT + 1).to_string())),
            "the signed entry timestamp is not by the key of the transparency log",
        ),
        (
            with("/inclusionPromise", at(&other, "/inclusionPromise")),
            "the signed entry timestamp is not by the key of the transparency log",
        ),
        (
            verdict(&world().bundle(&statement(OTHER_DIGEST), &Wish::default())),
            "it is the signature of another image",
        ),
        (
            changed(|bundle| bundle["mediaType"] = json!("application/vnd.dev.sigstore.bundle.v0.4+json")),
            "it is not a bundle of Sigstore (0.1 to 0.3) with one signed statement",
        ),
        (
            changed(|bundle| bundle["verificationMaterial"]["certificate"] = Value::Null),
            "it was made with a key, not with a certificate",
        ),
        (
            changed(|bundle| bundle["verificationMaterial"]["certificate"]["rawBytes"] = json!("AAAA")),
            "its certificate cannot be read",
        ),
        (
            changed(|bundle| bundle["verificationMaterial"]["tlogEntries"] = json!([])),
            "no transparency log of the trusted root has it",
        ),
        (
            changed(|bundle| {
                let entry = bundle["verificationMaterial"]["tlogEntries"][0].clone();
                bundle["verificationMaterial"]["tlogEntries"] = vec![entry; 33].into();
            }),
            "it has more entries of logs, or timestamps, than are looked at",
        ),
    ] {
        assert_eq!(said, expected);
    }
}

#[test]
fn timestamps_are_of_the_signature_and_by_a_known_authority() {
    let wish = Wish {
        promise: false,
        stamped: true,
        ..Wish::default()
    };
    let place = "/verificationMaterial/timestampVerificationData/rfc3161Timestamps/0/signedTimestamp";
    let (verifier, bundle) = (usual(), signed(&wish));
    let stamped = |stamp: Vec<u8>| {
        let mut bundle = bundle.clone();
        *bundle.pointer_mut(place).unwrap() = json!(STANDARD.encode(stamp));
        verdict_by(&verifier, &bundle, None)
    };
    let signature = bundle["dsseEnvelope"]["signatures"][0]["sig"].as_str().unwrap();
    let signature = STANDARD.decode(signature).unwrap();
    assert_eq!(stamped(world().stamp(&signature, AT)), "verified");
    let wrong = "its timestamp is not of this signature, or not by a timestamp authority of the trusted root";
    assert_eq!(stamped(world().stamp(b"another signature", AT)), wrong);
    assert_eq!(stamped(Sigstore::of("mallory").stamp(&signature, AT)), wrong);
    assert_eq!(stamped(b"no timestamp".to_vec()), wrong);
    // Any flipped bit, wherever it is: some in each part.
    let good = world().stamp(&signature, AT);
    for at in (0..good.len()).step_by(3) {
        let mut bad = good.clone();
        bad[at] ^= 0x01;
        let said = stamped(bad);
        // The certificate is looked up in the trusted root, and the status is a number of the response.
        assert!(
            said == wrong || said == "verified" || said.contains("not valid at the time"),
            "{at}: {said}"
        );
    }
    // Beside a time that the log has signed, one of an unknown authority is passed over.
    let mut both = signed(&Wish {
        stamped: true,
        ..Wish::default()
    });
    let stamp = STANDARD.encode(Sigstore::of("mallory").stamp(&signature, AT));
    *both.pointer_mut(place).unwrap() = json!(stamp);
    assert_eq!(verdict(&both), "verified");
    // Signed by the authority, after the certificate had expired.
    let late = stamped(world().stamp(&signature, AT + 3600));
    assert_eq!(late, "a certificate of the chain was not valid at the time of signing");
}

#[test]
fn authorities_and_logs_of_others_do_not_count() {
    let mallory = Sigstore::of("mallory");
    let bundle = signed(&Wish::default());
    let theirs = mallory.trusted_root();
    for (part, expected) in [
        (
            "certificateAuthorities",
            "the certificate was not issued by an authority that is trusted",
        ),
        ("tlogs", "no transparency log of the trusted root has it"),
        (
            "ctlogs",
            "the timestamp (SCT) of its certificate is not by a log of certificates of the trusted root",
        ),
    ] {
        let mut root = world().trusted_root();
        root[part] = theirs[part].clone();
        assert_eq!(verdict_of(&root, vec![identity()], &bundle, None), expected, "{part}");
    }
    // The same log by its identifier, with another key.
    let mut root = world().trusted_root();
    root["tlogs"][0]["publicKey"] = theirs["tlogs"][0]["publicKey"].clone();
    let said = verdict_of(&root, vec![identity()], &bundle, None);
    assert_eq!(
        said,
        "the signed entry timestamp is not by the key of the transparency log"
    );
    // Without logs of certificates in the trusted root none is asked for; without identities none is accepted.
    let mut root = world().trusted_root();
    root["ctlogs"] = json!([]);
    let unseen = signed(&Wish {
        certificate_logged: false,
        ..Wish::default()
    });
    assert_eq!(verdict_of(&root, vec![identity()], &unseen, None), "verified");
    assert!(verdict_of(&root, Vec::new(), &unseen, None).ends_with(", who is not accepted"));
    // An authority is trusted for a while.
    let mut root = world().trusted_root();
    root["certificateAuthorities"][0]["validFor"]["end"] = json!("2025-12-31T00:00:00Z");
    let said = verdict_of(&root, vec![identity()], &bundle, None);
    assert_eq!(said, "a certificate of the chain was not valid at the time of signing");
}

#[test]
fn any_flipped_bit_of_the_envelope_is_refused() {
    let bundle = signed(&Wish::default());
    let payload = STANDARD
        .decode(bundle["dsseEnvelope"]["payload"].as_str().unwrap())
        .unwrap();
    let verifier = usual();
    for at in (0..payload.len()).step_by(5) {
        let mut bad = payload.clone();
        bad[at] ^= 0x04;
        let mut bundle = bundle.clone();
        bundle["dsseEnvelope"]["payload"] = json!(STANDARD.encode(bad));
        assert_eq!(
            verdict_by(&verifier, &bundle, None),
            "the entry of the transparency log is of another signature",
            "{at}"
        );
    }
    // The log has an entry of it, but the key did not sign it: who may write to the log may do so.
    let world = world();
    let wish = Wish {
        stamped: true,
        ..Wish::default()
    };
    let mut bundle = world.bundle(&statement(DIGEST), &wish);
    let payload = statement(DIGEST).to_string().replace("cosign/sign", "cosign/sing");
    let signature = bundle["dsseEnvelope"]["signatures"][0]["sig"].clone();
    let verifier = bundle["verificationMaterial"]["certificate"]["rawBytes"]
        .as_str()
        .unwrap();
    let verifier = STANDARD.encode(sigstore::pem(&STANDARD.decode(verifier).unwrap()));
    let body = json!({"apiVersion": "0.0.1", "kind": "dsse", "spec": {
        "payloadHash": {"algorithm": "sha256", "value": hex(&Sha256::digest(&payload))},
        "signatures": [{"signature": signature, "verifier": verifier}]}});
    bundle["dsseEnvelope"]["payload"] = json!(STANDARD.encode(&payload));
    bundle["verificationMaterial"]["tlogEntries"] = json!([world.entry(&body, &wish)]);
    assert_eq!(verdict(&bundle), "the signature is not by the key of its certificate");
}

#[test]
fn provenance_is_of_the_image_and_by_the_builder() {
    let builder = "https://github.com/slsa-framework/slsa-github-generator@v2";
    let wanted = |builder: Option<&str>| Attestation {
        builder: builder.map(str::to_owned),
    };
    let said = |statement: &Value, wanted: &Attestation| {
        let bundle = world().bundle(statement, &Wish::default());
        verdict_of(&world().trusted_root(), vec![identity()], &bundle, Some(wanted))
    };
    let mut old = provenance(DIGEST, builder);
    old["predicateType"] = json!("https://slsa.dev/provenance/v0.2");
    old["predicate"] = json!({"builder": {"id": builder}});
    for (statement, wanted, expected) in [
        (provenance(DIGEST, builder), wanted(Some(builder)), "verified"),
        (provenance(DIGEST, builder), wanted(None), "verified"),
        (old, wanted(Some(builder)), "verified"),
        (
            provenance(DIGEST, "https://mallory.example"),
            wanted(Some(builder)),
            "its provenance is of another builder",
        ),
        (
            provenance(OTHER_DIGEST, builder),
            wanted(Some(builder)),
            "it is the signature of another image",
        ),
        (
            statement(DIGEST),
            wanted(None),
            "it is not a provenance of SLSA (0.2 or 1)",
        ),
    ] {
        assert_eq!(said(&statement, &wanted), expected, "{statement}");
    }
}

/// The verdict on a signature of cosign 2 with these annotations.
fn simple(content: &str, annotations: &Value) -> String {
    let digest = format!("sha256:{}", hex(&Sha256::digest(content)));
    let manifest = json!({"layers": [{"digest": digest, "size": content.len(), "annotations": annotations}]});
    let layers = signature_layers(manifest.to_string().as_bytes()).unwrap();
    let layer = SimpleSignature {
        layer: &layers[0],
        payload: content.as_bytes(),
    };
    let root = TrustedRoot::read(world().trusted_root().to_string().as_bytes()).unwrap();
    match Keyless::new(root, vec![identity()]).layer(&layer, DIGEST, None) {
        Ok(()) => "verified".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn signatures_of_cosign_2_have_the_same_proofs_in_annotations() {
    let content = simple_payload(DIGEST);
    let annotated = |wish: &Wish| world().annotations(content.as_bytes(), wish);
    assert_eq!(simple(&content, &annotated(&Wish::default())), "verified");
    assert_eq!(
        simple(
            &content,
            &annotated(&Wish {
                stamped: true,
                ..Wish::default()
            })
        ),
        "verified"
    );
    let without = |key: &str| {
        let mut annotations = annotated(&Wish::default());
        annotations.as_object_mut().unwrap().remove(key);
        simple(&content, &annotations)
    };
    assert_eq!(
        without("dev.sigstore.cosign/bundle"),
        "no transparency log of the trusted root has it"
    );
    assert_eq!(
        without("dev.sigstore.cosign/certificate"),
        "it was made with a key, not with a certificate"
    );
    assert_eq!(
        without("dev.cosignproject.cosign/signature"),
        "the signature is not by the key of its certificate"
    );
    // Of another image: first with a signature of its own, then with one that is not its own.
    let other = simple_payload(OTHER_DIGEST);
    let annotations = world().annotations(other.as_bytes(), &Wish::default());
    assert_eq!(simple(&other, &annotations), "it is the signature of another image");
    assert_eq!(
        simple(&content, &annotations),
        "the entry of the transparency log is of another signature"
    );
    let late = Wish {
        validity: (600, -60),
        ..Wish::default()
    };
    assert_eq!(
        simple(&content, &annotated(&late)),
        "a certificate of the chain was not valid at the time of signing"
    );
}

#[test]
fn what_is_no_trusted_root_is_told() {
    let said = |change: &dyn Fn(&mut Value)| {
        let mut root = world().trusted_root();
        change(&mut root);
        match TrustedRoot::read(root.to_string().as_bytes()) {
            Ok(_) => "read".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(said(&|_| {}), "read");
    let no_key = |root: &mut Value| root["tlogs"][0]["publicKey"]["rawBytes"] = json!("AAAA");
    assert_eq!(said(&no_key), "tlogs[0] of the trusted root cannot be read");
    let no_chain = |root: &mut Value| root["certificateAuthorities"][0]["certChain"] = json!({});
    assert_eq!(
        said(&no_chain),
        "certificateAuthorities[0] of the trusted root cannot be read"
    );
    let nobody = |root: &mut Value| root["certificateAuthorities"] = json!([]);
    assert_eq!(said(&nobody), "the trusted root has no certificateAuthorities");
    // A key of a kind to come: that log does not count.
    let new = |root: &mut Value| root["tlogs"][0]["publicKey"]["keyDetails"] = json!("ML_DSA_65");
    assert_eq!(said(&new), "the trusted root has no tlogs");
    let other = |root: &mut Value| root["mediaType"] = json!("application/json");
    assert_eq!(
        said(&other),
        "the trusted root's mediaType is not application/vnd.dev.sigstore.trustedroot"
    );
    assert!(TrustedRoot::read(b"[]").is_err());
}

/// npm's package sigstore 2.0.0, as Sigstore's own instance has logged it in August 2023 (`fixtures/verify/README.md`).
#[test]
fn the_trusted_root_that_ships_verifies_what_the_public_has_signed() {
    const BUNDLE: &str = include_str!("../../../../fixtures/verify/sigstore-js.json");
    let digest = "sha512:46d4e2f74c4877316640000a6fdf8a8b59f1e0847667973e9859f774dd31b8f1e0937813b777fb66a2ac67d50540fe34640966eee9fc2ccca387082b4c85cd3c";
    let said = |bundle: &str, digest: &str, subject: &str, builder: &str| {
        let identity = Identity {
            issuer: Pattern::Exactly(ISSUER.to_owned()),
            subject: found(subject),
        };
        let wanted = Attestation {
            builder: Some(builder.to_owned()),
        };
        match Keyless::new(TrustedRoot::public(), vec![identity]).bundle(bundle.as_bytes(), digest, Some(&wanted)) {
            Ok(()) => "verified".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    let subject = "^https://github.com/sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/main$";
    let builder = "https://github.com/actions/runner/github-hosted";
    assert_eq!(said(BUNDLE, digest, subject, builder), "verified");
    assert_eq!(
        said(BUNDLE, digest, subject, "https://other.example"),
        "its provenance is of another builder"
    );
    assert_eq!(
        said(BUNDLE, DIGEST, subject, builder),
        "it is the signature of another image"
    );
    let newer = BUNDLE.replace("bundle+json;version=0.1", "bundle.v0.3+json");
    assert_eq!(said(&newer, digest, subject, builder), "verified");
    let late = BUNDLE.replace("\"1692374735\"", "\"1692374736\"");
    let unsigned = "the signed entry timestamp is not by the key of the transparency log";
    assert_eq!(said(&late, digest, subject, builder), unsigned);
}
