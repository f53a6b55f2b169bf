//! Signatures of Notation, made by hand: each check has one that fails it alone. What Notation's own library makes is
//! in `tests/real/notation.rs` of the program.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bumpwright_verify::notation::{NotationTrust, Signature, Verdict};
use serde_json::{Value, json};
use sigstore::{AT, Owner, Sigstore, basic_constraints, extended_key_usage, extension, key_usage, oid, pem, tlv};

#[path = "../../../app/testkit/src/signature/sigstore.rs"]
#[allow(dead_code)]
mod sigstore;

const DIGEST: &str = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const REPOSITORY: &str = "registry.example/app";
const SIGNER: &str = "C=DE,ST=BE,O=Acme,CN=acme";
const HOUR: i64 = 3600;
const JWS: &str = "application/jose+json";

/// A signature that is wished for.
struct Wish {
    signer: Vec<Vec<u8>>,
    validity: (i64, i64),
    /// Changes the signed headers.
    headers: Box<dyn Fn(&mut Value)>,
    digest: &'static str,
    stamped: Option<i64>,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            signer: vec![
                basic_constraints(false),
                key_usage(0x80, 7),
                extended_key_usage("1.3.6.1.5.5.7.3.3"),
            ],
            validity: (AT - HOUR, AT + HOUR),
            headers: Box::new(|_| {}),
            digest: DIGEST,
            stamped: None,
        }
    }
}

impl Wish {
    fn with_headers(change: impl Fn(&mut Value) + 'static) -> Self {
        Self {
            headers: Box::new(change),
            ..Self::default()
        }
    }
}

fn authority() -> Owner {
    Owner::authority("authority", None)
}

fn envelope(wish: &Wish) -> Value {
    let root = authority();
    let leaf = Owner::valid(SIGNER, Some(&root), &wish.signer, 2, wish.validity);
    let mut headers = json!({"alg": "ES256", "cty": "application/vnd.cncf.notary.payload.v1+json",
        "crit": ["io.cncf.notary.signingScheme"], "io.cncf.notary.signingScheme": "notary.x509",
        "io.cncf.notary.signingTime": "2026-01-01T00:00:00Z"});
    (wish.headers)(&mut headers);
    let payload = json!({"targetArtifact": {"mediaType": "application/vnd.oci.image.manifest.v1+json",
        "digest": wish.digest, "size": 4}});
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let (protected, payload) = (encode(&headers), encode(&payload));
    let signature = leaf.key.sign_raw(format!("{protected}.{payload}").as_bytes());
    let chain = [&leaf, &root].map(|owner| STANDARD.encode(&owner.certificate));
    let mut unprotected = json!({"x5c": chain});
    if let Some(at) = wish.stamped {
        let token = Sigstore::of("acme").token(&signature, at);
        unprotected["io.cncf.notary.timestampSignature"] = json!(STANDARD.encode(token));
    }
    json!({"payload": payload, "protected": protected, "header": unprotected, "signature": URL_SAFE_NO_PAD.encode(signature)})
}

/// A trust policy of one statement, by default strict.
fn statement() -> Value {
    json!({"name": "all", "registryScopes": ["*"], "signatureVerification": {"level": "strict"},
        "trustStores": ["ca:acme"], "trustedIdentities": ["x509.subject:C=DE, ST=BE, O=Acme"]})
}

