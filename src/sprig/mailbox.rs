//! Mail addresses as Go's `crypto/x509` reads them in name constraints (RFC 2821, with leniencies).

/// Whether the text is a mailbox: a local part, `@`, a domain.
pub(super) fn is_mailbox(text: &[u8]) -> bool {
    let local = match text {
        [b'"', rest @ ..] => after_quoted(rest),
        _ => after_atoms(text),
    };
    match local {
        Some([b'@', domain @ ..]) => is_host(domain),
        _ => false,
    }
}

/// What is after a quoted local part.
fn after_quoted(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        text = match text {
            [b'"', rest @ ..] => return Some(rest),
            [b'\\', 1..=9 | 11 | 12 | 14..=127, rest @ ..] => rest,
            // By the letter a space is not allowed.
            [1..=8 | 11 | 12 | 14..=33 | 35..=91 | 93..=127, rest @ ..] => rest,
            _ => return None,
        }
    }
}

/// What is after a local part of words and dots.
fn after_atoms(text: &[u8]) -> Option<&[u8]> {
    let mut local = Vec::new();
    let mut rest = text;
    loop {
        rest = match rest {
            [b'\\', escaped, after @ ..] => {
                local.push(*escaped);
                after
            }
            [b'\\'] => return None,
            [byte, after @ ..] if byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(byte) => {
                local.push(*byte);
                after
            }
            _ => break,
        };
    }
    let dots = local.split(|&byte| byte == b'.').all(|word| !word.is_empty());
    dots.then_some(rest)
}

/// Whether the text is made of labels between dots. Go lets an empty one pass.
fn is_host(text: &[u8]) -> bool {
    text.is_empty()
        || text
            .split(|&byte| byte == b'.')
            .all(|label| !label.is_empty() && label.iter().all(u8::is_ascii_graphic))
}

#[cfg(test)]
mod tests {
    use super::is_mailbox;

    #[test]
    fn mailboxes() {
        for (text, fine) in [
            ("a@b.c", true),
            ("a.b+c@b", true),
            (r#""a b"@c"#, true),
            (r#""a\"b"@c"#, true),
            (r"a\@b@c", true),
            ("a@", true),
            ("", false),
            ("@b", false),
            ("a", false),
            (".a@b", false),
            ("a..b@c", false),
            ("a b@c", false),
            (r#""a@b"#, false),
            (r"a\", false),
            ("a@.b", false),
            ("a@b.", false),
            ("a@b c", false),
        ] {
            assert_eq!(is_mailbox(text.as_bytes()), fine, "{text}");
        }
    }
}
