//! Go's `time.ParseInLocation` in the local zone, with the texts of its errors.

use super::civil::{days_in, is_leap};
use super::digits::{leading_number, signed_number};
use super::instant::{MONTHS, Parts, Time, WEEKDAYS, Zone};
use super::layout::{Element, Fraction, Offset, next_piece};
use super::quote::quote_for_time;
use thiserror::Error;

/// Why a text is not a time, as Go's `time.Parse` reports it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TimeError {
    /// An element of the layout, or the text between two, is not there.
    #[error("parsing time {} as {}: cannot parse {} as {}", quote_for_time(.text), quote_for_time(.layout), quote_for_time(.rest), quote_for_time(.element))]
    Unreadable {
        text: Vec<u8>,
        layout: Vec<u8>,
        /// The text that could not be read.
        rest: Vec<u8>,
        /// What the layout has there.
        element: Vec<u8>,
    },
    /// Text after all elements.
    #[error("parsing time {}: extra text: {}", quote_for_time(.text), quote_for_time(.rest))]
    ExtraText { text: Vec<u8>, rest: Vec<u8> },
    /// A number is not one that its element can have.
    #[error("parsing time {}: {what} out of range", quote_for_time(.text))]
    OutOfRange {
        text: Vec<u8>,
        /// The element.
        what: &'static str,
    },
    /// The day of the year is not that of the month and day.
    #[error("parsing time {}: day-of-year does not match {what}", quote_for_time(.text))]
    DayOfYear {
        text: Vec<u8>,
        /// `month` or `day`.
        what: &'static str,
    },
}

impl Time {
    /// Parses a time in the format of a layout; without a zone it is local.
    ///
    /// # Errors
    /// Go's: `parsing time "x" as "2006": cannot parse "x" as "2006"`, `parsing time "…": month out of range`.
    pub fn parse(layout: &[u8], text: &[u8]) -> Result<Self, TimeError> {
        let mut parsed = ParsedTime::default();
        let (mut rest, mut layout_left) = (text, layout);
        loop {
            let piece = next_piece(layout_left);
            let cannot = |rest: &[u8], element: &[u8]| {
                let [text, layout, rest, element] = [text, layout, rest, element].map(<[u8]>::to_vec);
                TimeError::Unreadable {
                    text,
                    layout,
                    rest,
                    element,
                }
            };
            rest = skip(rest, piece.before).map_err(|rest| cannot(rest, piece.before))?;
            let Some(element) = piece.element else {
                if !rest.is_empty() {
                    let [text, rest] = [text, rest].map(<[u8]>::to_vec);
                    return Err(TimeError::ExtraText { text, rest });
                }
                break;
            };
            layout_left = piece.after;
            rest = parsed
                .read(element, rest, layout_left)
                .map_err(|refusal| match refusal {
                    ParseFailure::Unreadable => cannot(rest, piece.spelling),
                    ParseFailure::OutOfRange(what) => TimeError::OutOfRange {
                        text: text.to_vec(),
                        what,
                    },
                })?;
        }
        parsed.into_time(text)
    }
}

/// Why an element cannot be parsed.
#[derive(Debug)]
enum ParseFailure {
    Unreadable,
    OutOfRange(&'static str),
}

/// The elements parsed so far.
#[derive(Debug, Default)]
struct ParsedTime {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanosecond: u32,
    morning: bool,
    afternoon: bool,
    utc: bool,
    offset: Option<i64>,
    zone_name: Vec<u8>,
}

type Read<'t, T> = Result<(T, &'t [u8]), ParseFailure>;

