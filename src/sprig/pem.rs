//! PEM as Go's `encoding/pem` reads and writes it.

use super::base64::decode as decode_base64;
use base64::{Engine, prelude::BASE64_STANDARD};
use memchr::memmem;
use zeroize::Zeroizing;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const END_OF_LINE: &[u8] = b"-----";
const LINE: usize = 64;

/// A block: what it says it is, and what is in it.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub kind: &'a [u8],
    pub bytes: Zeroizing<Vec<u8>>,
}

/// The first block in the text that is whole.
pub(super) fn decode(text: &[u8]) -> Option<Block<'_>> {
    let mut rest = text;
    loop {
        let end = memmem::find(rest, END)?;
        let (before, after) = rest.split_at_checked(end)?;
        // The last beginning before the end: one without an end is skipped.
        let Some(begin) = memmem::rfind(before, BEGIN).filter(|&at| at == 0 || before.get(at - 1) == Some(&b'\n'))
        else {
            rest = after.get(END.len()..)?;
            continue;
        };
        match block(rest.get(begin + BEGIN.len()..)?, end - begin - BEGIN.len()) {
            Attempt::Block(block) => return Some(block),
            Attempt::Skip(left) => rest = left,
            Attempt::Nothing => return None,
        }
    }
}

/// What came of reading one block.
enum Attempt<'a> {
    Block(Block<'a>),
    /// It is none; look further here.
    Skip(&'a [u8]),
    /// The text is at its end.
    Nothing,
}

/// The block whose type `rest` starts with, with its end line at `end`. Offsets can become negative: the line break
/// before the end may be the one after the beginning.
fn block(mut rest: &[u8], end: usize) -> Attempt<'_> {
    let mut end = end as i64;
    let (line, next) = split_line(rest);
    end -= (rest.len() - next.len()) as i64;
    rest = next;
    let Some(kind) = line.strip_suffix(END_OF_LINE) else {
        return skip(rest, end);
    };
    let mut headers = false;
    loop {
        if rest.is_empty() {
            return Attempt::Nothing;
        }
        let (line, next) = split_line(rest);
        if !line.contains(&b':') {
            break;
        }
        headers = true;
        end -= (rest.len() - next.len()) as i64;
        rest = next;
    }
    if headers && end < 0 {
        return skip(rest, end);
    }
    let Some(trailer) = after_end(rest, end) else {
        return Attempt::Nothing;
    };
    let Some(left) = trailer
        .strip_prefix(kind)
        .and_then(|left| left.strip_prefix(END_OF_LINE))
    else {
        return skip(rest, end);
    };
    if !split_line(left).0.is_empty() {
        return skip(rest, end);
    }
    let text = usize::try_from(end).ok().and_then(|end| rest.get(..end));
    let symbols: Zeroizing<Vec<u8>> = Zeroizing::new(
        text.unwrap_or_default()
            .iter()
            .copied()
            .filter(|symbol| !matches!(symbol, b' ' | b'\t'))
            .collect(),
    );
    match decode_base64(&symbols) {
        Ok(bytes) => Attempt::Block(Block { kind, bytes }),
        Err(_) => skip(rest, end),
    }
}

/// What is after the words that begin the end line.
fn after_end(rest: &[u8], end: i64) -> Option<&[u8]> {
    rest.get(usize::try_from(end + END.len() as i64).ok()?..)
}

fn skip(rest: &[u8], end: i64) -> Attempt<'_> {
    after_end(rest, end).map_or(Attempt::Nothing, Attempt::Skip)
}

/// The first line without white space at its end, and what is after it.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let mut parts = text.splitn(2, |&byte| byte == b'\n');
    let line = parts.next().unwrap_or_default();
    let (line, rest) = match parts.next() {
        Some(rest) => (line.strip_suffix(b"\r").unwrap_or(line), rest),
        None => (line, [].as_slice()),
    };
    let blank = line
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    (line.get(..line.len() - blank).unwrap_or_default(), rest)
}

/// A block in PEM, without headers.
pub(super) fn encode(kind: &str, bytes: &[u8]) -> Zeroizing<String> {
    let symbols = Zeroizing::new(BASE64_STANDARD.encode(bytes));
    let mut out = Zeroizing::new(String::with_capacity(
        symbols.len() + symbols.len() / LINE + 2 * kind.len() + 64,
    ));
    out.push_str("-----BEGIN ");
    out.push_str(kind);
    out.push_str("-----\n");
    let mut rest = symbols.as_str();
    while !rest.is_empty() {
        let (line, next) = rest.split_at_checked(LINE).unwrap_or((rest, ""));
        out.push_str(line);
        out.push('\n');
        rest = next;
    }
    out.push_str("-----END ");
    out.push_str(kind);
    out.push_str("-----\n");
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;

    fn read(text: &str) -> Option<(String, String)> {
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        decode(text.as_bytes()).map(|block| (lossy(block.kind), lossy(&block.bytes)))
    }

    #[test]
    fn reads_the_first_whole_block() {
        for (text, found) in [
            ("-----BEGIN A-----\nQUI=\n-----END A-----\n", Some(("A", "AB"))),
            (
                "-----BEGIN A-----\r\n Q U\tI = \r\n-----END A----- \t",
                Some(("A", "AB")),
            ),
            ("-----BEGIN A-----\n-----END A-----", Some(("A", ""))),
            (
                "-----BEGIN A-----\nKey: value\n\nQUI=\n-----END A-----",
                Some(("A", "AB")),
            ),
            (
                "x\n-----BEGIN A-----\nQUI=\n-----BEGIN B-----\nQQ==\n-----END B-----",
                Some(("B", "A")),
            ),
            (
                "-----BEGIN A-----\n!\n-----END A-----\n-----BEGIN B-----\nQQ==\n-----END B-----",
                Some(("B", "A")),
            ),
            ("x-----BEGIN A-----\nQUI=\n-----END A-----", None),
            ("-----BEGIN A-----\nQUI=\n-----END B-----", None),
            ("-----BEGIN A-----\nQUI=\n-----END A-----x", None),
            ("-----BEGIN A\nQUI=\n-----END A-----", None),
            ("", None),
        ] {
            let found = found.map(|(kind, bytes)| (kind.to_owned(), bytes.to_owned()));
            assert_eq!(read(text), found, "{text:?}");
        }
    }

    #[test]
    fn writes_lines_of_64() {
        for length in [0, 1, 47, 48, 49, 96, 100] {
            let bytes = vec![7; length];
            let text = encode("A", &bytes);
            assert!(text.lines().all(|line| line.len() <= 64), "{length}");
            assert_eq!(decode(text.as_bytes()).unwrap().bytes.as_slice(), bytes, "{length}");
        }
    }
}
