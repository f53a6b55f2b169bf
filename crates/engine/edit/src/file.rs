//! The files to read, by name and size, and the formats in which markers are read.

use std::fmt;
use std::str::FromStr;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use bumpwright_nearest::nearest;
use bumpwright_text::Parts;

/// Greatest size of other files that are searched (docs/cli.md, *Output*).
pub const OTHER_LIMIT: usize = 1024 * 1024;

/// Greatest size of YAML files that are read (docs/cli.md, *Output*).
pub const YAML_LIMIT: usize = 32 * 1024 * 1024;

/// The file in the root of a repository, and the entry of ConfigMaps, that has rules.
pub const RULE_FILE: &str = ".bumpwright.yaml";

/// How rule files are named by mistake.
pub const OTHER_RULE_FILE: &str = ".bumpwright.yml";

/// The folder for objects that are for commands alone, and for no cluster.
pub const OWN_FOLDER: &str = ".bumpwright";

/// The treatment of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FileKind {
    /// Marked fields are edited.
    Yaml,
    /// Markers are only reported.
    Other,
    /// Marked fields are edited in a format that is not YAML.
    Text(Format),
    /// YAML, or else a template of YAML.
    YamlTemplate,
    /// Text about markers, in which there are none.
    Prose,
    /// YAML with rules, which is followed at the root of a repository only.
    RuleFile,
}

impl FileKind {
    /// Whether fields of such a file are edited.
    #[must_use]
    pub fn is_edited(self) -> bool {
        !matches!(self, Self::Other | Self::Prose)
    }
}

/// A format beside YAML (`--formats`).
///
/// New ones go to the end: indexes on disk know them by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Format {
    /// Dockerfile, Containerfile.
    Docker,
    Env,
    /// HCL: Terraform, OpenTofu, Packer, Nomad.
    Hcl,
    /// INI and its kin.
    Ini,
    /// JSON, with markers in neighbour keys.
    Json,
    Make,
    /// Java's properties.
    Properties,
    Shell,
    /// Go templates, such as those of Helm charts.
    Template,
    Toml,
}

impl Format {
    /// All formats, by their names.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::Docker, "docker"),
        (Self::Env, "env"),
        (Self::Hcl, "hcl"),
        (Self::Ini, "ini"),
        (Self::Json, "json"),
        (Self::Make, "make"),
        (Self::Properties, "properties"),
        (Self::Shell, "shell"),
        (Self::Template, "template"),
        (Self::Toml, "toml"),
    ];

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The formats beside YAML that are edited; none by default, as in Flux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Formats(u16);

impl Formats {
    #[must_use]
    pub fn all() -> Self {
        Self(Format::ALL.iter().fold(0, |bits, (format, _)| bits | format.bit()))
    }

    /// Whether a format is among them.
    #[must_use]
    pub fn has(self, format: Format) -> bool {
        self.0 & format.bit() != 0
    }
}

/// A list of names, or `all`.
impl FromStr for Formats {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let mut formats = Self::default();
        for name in text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty() && *name != "yaml")
        {
            if name == "all" {
                formats = Self::all();
                continue;
            }
            let entry = Format::ALL.iter().find(|(_, known)| *known == name);
            let (format, _) = entry.ok_or_else(|| UnknownFormat(name.to_owned()))?;
            formats.0 |= format.bit();
        }
        Ok(formats)
    }
}

/// A name that is not a format's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnknownFormat(String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Format::ALL.iter().map(|(_, name)| *name).collect();
        write!(f, "{:?} is no format; they are {}, or all", self.0, names.join(", "))
    }
}

/// The kind of the file at `path` (with `/`), by its name as in Flux: `*.yaml`, `*.yml` and the base name
/// `Kustomization`, including hidden files, case-sensitive
/// (docs/behaviour/image-automation-controller.md, *Files and markers*).
pub fn file_kind(path: &str) -> FileKind {
    kind_of(path, Formats::default())
}

/// The kind of the file at `path` where these formats are edited too.
pub fn kind_of(path: &str, formats: Formats) -> FileKind {
    let base = path.rsplit('/').next().unwrap_or(path);
    let extension = base.rsplit_once('.').map(|(_, extension)| extension);
    if base == RULE_FILE || base == OTHER_RULE_FILE {
        return FileKind::RuleFile;
    }
    match extension {
        Some("md" | "mdx" | "markdown" | "rst" | "adoc" | "asciidoc") => FileKind::Prose,
        _ if base == "README" => FileKind::Prose,
        Some("yaml" | "yml") if formats.has(Format::Template) => FileKind::YamlTemplate,
        Some("yaml" | "yml") => FileKind::Yaml,
        _ if base == "Kustomization" => FileKind::Yaml,
        _ if formats == Formats::default() => FileKind::Other,
        _ => match format_of(base, extension).filter(|format| formats.has(*format)) {
            Some(format) => FileKind::Text(format),
            None => FileKind::Other,
        },
    }
}