impl ParsedTime {
    /// Parses one element; `layout` is the rest after it.
    fn read<'t>(&mut self, element: Element, text: &'t [u8], layout: &[u8]) -> Result<&'t [u8], ParseFailure> {
        use Element as E;
        match element {
            E::LongYear | E::Year => self.read_year(element == E::LongYear, text),
            E::LongMonth | E::Month | E::NumMonth | E::ZeroMonth => self.read_month(element, text),
            E::LongWeekday => Ok(name(&WEEKDAYS, usize::MAX, text)?.1),
            E::Weekday => Ok(name(&WEEKDAYS, 3, text)?.1),
            E::Day | E::UnderDay | E::ZeroDay => {
                let text = drop_spaces(text, if element == E::UnderDay { 1 } else { 0 });
                let (day, rest) = two_digits(text, element == E::ZeroDay)?;
                self.day = Some(day);
                Ok(rest)
            }
            E::UnderYearDay | E::ZeroYearDay => {
                let text = drop_spaces(text, if element == E::UnderYearDay { 2 } else { 0 });
                let (day, rest) = number(text, 3, element == E::ZeroYearDay)?;
                self.day_of_year = Some(day);
                Ok(rest)
            }
            E::Hour => store(&mut self.hour, two_digits(text, false)?, 23, "hour"),
            E::Hour12 | E::ZeroHour12 => store(&mut self.hour, two_digits(text, element == E::ZeroHour12)?, 12, "hour"),
            E::Minute | E::ZeroMinute => store(
                &mut self.minute,
                two_digits(text, element == E::ZeroMinute)?,
                59,
                "minute",
            ),
            E::Second | E::ZeroSecond => {
                let digits = two_digits(text, element == E::ZeroSecond)?;
                let rest = store(&mut self.second, digits, 59, "second")?;
                self.read_unasked_fraction(rest, layout)
            }
            E::HalfDay { small } => self.read_half_day(small, text),
            E::Offset(offset) => match text {
                [b'Z', rest @ ..] if offset.z => {
                    self.utc = true;
                    Ok(rest)
                }
                _ => self.read_offset(offset, text),
            },
            E::ZoneName => self.read_zone_name(text),
            E::Fraction(fraction) => self.read_fraction(fraction, text),
        }
    }

    fn read_year<'t>(&mut self, long: bool, text: &'t [u8]) -> Result<&'t [u8], ParseFailure> {
        let (digits, rest) = split(text, if long { 4 } else { 2 })?;
        if long && !digits.first().is_some_and(u8::is_ascii_digit) {
            return Err(ParseFailure::Unreadable);
        }
        let year = signed_number(digits).ok_or(ParseFailure::Unreadable)?;
        self.year = match year {
            year if long => year,
            69.. => year + 1900,
            _ => year + 2000,
        };
        Ok(rest)
    }

    fn read_month<'t>(&mut self, element: Element, text: &'t [u8]) -> Result<&'t [u8], ParseFailure> {
        let (month, rest) = match element {
            Element::LongMonth => name(&MONTHS, usize::MAX, text)?,
            Element::Month => name(&MONTHS, 3, text)?,
            _ => {
                let (month, rest) = two_digits(text, element == Element::ZeroMonth)?;
                if !(1..=12).contains(&month) {
                    return Err(ParseFailure::OutOfRange("month"));
                }
                (month, rest)
            }
        };
        self.month = Some(month);
        Ok(rest)
    }

    /// Seconds may have decimal places even if the layout has none.
    fn read_unasked_fraction<'t>(&mut self, text: &'t [u8], layout: &[u8]) -> Result<&'t [u8], ParseFailure> {
        if !starts_fraction(text) || matches!(next_piece(layout).element, Some(Element::Fraction(_))) {
            return Ok(text);
        }
        self.read_places(text)
    }

    fn read_fraction<'t>(&mut self, fraction: Fraction, text: &'t [u8]) -> Result<&'t [u8], ParseFailure> {
        if !fraction.trimmed {
            let (places, rest) = split(text, fraction.digits + 1)?;
            self.nanosecond = nanoseconds(places)?;
            Ok(rest)
        } else if starts_fraction(text) {
            self.read_places(text)
        } else {
            Ok(text)
        }
    }

    /// A separator and all digits after it.
    fn read_places<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], ParseFailure> {
        let digits = text.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
        let (places, rest) = split(text, digits + 1)?;
        self.nanosecond = nanoseconds(places)?;
        Ok(rest)
    }

    fn read_half_day<'t>(&mut self, small: bool, text: &'t [u8]) -> Result<&'t [u8], ParseFailure> {
        let (half, rest) = split(text, 2)?;
        match (half, small) {
            (b"PM", false) | (b"pm", true) => self.afternoon = true,
            (b"AM", false) | (b"am", true) => self.morning = true,
            _ => return Err(ParseFailure::Unreadable),
        }
        Ok(rest)
    }

    fn read_offset<'t>(&mut self, form: Offset, text: &'t [u8]) -> Result<&'t [u8], ParseFailure> {
        let fields = 1 + usize::from(form.minutes) + usize::from(form.seconds);
        let length = 1 + 2 * fields + if form.colons { fields - 1 } else { 0 };
        let (offset, rest) = split(text, length)?;
        let (sign, digits) = split(offset, 1)?;
        let width = if form.colons { 3 } else { 2 };
        if form.colons && digits.iter().skip(2).step_by(width).any(|byte| *byte != b':') {
            return Err(ParseFailure::Unreadable);
        }
        let mut numbers = [0; 3];
        let mut readable = true;
        for (number, field) in numbers.iter_mut().zip(digits.chunks(width)) {
            match two_digits(field, true) {
                Ok((digits, _)) => *number = digits,
                Err(_) => {
                    readable = false;
                    break;
                }
            }
        }
        let [hours, minutes, seconds] = numbers;
        // A range error takes precedence over others.
        for (number, most, what) in [
            (seconds, 60, "time zone offset second"),
            (minutes, 60, "time zone offset minute"),
            (hours, 24, "time zone offset hour"),
        ] {
            if number > most {
                return Err(ParseFailure::OutOfRange(what));
            }
        }
        let seconds = (hours * 60 + minutes) * 60 + seconds;
        self.offset = Some(match sign {
            b"+" if readable => seconds,
            b"-" if readable => -seconds,
            _ => return Err(ParseFailure::Unreadable),
        });
        Ok(rest)
    }

    fn read_zone_name<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], ParseFailure> {
        if let Some(rest) = text.strip_prefix(b"UTC") {
            self.utc = true;
            return Ok(rest);
        }
        let length = zone_name_length(text).ok_or(ParseFailure::Unreadable)?;
        let (name, rest) = split(text, length)?;
        self.zone_name = name.to_vec();
        Ok(rest)
    }

    /// The time that the elements of a text are.
    fn into_time(self, text: &[u8]) -> Result<Time, TimeError> {
        let (month, day) = self.month_and_day(text)?;
        if day < 1 || day > days_in(month as u8, self.year) {
            let (text, what) = (text.to_vec(), "day");
            return Err(TimeError::OutOfRange { text, what });
        }
        let hour = match self.hour {
            hour @ ..12 if self.afternoon => hour + 12,
            12 if self.morning => 0,
            hour => hour,
        };
        let parts = Parts {
            year: self.year,
            month,
            day,
            hour,
            minute: self.minute,
            second: self.second,
            nanosecond: self.nanosecond,
        };
        let name = self.zone_name;
        Ok(match self.offset {
            _ if self.utc => Time::of(parts, Zone::Utc),
            // Go uses -1 second for "no offset given".
            Some(offset) if offset != -1 => {
                let time = Time::of(parts, Zone::Utc).add_seconds(-offset);
                let local = offset == 0 && (name.is_empty() || name == b"UTC");
                time.in_zone(if local { Zone::Local } else { fixed(&name, offset) })
            }
            _ if name.is_empty() => Time::of(parts, Zone::Local),
            _ => {
                let hours = match name.strip_prefix(b"GMT") {
                    Some(hours) => signed_number(hours).unwrap_or_default(),
                    None => 0,
                };
                // The meaning of an abbreviation is not known, so the clock counts as UTC.
                Time::of(parts, Zone::Utc).in_zone(fixed(&name, hours * 3_600))
            }
        })
    }

    fn month_and_day(&self, text: &[u8]) -> Result<(i64, i64), TimeError> {
        let differs = |what| {
            let text = text.to_vec();
            Err(TimeError::DayOfYear { text, what })
        };
        let Some(day_of_year) = self.day_of_year else {
            return Ok((self.month.unwrap_or(1), self.day.unwrap_or(1)));
        };
        if !(1..=365 + i64::from(is_leap(self.year))).contains(&day_of_year) {
            let (text, what) = (text.to_vec(), "day-of-year");
            return Err(TimeError::OutOfRange { text, what });
        }
        let (mut month, mut day) = (1, day_of_year);
        while day > days_in(month as u8, self.year) {
            day -= days_in(month as u8, self.year);
            month += 1;
        }
        if self.month.is_some_and(|given| given != month) {
            return differs("month");
        }
        if self.day.is_some_and(|given| given != day) {
            return differs("day");
        }
        Ok((month, day))
    }
}

