//! Go's `time.Time` without a monotonic clock: seconds, nanoseconds and a zone.

use super::{
    civil::{self, Civil, SECONDS_BEFORE_YEAR_1, SECONDS_IN_DAY},
    duration::Duration,
};
use std::{
    cmp::Ordering,
    sync::Arc,
    time::{self, SystemTime},
};

/// A point in time, and the zone for displaying it. Zone tables are not supported: the local zone is UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Since 0001-01-01T00:00:00Z.
    pub seconds: i64,
    /// Below 10⁹.
    pub nanoseconds: u32,
    /// The zone for displaying it.
    pub zone: Zone,
}

/// The zone in which a time is displayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Zone {
    #[default]
    Utc,
    /// The zone of the machine. It has the offset and the name of UTC, though in Go it is not the same zone.
    Local,
    /// A fixed offset east of UTC.
    Fixed {
        /// The abbreviation; may be empty.
        name: Arc<[u8]>,
        /// Seconds.
        offset: i64,
    },
}

/// A date and a time of day in their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    pub year: i64,
    /// From 1.
    pub month: u8,
    /// From 1.
    pub day: u8,
    /// From 1.
    pub day_of_year: u16,
    /// From 0, Sunday.
    pub weekday: u8,
    /// From 0.
    pub hour: u8,
    /// From 0.
    pub minute: u8,
    /// From 0.
    pub second: u8,
}

/// The fields of a time. Months, days and so on beyond their ranges are carried over, as in Go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub year: i64,
    /// From 1.
    pub month: i64,
    /// From 1.
    pub day: i64,
    /// From 0.
    pub hour: i64,
    /// From 0.
    pub minute: i64,
    /// From 0.
    pub second: i64,
    /// Below 10⁹.
    pub nanosecond: u32,
}

const UNIX_EPOCH: i64 = 62_135_596_800;
const NANOS: i64 = 1_000_000_000;

/// The names of the months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The names of the days of the week.
pub const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

impl Zone {
    /// Seconds east of UTC.
    pub fn offset(&self) -> i64 {
        match self {
            Self::Utc | Self::Local => 0,
            Self::Fixed { offset, .. } => *offset,
        }
    }

    /// The abbreviation; may be empty.
    pub fn name(&self) -> &[u8] {
        match self {
            Self::Utc | Self::Local => b"UTC",
            Self::Fixed { name, .. } => name,
        }
    }
}

impl Time {
    /// A time since 1970, in the local zone.
    pub fn unix(seconds: i64, nanoseconds: u32) -> Self {
        Self {
            seconds: seconds.wrapping_add(UNIX_EPOCH),
            nanoseconds,
            zone: Zone::Local,
        }
    }

    /// A date and time of day in a zone.
    pub fn of(parts: Parts, zone: Zone) -> Self {
        let (years, month) = carry(parts.month.wrapping_sub(1), 12);
        let (minutes, second) = carry(parts.second, 60);
        let (hours, minute) = carry(parts.minute.wrapping_add(minutes), 60);
        let (days, hour) = carry(parts.hour.wrapping_add(hours), 24);
        let day = civil::day_of(
            parts.year.wrapping_add(years),
            month as u8 + 1,
            parts.day.wrapping_add(days),
        );
        let seconds = day
            .wrapping_mul(SECONDS_IN_DAY)
            .wrapping_add((hour * 3_600 + minute * 60 + second).cast_unsigned())
            .wrapping_sub(SECONDS_BEFORE_YEAR_1);
        Self {
            seconds: seconds.cast_signed().wrapping_sub(zone.offset()),
            nanoseconds: parts.nanosecond,
            zone,
        }
    }

    /// The time as `SystemTime`; `None` before 1970.
    pub fn system(&self) -> Option<SystemTime> {
        let seconds = u64::try_from(self.unix_seconds()).ok()?;
        SystemTime::UNIX_EPOCH.checked_add(time::Duration::new(seconds, self.nanoseconds))
    }

    /// The same time in another zone.
    pub fn in_zone(mut self, zone: Zone) -> Self {
        self.zone = zone;
        self
    }

    /// Date and time of day in its zone.
    pub fn calendar(&self) -> Calendar {
        let local = self.seconds.wrapping_add(self.zone.offset()).cast_unsigned();
        let seconds = local.wrapping_add(SECONDS_BEFORE_YEAR_1);
        let (day, clock) = (seconds / SECONDS_IN_DAY, seconds % SECONDS_IN_DAY);
        let date = Civil::of_day(day);
        Calendar {
            year: date.year,
            month: date.month,
            day: date.day,
            day_of_year: date.day_of_year,
            weekday: civil::weekday_of(day),
            hour: (clock / 3_600) as u8,
            minute: (clock / 60 % 60) as u8,
            second: (clock % 60) as u8,
        }
    }

    /// Seconds since 1970.
    pub fn unix_seconds(&self) -> i64 {
        self.seconds.wrapping_sub(UNIX_EPOCH)
    }

    /// Since 1970 in units of which a second has `per_second`; wraps around where it does in Go.
    pub fn unix_units(&self, per_second: i64) -> i64 {
        let part = i64::from(self.nanoseconds) / (NANOS / per_second);
        self.unix_seconds().wrapping_mul(per_second).wrapping_add(part)
    }

