//! Patterns of paths: Go's `io/fs.Glob`, and those of doublestar with `**` and `{a,b}`.

use bumpwright_gostd::glob::path_match;
use bumpwright_kustomize::tree::{Tree, path};

/// Whether a text has characters with a meaning in patterns.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', ']'])
}

/// The paths that match, without a leading slash: names do not match across slashes, and `**` is the same as `*`.
pub(crate) fn paths(tree: &dyn Tree, pattern: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for part in pattern.split('/') {
        let mut next = Vec::new();
        for folder in found {
            let here = format!("/{}", folder.trim_start_matches('/'));
            let names = if is_pattern(part) {
                // As Go's Glob, which leaves out what cannot be listed.
                let Ok(names) = tree.list(&here) else { continue };
                names
            } else {
                vec![part.to_owned()]
            };
            let names = names
                .into_iter()
                .filter(|name| !is_pattern(part) || name_matches(part, name));
            let below = names.map(|name| path::join(&here, &name));
            let below = below.filter(|path| tree.canonical(path).is_ok());
            next.extend(below.map(|path| path.trim_start_matches('/').to_owned()));
        }
        found = next;
    }
    found
}

/// Whether a pattern of doublestar matches a path.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let texts: Vec<&str> = text.split('/').collect();
    alternatives(pattern).iter().any(|pattern| {
        let parts: Vec<&str> = pattern.split('/').collect();
        parts_match(&parts, &texts)
    })
}

/// The most patterns that braces stand for.
const ALTERNATIVES: usize = 1000;

/// The patterns without braces that one with braces stands for.
fn alternatives(pattern: &str) -> Vec<String> {
    let mut waiting = vec![pattern.to_owned()];
    let mut patterns = Vec::new();
    while let Some(pattern) = waiting.pop() {
        match braces(&pattern) {
            Some((before, inside, after)) if patterns.len() + waiting.len() < ALTERNATIVES => {
                waiting.extend(inside.iter().map(|one| format!("{before}{one}{after}")));
            }
            _ => patterns.push(pattern),
        }
    }
    patterns
}

/// The text before the first braces, the alternatives in them, and the text after.
fn braces(pattern: &str) -> Option<(&str, Vec<&str>, &str)> {
    let open = pattern.find('{')?;
    let (before, rest) = (pattern.get(..open)?, pattern.get(open + 1..)?);
    let (mut depth, mut begin, mut inside) = (0, 0, Vec::new());
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            b'}' => {
                inside.push(rest.get(begin..at)?);
                return Some((before, inside, rest.get(at + 1..)?));
            }
            b',' if depth == 0 => {
                inside.push(rest.get(begin..at)?);
                begin = at + 1;
            }
            _ => {}
        }
    }
    None
}

fn parts_match(pattern: &[&str], text: &[&str]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => {
            let skipped = || text.split_first().is_some_and(|(_, text)| parts_match(pattern, text));
            parts_match(rest, text) || skipped()
        }
        (Some((part, rest)), Some((name, names))) => name_matches(part, name) && parts_match(rest, names),
        _ => false,
    }
}

fn name_matches(pattern: &str, name: &str) -> bool {
    path_match(pattern, name) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_doublestar() {
        for (pattern, text, expected) in [
            ("*.md", "README.md", true),
            ("*.md", "docs/README.md", false),
            ("**/*.md", "README.md", true),
            ("**/*.md", "a/b/README.md", true),
            ("**/testdata/**", "a/testdata/x", true),
            ("**/testdata/**", "a/testdata", true),
            ("subdir/**", "subdir/a/b", true),
            ("subdir/**", "other/subdir/a", false),
            ("*.{yaml,yml}", "x.yml", true),
            ("a[b-d]?", "acé", true),
            ("a[^b-d]", "ac", false),
            ("ü*", "über", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
