//! Durations as Go writes them: `1h30m`, `1.5s`, `300ms`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bumpwright_gostd as gostd;
use serde::{Deserialize, Deserializer, de};

/// A duration in a manifest (`metav1.Duration`), read as Go's `time.ParseDuration` reads it.
///
/// Negative durations parse, as with Go, and count as zero in [`GoDuration::as_std`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(gostd::Duration);

impl GoDuration {
    /// The duration in nanoseconds; negative when the text is.
    #[must_use]
    pub fn nanoseconds(self) -> i64 {
        self.0.0
    }

    /// The duration for a timer: a negative one is zero.
    #[must_use]
    pub fn as_std(self) -> Duration {
        self.0.as_std()
    }
}

/// Longer ones than Go can write are the longest of those.
impl From<Duration> for GoDuration {
    fn from(duration: Duration) -> Self {
        Self(gostd::Duration(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
    }
}

impl FromStr for GoDuration {
    type Err = gostd::DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        gostd::Duration::parse(text.as_bytes()).map(Self)
    }
}

/// Written as a count of the largest unit that it is a multiple of: `90s` for a minute and a half.
impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            (3_600_000_000_000, "h"),
            (60_000_000_000, "m"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
        ];
        for (scale, unit) in units {
            if self.nanoseconds() % scale == 0 {
                return write!(f, "{}{unit}", self.nanoseconds() / scale);
            }
        }
        write!(f, "{}ns", self.nanoseconds())
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|error| de::Error::custom(format_args!("is not a duration: {error}")))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_go_reads() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("-0", 0),
            ("5s", 5_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            ("300ms", 300_000_000),
            ("-2m3.4s", -123_400_000_000),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006),
            ("39h9m14.425s", 140_954_425_000_000),
            (".5s", 500_000_000),
            ("5.s", 5_000_000_000),
            ("1\u{b5}s", 1_000),
            ("1\u{3bc}s", 1_000),
            ("0.3333333333333333333h", 1_200_000_000_000),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("0.100000000000000000000h", 360_000_000_000),
            ("9223372036854775808ns9223372036854775808ns", 0),
        ] {
            assert_eq!(
                text.parse::<GoDuration>().map(GoDuration::nanoseconds),
                Ok(nanoseconds),
                "{text}"
            );
        }
    }

    #[test]
    fn refuses_what_go_refuses() {
        for (text, error) in [
            ("", r#"time: invalid duration """#),
            ("3", r#"time: missing unit in duration "3""#),
            ("-", r#"time: invalid duration "-""#),
            ("s", r#"time: invalid duration "s""#),
            (".s", r#"time: invalid duration ".s""#),
            ("+.s", r#"time: invalid duration "+.s""#),
            ("1d", r#"time: unknown unit "d" in duration "1d""#),
            ("5 m", r#"time: unknown unit " m" in duration "5 m""#),
            (
                "9223372036854775808ns",
                r#"time: invalid duration "9223372036854775808ns""#,
            ),
            // Go reads the number before the unit, and writes what is not ASCII by its bytes.
            (
                "99999999999999999999d",
                r#"time: invalid duration "99999999999999999999d""#,
            ),
            ("1\u{e9}", r#"time: unknown unit "\xc3\xa9" in duration "1\xc3\xa9""#),
            ("3000000h", r#"time: invalid duration "3000000h""#),
            (
                "99999999999999999999h",
                r#"time: invalid duration "99999999999999999999h""#,
            ),
        ] {
            assert_eq!(
                text.parse::<GoDuration>().map_err(|e| e.to_string()),
                Err(error.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_negative_duration_is_zero_for_a_timer() {
        assert_eq!("-1s".parse::<GoDuration>().unwrap().as_std(), Duration::ZERO);
        assert_eq!("1m30s".parse::<GoDuration>().unwrap().as_std(), Duration::from_secs(90));
    }

    #[test]
    fn is_written_with_one_unit() {
        for (text, written) in [
            ("60s", "1m"),
            ("90s", "90s"),
            ("1h", "1h"),
            ("1us", "1000ns"),
            ("0", "0h"),
        ] {
            assert_eq!(text.parse::<GoDuration>().unwrap().to_string(), written);
        }
    }
}
