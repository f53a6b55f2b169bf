//! Go's `Time.Format`, `Time.String` and times in JSON.

use super::digits::push_padded;
use super::instant::{Calendar, MONTHS, Time, WEEKDAYS, Zone};
use super::layout::{Element, Fraction, Offset, next_piece};
use super::quote::quote_for_time;

/// Go's `time.RFC3339`: parsed with any decimal places of the second, written without.
pub const RFC_3339: &[u8] = b"2006-01-02T15:04:05Z07:00";
/// Go's `time.RFC3339Nano`: written with as many decimal places as needed.
pub const RFC_3339_NANO: &[u8] = b"2006-01-02T15:04:05.999999999Z07:00";
/// Go's `http.TimeFormat`, which is for times in UTC.
pub const HTTP_DATE: &[u8] = b"Mon, 02 Jan 2006 15:04:05 GMT";

impl Time {
    /// Formats the time by a layout. The names of zones may be any bytes, and so is the text.
    pub fn format(&self, layout: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(layout.len() + 16);
        let calendar = self.calendar();
        let mut rest = layout;
        loop {
            let piece = next_piece(rest);
            out.extend_from_slice(piece.before);
            let Some(element) = piece.element else { return out };
            self.push(&mut out, element, &calendar);
            rest = piece.after;
        }
    }

    fn push(&self, out: &mut Vec<u8>, element: Element, calendar: &Calendar) {
        use Element as E;
        let hour12 = (calendar.hour + 11) % 12 + 1;
        match element {
            E::LongYear => push_padded(out, calendar.year, 4),
            E::Year => push_padded(out, (calendar.year % 100).abs(), 2),
            E::LongMonth => out.extend_from_slice(month_name(calendar).as_bytes()),
            E::Month => out.extend(month_name(calendar).bytes().take(3)),
            E::NumMonth => push_padded(out, calendar.month.into(), 0),
            E::ZeroMonth => push_padded(out, calendar.month.into(), 2),
            E::LongWeekday => out.extend_from_slice(weekday_name(calendar).as_bytes()),
            E::Weekday => out.extend(weekday_name(calendar).bytes().take(3)),
            E::Day => push_padded(out, calendar.day.into(), 0),
            E::UnderDay => out.extend_from_slice(format!("{:2}", calendar.day).as_bytes()),
            E::ZeroDay => push_padded(out, calendar.day.into(), 2),
            E::UnderYearDay => out.extend_from_slice(format!("{:3}", calendar.day_of_year).as_bytes()),
            E::ZeroYearDay => push_padded(out, calendar.day_of_year.into(), 3),
            E::Hour => push_padded(out, calendar.hour.into(), 2),
            E::Hour12 => push_padded(out, hour12.into(), 0),
            E::ZeroHour12 => push_padded(out, hour12.into(), 2),
            E::Minute => push_padded(out, calendar.minute.into(), 0),
            E::ZeroMinute => push_padded(out, calendar.minute.into(), 2),
            E::Second => push_padded(out, calendar.second.into(), 0),
            E::ZeroSecond => push_padded(out, calendar.second.into(), 2),
            E::HalfDay { small } => out.extend_from_slice(match (calendar.hour >= 12, small) {
                (true, false) => b"PM",
                (false, false) => b"AM",
                (true, true) => b"pm",
                (false, true) => b"am",
            }),
            E::ZoneName => match self.zone.name() {
                b"" => push_offset(out, self.zone.offset(), NAMELESS),
                name => out.extend_from_slice(name),
            },
            E::Offset(offset) if offset.z && self.zone.offset() == 0 => out.push(b'Z'),
            E::Offset(offset) => push_offset(out, self.zone.offset(), offset),
            E::Fraction(fraction) => push_fraction(out, self.nanoseconds, fraction),
        }
    }

    /// As `{{ . }}` prints it.
    pub fn text(&self) -> Vec<u8> {
        self.format(b"2006-01-02 15:04:05.999999999 -0700 MST")
    }

    /// As `%#v` prints it: Go's source for it.
    pub fn go_text(&self) -> String {
        let calendar = self.calendar();
        let month = month_name(&calendar);
        let Calendar {
            year,
            day,
            hour,
            minute,
            second,
            ..
        } = calendar;
        let zone = match &self.zone {
            Zone::Utc => "time.UTC".to_owned(),
            Zone::Local => "time.Local".to_owned(),
            Zone::Fixed { name, .. } => format!("time.Location({})", quote_for_time(name)),
        };
        let nanosecond = self.nanoseconds;
        format!("time.Date({year}, time.{month}, {day}, {hour}, {minute}, {second}, {nanosecond}, {zone})")
    }

    /// Formats the time by a layout, as a `String`: invalid UTF-8 in the name of a zone becomes U+FFFD.
    pub fn written(&self, layout: &[u8]) -> String {
        String::from_utf8_lossy(&self.format(layout)).into_owned()
    }

