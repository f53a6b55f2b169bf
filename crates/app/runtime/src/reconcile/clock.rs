//! The current time and durations, in Flux' formats.

use std::time::{Duration, SystemTime};

use bumpwright_gostd::{self as gostd, RFC_3339, RFC_3339_NANO};

pub fn now() -> gostd::Time {
    gostd::Time::from(SystemTime::now())
}

/// A time in the format of statuses (`metav1.Time`).
pub fn spelled(time: &gostd::Time) -> String {
    time.written(RFC_3339)
}

/// A time in RFC 3339 to the nanosecond, as in the requests of `flux reconcile`.
pub fn exact(time: &gostd::Time) -> String {
    time.written(RFC_3339_NANO)
}

/// Whole seconds between two times in RFC 3339; none when one is not valid, or the first is later.
pub fn seconds_between(from: &str, to: &str) -> Option<u64> {
    let read = |text: &str| gostd::Time::parse(RFC_3339, text.as_bytes()).ok();
    u64::try_from(read(to)?.unix_seconds() - read(from)?.unix_seconds()).ok()
}

/// `1m0s`
pub fn duration(duration: Duration) -> gostd::Duration {
    gostd::Duration(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}
