//! What a field holds, and whether its marker writes the same kind of thing: what is more than that would be lost, and
//! what was made of it would be broken.

use std::borrow::Cow;

use super::versions;
use crate::model::Part;
use crate::model::is_digest;
use crate::model::is_hash;
use crate::site::{Site, Spelling};
use bumpwright_policy::LatestRef;
use bumpwright_text::Cuts;

/// The least length of a text of hexadecimal digits that is a digest or a commit, and no name.
const SHORTEST_HASH: usize = 7;

/// What a text is, by its looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Empty,
    /// A tag, or a name without a registry; with a digest behind it or not.
    Word,
    PinnedWord,
    /// A name with a slash or a port.
    Name,
    /// A name with a tag, a digest, or both.
    Reference,
    Digest,
    /// More than any of these, in words.
    More(&'static str),
}

/// Why a field does not fit its marker: what it holds, and the way out.
pub(crate) fn mismatch(site: &Site, image: &LatestRef) -> Option<String> {
    misfit(site, image).map(|(found, way)| told(site, found, &way))
}

/// Why a field does not fit its marker, whatever image its policy chooses.
pub(crate) fn certain_mismatch(site: &Site) -> Option<String> {
    // No field holds the name of this image, and tags of Git have such characters.
    let any = LatestRef {
        name: String::new(),
        tag: "a/b@1".to_owned(),
        digest: None,
    };
    let (found, way) = misfit(site, &any)?;
    Some(told(site, found, &way))
}

fn told(site: &Site, found: &str, way: &str) -> String {
    let (setter, part) = (&site.setter, in_words(site.setter.part));
    format!(
        "the field holds {found}, which {part} of {setter} would replace; {way}, or have it overwritten as Flux does (--overwrite-mismatches, \
         feature gate OverwriteMismatches)"
    )
}

fn in_words(part: Part) -> &'static str {
    match part {
        Part::Reference => "the whole image",
        Part::Name => "the name of the image",
        Part::Tag => "the tag",
        Part::Digest => "the digest",
        Part::TagDigest => "tag and digest",
    }
}

fn misfit(site: &Site, image: &LatestRef) -> Option<(&'static str, String)> {
    let old = match site.setter.part {
        // A version in an address is escaped.
        Part::Tag => versions::unescaped(&site.value),
        _ => Cow::Borrowed(site.value.as_str()),
    };
    let value = old.trim_end_matches(['\n', '\r']);
    let is_null = matches!(site.spelling, Spelling::Plain { .. }) && matches!(value, "~" | "null" | "Null" | "NULL");
    if is_null {
        return None;
    }
    let part = site.setter.part;
    let marker = |suffix: &str| {
        let policy = &site.setter.policy;
        format!("mark it with {}{suffix}", policy.marker())
    };
    let by_pattern = || "name the part of it by a pattern in .bumpwright.yaml (docs/guides/rules.md)".to_owned();
    let short = image.name.behind_last('/');
    let is_versioned = is_versioned(value) && value != short;
    let says_tag = is_of_tag(&site.key) && value != short;
    Some(match (part, content(value)) {
        (_, Content::Empty) => return None,
        (Part::Tag | Part::TagDigest, Content::More(_) | Content::Name) if is_as_odd(value, &image.tag) => return None,
        (_, Content::More(what)) => (what, by_pattern()),
        (Part::Tag | Part::TagDigest, Content::Word) if value == short && !is_of_tag(&site.key) => {
            ("the name of the image", marker(""))
        }
        (Part::Tag | Part::TagDigest, Content::Word | Content::PinnedWord) => return None,
        (Part::Tag | Part::TagDigest, Content::Name) => ("the name of an image", marker(":name")),
        (Part::Tag | Part::TagDigest | Part::Name, Content::Reference) => ("a whole image", marker("")),
        (Part::Reference, Content::Word | Content::PinnedWord) if is_versioned || says_tag => ("a tag", marker(":tag")),
        (Part::Reference, Content::Digest) | (Part::Tag | Part::TagDigest | Part::Name, Content::Digest) => {
            ("a digest", marker(":digest"))
        }
        (Part::Reference, _) => return None,
        (Part::Name, Content::Word) if is_versioned || says_tag => ("a tag", marker(":tag")),
        (Part::Name, Content::Word | Content::Name) => return None,
        (Part::Name, Content::PinnedWord) => ("a tag or a name with a digest", marker("")),
        (Part::Digest, Content::Digest) => return None,
        (Part::Digest, Content::Word) if is_hash(value) && value.len() >= 32 => {
            ("a digest without its algorithm", by_pattern())
        }
        (Part::Digest, Content::Word) if is_versioned || says_tag => ("a tag", marker(":tag")),
        (Part::Digest, Content::Word) => return None,
        (Part::Digest, Content::PinnedWord) => ("a digest behind something else", marker(":tag@digest")),
        (Part::Digest, Content::Name | Content::Reference) => ("the name of an image", marker("")),
    })
}