    /// As in JSON, without quotes.
    ///
    /// # Errors
    /// RFC 3339 does not allow the year or zone.
    pub fn rfc_3339(&self) -> Result<Vec<u8>, &'static str> {
        if !(0..=9_999).contains(&self.calendar().year) {
            return Err("year outside of range [0,9999]");
        }
        if self.zone.offset().abs() >= 24 * 3_600 {
            return Err("timezone hour outside of range [0,23]");
        }
        Ok(self.format(RFC_3339_NANO))
    }
}

/// A zone without an abbreviation where the layout has one.
const NAMELESS: Offset = Offset {
    z: false,
    colons: false,
    minutes: true,
    seconds: false,
};

fn month_name(calendar: &Calendar) -> &'static str {
    MONTHS.get(usize::from(calendar.month) - 1).unwrap_or(&"")
}

fn weekday_name(calendar: &Calendar) -> &'static str {
    WEEKDAYS.get(usize::from(calendar.weekday)).unwrap_or(&"")
}

/// Go takes the sign from the whole minutes: half a minute west of UTC is `+00:00:-30`.
fn push_offset(out: &mut Vec<u8>, seconds: i64, form: Offset) {
    let minutes = seconds / 60;
    out.push(if minutes < 0 { b'-' } else { b'+' });
    let seconds = if minutes < 0 { -seconds } else { seconds } % 60;
    let minutes = minutes.abs();
    push_padded(out, minutes / 60, 2);
    for (shown, number) in [(form.minutes, minutes % 60), (form.seconds, seconds)] {
        if shown {
            if form.colons {
                out.push(b':');
            }
            push_padded(out, number, 2);
        }
    }
}

fn push_fraction(out: &mut Vec<u8>, nanoseconds: u32, form: Fraction) {
    let places = format!("{nanoseconds:09}");
    let places = places.get(..form.digits).unwrap_or(&places);
    if !form.trimmed {
        out.push(form.separator);
        out.extend_from_slice(places.as_bytes());
        return;
    }
    let places = places.trim_end_matches('0');
    if !places.is_empty() {
        out.push(form.separator);
        out.extend_from_slice(places.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;
    use crate::time::instant::Parts;

    fn sample(zone: Zone) -> Time {
        let parts = Parts {
            year: 2024,
            month: 3,
            day: 5,
            hour: 13,
            minute: 4,
            second: 9,
            nanosecond: 120_000_000,
        };
        Time::of(parts, zone)
    }

    #[test]
    fn writes_what_layouts_ask_for() {
        let zone = Zone::Fixed {
            name: b"".as_slice().into(),
            offset: -(5 * 3_600 + 30 * 60 + 7),
        };
        for (layout, expected) in [
            (
                "Monday Mon January Jan 1 01 2 _2 02 __2 002 2006 06",
                "Tuesday Tue March Mar 3 03 5  5 05  65 065 2024 24",
            ),
            ("15 3 03 4 04 5 05 PM pm", "13 1 01 4 04 9 09 PM pm"),
            (
                "-07 -0700 -07:00 -070000 -07:00:00 Z07:00 MST",
                "-05 -0530 -05:30 -053007 -05:30:07 -05:30 -0530",
            ),
            (".000 .999 ,9 .0000000000 .00 x.01", ".120 .12 ,1 .120000000 .12 x.03"),
            ("Janet Monk _2006 Z", "Janet Monk _2024 Z"),
        ] {
            assert_eq!(sample(zone.clone()).written(layout.as_bytes()), expected);
        }
        assert_eq!(sample(Zone::Utc).written(b"Z0700 -0700 MST"), "Z +0000 UTC");
    }

    #[test]
    fn writes_what_protocols_ask_for() {
        for (layout, expected) in [
            (RFC_3339, "2024-03-05T13:04:09Z"),
            (RFC_3339_NANO, "2024-03-05T13:04:09.12Z"),
            (HTTP_DATE, "Tue, 05 Mar 2024 13:04:09 GMT"),
        ] {
            assert_eq!(sample(Zone::Local).written(layout), expected);
        }
        let zone = Zone::Fixed {
            name: b"\xff".as_slice().into(),
            offset: 0,
        };
        assert_eq!(sample(zone).written(b"MST"), "\u{fffd}");
    }

    #[test]
    fn shows_far_years_and_refuses_them_in_json() {
        let far = sample(Zone::Utc).add_date(9_000, 0, 0);
        assert_eq!(far.text(), b"11024-03-05 13:04:09.12 +0000 UTC");
        assert_eq!(far.rfc_3339(), Err("year outside of range [0,9999]"));
        let old = sample(Zone::Local).add_date(-2_030, 0, 0);
        assert_eq!(old.written(b"2006 06"), "-0006 06");
        assert_eq!(
            old.go_text(),
            "time.Date(-6, time.March, 5, 13, 4, 9, 120000000, time.Local)"
        );
        let now = sample(Zone::Utc).add(Duration::SECOND);
        assert_eq!(now.rfc_3339(), Ok(b"2024-03-05T13:04:10.12Z".to_vec()));
    }
}
