//! Versions that are not tags of a registry: charts have build metadata behind a `+`, Git tags also `/` and `@`.

use bumpwright_semver::Version;

/// The longest version, in bytes.
const LONGEST: usize = 250;

/// The version of a chart whose tag this is: registries allow no `+`, so Helm writes `_`. None where that makes
/// no version of it.
#[must_use]
pub fn version_of_tag(tag: &str) -> Option<String> {
    let version = tag.replace('_', "+");
    (version != tag && Version::parse_flux(&version).is_ok()).then_some(version)
}

/// The tag of the chart of this version, as Helm writes it. None where that is the version itself.
#[must_use]
pub fn tag_of_version(version: &str) -> Option<String> {
    let tag = version.replace('+', "_");
    (tag != version && Version::parse_flux(version).is_ok()).then_some(tag)
}

/// Whether a text may be a version: what Git takes for a tag's name, without what shells and templates take for
/// more than a text.
pub(super) fn is_version(text: &str) -> bool {
    const NEVER: &str = "~^:?*[\\\"'`$;&|<>(){}";
    let is_refused = |c: char| c.is_whitespace() || c.is_control() || NEVER.contains(c);
    let is_sound = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    (1..=LONGEST).contains(&text.len())
        && !text.starts_with('-')
        && !text.ends_with('.')
        && text != "@"
        && !text.contains("..")
        && !text.contains(is_refused)
        && text.split('/').all(is_sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_versions() {
        for text in [
            "1.0.1+up2.0.1",
            "v1.31.2+k3s1",
            "app/v1.1.0",
            "app@1.1.0",
            "@scope/app@1.1.0",
            "release-1.0",
            "debian/1%1.2.3-4",
            "größe-1",
        ] {
            assert!(is_version(text), "{text}");
        }
        for text in [
            "", " ", "1 0", "-1", "1.", "a//b", "/a", "a/", ".a", "a/.b", "a..b", "a.lock", "a:b", "a~1", "a^", "a?",
            "a*", "a[", "a\\b", "$(a)", "${a}", "a\n", "`a`", "a;b", "'a'", "@",
        ] {
            assert!(!is_version(text), "{text}");
        }
        assert!(!is_version(&"a".repeat(251)));
    }

    #[test]
    fn versions_of_charts_have_an_underscore_in_tags() {
        for (version, tag) in [
            ("105.0.1+up2.10.2", "105.0.1_up2.10.2"),
            ("v1.2.3-rc.1+a-b", "v1.2.3-rc.1_a-b"),
        ] {
            assert_eq!(version_of_tag(tag).as_deref(), Some(version));
            assert_eq!(tag_of_version(version).as_deref(), Some(tag));
            assert_eq!((version_of_tag(version), tag_of_version(tag)), (None, None));
        }
        for tag in ["1.2.3", "1.2_3", "a_b", "1.2.3_a_b", "latest"] {
            assert_eq!(version_of_tag(tag), None, "{tag}");
        }
    }
}
