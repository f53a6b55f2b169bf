//! Strings in upper, lower, camel and other cases. Broken UTF-8 becomes U+FFFD wherever Go iterates over runes.

use super::{
    strval::{made, walked},
    words::in_lower_case,
};
use bumpwright_gostd::{runes, unicode};
use bumpwright_template::{Args, Failure, Function, Host, STRING, Text, Value};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("upper", &[&STRING], &STRING, upper),
    Function::new("lower", &[&STRING], &STRING, lower),
    Function::new("title", &[&STRING], &STRING, title),
    Function::new("untitle", &[&STRING], &STRING, untitle),
    Function::new("swapcase", &[&STRING], &STRING, swapcase),
    Function::new("camelcase", &[&STRING], &STRING, camelcase),
    Function::new("snakecase", &[&STRING], &STRING, |host, args| {
        connected(host, args, b'_')
    }),
    Function::new("kebabcase", &[&STRING], &STRING, |host, args| {
        connected(host, args, b'-')
    }),
];

fn connected(host: &mut Host<'_>, args: Args<'_>, connector: u8) -> Result<Value, Failure> {
    let text = args.text(0)?;
    walked(host, text)?;
    Ok(made(host, in_lower_case(text, connector))?.into())
}

fn mapped(host: &mut Host<'_>, text: &Text, mut map: impl FnMut(char) -> char) -> Result<Value, Failure> {
    walked(host, text)?;
    let out: String = runes(text).map(|(ch, _)| map(ch)).collect();
    Ok(made(host, out.into_bytes())?.into())
}

fn upper(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    mapped(host, args.text(0)?, unicode::to_upper)
}

fn lower(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    mapped(host, args.text(0)?, unicode::to_lower)
}

/// The first letter of each word in title case. A word ends at anything but letters, digits and underscores; beyond
/// ASCII, only at white space.
fn title(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let mut before = ' ';
    mapped(host, args.text(0)?, |ch| {
        let separates = if before.is_ascii() {
            !before.is_ascii_alphanumeric() && before != '_'
        } else {
            unicode::is_space(before)
        };
        before = ch;
        if separates { unicode::to_title(ch) } else { ch }
    })
}

/// The first character of each word in lower case.
fn untitle(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let mut begins = true;
    mapped(host, args.text(0)?, |ch| {
        let first = std::mem::replace(&mut begins, unicode::is_space(ch));
        if first { unicode::to_lower(ch) } else { ch }
    })
}

/// Upper case for lower and lower for upper, but title case where a word begins.
fn swapcase(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let mut begins = true;
    mapped(host, args.text(0)?, |ch| {
        if unicode::is_upper(ch) || unicode::is_title(ch) {
            begins = false;
            unicode::to_lower(ch)
        } else if unicode::is_lower(ch) {
            if std::mem::take(&mut begins) {
                unicode::to_title(ch)
            } else {
                unicode::to_upper(ch)
            }
        } else {
            begins = unicode::is_space(ch);
            ch
        }
    })
}

/// Words without separators, each with a capital. A word that was all capitals keeps only one.
fn camelcase(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let text = args.text(0)?;
    walked(host, text)?;
    let mut out = String::with_capacity(text.len());
    let mut chars = runes(text).map(|(ch, _)| ch);
    let Some(first) = chars.by_ref().find(|ch| {
        let connects = is_connector(*ch);
        if connects {
            out.push(*ch);
        }
        !connects
    }) else {
        // Of connectors alone the last one is doubled: the library takes it for a word of one letter.
        out.extend(out.chars().next_back());
        return Ok(made(host, out.into_bytes())?.into());
    };
    let mut all_capitals = unicode::is_upper(first);
    // A character is written once the next one is known: of connectors before a word, the last is dropped.
    let mut last = unicode::to_upper(first);
    for ch in chars {
        let mut next = ch;
        match (is_connector(last), is_connector(ch)) {
            (true, true) => out.push(last),
            (true, false) => {
                all_capitals = unicode::is_upper(ch);
                next = unicode::to_upper(ch);
            }
            (false, _) => {
                all_capitals &= unicode::is_upper(ch);
                if all_capitals {
                    next = unicode::to_lower(ch);
                }
                out.push(last);
            }
        }
        last = next;
    }
    out.push(last);
    Ok(made(host, out.into_bytes())?.into())
}

/// Whether it separates the words of a name.
pub(crate) fn is_connector(ch: char) -> bool {
    ch == '-' || ch == '_' || unicode::is_space(ch)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use crate::testing::call;
    use bumpwright_template::Value;

    #[test]
    fn cases_change_as_in_go() {
        for (name, given, expected) in [
            (
                "upper",
                b"\xc3\x9f \xc7\x86 a\xff".as_slice(),
                "\u{df} \u{1c4} A\u{fffd}",
            ),
            ("lower", "\u{130}\u{3a3}".as_bytes(), "i\u{3c3}"),
            (
                "title",
                "it's \u{1c6}x_y-z\u{a0}\u{e9}\u{2019}t".as_bytes(),
                "It'S \u{1c5}x_y-Z\u{a0}\u{c9}\u{2019}t",
            ),
            (
                "untitle",
                "Hello WORLD\u{2003}\u{c9}A".as_bytes(),
                "hello wORLD\u{2003}\u{e9}A",
            ),
            (
                "swapcase",
                "Hello wORLD \u{1c5} 1a".as_bytes(),
                "hELLO World \u{1c6} 1A",
            ),
            ("camelcase", b"", ""),
            ("camelcase", b"__", "___"),
            ("camelcase", b"_a", "_A"),
            ("camelcase", b"HTTP__server-NAME xY", "Http_ServerNameXY"),
            ("camelcase", b"trailing_", "Trailing_"),
            (
                "camelcase",
                "\u{e9}t\u{e9}\u{2003}\u{df}".as_bytes(),
                "\u{c9}t\u{e9}\u{df}",
            ),
        ] {
            let Value::String(text) = call(name, &[Value::text(given)]).unwrap() else {
                panic!("not a string")
            };
            assert_eq!(text.lossy(), expected, "{name} {given:?}");
        }
    }
}
