//! The patterns of ssh's files (`man ssh_config`, *PATTERNS*).

/// Whether a list of patterns matches `text`: one matches and no negated one (`!`) does.
pub(crate) fn list_matches<'a>(patterns: impl IntoIterator<Item = &'a str>, text: &str) -> bool {
    let mut is_match = false;
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(negated) if matches(negated, text) => return false,
            Some(_) => {}
            None => is_match |= matches(pattern, text),
        }
    }
    is_match
}

/// `*` stands for any run of characters, `?` for one; case does not count. Linear in space, at worst quadratic in time.
fn matches(pattern: &str, text: &str) -> bool {
    let fold = |s: &str| s.chars().map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>();
    let (pattern, text) = (fold(pattern), fold(text));
    let (mut p, mut t) = (0, 0);
    // Where to continue when a later part does not match: the last star, and the length of its match.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match (pattern.get(p), text.get(t)) {
            (Some('*'), _) => {
                retry = Some((p, t));
                p += 1;
            }
            (Some('?'), _) => (p, t) = (p + 1, t + 1),
            (Some(a), Some(b)) if a == b => (p, t) = (p + 1, t + 1),
            _ => match retry {
                Some((star, swallowed)) => {
                    retry = Some((star, swallowed + 1));
                    (p, t) = (star + 1, swallowed + 1);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_marks_and_negation() {
        assert!(matches("*.example.COM", "git.example.com"));
        assert!(matches("10.0.?.1*", "10.0.3.15"));
        assert!(matches("a*b*c", "a-b-b-c"));
        assert!(!matches("a*b*c", "a-b-b-d"));
        assert!(!matches("?", ""));
        assert!(matches("**", ""));
        assert!(list_matches(["*.com", "!bad.com"], "good.com"));
        assert!(!list_matches(["*.com", "!bad.com"], "bad.com"));
        assert!(!list_matches(["!bad.com"], "good.com"));
    }
}
