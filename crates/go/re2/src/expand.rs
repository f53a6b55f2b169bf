//! Replacements with `$1` and `${name}`, and escaping of literal text.

use bumpwright_gostd::{
    first_rune,
    unicode::{is_digit, is_letter},
};

/// A piece of a replacement.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    Text(&'t [u8]),
    Number(usize),
    Name(&'t [u8]),
}

/// A number that is too large for any group, and so a name.
const HUGE: usize = 100_000_000;

/// Splits off the first piece of a replacement. A name is as long as possible: `$1x` is `${1x}`.
pub(super) fn next_piece<'t>(template: &mut &'t [u8]) -> Option<Piece<'t>> {
    let text = *template;
    let Some(dollar) = memchr::memchr(b'$', text) else {
        *template = &[];
        return (!text.is_empty()).then_some(Piece::Text(text));
    };
    if dollar > 0 {
        let (before, rest) = text.split_at(dollar);
        *template = rest;
        return Some(Piece::Text(before));
    }
    let (sign, rest) = text.split_at(1);
    if let Some(rest) = rest.strip_prefix(b"$") {
        *template = rest;
        return Some(Piece::Text(sign));
    }
    let Some((name, rest)) = name(rest) else {
        *template = rest;
        return Some(Piece::Text(sign));
    };
    *template = rest;
    Some(number(name).map_or(Piece::Name(name), Piece::Number))
}

/// The name at the start, perhaps in braces, and the rest.
fn name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (text, braced) = match text.strip_prefix(b"{") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let mut length = 0;
    while let Some((rune, width)) = text.get(length..).and_then(first_rune) {
        if rune != '_' && !is_letter(rune) && !is_digit(rune) {
            break;
        }
        length += width;
    }
    let (name, rest) = text.split_at_checked(length)?;
    if name.is_empty() {
        return None;
    }
    let rest = if braced { rest.strip_prefix(b"}")? } else { rest };
    Some((name, rest))
}

fn number(name: &[u8]) -> Option<usize> {
    if name.len() > 1 && name.starts_with(b"0") {
        return None;
    }
    name.iter().try_fold(0_usize, |sum, byte| {
        let digit = byte.is_ascii_digit() && sum < HUGE;
        digit.then(|| sum * 10 + usize::from(byte - b'0'))
    })
}

/// A pattern that matches exactly this text: Go's `regexp.QuoteMeta`.
pub fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if br"\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_taken_apart() {
        use Piece::{Name, Number, Text};
        let cases: [(&str, Vec<Piece<'_>>); 9] = [
            ("a$1b", vec![Text(b"a"), Name(b"1b")]),
            ("${1}b", vec![Number(1), Text(b"b")]),
            ("$$1", vec![Text(b"$"), Text(b"1")]),
            ("$", vec![Text(b"$")]),
            ("${x", vec![Text(b"$"), Text(b"{x")]),
            ("${}", vec![Text(b"$"), Text(b"{}")]),
            ("$01$0", vec![Name(b"01"), Number(0)]),
            ("$1000000000$100000000", vec![Name(b"1000000000"), Number(100_000_000)]),
            ("$é-", vec![Name("é".as_bytes()), Text(b"-")]),
        ];
        for (template, expected) in cases {
            let mut rest = template.as_bytes();
            let pieces: Vec<_> = std::iter::from_fn(|| next_piece(&mut rest)).collect();
            assert_eq!(pieces, expected, "{template}");
        }
    }
}