/// The format of a file by its name: the narrowest that it says.
fn format_of(base: &str, extension: Option<&str>) -> Option<Format> {
    let stem = base.split_once('.').map_or(base, |(stem, _)| stem);
    Some(match (stem, extension) {
        ("Dockerfile" | "Containerfile", _) => Format::Docker,
        (_, Some("dockerfile" | "Dockerfile" | "containerfile" | "Containerfile")) => Format::Docker,
        ("Makefile" | "makefile" | "GNUmakefile", _) | (_, Some("mk" | "mak")) => Format::Make,
        (_, Some("tf" | "tofu" | "tfvars" | "hcl" | "nomad")) => Format::Hcl,
        (_, Some("tpl" | "tmpl" | "gotmpl")) => Format::Template,
        (_, Some("toml")) => Format::Toml,
        (_, Some("json")) => Format::Json,
        (_, Some("properties")) => Format::Properties,
        (_, Some("ini" | "cfg" | "conf")) => Format::Ini,
        (_, Some("sh" | "bash" | "zsh" | "ksh")) => Format::Shell,
        (_, Some("env")) => Format::Env,
        _ if base == ".env" || base.starts_with(".env.") => Format::Env,
        _ => return None,
    })
}

/// Whether a file of this kind may contain a marker.
pub fn may_be_marked(kind: FileKind, bytes: &[u8]) -> bool {
    match kind {
        // Its quotes are escaped there.
        FileKind::Text(Format::Json) => memmem::find(bytes, b"$imagepolicy").is_some(),
        FileKind::Prose => false,
        FileKind::RuleFile => true,
        // A file that is not UTF-8 is reported.
        _ => looks_marked(bytes) || has_in_utf16(bytes, "$imagepolicy"),
    }
}

/// Whether a file in UTF-16, as PowerShell writes them, has an ASCII text. It has to begin with its byte order mark.
#[must_use]
pub fn has_in_utf16(bytes: &[u8], text: &str) -> bool {
    let Some((mark, rest)) = bytes.split_first_chunk::<2>() else {
        return false;
    };
    let wanted: Vec<u8> = match mark {
        [0xff, 0xfe] => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        [0xfe, 0xff] => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        _ => return false,
    };
    memmem::find(rest, &wanted).is_some()
}

/// Whether the bytes may contain a marker: one search, for `$imagepolicy` in quotes and for what is almost that in a
/// comment. A file without it has neither sites nor skips.
///
/// Single quotes are accepted, too, so that a marker with them is reported.
pub fn looks_marked(bytes: &[u8]) -> bool {
    names(bytes).any(|start| key_at(bytes, start, b"\"'").is_some() || is_almost_key(bytes, start))
        || misspelt_keys(bytes).next().is_some()
}

/// The longest text between the `#` of a comment and a key.
const NEAR: usize = 16;

/// The longest word that is compared with `imagepolicy`.
const LONGEST: usize = 16;

/// The length of `imagepolicy`.
const NAME: usize = "imagepolicy".len();

/// The offsets of keys in comments that are almost `"$imagepolicy"`: in other letters, without `$`, without quotes,
/// or misspelt.
pub(super) fn almost_keys(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let almost = names(bytes).filter(|start| is_almost_key(bytes, *start));
    almost.chain(misspelt_keys(bytes))
}

/// The offsets, behind the `$`, of keys in comments that are nearly `$imagepolicy`. A `$` is rare in
/// manifests, and behind the opening of a comment rarer still: only then words are compared.
fn misspelt_keys(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    memchr::memchr_iter(b'$', bytes)
        .map(|at| at + 1)
        .filter(|start| is_opened(bytes, *start) && is_misspelt(bytes.part(*start..)))
}

/// Whether a text begins with a key that is nearly `imagepolicy`, and a colon.
fn is_misspelt(text: &[u8]) -> bool {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let word: Vec<u8> = text.iter().take(LONGEST).take_while(is_part).copied().collect();
    has_colon(text.part(word.len()..)) && std::str::from_utf8(&word).is_ok_and(is_near_key)
}

/// Whether a word is nearly `imagepolicy`, and not that itself.
pub(super) fn is_near_key(word: &str) -> bool {
    word != "imagepolicy" && nearest(word, ["imagepolicy"]).is_some()
}

/// The offsets of `$imagepolicy` in one of the `quotes`, including the opening quote.
pub(super) fn keys<'a>(bytes: &'a [u8], quotes: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    names(bytes).filter_map(move |start| key_at(bytes, start, quotes))
}

/// The offsets of `imagepolicy`, and of what differs from it in the case of `i` and `p`. The end of it is searched for,
/// which all spellings share, and which is rarer in manifests than `image`.
fn names(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    const END: &[u8] = b"olicy";
    memmem::find_iter(bytes, END).filter_map(|at| {
        let start = (at + END.len()).checked_sub(NAME)?;
        matches!(
            bytes.get(start..at)?,
            [b'i' | b'I', b'm', b'a', b'g', b'e', b'p' | b'P']
        )
        .then_some(start)
    })
}

