//! The patterns of `.Files.Glob`, as gobwas/glob reads them with `/` as the separator.

use bumpwright_re2::{Budget, Regexp, quote_meta};

/// A pattern.
pub(super) struct Glob(Regexp);

impl Glob {
    /// None for a malformed pattern; Helm takes all files then.
    pub(super) fn new(pattern: &[u8]) -> Option<Self> {
        let pattern = std::str::from_utf8(pattern).ok()?;
        let mut regexp = "(?s)^".to_owned();
        let mut open = 0_usize;
        let mut characters = pattern.chars().peekable();
        while let Some(ch) = characters.next() {
            match ch {
                '*' if characters.next_if_eq(&'*').is_some() => regexp.push_str(".*"),
                '*' => regexp.push_str("[^/]*"),
                '?' => regexp.push_str("[^/]"),
                '{' => {
                    open += 1;
                    regexp.push_str("(?:");
                }
                '}' if open > 0 => {
                    open -= 1;
                    regexp.push(')');
                }
                ',' if open > 0 => regexp.push('|'),
                '[' => regexp.push_str(&class(&mut characters)?),
                '\\' => push_plain(&mut regexp, characters.next()?),
                ch => push_plain(&mut regexp, ch),
            }
        }
        regexp.push('$');
        if open > 0 {
            // An alternative without an end matches nothing.
            return Regexp::new("[^\\x00-\\x{10FFFF}]").ok().map(Self);
        }
        Regexp::new(&regexp).ok().map(Self)
    }

    /// Whether a path matches.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        let mut budget = Budget::new(1_000_000, 1 << 20);
        self.0.is_match(path, &mut budget).unwrap_or_default()
    }
}

fn push_plain(regexp: &mut String, ch: char) {
    let quoted = quote_meta(ch.to_string().as_bytes());
    regexp.push_str(&String::from_utf8_lossy(quoted.as_ref()));
}

/// A class after its `[`: characters or one range, negated by `!`.
fn class(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut class = "[".to_owned();
    if characters.next_if_eq(&'!').is_some() {
        class.push('^');
    }
    let mut is_empty = true;
    loop {
        match characters.next()? {
            ']' if is_empty => return None,
            ']' => break,
            '-' if !is_empty => class.push('-'),
            ch => {
                if matches!(ch, '\\' | '[' | '^' | '-' | ']') {
                    class.push('\\');
                }
                class.push(ch);
            }
        }
        is_empty = false;
    }
    class.push(']');
    Some(class)
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn stars_stop_at_slashes_and_braces_choose() {
        for (pattern, path, expected) in [
            ("files/*", "files/a.txt", true),
            ("files/*", "files/b/a.txt", false),
            ("files/**", "files/b/a.txt", true),
            ("**.yaml", "a/b.yaml", true),
            ("{a,b}.txt", "b.txt", true),
            ("[!a].txt", "b.txt", true),
            ("[a-c]?", "bx", true),
            ("a.txt", "abtxt", false),
        ] {
            assert_eq!(
                Glob::new(pattern.as_bytes()).unwrap().matches(path.as_bytes()),
                expected,
                "{pattern} {path}"
            );
        }
        assert!(Glob::new(b"[").is_none());
        assert!(!Glob::new(b"{a").unwrap().matches(b"a"));
    }
}
