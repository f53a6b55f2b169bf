//! PEM, parsed like Go's `encoding/pem`.

use std::borrow::Cow;

use memchr::memmem;
use zeroize::Zeroizing;

use crate::{Base64, decode_base64};
use bumpwright_text::Parts;

/// A decoded PEM block (RFC 7468).
#[derive(Debug)]
pub struct Pem<'a> {
    /// The label after `BEGIN`.
    pub kind: Cow<'a, str>,
    /// The content, which may be a key.
    pub bytes: Zeroizing<Vec<u8>>,
}

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

/// The first valid block of a text, whatever precedes it: `pem.Decode`. Headers are skipped.
#[must_use]
pub fn decode_pem(text: &[u8]) -> Option<Pem<'_>> {
    let mut from = 0;
    loop {
        let end = from + memmem::find(text.get(from..)?, END)?;
        let trailer = end + END.len();
        // The last line that begins a block before one that ends it.
        let begin = memmem::rfind(text.get(from..end)?, BEGIN).map(|at| from + at);
        let begin = begin.filter(|at| *at == from || text.get(at - 1) == Some(&b'\n'));
        if let Some(begin) = begin {
            let (kind, body) = line(text, begin + BEGIN.len());
            if let Some(kind) = kind.strip_suffix(DASHES) {
                let start = after_headers(text, body)?;
                if start > trailer {
                    return None;
                }
                // An empty block has one line break between its lines; after headers there is one more.
                let has_room = start == body || start <= end;
                if has_room
                    && closes(text, trailer, kind)
                    && let Some(bytes) = decoded(text.part(start.min(end)..end))
                {
                    let kind = String::from_utf8_lossy(kind);
                    return Some(Pem { kind, bytes });
                }
            }
        }
        from = trailer;
    }
}

/// The line that begins here, without trailing blanks, and the start of the next one.
fn line(text: &[u8], at: usize) -> (&[u8], usize) {
    let rest = text.part(at..);
    let (line, next) = match memchr::memchr(b'\n', rest) {
        Some(length) => (rest.part(..length), at + length + 1),
        None => (rest, text.len()),
    };
    let line = if next == text.len() && !text.ends_with(b"\n") {
        line
    } else {
        line.strip_suffix(b"\r").unwrap_or(line)
    };
    let blanks = line
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    (line.part(..line.len() - blanks), next)
}

/// The start of the first line without a colon; `None` when the text ends before.
fn after_headers(text: &[u8], mut at: usize) -> Option<usize> {
    while at < text.len() {
        let (header, next) = line(text, at);
        if !header.contains(&b':') {
            return Some(at);
        }
        at = next;
    }
    None
}

/// Whether the label and dashes follow, and nothing else.
fn closes(text: &[u8], trailer: usize, kind: &[u8]) -> bool {
    let rest = text.get(trailer..).and_then(|rest| rest.strip_prefix(kind));
    let rest = rest.and_then(|rest| rest.strip_prefix(DASHES));
    rest.is_some_and(|rest| line(rest, 0).0.is_empty())
}

fn decoded(content: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let digits = content.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\t'));
    let mut base64 = Zeroizing::new(Vec::with_capacity(content.len()));
    base64.extend(digits);
    let mut bytes = Zeroizing::new(Vec::new());
    decode_base64(&base64, Base64::Standard, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results of Go 1.26, which also agreed on 71,072 random texts made of such pieces.
    #[test]
    fn finds_the_block_that_go_finds() {
        for (text, found) in [
            ("-----BEGIN A-----\nQUI=\n-----END A-----\n", Some(("A", "AB"))),
            ("-----BEGIN A-----\r\nQUI=\r\n-----END A----- \r\nx", Some(("A", "AB"))),
            (
                "x\n-----BEGIN A-----\n QU\n\tI =\n\n-----END A-----\t",
                Some(("A", "AB")),
            ),
            ("-----BEGIN A-----\nk: v\nQUI=\n-----END A-----", Some(("A", "AB"))),
            ("-----BEGIN A-----\nk: v\n\nQUI=\n-----END A-----", Some(("A", "AB"))),
            ("-----BEGIN A-----\n-----END A-----", Some(("A", ""))),
            ("-----BEGIN -----\n-----END -----", Some(("", ""))),
            // The last line that begins a block; the next block when one is damaged.
            (
                "-----BEGIN A-----\n-----BEGIN B-----\nQUI=\n-----END B-----",
                Some(("B", "AB")),
            ),
            (
                "-----BEGIN A-----\n!\n-----END A-----\n-----BEGIN B-----\nQUI=\n-----END B-----",
                Some(("B", "AB")),
            ),
            (
                "-----BEGIN A-----\nQUI=\n-----END B-----\n-----BEGIN B-----\nQUI=\n-----END B-----",
                Some(("B", "AB")),
            ),
            ("x-----BEGIN A-----\nQUI=\n-----END A-----", None),
            ("-----BEGIN A-----\nQUI=\n-----END A-----x", None),
            ("-----BEGIN A-----\nQUI=\n -----END A-----", None),
            ("-----BEGIN A-----\nQUI\n-----END A-----", None),
            ("-----BEGIN A-----\nQUI=\nk: v\n-----END A-----", None),
            ("-----BEGIN A-----\nk: v\n-----END A-----", None),
            ("-----BEGIN A\nQUI=\n-----END A", None),
            ("-----BEGIN A-----\nQUI=\n", None),
            ("\n-----END A", None),
            ("", None),
        ] {
            let block = decode_pem(text.as_bytes());
            let block = block.as_ref().map(|block| (&*block.kind, &**block.bytes));
            assert_eq!(block, found.map(|(kind, bytes)| (kind, bytes.as_bytes())), "{text:?}");
        }
    }
}
