//! Globs of tags and names, as Go's `path/filepath.Match` reads them; and as regular expressions.

use bumpwright_gostd::glob::class;
use bumpwright_text::Parts;

/// A regular expression (RE2) of what the glob fits; none for a malformed one, which Go says fits nothing.
pub(crate) fn pattern(glob: &str) -> Option<String> {
    let mut out = String::from("^");
    let mut rest = glob;
    while let Some(first) = rest.chars().next() {
        let behind = rest.tail(first.len_utf8());
        rest = match first {
            // Several are one.
            '*' => {
                out.push_str("[^/]*");
                behind.trim_start_matches('*')
            }
            '?' => {
                out.push_str("[^/]");
                behind
            }
            '[' => one_of(behind, &mut out)?,
            '\\' => {
                let escaped = behind.chars().next()?;
                out.push_str(&quoted(escaped));
                behind.tail(escaped.len_utf8())
            }
            plain => {
                out.push_str(&quoted(plain));
                behind
            }
        };
    }
    // Tags have no slashes: simpler to read.
    Some(format!("{}$", out.replace("[^/]", ".")))
}

/// A class, after its `[`; the text after its `]`.
fn one_of<'t>(text: &'t str, out: &mut String) -> Option<&'t str> {
    let mut ranges = String::new();
    let (negated, rest) = class(text.as_bytes(), |low, high| {
        ranges.push_str(&escaped(low));
        if high != low {
            ranges.push('-');
            ranges.push_str(&escaped(high));
        }
    })?;
    out.push('[');
    out.push_str(if negated { "^" } else { "" });
    out.push_str(&ranges);
    out.push(']');
    std::str::from_utf8(rest).ok()
}

fn escaped(member: char) -> String {
    match member {
        '\\' | ']' | '[' | '^' | '-' => format!("\\{member}"),
        member => member.to_string(),
    }
}

/// A character of a regular expression that stands for itself.
fn quoted(plain: char) -> String {
    if r"\.+*?()|[]{}^$".contains(plain) {
        format!("\\{plain}")
    } else {
        plain.to_string()
    }
}

/// A text of a regular expression that stands for itself, whole.
pub(crate) fn exactly(text: &str) -> String {
    let quoted: String = text.chars().map(quoted).collect();
    format!("^{quoted}$")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_become_patterns() {
        for (glob, expected) in [
            ("*-debug", Some("^.*-debug$")),
            ("latest", Some("^latest$")),
            ("v1.?", Some(r"^v1\..$")),
            ("[0-9a-f]*", Some("^[0-9a-f].*$")),
            ("[^v]*", Some("^[^v].*$")),
            (r"a\*", Some(r"^a\*$")),
            ("**", Some("^.*$")),
            ("[a", None),
            ("a\\", None),
        ] {
            assert_eq!(pattern(glob).as_deref(), expected, "{glob}");
        }
        assert_eq!(exactly("1.0+x"), r"^1\.0\+x$");
    }
}
