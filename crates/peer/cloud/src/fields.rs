//! Deserialization of fields: secrets, seconds as number or text, dates.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer};

use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_secret::Secret;

/// The longest accepted lifetime, in seconds: a year.
const LONGEST: u64 = 365 * 24 * 3600;

/// A secret text, moved without a copy. It may be missing or null; an empty one counts as missing.
pub(super) fn secret_if_any<'de, D: Deserializer<'de>>(text: D) -> Result<Option<Secret>, D::Error> {
    let text: Option<String> = Option::deserialize(text)?;
    Ok(text.filter(|text| !text.is_empty()).map(Secret::new))
}

/// Seconds, as a number (Entra) or as digits in a text (Azure's metadata endpoints).
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub(super) enum Seconds {
    Number(f64),
    Text(String),
}

impl Seconds {
    fn count(&self) -> Option<u64> {
        let number = match self {
            Self::Number(number) => *number,
            Self::Text(text) => text.trim().parse().ok()?,
        };
        let duration = Duration::try_from_secs_f64(number).ok()?;
        Some(duration.as_secs()).filter(|seconds| *seconds > 0)
    }

    /// The end of a lifetime that began at `start`.
    pub(super) fn after(&self, start: SystemTime) -> Option<SystemTime> {
        start.checked_add(Duration::from_secs(self.count()?.min(LONGEST)))
    }

    /// As seconds since 1970.
    pub(super) fn since_1970(&self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::from_secs(self.count()?))
    }
}

/// Parses a date of RFC 3339, `2026-01-02T15:04:05Z`.
pub(super) fn date(text: &str) -> Option<SystemTime> {
    Time::parse(RFC_3339, text.as_bytes()).ok()?.system()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let at = |seconds| Some(UNIX_EPOCH + Duration::from_secs(seconds));
        let rows = [
            ("3599", at(3599)),
            ("\"3599\"", at(3599)),
            ("1.7E9", at(1_700_000_000)),
            ("0", None),
            ("-1", None),
            ("\"soon\"", None),
            ("1e300", None),
        ];
        for (text, expected) in rows {
            let seconds: Result<Seconds, _> = serde_json::from_str(text);
            assert_eq!(seconds.ok().and_then(|s| s.since_1970()), expected, "{text}");
        }
        assert_eq!(Seconds::Number(1e15).after(UNIX_EPOCH), at(LONGEST));
        assert_eq!(date("2015-08-30T12:36:00Z"), at(1_440_938_160));
        let half = Duration::from_millis(500);
        assert_eq!(
            date("2015-08-30T14:36:00.5+02:00"),
            at(1_440_938_160).map(|at| at + half)
        );
        assert_eq!(date("tomorrow"), None);
    }
}
