//! Formats of times and of spans of time (RFC 3339, and appendix A for spans).

use super::format::{FormatError, date, refuse};
use bumpwright_gostd::atoi;

pub(super) fn duration(text: &str) -> Result<(), FormatError> {
    let Some(text) = text.strip_prefix('P') else {
        return refuse("must start with P");
    };
    if text.is_empty() {
        return refuse("nothing after P");
    }
    if let Some(weeks) = text.strip_suffix('W') {
        return match weeks {
            "" => refuse("no number in week"),
            weeks if weeks.bytes().all(|byte| byte.is_ascii_digit()) => Ok(()),
            _ => refuse("invalid week"),
        };
    }
    for (index, part) in text.split('T').enumerate() {
        if index != 0 && part.is_empty() {
            return refuse("no time elements");
        }
        match ["YMD", "HMS"].get(index) {
            Some(units) => elements(part, units)?,
            None => return refuse("more than one T"),
        }
    }
    Ok(())
}

fn elements(mut part: &str, all_units: &str) -> Result<(), FormatError> {
    let mut units = all_units;
    while !part.is_empty() {
        let after = part.trim_start_matches(|ch: char| ch.is_ascii_digit());
        if after.len() == part.len() {
            return refuse("missing number");
        }
        let mut rest = after.chars();
        let Some(unit) = rest.next() else {
            return refuse("missing unit");
        };
        match units.split_once(unit) {
            Some((_, later)) => units = later,
            None if all_units.contains(unit) => return Err(FormatError::UnitOrder(unit)),
            None => return Err(FormatError::Unit(unit)),
        }
        part = rest.as_str();
    }
    Ok(())
}

pub(super) fn time(text: &str) -> Result<(), FormatError> {
    if text.len() < 9 {
        return refuse("less than 9 characters long");
    }
    let bytes = text.as_bytes();
    if bytes.get(2) != Some(&b':') || bytes.get(5) != Some(&b':') {
        return refuse("missing colon in correct place");
    }
    let (Some(clock), Some(rest)) = (text.get(..8), text.get(8..)) else {
        return refuse("invalid hour/min/sec");
    };
    let [hour, minute, second] = numbers(clock, "hour/min/sec")?[..] else {
        return refuse("missing hour/min/sec");
    };
    if hour > 23 || minute > 59 || second > 60 {
        return refuse("hour/min/sec out of range");
    }
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let after = fraction.trim_start_matches(|ch: char| ch.is_ascii_digit());
            if after.len() == fraction.len() {
                return refuse("no digits in second fraction");
            }
            after
        }
        None => rest,
    };
    let utc = match rest {
        "z" | "Z" => hour * 60 + minute,
        offset => {
            let minutes = hour * 60 + minute + offset_of(offset)?;
            if minutes < 0 { minutes + 24 * 60 } else { minutes }
        }
    };
    if second >= 60 && (utc / 60 != 23 || utc % 60 != 59) {
        refuse("invalid leap second")
    } else {
        Ok(())
    }
}

/// The numbers between colons.
fn numbers(text: &str, what: &'static str) -> Result<Vec<i64>, FormatError> {
    let mut numbers = Vec::new();
    for part in text.split(':') {
        let Ok(number) = atoi(part) else {
            return Err(FormatError::Part("invalid", what));
        };
        if number < 0 {
            return Err(FormatError::Part("non-positive", what));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

/// The minutes that an offset adds to get to UTC.
fn offset_of(text: &str) -> Result<i64, FormatError> {
    if text.len() != 6 {
        return refuse("offset must be 6 characters long");
    }
    let (sign, offset) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(offset), _) => (-1, offset),
        (None, Some(offset)) => (1, offset),
        (None, None) => return refuse("offset must begin with plus/minus"),
    };
    if offset.as_bytes().get(2) != Some(&b':') {
        return refuse("missing colon in offset in correct place");
    }
    let [hours, minutes] = numbers(offset, "hour/min in offset")?[..] else {
        return refuse("invalid hour/min in offset");
    };
    if hours > 23 || minutes > 59 {
        refuse("hour/min in offset out of range")
    } else {
        Ok(sign * (hours * 60 + minutes))
    }
}

pub(super) fn date_time(text: &str) -> Result<(), FormatError> {
    if text.len() < 20 {
        return refuse("less than 20 characters long");
    }
    if !matches!(text.as_bytes().get(10), Some(b't' | b'T')) {
        return refuse("11th character must be t or T");
    }
    let (Some(day), Some(clock)) = (text.get(..10), text.get(11..)) else {
        return refuse("11th character must be t or T");
    };
    date(day).map_err(|error| error.of("date element"))?;
    time(clock).map_err(|error| error.of("time element"))
}

pub(super) fn period(text: &str) -> Result<(), FormatError> {
    let Some((start, end)) = text.split_once('/') else {
        return refuse("missing slash");
    };
    let (start_is_span, end_is_span) = (start.starts_with('P'), end.starts_with('P'));
    if start_is_span {
        duration(start).map_err(|error| error.of("start duration"))?;
    } else {
        date_time(start).map_err(|error| error.of("start date-time"))?;
    }
    if end_is_span && !start_is_span {
        duration(end).map_err(|error| error.of("end duration"))
    } else {
        date_time(end).map_err(|error| error.of("end date-time"))
    }
}
