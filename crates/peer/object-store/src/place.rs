//! The paths of objects by their keys. Invalid paths are refused before anything is fetched, so that the same
//! bucket results in the same files each time.

use std::collections::BTreeMap;

/// The longest name of a file, in bytes.
const LONGEST_PART: usize = 255;

/// Why an object has no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    /// Its key has a byte that no path has.
    #[error("it contains a NUL byte")]
    Nul,
    /// A part of its key would lead elsewhere.
    #[error("it has a part {0:?}")]
    Dots(String),
    /// A part of its key has so many bytes.
    #[error("it has a part of {0} bytes, {LONGEST_PART} at most")]
    Long(usize),
    /// Nothing but slashes.
    #[error("it has no name")]
    NoName,
    /// Another object has its path.
    #[error("it has the same path as {0:?}")]
    Twice(String),
    /// Another object is below it.
    #[error("it is a file, and a folder of {0:?}")]
    Folder(String),
}

/// The path of a key, without empty parts (`securejoin.SecureJoin` and `filepath.Clean` in Go).
///
/// # Errors
/// What is wrong with it. source-controller resolves `..` within its folder, and one object may overwrite another
/// there.
pub(super) fn place(key: &str) -> Result<String, Misplaced> {
    if key.contains('\0') {
        return Err(Misplaced::Nul);
    }
    let parts: Vec<&str> = key.split('/').filter(|part| !part.is_empty()).collect();
    if let Some(part) = parts.iter().find(|part| matches!(**part, "." | "..")) {
        return Err(Misplaced::Dots((*part).to_owned()));
    }
    if let Some(part) = parts.iter().find(|part| part.len() > LONGEST_PART) {
        return Err(Misplaced::Long(part.len()));
    }
    if parts.is_empty() {
        Err(Misplaced::NoName)
    } else {
        Ok(parts.join("/"))
    }
}

/// The paths of all keys.
///
/// # Errors
/// A key, and its defect: it is not a path, or has the path of another one, or of a folder of another one.
pub(super) fn places<'k>(keys: impl Iterator<Item = &'k str>) -> Result<Vec<(&'k str, String)>, (&'k str, Misplaced)> {
    let mut taken: BTreeMap<String, &'k str> = BTreeMap::new();
    for key in keys {
        let place = place(key).map_err(|detail| (key, detail))?;
        if let Some(other) = taken.insert(place, key) {
            return Err((key, Misplaced::Twice(other.to_owned())));
        }
    }
    for (place, key) in &taken {
        let mut above = place.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            if let Some(file) = taken.get(folder) {
                return Err((file, Misplaced::Folder((*key).to_owned())));
            }
            above = folder;
        }
    }
    Ok(taken.into_iter().map(|(place, key)| (key, place)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_as_paths() {
        for (key, expected) in [
            ("a/b.yaml", Some("a/b.yaml")),
            ("/etc/passwd", Some("etc/passwd")),
            ("a//b", Some("a/b")),
            ("a\\..\\b", Some("a\\..\\b")),
            ("a\nb\u{1b}", Some("a\nb\u{1b}")),
            ("..a/b..", Some("..a/b..")),
            ("../../etc/passwd", None),
            ("a/../b", None),
            ("a/./b", None),
            ("..", None),
            ("a\0b", None),
            ("///", None),
            ("", None),
            (&"a".repeat(256), None),
        ] {
            assert_eq!(place(key).ok().as_deref(), expected, "{key:?}");
        }
    }

    #[test]
    fn one_path_each() {
        let all = |keys: &[&'static str]| places(keys.iter().copied());
        assert_eq!(
            all(&["b", "a/c"]),
            Ok(vec![("a/c", "a/c".to_owned()), ("b", "b".to_owned())])
        );
        assert_eq!(all(&["a/b", "a//b"]), Err(("a//b", Misplaced::Twice("a/b".to_owned()))));
        for keys in [["a", "a/b"], ["a/b", "a"]] {
            assert_eq!(all(&keys), Err(("a", Misplaced::Folder("a/b".to_owned()))));
        }
        assert_eq!(all(&["a-b", "a/b", "ab"]).map(|all| all.len()), Ok(3));
        assert!(all(&["a", "a-b", "a/b"]).is_err());
    }
}
