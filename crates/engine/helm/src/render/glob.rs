//! The patterns of `.Files.Glob`, as gobwas/glob reads them with `/` as the separator.

use bumpwright_re2::{Budget, Regexp, quote_meta};
use bumpwright_template::Failure;

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
    ///
    /// # Errors
    /// It takes too many steps to say.
    pub(super) fn matches(&self, path: &[u8]) -> Result<bool, Failure> {
        let mut budget = Budget::new(1_000_000, 1 << 20);
        let is_match = self.0.is_match(path, &mut budget);
        is_match.map_err(|error| Failure::new(format!("the pattern of Files.Glob is too costly: {error}")))
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
    use super::{Failure, Glob};

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
            assert_eq!(matches(pattern, path).ok(), Some(expected), "{pattern} {path}");
        }
        assert!(Glob::new(b"[").is_none());
        assert_eq!(matches("{a", "a").ok(), Some(false));
    }

    /// A file that nobody could compare is not left out.
    #[test]
    fn a_pattern_that_takes_too_many_steps_is_an_error() {
        let error = matches(&"{a,b,**c}*".repeat(200), &"ab".repeat(3_000)).unwrap_err();
        let text = format!("{error:?}");
        assert!(text.contains("Files.Glob is too costly"), "{text}");
    }

    fn matches(pattern: &str, path: &str) -> Result<bool, Failure> {
        Glob::new(pattern.as_bytes()).unwrap().matches(path.as_bytes())
    }
}
