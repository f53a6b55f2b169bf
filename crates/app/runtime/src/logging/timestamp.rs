//! Timestamps of logs and events.

use std::time::{SystemTime, UNIX_EPOCH};

use bumpwright_gostd::{Duration, RFC_3339, Time};

/// Nanoseconds since 1970, as Go's `UnixNano`; negative before, saturating.
pub(crate) fn unix_nanos(at: SystemTime) -> i64 {
    match at.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos),
    }
}

/// `2026-11-22T01:02:03Z`, as `metav1.Time` (apimachinery, `meta/v1/time.go`).
pub(crate) fn kubernetes_time(nanos: i64) -> String {
    Time::unix(0, 0).add(Duration(nanos)).written(RFC_3339)
}

/// `2026-11-22T01:02:03.004Z`, as by zap's ISO8601TimeEncoder.
pub(crate) fn log_time(at: SystemTime) -> String {
    Time::from(at).written(b"2006-01-02T15:04:05.000Z0700")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn writes_moments() {
        let at = UNIX_EPOCH + Duration::from_nanos(1_795_310_523_004_900_000);
        assert_eq!(log_time(at), "2026-11-22T01:22:03.004Z");
        assert_eq!(kubernetes_time(unix_nanos(at)), "2026-11-22T01:22:03Z");
        let before = UNIX_EPOCH - Duration::from_nanos(1);
        assert_eq!(unix_nanos(before), -1);
        assert_eq!(kubernetes_time(-1), "1969-12-31T23:59:59Z");
    }
}
