//! Which files are looked at, by name and by size.

use memchr::memmem;
use serde::{Deserialize, Serialize};

/// Files that are not YAML are looked at up to this many bytes (docs/cli.md, *Output*).
pub const OTHER_LIMIT: usize = 1024 * 1024;

/// YAML files are read up to this many bytes (docs/cli.md, *Output*).
pub const YAML_LIMIT: usize = 32 * 1024 * 1024;

/// How a file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileKind {
    /// Marked fields are edited.
    Yaml,
    /// A marker is only reported.
    Other,
}

/// The kind of the file at `path` (parts separated by `/`), by its name as Flux takes it: `*.yaml`, `*.yml` and
/// the base name `Kustomization`, hidden files too, in exactly these letters (docs/behaviour/image-automation-controller.md,
/// *Files and markers*).
pub fn file_kind(path: &str) -> FileKind {
    let base = path.rsplit('/').next().unwrap_or(path);
    let extension = base.rsplit_once('.').map(|(_, extension)| extension);
    match extension {
        Some("yaml" | "yml") => FileKind::Yaml,
        _ if base == "Kustomization" => FileKind::Yaml,
        _ => FileKind::Other,
    }
}

/// Whether the bytes can hold a marker at all: one pass that finds `$imagepolicy` in quotes. A file for which this
/// is false has neither sites nor skips.
///
/// Single quotes are let through too, so that a marker written with them is reported instead of passed over.
pub fn looks_marked(bytes: &[u8]) -> bool {
    keys(bytes, b"\"'").next().is_some()
}

/// The places of `$imagepolicy` in one of the `quotes`; each is the offset of the opening quote.
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
