//! The three ways to parse a version: lenient, strict, and Flux's.

use super::identifier::{check_leading_zero, check_metadata, check_prerelease, is_numeric};
use super::spelling::Spelling;
use super::version::Version;
use super::version_error::MAX_VERSION_LEN;
use super::version_error::{NumberError, VersionError};

impl Version {
    /// Parses a version leniently (Masterminds `NewVersion`): a leading `v`, one or two segments and leading zeros in
    /// segments are accepted.
    ///
    /// # Errors
    /// [`VersionError`] when the text has another form, is too long, or a segment does not fit 64 bits.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        check_length(text)?;
        let parts = Spelling::of_version(text).ok_or(VersionError::Invalid)?;
        let segment = |digits: Option<&str>| digits.map_or(Ok(0), number).map_err(VersionError::Segment);
        let version = Self {
            major: segment(Some(parts.major))?,
            minor: segment(parts.minor)?,
            patch: segment(parts.patch)?,
            prerelease: parts.prerelease.to_owned(),
            metadata: parts.metadata.to_owned(),
            original: text.to_owned(),
        };
        if !version.prerelease.is_empty() {
            check_prerelease(&version.prerelease)?;
        }
        Ok(version)
    }

    /// Parses a version as Semantic Versioning 2.0.0 specifies (Masterminds `StrictNewVersion`).
    ///
    /// # Errors
    /// [`VersionError`] naming the first fault, in the original's order: metadata, prerelease, segments.
    pub fn parse_strict(text: &str) -> Result<Self, VersionError> {
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        check_length(text)?;
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(VersionError::Invalid);
        };
        let (rest, metadata) = split_mark(rest, '+');
        if let Some(metadata) = metadata {
            check_metadata(metadata)?;
        }
        let (patch, prerelease) = split_mark(rest, '-');
        if let Some(prerelease) = prerelease {
            check_prerelease(prerelease)?;
        }
        for segment in [major, minor, patch] {
            check_segment(segment)?;
        }
        Ok(Self {
            major: number(major)?,
            minor: number(minor)?,
            patch: number(patch)?,
            prerelease: prerelease.unwrap_or_default().to_owned(),
            metadata: metadata.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        })
    }

    /// Parses a Git tag or an artifact's version as Flux does (fluxcd/pkg/version v0.16.0 `ParseVersion`): lenient, but
    /// with at least two dots, wherever they are.
    ///
    /// # Errors
    /// [`VersionError`] as [`Version::parse`], and `Invalid` when a dot is missing.
    pub fn parse_flux(text: &str) -> Result<Self, VersionError> {
        if text.bytes().filter(|byte| *byte == b'.').nth(1).is_none() {
            return Err(VersionError::Invalid);
        }
        Self::parse(text)
    }
}

fn check_length(text: &str) -> Result<(), VersionError> {
    if text.len() > MAX_VERSION_LEN {
        return Err(VersionError::TooLong);
    }
    Ok(())
}

/// The text before the first mark, and the text after it.
fn split_mark(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn number(digits: &str) -> Result<u64, NumberError> {
    if digits.is_empty() {
        return Err(NumberError::Empty);
    }
    digits.parse().map_err(|_| NumberError::OutOfRange(digits.to_owned()))
}

fn check_segment(segment: &str) -> Result<(), VersionError> {
    if !is_numeric(segment) {
        return Err(VersionError::InvalidCharacters);
    }
    check_leading_zero(segment)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lenient(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn lenient_strict_and_flux_parsing_differ() {
        const INVALID: &str = "invalid semantic version";
        for (text, lenient, strict, flux) in [
            ("1.2.3-rc.1+b", "", "", ""),
            ("v1.2.3", "", "invalid characters in version", ""),
            ("01.2.3", "", "version segment starts with 0", ""),
            ("1.2", "", INVALID, INVALID),
            // The dots that Flux requires may be anywhere.
            ("1-a.b.c", "", "invalid characters in version", ""),
            ("", INVALID, "version string empty", INVALID),
            ("1.2.3\n", INVALID, "invalid characters in version", INVALID),
            ("1.2.3-a..b", INVALID, "invalid prerelease string", INVALID),
            ("1.2.3+", INVALID, "invalid metadata string", INVALID),
            (
                "1..2",
                INVALID,
                "strconv.ParseUint: parsing \"\": invalid syntax",
                INVALID,
            ),
        ] {
            let said = |parsed: Result<Version, VersionError>| parsed.err().map_or(String::new(), |e| e.to_string());
            assert_eq!(said(Version::parse(text)), lenient, "{text:?}");
            assert_eq!(said(Version::parse_strict(text)), strict, "{text:?}");
            assert_eq!(said(Version::parse_flux(text)), flux, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_64_bits_wide_and_texts_256_bytes_long() {
        let most = lenient("18446744073709551615.0.18446744073709551615");
        assert_eq!((most.major(), most.patch()), (u64::MAX, u64::MAX));
        assert!(most.next_major().is_none() && most.next_patch().is_none());
        assert_eq!(most.next_minor().unwrap().original(), "18446744073709551615.1.0");
        let range = "strconv.ParseUint: parsing \"18446744073709551616\": value out of range";
        let error = Version::parse("1.18446744073709551616").unwrap_err();
        assert_eq!(error.to_string(), format!("error parsing version segment: {range}"));
        let error = Version::parse_strict("1.18446744073709551616.0").unwrap_err();
        assert_eq!(error.to_string(), range);
        let longest = format!("1.2.3-{}", "a".repeat(250));
        assert_eq!(lenient(&longest).prerelease().len(), 250);
        assert_eq!(
            Version::parse(&format!("{longest}a")).unwrap_err(),
            VersionError::TooLong
        );
        assert_eq!(
            Version::parse_strict(&format!("{longest}a")).unwrap_err(),
            VersionError::TooLong
        );
    }

    proptest! {
        #[test]
        fn what_is_accepted_reads_back(text in "v?[0-9]{1,21}(\\.[0-9]{1,3}){0,3}(-[0-9a-zA-Z.-]{0,9})?(\\+[0-9a-z.-]{0,5})?") {
            if let Ok(read) = Version::parse(&text) {
                prop_assert_eq!(read.original(), text.as_str());
                let again = Version::parse_strict(&read.to_string()).unwrap();
                prop_assert_eq!(again.to_string(), read.to_string());
                prop_assert_eq!(again, read);
            }
        }

        #[test]
        fn any_text_is_answered(text in any::<String>()) {
            // Strict versions are a part of the lenient ones, and Flux accepts nothing beyond those.
            let lenient = Version::parse(&text).is_ok();
            prop_assert!(lenient || Version::parse_strict(&text).is_err());
            prop_assert!(lenient || Version::parse_flux(&text).is_err());
        }
    }
}