fn verdict_of(statement: &Value, authorities: &[&Owner], envelope: &Value, now: i64) -> String {
    let policy = json!({"version": "1.0", "trustPolicies": [statement]}).to_string();
    let pems: Vec<String> = authorities.iter().map(|owner| pem(&owner.certificate)).collect();
    let names: Vec<String> = (0..pems.len()).map(|number| format!("{number}.crt")).collect();
    let entries = names
        .iter()
        .zip(&pems)
        .map(|(name, pem)| (name.as_str(), pem.as_bytes()));
    let entries = entries.chain([("trustpolicy.json", policy.as_bytes())]);
    let envelope = envelope.to_string();
    let signature = Signature {
        media_type: JWS,
        envelope: envelope.as_bytes(),
    };
    let trust = NotationTrust::read("ns/trust", entries).unwrap();
    match trust.verify(REPOSITORY, DIGEST, signature, now) {
        Ok(Verdict::Verified) => "verified".to_owned(),
        Ok(Verdict::Ignored) => "ignored".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn verdict(wish: &Wish) -> String {
    verdict_of(&statement(), &[&authority()], &envelope(wish), AT)
}

#[test]
fn each_check_refuses_what_fails_it_alone() {
    assert_eq!(verdict(&Wish::default()), "verified");
    let header =
        |name: &'static str, value: Value| verdict(&Wish::with_headers(move |headers| headers[name] = value.clone()));
    let expiring = |at: &'static str| {
        verdict(&Wish::with_headers(move |headers| {
            headers["io.cncf.notary.expiry"] = json!(at);
            headers["crit"] = json!(["io.cncf.notary.signingScheme", "io.cncf.notary.expiry"]);
        }))
    };
    let signer = |extensions: Vec<Vec<u8>>| {
        verdict(&Wish {
            signer: extensions,
            ..Wish::default()
        })
    };
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut envelope = envelope(&Wish::default());
        change(&mut envelope);
        verdict_of(&statement(), &[&authority()], &envelope, AT)
    };
    let no_chain = "its certificates are no chain of a code signer, from its own to a root that signed itself";
    let no_header = "a signed header of the envelope is missing or invalid";
    let not_valid = "a certificate of the signature was not valid at the time of signing, or has expired and has no timestamp that is trusted";
    let other = Owner::authority("other", None);
    assert_eq!(expiring("2026-01-01T00:00:01Z"), "verified");
    let usage = || key_usage(0x80, 7);
    // Where to ask for a list of revoked certificates.
    let points = || extension("2.5.29.31", false, &tlv(0x30, &[]));
    // Where the certificate of the authority is; and where to ask whether this one is revoked.
    let access = |method: &str| {
        let uri = tlv(0x86, &[b"http://authority.example"]);
        let access = tlv(0x30, &[&tlv(0x30, &[&oid(method), &uri])]);
        signer(vec![usage(), extension("1.3.6.1.5.5.7.1.1", false, &access)])
    };
    assert_eq!(access("1.3.6.1.5.5.7.48.2"), "verified");
    assert!(access("1.3.6.1.5.5.7.48.1").contains("no OCSP or CRL server is asked"));
    for (said, expected) in [
        (
            header("alg", json!("ES384")),
            "the signature is not by the key of its certificate",
        ),
        (
            header("alg", json!("none")),
            "the signature is not by the key of its certificate",
        ),
        (
            header("cty", json!("text/plain")),
            "the envelope is not one of Notation",
        ),
        (header("crit", json!([])), no_header),
        (header("crit", Value::Null), no_header),
        (
            header(
                "crit",
                json!(["io.cncf.notary.signingScheme", "io.cncf.notary.verificationPlugin"]),
            ),
            "it has a critical header that needs a plugin",
        ),
        (header("io.cncf.notary.signingScheme", json!("notary.x508")), no_header),
        (header("io.cncf.notary.signingTime", Value::Null), no_header),
        (
            header("io.cncf.notary.expiry", json!("2027-01-01T00:00:00Z")),
            no_header,
        ),
        (expiring("2026-01-01T00:00:00Z"), no_header),
        (
            verdict(&Wish {
                digest: "sha256:00",
                ..Wish::default()
            }),
            "it is the signature of another artifact",
        ),
        (
            verdict(&Wish {
                validity: (AT + 1, AT + HOUR),
                ..Wish::default()
            }),
            not_valid,
        ),
        (
            verdict(&Wish {
                validity: (AT - HOUR, AT - 1),
                ..Wish::default()
            }),
            not_valid,
        ),
        (signer(vec![basic_constraints(true), usage()]), no_chain),
        (signer(vec![basic_constraints(false)]), no_chain),
        (signer(vec![key_usage(0xa0, 5)]), no_chain),
        (signer(vec![usage(), extended_key_usage("1.3.6.1.5.5.7.3.1")]), no_chain),
        (
            signer(vec![usage(), points()]),
            "whether its certificates are revoked cannot be known, since no OCSP or CRL server is asked; \
             signatureVerification.override.revocation may be \"log\" or \"skip\"",
        ),
        (
            changed(&|envelope| envelope["payload"] = json!(URL_SAFE_NO_PAD.encode("{}"))),
            "the signature is not by the key of its certificate",
        ),
        (
            changed(&|envelope| envelope["header"]["x5c"].as_array_mut().unwrap().truncate(1)),
            no_chain,
        ),
        (
            changed(&|envelope| envelope["header"]["x5c"].as_array_mut().unwrap().reverse()),
            no_chain,
        ),
        (changed(&|envelope| envelope["header"]["x5c"] = json!([])), no_chain),
        (
            changed(&|envelope| {
                envelope["header"]["x5c"][1] = json!(STANDARD.encode(&Owner::authority("other", None).certificate))
            }),
            no_chain,
        ),
        (
            verdict_of(&statement(), &[&other], &envelope(&Wish::default()), AT),
            "none of its certificates is trusted (trustStores)",
        ),
        (
            {
                let mut statement = statement();
                statement["trustedIdentities"] = json!(["x509.subject:C=DE, ST=BE, O=Other"]);
                verdict_of(&statement, &[&authority()], &envelope(&Wish::default()), AT)
            },
            "its signer is not trusted (trustedIdentities)",
        ),
        (
            {
                let mut statement = statement();
                statement["trustStores"] = json!(["signingAuthority:acme"]);
                verdict_of(&statement, &[&authority()], &envelope(&Wish::default()), AT)
            },
            "none of its certificates is trusted (trustStores)",
        ),
    ] {
        assert_eq!(said, expected);
    }
}

