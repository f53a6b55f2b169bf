//! Escapes for foreign text in Markdown.

/// Text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Escapes text inside backquotes in a table: a backquote or a bar would end it.
#[must_use]
pub fn code(text: &str) -> String {
    one_line(text).replace('`', "'").replace('|', "\\|")
}

/// What stands invisibly after an `@`: escapes of Markdown and HTML do not keep a forge from finding a mention.
const NO_MENTION: &str = "&#8203;";

/// Escapes text in a table from Markdown and HTML. It mentions nobody.
#[must_use]
pub fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in one_line(text).chars() {
        let in_word = std::mem::replace(&mut before, c).is_ascii_alphanumeric();
        match c {
            // As in a digest or an address, which are not mentions.
            '@' if in_word => out.push('@'),
            '@' => out.extend(["@", NO_MENTION]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// A fence for a block of code that nothing in `text` ends.
#[must_use]
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).fold(2, usize::max);
    "`".repeat(longest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_in_its_cell() {
        assert_eq!(cell("a|b <img>\nc"), "a\\|b &lt;img&gt; c");
        assert_eq!(code("a`|b"), "a'\\|b");
    }

    #[test]
    fn nobody_is_mentioned() {
        for (text, expected) in [
            ("tag @org/team", "tag @&#8203;org/team"),
            ("@org/team: \"@me\"", "@&#8203;org/team: \"@&#8203;me\""),
            ("x_@org", "x\\_@&#8203;org"),
            ("o/app:1@sha256:0 a@b.c", "o/app:1@sha256:0 a@b.c"),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        assert_eq!(fence("no ticks"), "```");
        assert_eq!(fence("a ```` b `c`"), "`````");
    }
}
