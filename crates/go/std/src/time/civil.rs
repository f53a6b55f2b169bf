//! Go's calendar: proleptic Gregorian, over all 64-bit counts of seconds.
//!
//! Days are counted from the 1st of March of a year so long ago that every second of Go's `time.Time` is after it;
//! arithmetic wraps around where Go's does.

/// The year of day 0; a multiple of 400.
const FIRST_YEAR: u64 = 292_277_022_400;
const DAYS_IN_400_YEARS: u64 = 146_097;
/// From the 1st of March to the 31st of December.
const MARCH_TO_DECEMBER: u64 = 306;
/// From one month to the same month five months later, in a year that begins with March.
const DAYS_IN_5_MONTHS: u64 = 153;

pub(crate) const SECONDS_IN_DAY: u64 = 86_400;
/// From day 0 to 0001-01-01.
pub(crate) const SECONDS_BEFORE_YEAR_1: u64 =
    (FIRST_YEAR / 400 * DAYS_IN_400_YEARS + MARCH_TO_DECEMBER) * SECONDS_IN_DAY;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub year: i64,
    /// From 1.
    pub month: u8,
    /// From 1.
    pub day: u8,
    /// From 1.
    pub day_of_year: u16,
}

impl Civil {
    /// The date of a day.
    pub(crate) fn of_day(day: u64) -> Self {
        let (era, in_era) = (day / DAYS_IN_400_YEARS, day % DAYS_IN_400_YEARS);
        // Without leap days, years are all 365 days long.
        let year_of_era = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / 146_096) / 365;
        let in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * in_year + 2) / DAYS_IN_5_MONTHS;
        let before = before_month(from_march);
        let next_year = from_march >= 10;
        let year = (era * 400 + year_of_era).wrapping_sub(FIRST_YEAR).cast_signed() + i64::from(next_year);
        let day_of_year = if next_year {
            in_year - MARCH_TO_DECEMBER + 1
        } else {
            in_year + 31 + 28 + 1 + u64::from(is_leap(year))
        };
        Self {
            year,
            month: if next_year {
                from_march as u8 - 9
            } else {
                from_march as u8 + 3
            },
            day: (in_year - before + 1) as u8,
            day_of_year: day_of_year as u16,
        }
    }
}

/// Days before a month, in a year that begins with March: 0, 31, 61, 92, 122, 153, …, 337.
const fn before_month(from_march: u64) -> u64 {
    (DAYS_IN_5_MONTHS * from_march + 2) / 5
}

/// The day of a date; `month` is from 1 to 12, `day` any number.
pub(crate) fn day_of(year: i64, month: u8, day: i64) -> u64 {
    let next_year = month < 3;
    let before = before_month(u64::from(if next_year { month + 9 } else { month - 3 }));
    let year = year
        .cast_unsigned()
        .wrapping_sub(u64::from(next_year))
        .wrapping_add(FIRST_YEAR);
    let centuries = (year / 100).wrapping_mul(DAYS_IN_400_YEARS) / 4;
    let in_century = 1_461 * (year % 100) / 4;
    centuries
        .wrapping_add(in_century)
        .wrapping_add(before)
        .wrapping_add(day.wrapping_sub(1).cast_unsigned())
}

/// Whether it is a leap year.
pub(crate) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The number of days of a month from 1 to 12.
pub(crate) fn days_in(month: u8, year: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day of the week: 0 is Sunday.
pub(crate) fn weekday_of(day: u64) -> u8 {
    // Day 0 is a Wednesday.
    (day.wrapping_add(3) % 7) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_others_inverse() {
        let epoch = day_of(1970, 1, 1);
        assert_eq!(weekday_of(epoch), 4);
        for (year, month, day, day_of_year) in [
            (1970, 1, 1, 1),
            (2000, 2, 29, 60),
            (2000, 12, 31, 366),
            (1900, 3, 1, 60),
            (2024, 3, 1, 61),
            (0, 2, 29, 60),
            (-1, 12, 31, 365),
            (-292_277_022_399, 1, 1, 1),
            (292_277_026_596, 12, 4, 339),
        ] {
            let date = Civil {
                year,
                month,
                day,
                day_of_year,
            };
            assert_eq!(Civil::of_day(day_of(year, month, i64::from(day))), date);
        }
        for day in epoch..epoch + 146_097 {
            let date = Civil::of_day(day);
            assert_eq!(day_of(date.year, date.month, i64::from(date.day)), day);
            assert_eq!(day_of(date.year, 1, i64::from(date.day_of_year)), day);
            assert!(i64::from(date.day) <= days_in(date.month, date.year));
        }
    }
}
