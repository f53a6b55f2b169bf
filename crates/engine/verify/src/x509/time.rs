//! Times of certificates and timestamps.

use crate::cosign::der::{Element, GENERALIZED_TIME, UTC_TIME};

/// Seconds since 1970. Fractions are dropped.
pub(crate) fn read_time(element: Element<'_>) -> Option<i64> {
    let text = std::str::from_utf8(element.content).ok()?.strip_suffix('Z')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let (year, rest) = match element.tag {
        UTC_TIME if text.len() == 12 => {
            let (year, rest) = whole.split_at_checked(2)?;
            let year: i64 = year.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME if whole.len() == 14 => {
            let (year, rest) = whole.split_at_checked(4)?;
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    let part = |at: usize| rest.get(at..at + 2)?.parse::<i64>().ok();
    let (month, day) = (part(0)?, part(2)?);
    let (hour, minute, second) = (part(4)?, part(6)?, part(8)?);
    let fits = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    fits.then(|| days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Days since 1970-01-01 of a date of the Gregorian calendar: years begin in March, so that leap days are last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_both_forms() {
        for (tag, text, expected) in [
            (UTC_TIME, "700101000000Z", Some(0)),
            (UTC_TIME, "491231235959Z", Some(2_524_607_999)),
            (UTC_TIME, "500101000000Z", Some(-631_152_000)),
            (UTC_TIME, "240229120000Z", Some(1_709_208_000)),
            (GENERALIZED_TIME, "20261126071729Z", Some(1_795_677_449)),
            (GENERALIZED_TIME, "20261126071729.25Z", Some(1_795_677_449)),
            (GENERALIZED_TIME, "20261126071729.Z", None),
            (GENERALIZED_TIME, "20261326071729Z", None),
            (GENERALIZED_TIME, "20261126071729+0100", None),
            (UTC_TIME, "7001010000Z", None),
            (UTC_TIME, "20261126071729Z", None),
        ] {
            let element = Element {
                tag,
                content: text.as_bytes(),
                whole: &[],
            };
            assert_eq!(read_time(element), expected, "{text}");
        }
    }
}
