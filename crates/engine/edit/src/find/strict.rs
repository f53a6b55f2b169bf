//! YAML that granit accepts and go-yaml refuses: tabs where a token could be a key, and the escape `\/`.

/// The token before a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// `-`, `?`, `:` of a `?`, or the line break at the end of a block scalar: no tab may follow on the line.
    Indicator,
    /// A plain scalar, which includes the line breaks after it, and tabs from this column on.
    Plain(usize),
    /// Anything else.
    Token,
}

/// Offset of the first tab that go-yaml refuses in the gap between two tokens. Comments may contain tabs, and so may
/// the indentation of a comment below another; in flow context only the lines below a plain scalar are checked.
pub(crate) fn refused_tab(gap: &[u8], before: Before, flow: bool) -> Option<usize> {
    memchr::memchr(b'\t', gap)?;
    let mut leads = before == Before::Indicator;
    let mut plain = if let Before::Plain(column) = before {
        Some(column)
    } else {
        None
    };
    let (mut in_comment, mut below_comment) = (false, false);
    let mut pending = None;
    let mut column = 0;
    for (at, byte) in gap.iter().enumerate() {
        match byte {
            b'\n' | b'\r' => (leads, in_comment, column) = (true, false, 0),
            b'#' if !in_comment => {
                if below_comment {
                    pending = None;
                }
                below_comment |= leads;
                (in_comment, plain) = (true, None);
            }
            b'\t' if leads && !in_comment && plain.map_or(!flow, |from| column < from) => {
                if !below_comment {
                    return Some(at);
                }
                pending = pending.or(Some(at));
            }
            _ => column += 1,
        }
    }
    pending
}

/// Offset of the escape `\/` in a double-quoted scalar.
pub(crate) fn refused_escape(quoted: &str) -> Option<usize> {
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
        let block = |gap: &str, before| refused_tab(gap.as_bytes(), before, false);
        assert_eq!(block(" \n\t", Before::Token), Some(2));
        assert_eq!(block("\t # a\tb\n  ", Before::Token), None);
        assert_eq!(block("\t", Before::Indicator), Some(0));
        assert_eq!(block("\n  \t\n", Before::Plain(1)), None);
        assert_eq!(block("\n\t\n", Before::Plain(1)), Some(1));
        assert_eq!(block(" # c\n  \t\n", Before::Plain(1)), Some(7));
        assert_eq!(block("\n# c\n\t# d\n", Before::Token), None);
        assert_eq!(block("\n# c\n\t\n", Before::Token), Some(5));
        assert_eq!(refused_tab(b"\n\t", Before::Token, true), None);
        assert_eq!(refused_tab(b"\n\t", Before::Plain(1), true), Some(1));
    }

    #[test]
    fn only_the_escape_of_a_slash_is_refused() {
        assert_eq!(refused_escape(r#""a\/b""#), Some(2));
        assert_eq!(refused_escape(r#""a\\/b""#), None);
    }
}
