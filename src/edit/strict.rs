//! YAML that granit reads and go-yaml does not: tabs where a token could be a key, and the escape `\/`.

/// What comes before a gap between two tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// `-`, `?`, or `:` of a `?`: no tab may follow on the line.
    Indicator,
    /// A plain scalar; line breaks after it are read with it, and tabs from this column on.
    Plain(usize),
    /// Anything else.
    Token,
}

/// Offset in a gap, in block context, of the first tab that go-yaml refuses: "found character that cannot start any
/// token". Comments in the gap may hold tabs.
pub(super) fn refused_tab(gap: &str, before: Before) -> Option<usize> {
    memchr::memchr(b'\t', gap.as_bytes())?;
    let mut leads = before == Before::Indicator;
    let mut plain = if let Before::Plain(column) = before {
        Some(column)
    } else {
        None
    };
    let mut in_comment = false;
    let mut column = 0;
    for (at, byte) in gap.bytes().enumerate() {
        match byte {
            b'\n' | b'\r' => (leads, in_comment, column) = (true, false, 0),
            b'#' => (in_comment, plain) = (true, None),
            b'\t' if leads && !in_comment && plain.is_none_or(|from| column < from) => return Some(at),
            _ => column += 1,
        }
    }
    None
}

/// Offset in a double-quoted scalar of the escape `\/`.
pub(super) fn refused_escape(quoted: &str) -> Option<usize> {
    memchr::memmem::find(quoted.as_bytes(), b"\\/")?;
    let mut bytes = quoted.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\\' && bytes.next().is_some_and(|(_, escaped)| escaped == b'/') {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_are_refused_where_a_key_could_stand() {
        assert_eq!(refused_tab(" \n\t", Before::Token), Some(2));
        assert_eq!(refused_tab("\t # a\tb\n  ", Before::Token), None);
        assert_eq!(refused_tab("\t", Before::Indicator), Some(0));
        assert_eq!(refused_tab("\n  \t\n", Before::Plain(1)), None);
        assert_eq!(refused_tab("\n\t\n", Before::Plain(1)), Some(1));
        assert_eq!(refused_tab(" # c\n  \t\n", Before::Plain(1)), Some(7));
    }

    #[test]
    fn only_the_escape_of_a_slash_is_refused() {
        assert_eq!(refused_escape(r#""a\/b""#), Some(2));
        assert_eq!(refused_escape(r#""a\\/b""#), None);
    }
}
