//! The first block of a text in PEM.

use bumpwright_template::{Failure, Host};
use memchr::memmem;
use x509_cert::der::pem::{Decoder, LineEnding, encode_string};
use zeroize::Zeroizing;

/// A block: what it says it is, and what is in it, which may be a key.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub kind: &'a str,
    pub bytes: Zeroizing<Vec<u8>>,
}

const END: &[u8] = b"\n-----END ";
/// Bytes of text that are read in one step.
const BYTES_A_STEP: usize = 16;
/// The parts of what is decoded take this much more room than the text, at the worst: many small ones.
const PARTS: usize = 20;

/// The first block in the text, when it has one. What reading its parts will take is charged here.
pub(super) fn decode<'a>(host: &mut Host<'_>, text: &'a [u8]) -> Result<Option<Block<'a>>, Failure> {
    host.step((text.len() / BYTES_A_STEP) as u64)?;
    let Some(first) = first(text) else { return Ok(None) };
    host.produce(first.len().saturating_mul(PARTS))?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(first.len()));
    let block = Decoder::new_detect_wrap(first).and_then(|mut decoder| {
        decoder.decode_to_end(&mut bytes)?;
        Ok(decoder.type_label())
    });
    Ok(block.ok().map(|kind| Block { kind, bytes }))
}

/// The text up to the line that ends its first block: files may have more blocks, the reader knows of one alone.
fn first(text: &[u8]) -> Option<&[u8]> {
    let end = memmem::find(text, END)? + 1;
    let line = memchr::memchr(b'\n', text.get(end..)?).unwrap_or(text.len() - end);
    Some(text.get(..end + line)?.trim_ascii_end())
}

/// The bytes in PEM.
pub(super) fn encode(kind: &str, bytes: &[u8]) -> Result<Zeroizing<String>, Failure> {
    let text = encode_string(kind, LineEnding::LF, bytes);
    text.map(Zeroizing::new)
        .map_err(|error| Failure::new(error.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::trial::StillWorld;
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
            ("x-----BEGIN A-----\nQUI=\n-----END A-----", None),
            ("-----BEGIN A-----\nQUI=\n-----END B-----", None),
            ("-----BEGIN A-----\n!\n-----END A-----", None),
            ("\n-----END A", None),
            ("", None),
        ] {
            let mut host = Host::new(Limits::default(), &StillWorld);
            let block = decode(&mut host, text.as_bytes()).unwrap();
            let block = block.as_ref().map(|block| (block.kind, &**block.bytes));
            assert_eq!(block, found.map(|(kind, bytes)| (kind, bytes.as_bytes())), "{text:?}");
        }
    }
}
