//! Keys, signatures and what they are over: of commits and tags, and of images.

use bumpwright_secret::Secret;
use bumpwright_sops::{KeyService, MasterKey, read_secret};
use bumpwright_verify::cosign::{
    CosignKeys, Evidence, SimpleSignature, bundle_layer, referrers, signature_layers, verify as verify_image,
};
use bumpwright_verify::notation::{NotationTrust, Signature, envelope_layer, signatures};
use bumpwright_verify::object::{ObjectFormat, commit, header, tag};
use bumpwright_verify::sigstore::{Keyless, TrustedRoot};
use bumpwright_verify::{GitKeys, ObjectKind, openpgp, ssh, verify_object};

const NOW: i64 = 1_795_338_216;
const DIGEST: &str = "sha256:3d7196610ee3788c1a118094c74db2dcb0a17db0401f9d0698e726dc355cb86f";

fn git(first: &[u8], second: &[u8]) {
    let keys = GitKeys::from_entries([("author.asc", second), ("author.pub", second)]);
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let signed = commit(first, format);
        assert!(signed.payload.len() <= first.len() + 1);
        let _ = verify_object(&signed, ObjectKind::Commit, &keys, NOW);
    }
    let signed = tag(first);
    assert!(signed.payload.len() + signed.signature.len() <= first.len() + 1);
    let _ = verify_object(&signed, ObjectKind::Tag, &keys, NOW);
    let _ = header(first, "gpgsig");
}

fn images(first: &[u8], second: &[u8], third: &[u8]) {
    let _ = (
        referrers(first),
        bundle_layer(first),
        signatures(first),
        envelope_layer(first),
    );
    let keys = CosignKeys::from_entries([("cosign.pub", second)]);
    let layers = signature_layers(first).unwrap_or_default();
    let simple: Vec<_> = layers
        .iter()
        .map(|layer| SimpleSignature { layer, payload: third })
        .collect();
    let bundles = [first];
    let _ = verify_image(
        &keys,
        DIGEST,
        "ghcr.io/o/app",
        &Evidence {
            bundles: &bundles,
            layers: &simple,
        },
    );
    if let Ok(trust) = NotationTrust::read("trust", [("trustpolicy.json", second), ("ca.crt", third)]) {
        for media_type in ["application/jose+json", "application/cose"] {
            let _ = trust.verify(
                "ghcr.io/o/app",
                DIGEST,
                Signature {
                    media_type,
                    envelope: first,
                },
                NOW,
            );
        }
    }
    let root = TrustedRoot::read(second).unwrap_or_else(|_| TrustedRoot::public());
    let keyless = Keyless::new(root, Vec::new());
    let _ = keyless.bundle(first, DIGEST, None);
    for layer in &simple {
        let _ = keyless.layer(layer, DIGEST, None);
    }
}

/// An object or a manifest, a key or a policy, a blob.
pub fn check(input: &[u8]) {
    let (first, rest) = super::halves(input);
    let (second, third) = super::halves(rest);
    git(first, second);
    images(first, second, third);
}

/// Keys and signatures by themselves, in their armour.
pub fn armour(input: &[u8]) {
    let (first, second) = super::halves(input);
    let text = String::from_utf8_lossy(first);
    let _ = openpgp::verify(first, second, &[&text], NOW);
    let _ = ssh::verify(first, second, &[&text]);
    for names in [["a.agekey", "b.asc"], ["sops.azure-kv", "sops.aws-kms"]] {
        let Ok(keys) = read_secret([(names[0], first), (names[1], second)], "flux/sops") else {
            continue;
        };
        let enc = text.clone().into_owned();
        let _ = keys.decrypt(&MasterKey::Age {
            recipient: String::new(),
            enc: enc.clone(),
        });
        let _ = keys.decrypt(&MasterKey::Pgp {
            fp: String::new(),
            enc,
            created_at: String::new(),
        });
    }
    // A password is stretched as often as the key says.
    let secret = Secret::new(text);
    let _ = bumpwright_signing::is_openpgp(&secret);
    let _ = bumpwright_signing::openpgp(&secret, None, NOW);
    let _ = bumpwright_signing::ssh(&secret, None);
}