fn fixed(name: &[u8], offset: i64) -> Zone {
    Zone::Fixed {
        name: name.into(),
        offset,
    }
}

/// Skips the text between elements; any number of spaces matches one or more. The error is the rest.
fn skip<'t>(mut text: &'t [u8], mut before: &[u8]) -> Result<&'t [u8], &'t [u8]> {
    while let [wanted, after @ ..] = before {
        match (wanted, text) {
            (b' ', [] | [b' ', ..]) => {
                before = drop_spaces(before, usize::MAX);
                text = drop_spaces(text, usize::MAX);
            }
            (wanted, [byte, rest @ ..]) if byte == wanted => (before, text) = (after, rest),
            _ => return Err(text),
        }
    }
    Ok(text)
}

fn drop_spaces(mut text: &[u8], most: usize) -> &[u8] {
    let mut dropped = 0;
    while let ([b' ', rest @ ..], true) = (text, dropped < most) {
        (text, dropped) = (rest, dropped + 1);
    }
    text
}

fn split(text: &[u8], length: usize) -> Read<'_, &[u8]> {
    text.split_at_checked(length).ok_or(ParseFailure::Unreadable)
}

fn store<'t>(
    place: &mut i64,
    (number, rest): (i64, &'t [u8]),
    most: i64,
    what: &'static str,
) -> Result<&'t [u8], ParseFailure> {
    if number > most {
        return Err(ParseFailure::OutOfRange(what));
    }
    *place = number;
    Ok(rest)
}

