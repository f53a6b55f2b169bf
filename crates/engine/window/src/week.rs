//! A span of the week on one clock.

/// Seconds of a day.
pub(crate) const DAY: i64 = 24 * 60 * 60;

/// Days of the week, and the time of day from which and until which they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// A bit for each day, Monday first.
    pub(crate) days: u8,
    /// Seconds from the beginning of the day.
    pub(crate) start: i64,
    /// The same; more than those of a day when it ends on the next one.
    pub(crate) end: i64,
}

impl Span {
    /// Whether it holds a time of this clock, in seconds since 1970-01-01 00:00 there.
    pub(crate) fn holds(self, local: i64) -> bool {
        let (day, time) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let today = self.has(day) && (self.start..self.end).contains(&time);
        today || self.has(day - 1) && time + DAY < self.end
    }

    /// All times of this clock when it begins or ends, from the day before `local` on.
    pub(crate) fn times(self, local: i64, horizon: i64) -> impl Iterator<Item = i64> {
        let today = local.div_euclid(DAY);
        let days = (today - 1..=today + horizon / DAY).filter(move |day| self.has(*day));
        days.flat_map(move |day| [day * DAY + self.start, day * DAY + self.end])
    }

    fn has(self, day: i64) -> bool {
        // 1970-01-01 was a Thursday.
        self.days >> (day + 3).rem_euclid(7) & 1 == 1
    }
}