#[test]
fn levels_pass_over_what_they_do_not_enforce() {
    let with = |verification: Value| {
        let mut statement = statement();
        statement["signatureVerification"] = verification;
        statement
    };
    let other = Owner::authority("other", None);
    let expired = envelope(&Wish {
        validity: (AT - HOUR, AT - 1),
        ..Wish::default()
    });
    let fresh = envelope(&Wish::default());
    let ca = authority();
    for (level, authority, envelope, expected) in [
        (json!({"level": "permissive"}), &ca, &expired, "verified"),
        (
            json!({"level": "permissive"}),
            &other,
            &fresh,
            "none of its certificates is trusted (trustStores)",
        ),
        (json!({"level": "audit"}), &other, &fresh, "ignored"),
        (json!({"level": "audit"}), &ca, &fresh, "verified"),
        (json!({"level": "skip"}), &ca, &fresh, "ignored"),
        (
            json!({"level": "strict", "override": {"authenticTimestamp": "log"}}),
            &ca,
            &expired,
            "verified",
        ),
    ] {
        assert_eq!(
            verdict_of(&with(level.clone()), &[authority], envelope, AT),
            expected,
            "{level}"
        );
    }
    // Even an audit wants the signature itself.
    let mut bad = fresh;
    bad["payload"] = json!(URL_SAFE_NO_PAD.encode("{}"));
    let said = verdict_of(&with(json!({"level": "audit"})), &[&ca], &bad, AT);
    assert_eq!(said, "the signature is not by the key of its certificate");
}

#[test]
fn a_timestamp_keeps_a_signature_valid() {
    let stampers = Sigstore::of("acme").stamper_root;
    let mut statement = statement();
    statement["trustStores"] = json!(["ca:acme", "tsa:acme"]);
    let late = AT + 24 * HOUR;
    let stamped = |at: Option<i64>| {
        envelope(&Wish {
            stamped: at,
            ..Wish::default()
        })
    };
    let said = |envelope: &Value, authorities: &[&Owner]| verdict_of(&statement, authorities, envelope, late);
    let not_valid = "a certificate of the signature was not valid at the time of signing, or has expired and has no timestamp that is trusted";
    assert_eq!(said(&stamped(Some(AT)), &[&authority(), &stampers]), "verified");
    assert_eq!(said(&stamped(None), &[&authority(), &stampers]), not_valid);
    assert_eq!(said(&stamped(Some(late)), &[&authority(), &stampers]), not_valid);
    assert_eq!(said(&stamped(Some(AT)), &[&authority()]), not_valid);
    // That of another signature.
    let mut mixed = stamped(Some(AT));
    let token = Sigstore::of("acme").token(b"another", AT);
    mixed["header"]["io.cncf.notary.timestampSignature"] = json!(STANDARD.encode(token));
    assert_eq!(said(&mixed, &[&authority(), &stampers]), not_valid);
    // The word of a signing authority.
    let mut by_authority = self::statement();
    by_authority["trustStores"] = json!(["signingAuthority:acme"]);
    let vouched = envelope(&Wish::with_headers(|headers| {
        headers["io.cncf.notary.signingScheme"] = json!("notary.x509.signingAuthority");
        headers["io.cncf.notary.authenticSigningTime"] = json!("2026-01-01T00:00:00Z");
        headers.as_object_mut().unwrap().remove("io.cncf.notary.signingTime");
        headers["crit"] = json!(["io.cncf.notary.signingScheme", "io.cncf.notary.authenticSigningTime"]);
    }));
    assert_eq!(verdict_of(&by_authority, &[&authority()], &vouched, late), "verified");
}

#[test]
fn what_is_missing_in_the_secret_is_told() {
    let certificate = pem(&authority().certificate);
    let policy = json!({"version": "1.0", "trustPolicies": [statement()]}).to_string();
    let said = |entries: &[(&str, &str)]| {
        let entries = entries.iter().map(|(name, text)| (*name, text.as_bytes()));
        NotationTrust::read("ns/trust", entries).unwrap_err().to_string()
    };
    assert_eq!(
        said(&[("ca.crt", &certificate)]),
        "'trustpolicy.json' not found in secret 'ns/trust'"
    );
    assert_eq!(
        said(&[("trustpolicy.json", &policy)]),
        "no certificates found in secret 'ns/trust'"
    );
    assert_eq!(
        said(&[("trustpolicy.json", &policy), ("ca.pem", "x")]),
        "failed to parse certificate 'ca.pem'"
    );
    assert!(
        said(&[("trustpolicy.json", "x"), ("ca.crt", &certificate)])
            .starts_with("error occurred while parsing trustpolicy.json")
    );
}
