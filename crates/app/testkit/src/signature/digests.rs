//! Digests and signatures as servers write them.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `sha256:HEX` of some bytes.
pub fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// `sha256=HEX`: the signature of a webhook of GitHub's (GitHub, *Validating webhook deliveries*).
pub fn github_signature(token: &str, body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(token.as_bytes()).unwrap();
    format!("sha256={}", hex(&mac.chain_update(body).finalize().into_bytes()))
}
