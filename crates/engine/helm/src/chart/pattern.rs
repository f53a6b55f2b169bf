//! Go's `path.Match`.

/// Whether a path matches a pattern; `None` for a malformed pattern. `*` and `?` match no `/`.
pub(crate) fn path_match(pattern: &str, path: &str) -> Option<bool> {
    let pattern: Vec<char> = pattern.chars().collect();
    let path: Vec<char> = path.chars().collect();
    check(&pattern)?;
    Some(matches(&pattern, &path))
}

/// Whether the pattern is well-formed.
fn check(mut pattern: &[char]) -> Option<()> {
    while let Some((_, rest)) = step(pattern)? {
        pattern = rest;
    }
    Some(())
}

/// A part of a pattern.
enum Part {
    Star,
    Any,
    One(char),
    Class(bool, Vec<(char, char)>),
}

/// The first part of a pattern, and what follows; `None` inside when it has ended.
fn step(pattern: &[char]) -> Option<Option<(Part, &[char])>> {
    Some(Some(match pattern {
        [] => return Some(None),
        ['*', rest @ ..] => (Part::Star, rest),
        ['?', rest @ ..] => (Part::Any, rest),
        ['\\', ch, rest @ ..] => (Part::One(*ch), rest),
        ['\\'] => return None,
        ['[', rest @ ..] => {
            let (negated, mut rest) = match rest {
                ['^', rest @ ..] => (true, rest),
                rest => (false, rest),
            };
            let mut ranges = Vec::new();
            loop {
                if let [']', after @ ..] = rest
                    && !ranges.is_empty()
                {
                    return Some(Some((Part::Class(negated, ranges), after)));
                }
                let (low, after) = member(rest)?;
                let (high, after) = match after {
                    ['-', after @ ..] => member(after)?,
                    after => (low, after),
                };
                ranges.push((low, high));
                rest = after;
            }
        }
        [ch, rest @ ..] => (Part::One(*ch), rest),
    }))
}

fn member(text: &[char]) -> Option<(char, &[char])> {
    match text {
        ['\\', ch, rest @ ..] => Some((*ch, rest)),
        [] | ['-' | ']' | '\\', ..] => None,
        [ch, rest @ ..] => Some((*ch, rest)),
    }
}

/// With one place to go back to: behind the last star.
fn matches(mut pattern: &[char], mut path: &[char]) -> bool {
    let mut retry: Option<(&[char], &[char])> = None;
    loop {
        let Some(next) = step(pattern) else { return false };
        let advanced = match (&next, path) {
            (None, []) => return true,
            (Some((Part::Star, rest)), _) => {
                retry = Some((rest, path));
                Some((*rest, path))
            }
            (Some((part, rest)), [ch, after @ ..]) if fits(part, *ch) => Some((*rest, after)),
            _ => None,
        };
        (pattern, path) = match (advanced, retry) {
            (Some(next), _) => next,
            (None, Some((rest, [ch, after @ ..]))) if *ch != '/' => {
                retry = Some((rest, after));
                (rest, after)
            }
            _ => return false,
        };
    }
}

fn fits(part: &Part, ch: char) -> bool {
    match part {
        Part::Star => false,
        Part::Any => ch != '/',
        Part::One(one) => *one == ch,
        Part::Class(negated, ranges) => {
            ch != '/' && ranges.iter().any(|(low, high)| (*low..=*high).contains(&ch)) != *negated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::path_match;

    #[test]
    fn patterns_match_as_in_go() {
        for (pattern, path, expected) in [
            ("a*", "abc", Some(true)),
            ("a*", "ab/c", Some(false)),
            ("a*/b", "abc/b", Some(true)),
            ("*x*y", "axbxy", Some(true)),
            ("[a-c]?", "bz", Some(true)),
            ("[^a]", "a", Some(false)),
            ("[", "a", None),
            ("a\\", "a", None),
            ("\\*", "*", Some(true)),
        ] {
            assert_eq!(path_match(pattern, path), expected, "{pattern} {path}");
        }
    }
}
