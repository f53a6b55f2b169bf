//! Splits a path into its parts, as kyaml's `PathSplitter` and `SmarterPathSplitter` do.

use compact_str::CompactString;

/// The parts between delimiters; a backslash before a delimiter makes it part of the name. One leading delimiter is
/// dropped.
#[must_use]
pub(crate) fn split_path(path: &str, delimiter: char) -> Vec<CompactString> {
    let mut pieces = path.split(delimiter).peekable();
    let leading = path.starts_with(delimiter);
    if leading {
        pieces.next();
    }
    let mut parts: Vec<CompactString> = Vec::new();
    for piece in pieces {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(delimiter);
                last.push_str(piece);
            }
            _ => parts.push(piece.into()),
        }
    }
    parts
}

/// As [`split_path`], but a text in brackets stays together: `a.[name=x.y].b` has three parts. Brackets without `=` are
/// dropped, where they contain a delimiter: `annotations.[a.b/c]`.
#[must_use]
pub(crate) fn split_path_smart(path: &str, delimiter: char) -> Vec<CompactString> {
    let mut parts = Vec::new();
    let mut pieces = split_path(path, delimiter).into_iter();
    while let Some(piece) = pieces.next() {
        if !piece.starts_with('[') || piece.ends_with(']') {
            parts.push(piece);
            continue;
        }
        let mut whole = piece;
        for next in pieces.by_ref() {
            whole.push(delimiter);
            whole.push_str(&next);
            if next.ends_with(']') {
                break;
            }
        }
        parts.push(if whole.contains('=') {
            whole
        } else {
            whole.trim_matches(['[', ']']).into()
        });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_keeps_a_delimiter_in_the_name() {
        assert_eq!(split_path("a/b", '/'), ["a", "b"]);
        assert_eq!(split_path("/a/b", '/'), ["a", "b"]);
        assert_eq!(split_path("//a", '/'), ["", "a"]);
        assert_eq!(
            split_path(r"metadata/annotations/x.io\/y", '/'),
            ["metadata", "annotations", "x.io/y"]
        );
        assert_eq!(split_path(r"a\", '/'), [r"a\"]);
        assert_eq!(split_path("", '/'), [""]);
        assert_eq!(split_path("/", '/'), [""]);
    }

    #[test]
    fn brackets_keep_a_selection_together() {
        let split = |path| split_path_smart(path, '.');
        assert_eq!(split("c.[name=x.y].image"), ["c", "[name=x.y]", "image"]);
        assert_eq!(split("annotations.[a.b/c]"), ["annotations", "a.b/c"]);
        assert_eq!(split("annotations.[ab]"), ["annotations", "[ab]"]);
        assert_eq!(split("a.[b.c"), ["a", "b.c"]);
        assert_eq!(split(r"a.b\.c"), ["a", "b.c"]);
    }
}
