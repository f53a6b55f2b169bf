//! Dates of HTTP: `Fri, 02 Jan 2026 03:04:05 GMT`, and the two older spellings (RFC 9110, section 5.6.7).

use bumpwright_gostd::{HTTP_DATE, Time};

/// What Go's `http.ParseTime` reads.
const READ: [&[u8]; 3] = [
    HTTP_DATE,
    b"Monday, 02-Jan-06 15:04:05 MST",
    b"Mon Jan _2 15:04:05 2006",
];

/// The date of seconds since 1970.
pub(super) fn spelled(seconds: i64) -> String {
    Time::unix(seconds, 0).written(HTTP_DATE)
}

/// The seconds since 1970 of a date.
pub(super) fn seconds(date: &str) -> Option<i64> {
    let read = |layout: &&[u8]| Time::parse(layout, date.as_bytes()).ok();
    Some(READ.iter().find_map(read)?.unix_seconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_all_three_spellings() {
        for date in [
            "Fri, 02 Jan 2026 03:04:05 GMT",
            "Friday, 02-Jan-26 03:04:05 GMT",
            "Fri Jan  2 03:04:05 2026",
        ] {
            assert_eq!(seconds(date), Some(1_767_323_045), "{date}");
        }
        assert_eq!(spelled(1_767_323_045), "Fri, 02 Jan 2026 03:04:05 GMT");
        assert_eq!(seconds("yesterday"), None);
    }
}