fn key_at(bytes: &[u8], start: usize, quotes: &[u8]) -> Option<usize> {
    let open = start.checked_sub(2)?;
    let (quote, rest) = bytes.get(open..)?.split_first()?;
    (rest.starts_with(b"$imagepolicy") && quotes.contains(quote) && bytes.get(start + NAME) == Some(quote))
        .then_some(open)
}

fn is_almost_key(bytes: &[u8], start: usize) -> bool {
    // A word and a colon is prose.
    is_opened(bytes, start) && has_colon(bytes.part(start + NAME..))
}

/// Whether a colon is next, behind quotes and blanks. Templates define variables by `:=`.
fn has_colon(rest: &[u8]) -> bool {
    let mut behind = rest
        .iter()
        .skip_while(|byte| b"\"'\\ \t".contains(byte) || is_curly(**byte));
    behind.next() == Some(&b':') && behind.next() != Some(&b'=')
}

/// Whether a comment begins just before, with a brace, a quote or a `$`.
fn is_opened(bytes: &[u8], start: usize) -> bool {
    let before = bytes.part(start.saturating_sub(NEAR)..start);
    let Some(hash) = before.iter().rposition(|byte| *byte == b'#') else {
        return false;
    };
    let opening = before.part(hash + 1..);
    let is_opening = opening
        .iter()
        .all(|byte| b" \t{\"'$\\".contains(byte) || is_curly(*byte));
    is_opening && opening.iter().any(|byte| b"{\"'$".contains(byte))
}

/// Whether a byte is one of the quotes that a word processor makes of `"` and `'`: U+2018, U+2019, U+201C, U+201D.
fn is_curly(byte: u8) -> bool {
    b"\xe2\x80\x98\x99\x9c\x9d".contains(&byte)
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
    fn formats_go_by_the_narrowest_name() {
        for (paths, format) in [
            (
                &["Dockerfile", "Dockerfile.web", "a/web.dockerfile", "Containerfile"][..],
                Format::Docker,
            ),
            (&["Makefile", "Makefile.tf", "rules.mk"], Format::Make),
            (&[".env", ".env.production", "web.env"], Format::Env),
            (&["main.tf", "a.nomad"], Format::Hcl),
            (&["Cargo.toml"], Format::Toml),
        ] {
            for path in paths {
                assert_eq!(kind_of(path, Formats::all()), FileKind::Text(format), "{path}");
            }
        }
        for path in ["env", "environment", "a.envrc", "MAKEFILE", "Dockerfiles"] {
            assert_eq!(kind_of(path, Formats::all()), FileKind::Other, "{path}");
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

    #[test]
    fn what_is_almost_a_key_counts_in_a_comment() {
        for text in [
            r#"a: 1 # {"$imagePolicy": "ns:n"}"#,
            r#"a: 1 # {"imagepolicy": "ns:n"}"#,
            r#"a: 1 #{"$ImagePolicy":"ns:n"}"#,
            "a: 1 # $imagepolicy: ns:n",
            r#"a: 1 # {"$imagepolcy": "ns:n"}"#,
            r#"a: 1 # {"$image-policy":"ns:n"}"#,
            r#"a: 1 # {"$ImagePolicies": "ns:n"}"#,
            "a: 1 # $imgepolicy: ns:n",
            "a: 1 # {$imagepolicy: ns:n}",
            r#"a: "1 # {\"$imagepolicy\": \"ns:n\"}""#,
        ] {
            assert!(looks_marked(text.as_bytes()), "{text}");
        }
        for text in [
            "kind: ImagePolicy",
            "# ImagePolicy: which tags count",
            "# the policy {imagepolicy}",
            "imagePolicyRef: x",
            "a: 1 # see $imagepolicy",
            r#"a: 1 # {"$imagerepository": "x"}"#,
            r#"a: 1 # {"$openapi": "image"}"#,
            "a: 1 # $imagepolcy",
            "a: ${imagepolcy}: x",
            "a: 1 # ${image_policy:=x}",
            "a: 1 # {{ $imagePolicy := .Values.x }}",
        ] {
            assert!(!looks_marked(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn files_about_markers_and_rule_files_are_known_by_name() {
        for path in ["README.md", "docs/a.markdown", "README", "x/guide.adoc"] {
            assert_eq!(file_kind(path), FileKind::Prose, "{path}");
            assert_eq!(kind_of(path, Formats::all()), FileKind::Prose, "{path}");
        }
        for path in [".bumpwright.yaml", ".bumpwright.yml", "apps/.bumpwright.yaml"] {
            assert_eq!(file_kind(path), FileKind::RuleFile, "{path}");
        }
    }
}
