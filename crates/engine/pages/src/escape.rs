//! Text in HTML.

use bumpwright_text::Parts;
use std::io::{Result, Write};

/// Writes text so that it is text, in elements and in quoted attributes. Characters that are invisible or change the
/// direction of the text around them are written as Rust writes them, `\u{202e}`, so that nothing is hidden.
pub fn html(text: &str, out: &mut dyn Write) -> Result<()> {
    let mut done = 0;
    for (at, character) in text.char_indices() {
        let entity = match character {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\'' => "&#39;",
            _ if is_hidden(character) => "",
            _ => continue,
        };
        out.write_all(text.part(done..at).as_bytes())?;
        match entity {
            "" => write!(out, "{}", character.escape_unicode())?,
            entity => out.write_all(entity.as_bytes())?,
        }
        done = at + character.len_utf8();
    }
    out.write_all(text.part(done..).as_bytes())
}

/// Controls, marks of direction, and characters without width.
fn is_hidden(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        for (text, expected) in [
            ("plain ü", "plain ü"),
            ("<img src=x onerror='a()'>", "&lt;img src=x onerror=&#39;a()&#39;&gt;"),
            ("a\"b&c", "a&quot;b&amp;c"),
            ("a\u{202e}b\u{7}\u{200b}", r"a\u{202e}b\u{7}\u{200b}"),
            ("two\nlines\t", "two\nlines\t"),
        ] {
            let mut out = Vec::new();
            html(text, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
