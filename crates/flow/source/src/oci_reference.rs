//! The image that a source follows (source-controller v1.9, `getArtifactRef`), and the format of its revision.

use bumpwright_api::OciRef;
use bumpwright_gostd::quote;
use bumpwright_policy::{Reference, Validation};
use bumpwright_re2::{Budget, Regexp};
use bumpwright_semver::{Constraint, Version};

const SCHEME: &str = "oci://";

/// Media type of Helm chart layers: their versions may have a `+`, which tags cannot have.
pub const CHART_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

const REPOSITORY_CHARACTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789_-./";

/// The effective part of `spec.ref`: the first that is set of digest, range, tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OciPick {
    /// A digest, as written.
    Digest(String),
    /// A range of versions over the tags.
    Semver {
        range: String,
        /// A regular expression that tags must match; empty for all.
        filter: String,
    },
    Tag(String),
}

impl OciPick {
    /// Reads `spec.ref`.
    #[must_use]
    pub fn of(spec: Option<&OciRef>) -> Self {
        let nothing = OciRef::default();
        let spec = spec.unwrap_or(&nothing);
        let set = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        if let Some(digest) = set(&spec.digest) {
            Self::Digest(digest)
        } else if let Some(range) = set(&spec.semver) {
            let filter = spec.semver_filter.clone().unwrap_or_default();
            Self::Semver { range, filter }
        } else {
            Self::Tag(set(&spec.tag).unwrap_or_else(|| "latest".to_owned()))
        }
    }
}

/// Why the address of a repository is not one, in go-containerregistry's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OciUrlError {
    /// It does not begin with `oci://`.
    #[error("URL must be in format 'oci://<domain>/<org>/<repo>'")]
    Scheme,
    /// Nothing comes after the scheme.
    #[error("a repository name must be specified")]
    NoName,
    /// The path is too short or too long.
    #[error("repository must be between 2 and 255 characters in length: {0}")]
    Length(String),
    /// The path has a character that it cannot have.
    #[error("repository can only contain the characters `{REPOSITORY_CHARACTERS}`: {0}")]
    Characters(String),
    /// The host is not one.
    #[error("registries must be valid RFC 3986 URI authorities: {0}")]
    Host(String),
}

/// Why no tag is chosen, in the words of the libraries that source-controller uses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// The filter is not a regular expression.
    #[error(transparent)]
    Filter(#[from] bumpwright_re2::Error),
    /// The filter takes too long.
    #[error("semverFilter: {0}")]
    FilterSteps(#[source] bumpwright_re2::Exhausted),
    /// The range is not one.
    #[error("semver '{range}' parse error: {problem}")]
    Range {
        /// As it is written.
        range: String,
        #[source]
        problem: bumpwright_semver::ConstraintError,
    },
    /// No tag is in the range.
    #[error("no match found for semver: {0}")]
    NoMatch(String),
}

/// Why a digest is not one, in go-containerregistry's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// It has no algorithm or no digits.
    #[error("cannot parse hash: {}", quote(.0))]
    Form(String),
    #[error("found non-hex character in hash: {0}")]
    NotHex(char),
    #[error("unsupported hash: {}", quote(.0))]
    Algorithm(String),
    #[error("wrong number of hex digits for {algorithm}: {hex}")]
    Length { algorithm: String, hex: String },
}

/// The repository of `spec.url`, as a reference whose tag is not used.
pub fn oci_repository(url: &str) -> Result<Reference, OciUrlError> {
    let Some(name) = url.strip_prefix(SCHEME) else {
        return Err(OciUrlError::Scheme);
    };
    if name.is_empty() {
        return Err(OciUrlError::NoName);
    }
    let has_host = |(first, _): &(&str, &str)| first.contains(['.', ':']);
    let (host, path) = name.split_once('/').filter(has_host).unwrap_or(("", name));
    if !(2..=255).contains(&path.chars().count()) {
        return Err(OciUrlError::Length(path.to_owned()));
    }
    if !path.chars().all(|character| REPOSITORY_CHARACTERS.contains(character)) {
        return Err(OciUrlError::Characters(path.to_owned()));
    }
    Reference::parse(name, Validation::Weak).map_err(|_| OciUrlError::Host(host.to_owned()))
}

/// The tag with the highest version in a range, among those that match the filter. Tags that are not versions are
/// skipped; of equal versions the first in the list wins. `media_type` is that of the wanted layer.
pub(crate) fn newest_tag(tags: &[String], range: &str, filter: &str, media_type: &str) -> Result<String, TagError> {
    let filter = match filter {
        "" => None,
        pattern => Some(Regexp::new(pattern)?.for_many_texts()),
    };
    let constraint = Constraint::parse(range).map_err(|problem| TagError::Range {
        range: range.to_owned(),
        problem,
    })?;
    let mut budget = budget(tags.len());
    let mut highest: Option<(Version, &str)> = None;
    for tag in tags {
        if let Some(filter) = &filter
            && !filter
                .is_match(tag.as_bytes(), &mut budget)
                .map_err(TagError::FilterSteps)?
        {
            continue;
        }
        let spelled = if media_type == CHART_LAYER {
            tag.replace('_', "+")
        } else {
            tag.clone()
        };
        let Ok(version) = Version::parse_flux(&spelled) else {
            continue;
        };
        if constraint.check(&version) && highest.as_ref().is_none_or(|(best, _)| version > *best) {
            highest = Some((version, tag));
        }
    }
    match highest {
        Some((_, tag)) => Ok(tag.to_owned()),
        None => Err(TagError::NoMatch(range.to_owned())),
    }
}

