//! Paths as text with `/`, cleaned and joined as Go's `path/filepath` does on Unix.

/// Whether the path begins at the root.
#[must_use]
pub fn is_absolute(path: &str) -> bool {
    path.starts_with('/')
}

/// The shortest equivalent path, links apart: no `.`, no `..` but at the front of a relative path, no double
/// slashes; `.` for the empty path.
#[must_use]
pub fn clean(path: &str) -> String {
    let absolute = is_absolute(path);
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    match (absolute, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// Joins and cleans two paths. An absolute `path` is taken as relative to `base`, as Go's `Join` does; empty ones are
/// skipped.
#[must_use]
pub fn join(base: &str, path: &str) -> String {
    match (base.is_empty(), path.is_empty()) {
        (true, true) => String::new(),
        (true, false) => clean(path),
        (false, true) => clean(base),
        (false, false) => clean(&format!("{base}/{path}")),
    }
}

/// The last element; `.` for the empty path, `/` for the root.
#[must_use]
pub fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return "/";
    }
    trimmed.rsplit('/').next().unwrap_or(trimmed)
}

/// All but the last element of a clean path: `/` of `/a`.
#[must_use]
pub fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(at) => path.get(..at).unwrap_or("/"),
        None => ".",
    }
}

/// Whether a clean directory is `ancestor` or below it.
#[must_use]
pub fn is_within(directory: &str, ancestor: &str) -> bool {
    ancestor == "/"
        || directory == ancestor
        || directory
            .strip_prefix(ancestor)
            .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_go_does() {
        for (path, wanted) in [
            ("", "."),
            (".", "."),
            ("a/../b//c/.", "b/c"),
            ("../../x", "../../x"),
            ("/../x/", "/x"),
            ("/", "/"),
            ("a/..", "."),
            ("./a", "a"),
        ] {
            assert_eq!(clean(path), wanted, "{path:?}");
        }
        assert_eq!(join("/a", "../b"), "/b");
        assert_eq!(join("/a", "/b"), "/a/b");
        assert_eq!(join("", "x/./y"), "x/y");
        assert_eq!((base("a/b/"), base(""), base("//")), ("b", ".", "/"));
    }

    #[test]
    fn a_directory_is_within_itself_and_what_is_above() {
        assert!(is_within("/a/b", "/a"));
        assert!(is_within("/a", "/a"));
        assert!(is_within("/a", "/"));
        assert!(!is_within("/ab", "/a"));
    }
}
