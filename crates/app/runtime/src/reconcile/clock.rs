//! This moment and durations, as Flux spells them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bumpwright_gostd as gostd;

/// RFC 3339 to the second, as Go writes the layout.
const RFC_3339: &[u8] = b"2006-01-02T15:04:05Z07:00";

/// This moment.
pub fn now() -> gostd::Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    gostd::Time::unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos())
}

/// A moment as a status holds it (`metav1.Time`).
pub fn spelled(time: &gostd::Time) -> String {
    String::from_utf8_lossy(&time.format(RFC_3339)).into_owned()
}

/// A moment in RFC 3339 to the nanosecond, as `flux reconcile` asks with.
pub fn exact(time: &gostd::Time) -> String {
    String::from_utf8_lossy(&time.format(b"2006-01-02T15:04:05.999999999Z07:00")).into_owned()
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