/// Step limit of a filter: more than patterns of users need, less than would block a controller.
fn budget(tags: usize) -> Budget {
    const STEPS: u64 = 200_000_000;
    const STEPS_PER_TAG: u64 = 20_000;
    Budget::new(
        STEPS.saturating_add(STEPS_PER_TAG.saturating_mul(tags as u64)),
        64 << 20,
    )
}

/// A digest usable in a pull.
///
/// # Errors
/// Those of `v1.NewHash`.
pub fn checked_digest(digest: &str) -> Result<&str, DigestError> {
    let parts = digest
        .split_once(':')
        .filter(|(name, hex)| !name.is_empty() && !hex.is_empty());
    let Some((algorithm, hex)) = parts else {
        return Err(DigestError::Form(digest.to_owned()));
    };
    let is_hex = |character: &char| matches!(character, '0'..='9' | 'a'..='f');
    if let Some(wrong) = hex.chars().find(|character| !is_hex(character)) {
        return Err(DigestError::NotHex(wrong));
    }
    if algorithm != "sha256" {
        return Err(DigestError::Algorithm(algorithm.to_owned()));
    }
    match hex.len() {
        64 => Ok(digest),
        _ => Err(DigestError::Length {
            algorithm: algorithm.to_owned(),
            hex: hex.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_digest_wins_over_a_range_over_a_tag_over_latest() {
        let some = |text: &str| Some(text.to_owned());
        let mut spec = OciRef {
            digest: some("sha256:1"),
            semver: some("1.x"),
            semver_filter: some("^1"),
            tag: some("main"),
        };
        assert_eq!(OciPick::of(Some(&spec)), OciPick::Digest("sha256:1".to_owned()));
        spec.digest = some("");
        let semver = OciPick::Semver {
            range: "1.x".to_owned(),
            filter: "^1".to_owned(),
        };
        assert_eq!(OciPick::of(Some(&spec)), semver);
        spec.semver = None;
        assert_eq!(OciPick::of(Some(&spec)), OciPick::Tag("main".to_owned()));
        assert_eq!(OciPick::of(None), OciPick::Tag("latest".to_owned()));
    }

    #[test]
    fn repositories_by_their_address() {
        let repository = oci_repository("oci://ghcr.io/acme/app").unwrap();
        assert_eq!(repository.context(), "ghcr.io/acme/app");
        assert_eq!(
            oci_repository("oci://alpine").unwrap().context(),
            "index.docker.io/library/alpine"
        );
        for (url, expected) in [
            (
                "https://ghcr.io/app",
                "URL must be in format 'oci://<domain>/<org>/<repo>'",
            ),
            ("oci://", "a repository name must be specified"),
            (
                "oci://ghcr.io/a",
                "repository must be between 2 and 255 characters in length: a",
            ),
            (
                "oci://ghcr.io/acme/app:v1",
                "repository can only contain the characters `abcdefghijklmnopqrstuvwxyz0123456789_-./`: acme/app:v1",
            ),
            (
                "oci://gh cr.io/app",
                "registries must be valid RFC 3986 URI authorities: gh cr.io",
            ),
        ] {
            assert_eq!(oci_repository(url).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn the_newest_tag_of_a_range() {
        let tags = ["v1.0.0", "1.0.0", "1.1.0-rc.1", "1.2", "1.10.0_b1", "0.9.0", "main"].map(str::to_owned);
        let newest =
            |range, filter, media_type| newest_tag(&tags, range, filter, media_type).map_err(|error| error.to_string());
        assert_eq!(newest(">=0.1.0", "", ""), Ok("v1.0.0".to_owned()));
        assert_eq!(newest(">=0.1.0", "^[0-9]", ""), Ok("1.0.0".to_owned()));
        assert_eq!(newest(">=0.1.0-0", "", ""), Ok("1.1.0-rc.1".to_owned()));
        assert_eq!(newest("1.x", "", CHART_LAYER), Ok("1.10.0_b1".to_owned()));
        assert_eq!(newest("2.x", "", ""), Err("no match found for semver: 2.x".to_owned()));
        assert_eq!(
            newest("1.x", "[", ""),
            Err("error parsing regexp: missing closing ]: `[`".to_owned())
        );
        assert!(
            newest("one", "", "")
                .unwrap_err()
                .starts_with("semver 'one' parse error: ")
        );
    }

    #[test]
    fn digests_that_are_none() {
        for (digest, expected) in [
            ("sha256", "cannot parse hash: \"sha256\""),
            ("sha256:xyz", "found non-hex character in hash: x"),
            ("md5:ab", "unsupported hash: \"md5\""),
            ("sha256:ab", "wrong number of hex digits for sha256: ab"),
        ] {
            assert_eq!(checked_digest(digest).unwrap_err().to_string(), expected);
        }
    }
}
