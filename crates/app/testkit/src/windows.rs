//! Windows (`bumpwright.dev/window`) around the current time.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 24 * 60 * 60;
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A window that is closed, and opens at least two days from now.
pub fn closed() -> String {
    let day = DAYS[usize::try_from((now() / DAY + 3) % 7).unwrap()];
    format!("{day} 10:00-11:00")
}

/// A window that opens at the next minute, in five seconds at least, and when that is, in seconds since 1970.
pub fn opening_soon() -> (String, u64) {
    let opens = (now() + 5).div_ceil(60) * 60;
    let day = DAYS[usize::try_from(opens / DAY % 7).unwrap()];
    let clock = |at: u64| format!("{:02}:{:02}", at / 3600 % 24, at / 60 % 60);
    (format!("{day} {}-{}", clock(opens), clock(opens + 1800)), opens)
}