/// Whether a key says that its field holds a tag.
fn is_of_tag(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("tag") || key.ends_with("version")
}

/// What a text is.
fn content(value: &str) -> Content {
    if value.is_empty() {
        return Content::Empty;
    }
    if let Some(what) = more(value) {
        return Content::More(what);
    }
    if is_digest(value) {
        return Content::Digest;
    }
    let (image, digest) = match value.split_once('@') {
        Some((image, digest)) => (image, Some(digest)),
        None => (value, None),
    };
    if digest.is_some_and(|digest| image.is_empty() || !is_digest(digest)) {
        return Content::More("a text with an @");
    }
    let (name, tag, _) = LatestRef::split(image);
    let (host, path) = name.split_once('/').unwrap_or(("", name));
    if path.contains(':') || host.matches(':').count() > 1 || tag.is_some_and(str::is_empty) || name.is_empty() {
        return Content::More("a text with several colons");
    }
    match (tag, digest, name.contains('/')) {
        (Some(_), _, _) | (None, Some(_), true) => Content::Reference,
        (None, None, true) => Content::Name,
        (None, Some(_), false) => Content::PinnedWord,
        (None, None, false) => Content::Word,
    }
}

/// What is in no image, in words.
fn more(value: &str) -> Option<&'static str> {
    // A word with quotes in it stands for an image as any other does: nothing of it is lost.
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-/:@+'\"".contains(c);
    Some(match value {
        _ if value.contains("ENC[") => "an encrypted value",
        _ if value.contains("://") => "an address with a scheme",
        _ if value.contains(['$', '{', '}']) => "a variable",
        _ if value.contains(char::is_whitespace) => "several words",
        _ if value.starts_with('-') => "a flag",
        _ if value.contains('=') => "an assignment",
        _ if value.starts_with(['.', '/', '@', ':']) => "a path or a piece of an image",
        _ if !value.chars().all(is_known) => "characters that no image has",
        _ => return None,
    })
}

/// Whether a text has no other special characters than a tag has that is not an image's: tags of
/// Git repositories have more.
fn is_as_odd(value: &str, tag: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    let begins = value.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || tag.starts_with(c));
    begins && !tag.is_empty() && value.chars().all(|c| is_plain(c) || tag.contains(c))
}

