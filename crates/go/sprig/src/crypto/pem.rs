//! Finds the first PEM block of a text.

use bumpwright_gostd::{Pem, decode_pem};
use bumpwright_template::{Failure, Host};
use x509_cert::der::pem::{LineEnding, encode_string};
use zeroize::Zeroizing;

/// Bytes of text that are parsed in one step.
const BYTES_A_STEP: usize = 16;
/// Upper bound of the memory of the decoded parts, as a multiple of their bytes: many small ones.
const PARTS: usize = 27;

/// The first block in the text, if there is one. The cost of parsing it is charged here.
pub(crate) fn decode<'a>(host: &mut Host<'_>, text: &'a [u8]) -> Result<Option<Pem<'a>>, Failure> {
    host.step((text.len() / BYTES_A_STEP) as u64)?;
    let block = decode_pem(text);
    if let Some(block) = &block {
        host.produce(block.bytes.len().saturating_mul(PARTS))?;
    }
    Ok(block)
}

/// The bytes in PEM.
pub(crate) fn encode(kind: &str, bytes: &[u8]) -> Result<Zeroizing<String>, Failure> {
    let text = encode_string(kind, LineEnding::LF, bytes);
    text.map(Zeroizing::new)
        .map_err(|error| Failure::new(error.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::FixedWorld;
    use bumpwright_template::Limits;

    #[test]
    fn reads_the_first_block() {
        for (text, found) in [
            ("-----BEGIN A-----\nQUI=\n-----END A-----\n", Some(("A", "AB"))),
            ("-----BEGIN A-----\r\nQUI=\r\n-----END A----- \r\n", Some(("A", "AB"))),
            (
                "x\n-----BEGIN A-----\nQUI=\n-----END A-----\n-----BEGIN B-----\nQQ==\n-----END B-----",
                Some(("A", "AB")),
            ),
            ("-----BEGIN A-----\nk: v\n\nQUI=\n-----END A-----", Some(("A", "AB"))),
            ("-----BEGIN A-----\nQ\nUI=\n-----END A-----", Some(("A", "AB"))),
            (
                "-----BEGIN A-----\n!\n-----END A-----\n-----BEGIN B-----\nQUI=\n-----END B-----",
                Some(("B", "AB")),
            ),
            ("x-----BEGIN A-----\nQUI=\n-----END A-----", None),
            ("-----BEGIN A-----\nQUI=\n-----END B-----", None),
            ("-----BEGIN A-----\n!\n-----END A-----", None),
            ("\n-----END A", None),
            ("", None),
        ] {
            let mut host = Host::new(Limits::default(), &FixedWorld);
            let block = decode(&mut host, text.as_bytes()).unwrap();
            let block = block.as_ref().map(|block| (&*block.kind, &**block.bytes));
            assert_eq!(block, found.map(|(kind, bytes)| (kind, bytes.as_bytes())), "{text:?}");
        }
    }
}
