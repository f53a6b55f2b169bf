//! The dot-separated identifiers after `-` and `+`: their characters and their order.

use std::cmp::Ordering;

use super::version_error::VersionError;

/// Whether a byte is allowed in a prerelease or metadata identifier (Semantic Versioning 2.0.0, items 9 and 10).
pub(super) fn is_identifier_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// The order of two prereleases, identifier by identifier; the one that ends first is lower, so none is lower than any.
pub(super) fn compare_prereleases(left: &str, right: &str) -> Ordering {
    left.split('.')
        .map(identifier_rank)
        .cmp(right.split('.').map(identifier_rank))
}

/// An absent identifier, then numbers by value, then texts by bytes. A number too large for 64 bits is a text.
fn identifier_rank(identifier: &str) -> (u8, u64, &str) {
    match identifier.parse::<u64>() {
        _ if identifier.is_empty() => (0, 0, ""),
        Ok(value) => (1, value, ""),
        Err(_) => (2, 0, identifier),
    }
}

/// Rejects an empty identifier, one with other bytes, and a number with a leading zero.
pub(super) fn check_prerelease(prerelease: &str) -> Result<(), VersionError> {
    for identifier in prerelease.split('.') {
        if identifier.is_empty() || !identifier.bytes().all(is_identifier_byte) {
            return Err(VersionError::InvalidPrerelease);
        }
        if is_numeric(identifier) {
            check_leading_zero(identifier)?;
        }
    }
    Ok(())
}

/// Rejects an empty identifier and one with other bytes.
pub(super) fn check_metadata(metadata: &str) -> Result<(), VersionError> {
    let sound = |identifier: &str| !identifier.is_empty() && identifier.bytes().all(is_identifier_byte);
    if !metadata.split('.').all(sound) {
        return Err(VersionError::InvalidMetadata);
    }
    Ok(())
}

/// Rejects a number of several digits that begins with 0.
pub(super) fn check_leading_zero(digits: &str) -> Result<(), VersionError> {
    if digits.len() > 1 && digits.starts_with('0') {
        return Err(VersionError::SegmentStartsZero);
    }
    Ok(())
}

/// Whether there are only digits; also true of the empty text.
pub(super) fn is_numeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