/// Whether a word is a version rather than a name: a number, with a `v` or not, a commit, or `latest`.
fn is_versioned(value: &str) -> bool {
    let word = value.before('@');
    let number = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = rest.len() < number.len() && (rest.is_empty() || rest.starts_with(['.', '-', '_', '+']));
    let is_commit = word.len() >= SHORTEST_HASH && is_hash(word) && word.contains(|c: char| c.is_ascii_digit());
    is_number || is_commit || word == "latest"
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn misfits(part: Part, key: &str, value: &str) -> bool {
        let site = site(part, key, value);
        let image = LatestRef {
            name: "ghcr.io/acme/web".to_owned(),
            tag: "2.0.0".to_owned(),
            digest: None,
        };
        mismatch(&site, &image).is_some()
    }

    fn site(part: Part, key: &str, value: &str) -> Site {
        let policy = bumpwright_policy::PolicyName::new("fs", "web");
        let setter = crate::model::Setter { policy, part };
        let mut site = Site::verbatim(setter, value, 0..value.len(), (1, 1)).unwrap();
        site.key = key.to_owned();
        site
    }

    #[test]
    fn what_fits_no_image_is_known_without_one() {
        use Part::{Digest, Name, Reference, Tag};
        for (part, key, value) in [
            (Reference, "image", "1.0.0"),
            (Reference, "arg", "--image=web:1"),
            (Reference, "url", "oci://ghcr.io/acme/web"),
            (Tag, "tag", "ghcr.io/acme/web:1.0.0"),
            (Tag, "tag", "${TAG:=1.0.0}"),
            (Tag, "url", "https://example.com/x?ref=v1"),
            (Name, "name", "1.0.0"),
            (Digest, "digest", "1.0.0"),
        ] {
            assert!(certain_mismatch(&site(part, key, value)).is_some(), "{part:?} {value}");
        }
        for (part, key, value) in [
            (Reference, "image", "web"),
            (Reference, "image", "ghcr.io/acme/web:1.0.0"),
            (Tag, "tag", "app/v1.1.0"),
            (Tag, "tag", "app@1.1.0"),
            (Tag, "version", "1.0.1+up2.0.1"),
            (Tag, "tag", "web"),
            (Name, "name", "web"),
        ] {
            assert_eq!(certain_mismatch(&site(part, key, value)), None, "{part:?} {value}");
        }
    }

    #[test]
    fn what_the_marker_writes_is_replaced() {
        use Part::{Digest, Name, Reference, Tag, TagDigest};
        for (part, key, values) in [
            (
                Reference,
                "image",
                &[
                    "",
                    "old",
                    "web",
                    "PLACEHOLDER",
                    "nginx:1.25",
                    "ghcr.io/acme/web",
                    "ghcr.io/acme/web:1.0.0",
                    "localhost:5000/web",
                    "localhost:5000/web:1",
                    "web@sha256:0a",
                    "ghcr.io/other/app:1@sha256:0a",
                ][..],
            ),
            (
                Tag,
                "tag",
                &[
                    "",
                    "1.0.0",
                    "v1",
                    "latest",
                    "main-0a1b2c3-100",
                    "1.0.0+up2.0.0",
                    "1.0.0@sha256:0a",
                    "7",
                ],
            ),
            (TagDigest, "tag", &["", "1.0.0", "1.0.0@sha256:0a"]),
            (Name, "name", &["", "web", "acme/web", "localhost:5000/web"]),
            (Digest, "digest", &["", "sha256:0a", "sha512:0a", "none"]),
        ] {
            for value in values {
                assert!(!misfits(part, key, value), "{part:?} {key}: {value}");
            }
        }
    }

    #[test]
    fn what_is_more_is_held() {
        use Part::{Digest, Name, Reference, Tag, TagDigest};
        for (part, key, values) in [
            (
                Reference,
                "",
                &[
                    "--image=ghcr.io/acme/web:1.0.0",
                    "docker://ghcr.io/acme/web:1",
                    "IMAGE=web:1",
                    "${REGISTRY}/web:1",
                    "{{ .image }}",
                    "run web:1 now",
                    "a:1,b:2",
                    "1.0.0",
                    "v1.2",
                    "latest",
                    "sha256:0a",
                    "1.0.0@sha256:0a",
                    "0a1b2c3d",
                    "web:",
                ][..],
            ),
            (Reference, "newTag", &["stable"]),
            (
                Tag,
                "",
                &[
                    "https://example.com/base?ref=v1.0.0",
                    "APP_VERSION=1.9.0",
                    "${TAG:=1.0.0}",
                    "$TAG",
                    "ghcr.io/acme/web:1.0.0",
                    "ghcr.io/acme/web",
                    "web:1.0.0",
                    "web",
                    "sha256:0a",
                    "@sha256:0a",
                    ":1.0.0",
                    "-v1",
                    "a b",
                    "ENC[AES256_GCM,data:x]",
                ],
            ),
            (TagDigest, "", &["web:1@sha256:0a", "a=b"]),
            (
                Name,
                "",
                &[
                    "oci://ghcr.io/acme/web",
                    "web:1",
                    "acme/web:1@sha256:0a",
                    "web@sha256:0a",
                    "1.0.0",
                    "sha256:0a",
                ],
            ),
            (
                Digest,
                "",
                &[
                    "1.0.0",
                    "1.0.0@sha256:0a",
                    "acme/web@sha256:0a",
                    "acme/web",
                    "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a",
                ],
            ),
        ] {
            for value in values {
                assert!(misfits(part, key, value), "{part:?} {key}: {value}");
            }
        }
    }

    /// A tag of a Git repository may have what no tag of an image has.
    #[test]
    fn a_tag_is_replaced_by_one_of_its_kind() {
        for (tag, value, fits) in [
            ("release/2.0.0", "release/1.0.0", true),
            ("web@2.0.0", "web@1.0.0", true),
            ("2.0.0", "release/1.0.0", false),
            ("release/2.0.0", "https://example.com/1.0.0", false),
        ] {
            let image = LatestRef {
                name: "example.com/acme/web".to_owned(),
                tag: tag.to_owned(),
                digest: None,
            };
            assert_eq!(
                mismatch(&site(Part::Tag, "tag", value), &image).is_none(),
                fits,
                "{value}"
            );
        }
    }
}