/// One or two digits; two when `fixed`.
fn two_digits(text: &[u8], fixed: bool) -> Read<'_, i64> {
    number(text, 2, fixed)
}

/// A number of at most `width` digits; of exactly so many when `fixed`.
fn number(text: &[u8], width: usize, fixed: bool) -> Read<'_, i64> {
    let digits = text.iter().take(width).take_while(|byte| byte.is_ascii_digit()).count();
    if digits < if fixed { width } else { 1 } {
        return Err(ParseFailure::Unreadable);
    }
    let (digits, rest) = split(text, digits)?;
    Ok((signed_number(digits).ok_or(ParseFailure::Unreadable)?, rest))
}

/// The index, from 1, of the first of the names, cut to `length` letters, that the text begins with, in any case.
fn name<'t>(names: &[&str], length: usize, text: &'t [u8]) -> Read<'t, i64> {
    for (number, name) in (1..).zip(names) {
        let name = name.get(..length).unwrap_or(name);
        if let Some((start, rest)) = text.split_at_checked(name.len())
            && start.eq_ignore_ascii_case(name.as_bytes())
        {
            return Ok((number, rest));
        }
    }
    Err(ParseFailure::Unreadable)
}

fn starts_fraction(text: &[u8]) -> bool {
    matches!(text, [b'.' | b',', b'0'..=b'9', ..])
}

/// A separator and decimal places; those beyond nanoseconds are ignored.
fn nanoseconds(places: &[u8]) -> Result<u32, ParseFailure> {
    let [b'.' | b',', digits @ ..] = places else {
        return Err(ParseFailure::Unreadable);
    };
    let digits = digits.get(..9).unwrap_or(digits);
    let number = signed_number(digits).ok_or(ParseFailure::Unreadable)?;
    let scale = 10_u32.pow(9 - digits.len().min(9) as u32);
    u32::try_from(number)
        .map(|number| number * scale)
        .map_err(|_| ParseFailure::OutOfRange("fractional second"))
}

