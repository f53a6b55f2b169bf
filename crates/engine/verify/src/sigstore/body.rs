//! What an entry of a transparency log says: who signed what (Rekor's types `hashedrekord`, `dsse` and `intoto`).

use base64::Engine as _;
use serde::Deserialize;
use serde_json::Value;

use super::json::hex;
use super::material::Subject;
use crate::armour::BASE64;
use bumpwright_gostd::decode_pem;

/// Greatest size of an entry in bytes: they have digests, a signature and a certificate. A larger one is of nothing
/// that is verified here.
const MAX_BODY: usize = 256 << 10;

/// What an entry names by.
struct Claim {
    /// The digest of what was signed, and what it is of.
    digest: Vec<u8>,
    of: Of,
    signature: Vec<u8>,
    /// The certificate, in DER.
    verifier: Vec<u8>,
}

/// What a digest is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// The bytes that were signed.
    Signed,
    Payload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    kind: String,
    api_version: String,
    spec: Value,
}

/// Whether an entry of a log is of this signature, by this certificate, over this content.
pub(super) fn is_of(body: &[u8], subject: &Subject<'_>) -> bool {
    claim(body).is_some_and(|claim| {
        let digest = match claim.of {
            Of::Signed => Some(subject.hash.digest(&subject.signed)),
            Of::Payload => subject
                .payload
                .map(|payload| crate::digest::Hash::Sha256.digest(payload)),
        };
        digest.as_ref() == Some(&claim.digest)
            && claim.signature == subject.signature
            && claim.verifier == subject.verifier
    })
}

/// Whether an entry is of a log of the second version, where no time is signed.
pub(super) fn is_second_version(body: &[u8]) -> bool {
    read(body).is_some_and(|body| matches!((&*body.kind, &*body.api_version), ("hashedrekord" | "dsse", "0.0.2")))
}

/// An entry, which takes many times its bytes in memory.
fn read(body: &[u8]) -> Option<Body> {
    if body.len() <= MAX_BODY {
        serde_json::from_slice(body).ok()
    } else {
        None
    }
}

fn claim(body: &[u8]) -> Option<Claim> {
    let body = read(body)?;
    let at = |pointer: &str| body.spec.pointer(pointer)?.as_str();
    let base64 = |pointer: &str| BASE64.decode(at(pointer)?).ok();
    let pem = |text: &[u8]| Some(decode_pem(text)?.bytes.to_vec());
    let algorithm = |pointer: &str, name: &str| at(pointer).filter(|found| *found == name);
    let only = |pointer: &str| {
        Some(()).filter(|()| {
            body.spec
                .pointer(pointer)
                .and_then(Value::as_array)
                .is_some_and(|all| all.len() == 1)
        })
    };
    match (&*body.kind, &*body.api_version) {
        ("hashedrekord", "0.0.1") => Some(Claim {
            digest: algorithm("/data/hash/algorithm", "sha256").and_then(|_| hex(at("/data/hash/value")?))?,
            of: Of::Signed,
            signature: base64("/signature/content")?,
            verifier: pem(&base64("/signature/publicKey/content")?)?,
        }),
        ("dsse", "0.0.1") => Some(Claim {
            digest: algorithm("/payloadHash/algorithm", "sha256").and_then(|_| hex(at("/payloadHash/value")?))?,
            of: Of::Payload,
            signature: only("/signatures").and_then(|()| base64("/signatures/0/signature"))?,
            verifier: pem(&base64("/signatures/0/verifier")?)?,
        }),
        ("intoto", "0.0.2") => {
            let list = "/content/envelope/signatures";
            Some(Claim {
                digest: algorithm("/content/payloadHash/algorithm", "sha256")
                    .and_then(|_| hex(at("/content/payloadHash/value")?))?,
                of: Of::Payload,
                // Twice in base64.
                signature: only(list)
                    .and_then(|()| BASE64.decode(base64("/content/envelope/signatures/0/sig")?).ok())?,
                verifier: pem(&base64("/content/envelope/signatures/0/publicKey")?)?,
            })
        }
        ("hashedrekord", "0.0.2") => Some(Claim {
            digest: base64("/hashedRekordV002/data/digest")?,
            of: Of::Signed,
            signature: base64("/hashedRekordV002/signature/content")?,
            verifier: base64("/hashedRekordV002/signature/verifier/x509Certificate/rawBytes")?,
        }),
        ("dsse", "0.0.2") => Some(Claim {
            digest: algorithm("/dsseV002/payloadHash/algorithm", "SHA2_256")
                .and_then(|_| base64("/dsseV002/payloadHash/digest"))?,
            of: Of::Payload,
            signature: only("/dsseV002/signatures").and_then(|()| base64("/dsseV002/signatures/0/content"))?,
            verifier: base64("/dsseV002/signatures/0/verifier/x509Certificate/rawBytes")?,
        }),
        _ => None,
    }
}
