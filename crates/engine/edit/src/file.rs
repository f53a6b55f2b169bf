//! The files to read, by name and size.

use memchr::memmem;
use serde::{Deserialize, Serialize};

/// Greatest size of other files that are searched (docs/cli.md, *Output*).
pub const OTHER_LIMIT: usize = 1024 * 1024;

/// Greatest size of YAML files that are read (docs/cli.md, *Output*).
pub const YAML_LIMIT: usize = 32 * 1024 * 1024;

/// The treatment of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileKind {
    /// Marked fields are edited.
    Yaml,
    /// Markers are only reported.
    Other,
}

/// The kind of the file at `path` (with `/`), by its name as in Flux: `*.yaml`, `*.yml` and the base name `Kustomization`,
/// including hidden files, case-sensitive (docs/behaviour/image-automation-controller.md, *Files and markers*).
pub fn file_kind(path: &str) -> FileKind {
    let base = path.rsplit('/').next().unwrap_or(path);
    let extension = base.rsplit_once('.').map(|(_, extension)| extension);
    match extension {
        Some("yaml" | "yml") => FileKind::Yaml,
        _ if base == "Kustomization" => FileKind::Yaml,
        _ => FileKind::Other,
    }
}

/// Whether the bytes may contain a marker: one search for `$imagepolicy` in quotes. A file without it has neither sites
/// nor skips.
///
/// Single quotes are accepted, too, so that a marker with them is reported.
pub fn looks_marked(bytes: &[u8]) -> bool {
    keys(bytes, b"\"'").next().is_some()
}

/// The offsets of `$imagepolicy` in one of the `quotes`, including the opening quote.
pub(super) fn keys<'a>(bytes: &'a [u8], quotes: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    const KEY: &[u8] = b"$imagepolicy";
    memmem::find_iter(bytes, KEY).filter_map(move |at| {
        let open = at.checked_sub(1)?;
        let quote = bytes.get(open)?;
        (quotes.contains(quote) && bytes.get(at + KEY.len()) == Some(quote)).then_some(open)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_go_by_the_exact_name() {
        for path in [
            "a.yaml",
            "x/y.yml",
            ".hidden.yaml",
            "x/.yaml",
            "Kustomization",
            "d/Kustomization",
        ] {
            assert_eq!(file_kind(path), FileKind::Yaml, "{path}");
        }
        for path in [
            "a.YAML",
            "kustomization",
            "a.json",
            "yaml",
            "a.yaml.bak",
            "x.yaml/y",
            "",
            "Kustomization.txt",
        ] {
            assert_eq!(file_kind(path), FileKind::Other, "{path}");
        }
    }

    #[test]
    fn the_key_counts_only_in_quotes() {
        assert!(looks_marked(br#"a: 1 # {"$imagepolicy": "ns:n"}"#));
        assert!(looks_marked(b"a: 1 # {'$imagepolicy': 'ns:n'}"));
        assert!(!looks_marked(b"$imagepolicy"));
        assert!(!looks_marked(br#""$imagepolicy"#));
        assert!(!looks_marked(b""));
    }
}
