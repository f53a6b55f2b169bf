//! This moment and durations, as Flux spells them.

use std::time::{Duration, SystemTime};

use bumpwright_gostd::{self as gostd, RFC_3339, RFC_3339_NANO};

/// This moment.
pub fn now() -> gostd::Time {
    gostd::Time::from(SystemTime::now())
}

/// A moment as a status holds it (`metav1.Time`).
pub fn spelled(time: &gostd::Time) -> String {
    time.written(RFC_3339)
}

/// A moment in RFC 3339 to the nanosecond, as `flux reconcile` asks with.
pub fn exact(time: &gostd::Time) -> String {
    time.written(RFC_3339_NANO)
}

/// Whole seconds from one moment in RFC 3339 to another; none when one is not such a text, or the first is the later one.
pub fn seconds_between(from: &str, to: &str) -> Option<u64> {
    let read = |text: &str| gostd::Time::parse(RFC_3339, text.as_bytes()).ok();
    u64::try_from(read(to)?.unix_seconds() - read(from)?.unix_seconds()).ok()
}

/// `1m0s`
pub fn duration(duration: Duration) -> gostd::Duration {
    gostd::Duration(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}