/// The length of a zone abbreviation at the start of the text.
fn zone_name_length(text: &[u8]) -> Option<usize> {
    match text {
        [] | [_] | [_, _] => return None,
        [b'C', b'h', b'S', b'T', ..] | [b'M', b'e', b'S', b'T', ..] => return Some(4),
        [b'G', b'M', b'T', offset @ ..] => return Some(3 + hours_length(offset).unwrap_or(0)),
        [b'+' | b'-', ..] => return hours_length(text),
        _ => {}
    }
    let capitals = text.iter().take(6).take_while(|byte| byte.is_ascii_uppercase()).count();
    match (capitals, text) {
        (3, _) => Some(3),
        (4, [_, _, _, b'T', ..] | [b'W', b'I', b'T', b'A', ..]) => Some(4),
        (5, [_, _, _, _, b'T', ..]) => Some(5),
        _ => None,
    }
}

/// The length of a sign and hours up to 23.
fn hours_length(text: &[u8]) -> Option<usize> {
    let [b'+' | b'-', digits @ ..] = text else { return None };
    let (hours, rest) = leading_number(digits)?;
    (rest.len() < digits.len() && hours <= 23).then_some(text.len() - rest.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(layout: &str, text: &str) -> Result<String, TimeError> {
        let time = Time::parse(layout.as_bytes(), text.as_bytes())?;
        Ok(String::from_utf8_lossy(&time.text()).into_owned())
    }

    #[test]
    fn reads_what_layouts_describe() {
        for (layout, text, expected) in [
            ("2006-01-02", "2024-02-29", "2024-02-29 00:00:00 +0000 UTC"),
            ("January 2, 06", "mARCH 5, 69", "1969-03-05 00:00:00 +0000 UTC"),
            ("3:04PM", "12:30AM", "0000-01-01 00:30:00 +0000 UTC"),
            ("15:04:05 2006", "1:02:03,5 2024", "2024-01-01 01:02:03.5 +0000 UTC"),
            ("15:04:05.000", "01:02:03.125", "0000-01-01 01:02:03.125 +0000 UTC"),
            (
                "2006-01-02T15:04:05Z07:00",
                "2024-03-05T01:02:03.5-08:30",
                "2024-03-05 01:02:03.5 -0830 -0830",
            ),
            ("2006 MST", "2024 CEST", "2024-01-01 00:00:00 +0000 CEST"),
            ("2006 MST", "2024 GMT-3", "2023-12-31 21:00:00 -0300 GMT-3"),
            ("2006 -07 MST", "2024 +02 CEST", "2024-01-01 00:00:00 +0200 CEST"),
            ("2006 __2", "2024  60", "2024-02-29 00:00:00 +0000 UTC"),
            ("2006   Mon x", "2024 tue x", "2024-01-01 00:00:00 +0000 UTC"),
        ] {
            assert_eq!(read(layout, text).as_deref(), Ok(expected), "{layout} {text}");
        }
    }

    #[test]
    fn says_what_it_cannot_read() {
        for (layout, text, expected) in [
            (
                "2006-01-02",
                "bad",
                "parsing time \"bad\" as \"2006-01-02\": cannot parse \"bad\" as \"2006\"",
            ),
            (
                "2006-01-02",
                "2024/01",
                "parsing time \"2024/01\" as \"2006-01-02\": cannot parse \"/01\" as \"-\"",
            ),
            (
                "2006-01-02",
                "2024-13-02",
                "parsing time \"2024-13-02\": month out of range",
            ),
            (
                "2006-01-02",
                "2023-02-29",
                "parsing time \"2023-02-29\": day out of range",
            ),
            (
                "2006",
                "2024\u{e9}",
                "parsing time \"2024\\xc3\\xa9\": extra text: \"\\xc3\\xa9\"",
            ),
            (
                "2006 -0700",
                "2024 +2560",
                "parsing time \"2024 +2560\": time zone offset hour out of range",
            ),
            (
                "2006 -07:00",
                "2024 *99x00",
                "parsing time \"2024 *99x00\" as \"2006 -07:00\": cannot parse \"*99x00\" as \"-07:00\"",
            ),
            (
                "2006 002 Jan",
                "2024 060 Mar",
                "parsing time \"2024 060 Mar\": day-of-year does not match month",
            ),
            (
                "2006 002",
                "2023 366",
                "parsing time \"2023 366\": day-of-year out of range",
            ),
            (".00", ".-1", "parsing time \".-1\": fractional second out of range"),
        ] {
            assert_eq!(read(layout, text).unwrap_err().to_string(), expected, "{layout} {text}");
        }
    }
}
