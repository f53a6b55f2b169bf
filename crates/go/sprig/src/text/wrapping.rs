//! Wraps and indents lines.

use super::strings::{repeated, replaced};
use bumpwright_template::{Args, Failure, Function, Host, INT, STRING, Text, Value};
use bumpwright_text::Parts;
use memchr::{memchr, memrchr};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("wrap", &[&INT, &STRING], &STRING, wrap),
    Function::new("wrapWith", &[&INT, &STRING, &STRING], &STRING, wrap_with),
    Function::new("indent", &[&INT, &STRING], &STRING, indent),
    Function::new("nindent", &[&INT, &STRING], &STRING, nindent),
];

/// Words longer than a line get a line of their own.
fn wrap(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    wrapped(host, args.text(1)?, args.int(0)?, b"", false)
}

/// Words longer than a line are broken.
fn wrap_with(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    wrapped(host, args.text(2)?, args.int(0)?, args.text(1)?, true)
}

/// `text` in lines of `width` bytes at most, broken at spaces. Other white space does not count, so existing line
/// breaks count as bytes of their line.
fn wrapped(
    host: &mut Host<'_>,
    text: &[u8],
    width: i64,
    line_end: &[u8],
    breaks_words: bool,
) -> Result<Value, Failure> {
    let line_end = if line_end.is_empty() { b"\n" } else { line_end };
    let width = usize::try_from(width.max(1)).unwrap_or(usize::MAX);
    let mut out = Vec::new();
    let mut left = text;
    // A line is complete once there is more than fits into it; spaces before it are dropped.
    while left.len() > width {
        if let Some(unspaced) = left.strip_prefix(b" ") {
            left = unspaced;
            continue;
        }
        let space = memrchr(b' ', left.get(..=width).unwrap_or(left));
        let (line, rest) = match space {
            Some(space) => (left.part(..space), left.part(space + 1..)),
            None if breaks_words => (left.part(..width), left.part(width..)),
            None => match memchr(b' ', left.tail(width)) {
                Some(behind) => (left.part(..width + behind), left.part(width + behind + 1..)),
                None => break,
            },
        };
        // Twice, since a growing buffer has room for more than it holds.
        host.produce((line.len() + line_end.len()).saturating_mul(2))?;
        out.extend_from_slice(line);
        out.extend_from_slice(line_end);
        left = rest;
    }
    host.produce(left.len())?;
    out.extend_from_slice(left);
    Ok(Value::text(out))
}

fn indent(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(indented(host, args, b"")?.into())
}

fn nindent(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(indented(host, args, b"\n")?.into())
}

/// Indents every line of the text by a number of spaces, also empty lines.
fn indented(host: &mut Host<'_>, args: Args<'_>, before: &[u8]) -> Result<Text, Failure> {
    let padding = repeated(host, b" ", args.int(0)?)?;
    let rest = replaced(host, args.text(1)?, b"\n", &[b"\n", &*padding].concat())?;
    let length = before.len() + padding.len() + rest.len();
    host.produce(length)?;
    Ok([before, &padding, &rest].concat().into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use crate::testing::call;
    use bumpwright_template::{Failure, Value};

    fn text(name: &str, arguments: &[Value]) -> String {
        match call(name, arguments) {
            Ok(Value::String(text)) => text.lossy().into_owned(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn lines_break_at_spaces() {
        for (width, given, wrapped, broken) in [
            (5, "", "", ""),
            (5, "a b c d e f", "a b c\nd e f", "a b c|d e f"),
            (5, "abcdefghij kl", "abcdefghij\nkl", "abcde|fghij|kl"),
            (5, "abcdefghij", "abcdefghij", "abcde|fghij"),
            (5, "ab   cd  efg ", "ab  \ncd \nefg ", "ab  |cd |efg "),
            (0, "ab cd", "ab\ncd", "a|b|c|d"),
            (-3, "\u{e9}", "\u{e9}", "\u{fffd}|\u{fffd}"),
            (i64::MAX, "ab cd", "ab cd", "ab cd"),
        ] {
            assert_eq!(text("wrap", &[Value::int(width), given.into()]), wrapped, "{given}");
            assert_eq!(
                text("wrapWith", &[Value::int(width), "|".into(), given.into()]),
                broken,
                "{given}"
            );
        }
    }

    #[test]
    fn every_line_is_indented() {
        assert_eq!(text("indent", &[Value::int(2), "a\n\nb\n".into()]), "  a\n  \n  b\n  ");
        assert_eq!(text("nindent", &[Value::int(1), "".into()]), "\n ");
        let far = |spaces| call("indent", &[Value::int(spaces), "a\nb".into()]).map(|_| ());
        assert_eq!(far(-1), Err(Failure::new("strings: negative Repeat count")));
        assert_eq!(
            far(i64::MAX),
            Err(Failure::new("runtime error: makeslice: len out of range"))
        );
        assert!(matches!(far(1 << 40), Err(Failure::Limit(_))));
    }
}
