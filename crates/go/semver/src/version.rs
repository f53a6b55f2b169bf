//! Semantic versions as Masterminds/semver v3.5.0 represents and orders them.
//!
//! It is laxer than Semantic Versioning 2.0.0: `v1`, `1.2` and `01.2.3` are versions, segments are 64 bits wide, and a
//! prerelease number that does not fit 64 bits is compared as text.

use std::cmp::Ordering;
use std::fmt;

use super::identifier::{check_metadata, check_prerelease, compare_prereleases};
use super::version_error::VersionError;

/// A version. Equality and order are precedence (Semantic Versioning 2.0.0, item 11): metadata and spelling do not
/// count, so `v1.2` and `1.2.0+build` are equal.
#[derive(Clone, Debug)]
pub struct Version {
    pub(super) major: u64,
    pub(super) minor: u64,
    pub(super) patch: u64,
    pub(super) prerelease: String,
    pub(super) metadata: String,
    pub(super) original: String,
}

impl Version {
    pub fn major(&self) -> u64 {
        self.major
    }

    /// The second segment; 0 when it was left out.
    pub fn minor(&self) -> u64 {
        self.minor
    }

    /// The third segment; 0 when it was left out.
    pub fn patch(&self) -> u64 {
        self.patch
    }

    /// The identifiers after `-`; empty for a release.
    pub fn prerelease(&self) -> &str {
        &self.prerelease
    }

    /// The identifiers after `+`; empty when there are none.
    pub fn metadata(&self) -> &str {
        &self.metadata
    }

    pub fn original(&self) -> &str {
        &self.original
    }

    /// A version of these parts.
    pub fn from_parts(segments: [u64; 3], prerelease: String, metadata: String, original: String) -> Self {
        let [major, minor, patch] = segments;
        Self {
            major,
            minor,
            patch,
            prerelease,
            metadata,
            original,
        }
    }

    /// The same version with another prerelease, or none.
    ///
    /// # Errors
    /// [`VersionError`] when the text cannot be a prerelease.
    pub fn with_prerelease(&self, prerelease: &str) -> Result<Self, VersionError> {
        if !prerelease.is_empty() {
            check_prerelease(prerelease)?;
        }
        Ok(self.spelled_anew(prerelease, &self.metadata))
    }

    /// The same version with other metadata, or none.
    ///
    /// # Errors
    /// [`VersionError`] when the text cannot be metadata.
    pub fn with_metadata(&self, metadata: &str) -> Result<Self, VersionError> {
        if !metadata.is_empty() {
            check_metadata(metadata)?;
        }
        Ok(self.spelled_anew(&self.prerelease, metadata))
    }

    /// The next patch release: of a prerelease, its release. None when the number would overflow.
    pub fn next_patch(&self) -> Option<Self> {
        let step = u64::from(self.prerelease.is_empty());
        Some(self.release(self.major, self.minor, self.patch.checked_add(step)?))
    }

    /// The next minor release. None when the number would overflow.
    pub fn next_minor(&self) -> Option<Self> {
        Some(self.release(self.major, self.minor.checked_add(1)?, 0))
    }

    /// The next major release. None when the number would overflow.
    pub fn next_major(&self) -> Option<Self> {
        Some(self.release(self.major.checked_add(1)?, 0, 0))
    }

    fn release(&self, major: u64, minor: u64, patch: u64) -> Self {
        let release = Self {
            major,
            minor,
            patch,
            ..self.clone()
        };
        release.spelled_anew("", "")
    }

    /// Keeps the `v` of this version's spelling.
    fn spelled_anew(&self, prerelease: &str, metadata: &str) -> Self {
        let prefix = if self.original.starts_with('v') { "v" } else { "" };
        let mut version = Self {
            prerelease: prerelease.to_owned(),
            metadata: metadata.to_owned(),
            ..self.clone()
        };
        version.original = format!("{prefix}{version}");
        version
    }
}

/// All three segments, prerelease and metadata, without a `v`.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let segments = |version: &Self| (version.major, version.minor, version.patch);
        segments(self).cmp(&segments(other)).then_with(|| {
            match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => compare_prereleases(&self.prerelease, &other.prerelease),
            }
        })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn orders_by_precedence() {
        let ascending = [
            "0.9.9",
            "1.0.0-0",
            "1.0.0-2",
            "1.0.0-11",
            "1.0.0-18446744073709551615",
            // Too large for a number, so a text, and as texts "-" < "1…" < "9".
            "1.0.0--",
            "1.0.0-18446744073709551616",
            "1.0.0-99999999999999999999",
            "1.0.0-RC",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-rc1",
            "1",
            "1.0.1",
            "1.10",
        ];
        for pair in ascending.windows(2) {
            let [low, high] = pair else { continue };
            assert!(version(low) < version(high), "{low} {high}");
            assert!(version(high) > version(low), "{high} {low}");
        }
        assert_eq!(version("v1.2"), version("1.2.0+build"));
    }

    #[test]
    fn next_releases_keep_the_prefix() {
        let next = version("v1.2.3-rc.1+b").next_patch().unwrap();
        assert_eq!((next.original(), next.to_string().as_str()), ("v1.2.3", "1.2.3"));
        assert_eq!(version("1.2.3").next_patch().unwrap().original(), "1.2.4");
        assert_eq!(version("v1.2.3").next_minor().unwrap().original(), "v1.3.0");
        assert_eq!(version("1.2").next_major().unwrap().original(), "2.0.0");
        let other = version("v1.2+b").with_prerelease("rc.1").unwrap();
        assert_eq!(other.original(), "v1.2.0-rc.1+b");
        assert_eq!(other.with_metadata("").unwrap().original(), "v1.2.0-rc.1");
        assert_eq!(
            other.with_metadata("x_y").unwrap_err().to_string(),
            "invalid metadata string"
        );
    }
}