    /// Compares the two times, whatever their zones.
    pub fn order(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanoseconds).cmp(&(other.seconds, other.nanoseconds))
    }

    /// The time later by a duration, in the same zone.
    pub fn add(&self, by: Duration) -> Self {
        let nanoseconds = i64::from(self.nanoseconds) + by.0 % NANOS;
        let carried = nanoseconds.div_euclid(NANOS);
        Self {
            nanoseconds: nanoseconds.rem_euclid(NANOS) as u32,
            ..self.add_seconds(by.0 / NANOS + carried)
        }
    }

    /// The time later by a number of seconds; saturates at the ends of Go's range.
    pub(crate) fn add_seconds(&self, by: i64) -> Self {
        let seconds = match self.seconds.checked_add(by) {
            Some(sum) => sum,
            None if by > 0 => i64::MAX,
            None => -i64::MAX,
        };
        Self {
            seconds,
            ..self.clone()
        }
    }

    /// The duration since `other`; saturates at the ends of the range.
    pub fn since(&self, other: &Self) -> Duration {
        let apart = self.seconds.wrapping_sub(other.seconds).wrapping_mul(NANOS);
        let nanoseconds = i64::from(self.nanoseconds) - i64::from(other.nanoseconds);
        let apart = Duration(apart.wrapping_add(nanoseconds));
        match self.order(other) {
            _ if other.add(apart).order(self).is_eq() => apart,
            Ordering::Less => Duration(i64::MIN),
            _ => Duration(i64::MAX),
        }
    }

    /// Years, months and days later by the calendar: the 31st of a shorter month is a day of the next one.
    pub fn add_date(&self, years: i64, months: i64, days: i64) -> Self {
        let from = self.calendar();
        let parts = Parts {
            year: from.year.wrapping_add(years),
            month: i64::from(from.month).wrapping_add(months),
            day: i64::from(from.day).wrapping_add(days),
            hour: from.hour.into(),
            minute: from.minute.into(),
            second: from.second.into(),
            nanosecond: self.nanoseconds,
        };
        Self::of(parts, self.zone.clone())
    }

    /// Truncates to a multiple of `of` since the year 1.
    pub fn truncate(&self, of: Duration) -> Self {
        if of.0 <= 0 {
            return self.clone();
        }
        self.add(Duration(-self.beyond(of)))
    }

    /// Rounds to the nearest multiple of `of` since the year 1, halves up.
    pub fn round(&self, of: Duration) -> Self {
        if of.0 <= 0 {
            return self.clone();
        }
        let beyond = self.beyond(of);
        let down = beyond.unsigned_abs() * 2 < of.0.unsigned_abs();
        self.add(Duration(if down { -beyond } else { of.0 - beyond }))
    }

    /// The remainder of a division by `of`, which is above 0.
    fn beyond(&self, of: Duration) -> i64 {
        let nanoseconds = i128::from(self.seconds) * i128::from(NANOS) + i128::from(self.nanoseconds);
        // Below `of`, so it fits.
        nanoseconds.rem_euclid(i128::from(of.0)) as i64
    }
}

/// In the local zone.
impl From<SystemTime> for Time {
    fn from(at: SystemTime) -> Self {
        let epoch = SystemTime::UNIX_EPOCH;
        let (since, before) = match at.duration_since(epoch) {
            Ok(since) => (since, false),
            Err(error) => (error.duration(), true),
        };
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        match (before, since.subsec_nanos()) {
            (false, nanoseconds) => Self::unix(seconds, nanoseconds),
            (true, 0) => Self::unix(-seconds, 0),
            (true, nanoseconds) => Self::unix(-seconds - 1, NANOS as u32 - nanoseconds),
        }
    }
}

/// The quotient by `base`, and a remainder that is not negative.
fn carry(number: i64, base: i64) -> (i64, i64) {
    (number.div_euclid(base), number.rem_euclid(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: i64, month: i64, day: i64) -> Time {
        let parts = Parts {
            year,
            month,
            day,
            ..Parts::default()
        };
        Time::of(parts, Zone::Utc)
    }

    #[test]
    fn carries_what_is_out_of_range() {
        assert_eq!(at(2024, 2, 30), at(2024, 3, 1));
        assert_eq!(at(2024, -1, 1), at(2023, 11, 1));
        assert_eq!(at(1, 1, 1).seconds, 0);
        assert_eq!(at(1970, 1, 1).unix_seconds(), 0);
        assert_eq!(at(2024, 1, 31).add_date(0, 1, 0), at(2024, 3, 2));
        assert_eq!(at(2024, 2, 29).add_date(-1, 0, -1), at(2023, 2, 28));
    }

    #[test]
    fn times_of_the_system() {
        let epoch = SystemTime::UNIX_EPOCH;
        let part = time::Duration::from_nanos(1_250_000_000);
        let after = Time::from(epoch + part);
        assert_eq!((after.unix_seconds(), after.nanoseconds), (1, 250_000_000));
        assert_eq!(after.system(), Some(epoch + part));
        let before = Time::from(epoch - part);
        assert_eq!((before.unix_seconds(), before.nanoseconds), (-2, 750_000_000));
        assert_eq!(before.system(), None);
        let whole = Time::from(epoch - time::Duration::from_secs(1));
        assert_eq!((whole.unix_seconds(), whole.nanoseconds), (-1, 0));
    }

    #[test]
    fn differences_are_held_back() {
        let (old, new) = (at(1, 1, 1), at(2024, 1, 1));
        assert_eq!(new.since(&old), Duration(i64::MAX));
        assert_eq!(old.since(&new), Duration(i64::MIN));
        let later = new.add(Duration(-1));
        assert_eq!((later.since(&new), later.nanoseconds), (Duration(-1), 999_999_999));
    }

    #[test]
    fn rounds_from_the_year_1() {
        let time = at(2024, 3, 5).add(Duration(3_600_000_000_000 + 1_500_000_000));
        let hour = Duration(3_600_000_000_000);
        assert_eq!(time.truncate(hour).calendar().hour, 1);
        assert_eq!(time.round(Duration::SECOND).calendar().second, 2);
        assert_eq!(at(-5, 1, 1).add(Duration(1)).truncate(hour), at(-5, 1, 1));
    }
}
