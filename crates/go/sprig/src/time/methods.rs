//! The methods of `time.Time`.
//!
//! Those that set themselves from bytes are left out: no template has an addressable time to call them on.

use super::durations::{DURATION, MONTH, WEEKDAY, duration_value, month_value, weekday_value};
use super::values::{LOCATION_POINTER, TIME, location_of, time_argument, time_in, time_like, time_value};
use bumpwright_gostd::{Calendar, Duration, Time, Zone};
use bumpwright_template::{
    ANY, Args, BOOL, BYTES, Body, Failure, Function, Host, INT, INT64, Method, STRING, Slice, UINT8, UintKind, Value,
};

/// All that a template can call, and those that it cannot because they have more than one result.
pub(crate) static TIME_METHODS: &[Method] = &[
    Method::new("Add", &[&DURATION], &TIME, |_, args| {
        same_zone(args, |time| Ok(time.add(Duration(args.int(1)?))))
    }),
    Method::new("AddDate", &[&INT, &INT, &INT], &TIME, |_, args| {
        same_zone(args, |time| Ok(time.add_date(args.int(1)?, args.int(2)?, args.int(3)?)))
    }),
    Method::new("After", &[&TIME], &BOOL, |_, args| {
        Ok(Value::Bool(order(args)?.is_gt()))
    }),
    Method::new("AppendBinary", &[&BYTES], &BYTES, append_binary),
    Method::new("AppendFormat", &[&BYTES, &STRING], &BYTES, |host, args| {
        let text = format(host, args, args.text(2)?)?;
        appended(args, text)
    }),
    Method::new("AppendText", &[&BYTES], &BYTES, |_, args| {
        appended(args, rfc_3339(args, "Time.AppendText")?)
    }),
    Method::new("Before", &[&TIME], &BOOL, |_, args| {
        Ok(Value::Bool(order(args)?.is_lt()))
    }),
    uncallable("Clock", "function Clock has 3 return values; should be 1 or 2"),
    Method::new("Compare", &[&TIME], &INT, |_, args| Ok(Value::int(order(args)? as i64))),
    uncallable("Date", "function Date has 3 return values; should be 1 or 2"),
    Method::new("Day", &[], &INT, |_, args| number(args, |at| at.day.into())),
    Method::new("Equal", &[&TIME], &BOOL, |_, args| {
        Ok(Value::Bool(order(args)?.is_eq()))
    }),
    Method::new("Format", &[&STRING], &STRING, |host, args| {
        Ok(Value::text(format(host, args, args.text(1)?)?))
    }),
    Method::new("GoString", &[], &STRING, |_, args| {
        Ok(Value::text(receiver(args)?.go_text()))
    }),
    Method::new("GobEncode", &[], &BYTES, |_, args| Ok(bytes(binary(args)?))),
    Method::new("Hour", &[], &INT, |_, args| number(args, |at| at.hour.into())),
    uncallable(
        "ISOWeek",
        "invalid function signature for ISOWeek: second return value should be error; is int",
    ),
    Method::new("In", &[&LOCATION_POINTER], &TIME, |_, args| {
        time_in(&receiver(args)?, args.value(1)?)
    }),
    Method::new("IsDST", &[], &BOOL, |_, _| Ok(Value::Bool(false))),
    Method::new("IsZero", &[], &BOOL, |_, args| {
        let time = receiver(args)?;
        Ok(Value::Bool(time.seconds == 0 && time.nanoseconds == 0))
    }),
    Method::new("Local", &[], &TIME, |_, args| {
        Ok(time_value(&receiver(args)?.in_zone(Zone::Local)))
    }),
    Method::new("Location", &[], &LOCATION_POINTER, |_, args| {
        Ok(location_of(args.value(0)?))
    }),
    Method::new("MarshalBinary", &[], &BYTES, |_, args| Ok(bytes(binary(args)?))),
    Method::new("MarshalJSON", &[], &BYTES, |_, args| {
        let text = rfc_3339(args, "Time.MarshalJSON")?;
        Ok(bytes([b"\"", text.as_slice(), b"\""].concat()))
    }),
    Method::new("MarshalText", &[], &BYTES, |_, args| {
        Ok(bytes(rfc_3339(args, "Time.MarshalText")?))
    }),
    Method::new("Minute", &[], &INT, |_, args| number(args, |at| at.minute.into())),
    Method::new("Month", &[], &MONTH, |_, args| {
        Ok(month_value(receiver(args)?.calendar().month))
    }),
    Method::new("Nanosecond", &[], &INT, |_, args| {
        Ok(Value::int(receiver(args)?.nanoseconds.into()))
    }),
    Method::new("Round", &[&DURATION], &TIME, |_, args| {
        same_zone(args, |time| Ok(time.round(Duration(args.int(1)?))))
    }),
    Method::new("Second", &[], &INT, |_, args| number(args, |at| at.second.into())),
    Method::new("String", &[], &STRING, |_, args| {
        Ok(Value::text(receiver(args)?.text()))
    }),
    Method::new("Sub", &[&TIME], &DURATION, |_, args| {
        Ok(duration_value(receiver(args)?.since(&time_argument(args, 1)?)))
    }),
    Method::new("Truncate", &[&DURATION], &TIME, |_, args| {
        same_zone(args, |time| Ok(time.truncate(Duration(args.int(1)?))))
    }),
    Method::new("UTC", &[], &TIME, |_, args| {
        Ok(time_value(&receiver(args)?.in_zone(Zone::Utc)))
    }),
    Method::new("Unix", &[], &INT64, |_, args| {
        Ok(Value::int64(receiver(args)?.unix_seconds()))
    }),
    Method::new("UnixMicro", &[], &INT64, |_, args| {
        Ok(Value::int64(receiver(args)?.unix_units(1_000_000)))
    }),
    Method::new("UnixMilli", &[], &INT64, |_, args| {
        Ok(Value::int64(receiver(args)?.unix_units(1_000)))
    }),
    Method::new("UnixNano", &[], &INT64, |_, args| {
        Ok(Value::int64(receiver(args)?.unix_units(1_000_000_000)))
    }),
    Method::new("Weekday", &[], &WEEKDAY, |_, args| {
        Ok(weekday_value(receiver(args)?.calendar().weekday))
    }),
    Method::new("Year", &[], &INT, |_, args| number(args, |at| at.year)),
    Method::new("YearDay", &[], &INT, |_, args| number(args, |at| at.day_of_year.into())),
    uncallable(
        "Zone",
        "invalid function signature for Zone: second return value should be error; is int",
    ),
    uncallable(
        "ZoneBounds",
        "invalid function signature for ZoneBounds: second return value should be error; is time.Time",
    ),
];

fn receiver(args: Args<'_>) -> Result<Time, Failure> {
    time_argument(args, 0)
}

fn order(args: Args<'_>) -> Result<std::cmp::Ordering, Failure> {
    Ok(receiver(args)?.order(&time_argument(args, 1)?))
}

fn number(args: Args<'_>, part: fn(&Calendar) -> i64) -> Result<Value, Failure> {
    Ok(Value::int(part(&receiver(args)?.calendar())))
}

fn same_zone(args: Args<'_>, change: impl Fn(&Time) -> Result<Time, Failure>) -> Result<Value, Failure> {
    Ok(time_like(&change(&receiver(args)?)?, args.value(0)?))
}

fn bytes(bytes: Vec<u8>) -> Value {
    let item = |byte: u8| Value::Uint(UintKind::Uint8, byte.into());
    Value::Slice(Slice::new(&UINT8, bytes.into_iter().map(item).collect()))
}

/// The bytes of the first parameter, with more appended.
fn appended(args: Args<'_>, more: Vec<u8>) -> Result<Value, Failure> {
    let mut items = args.slice(1)?.items().to_vec();
    items.extend(more.into_iter().map(|byte| Value::Uint(UintKind::Uint8, byte.into())));
    Ok(Value::Slice(Slice::new(&UINT8, items)))
}

fn format(host: &mut Host<'_>, args: Args<'_>, layout: &[u8]) -> Result<Vec<u8>, Failure> {
    let time = receiver(args)?;
    // One letter of a layout becomes two digits at most, three the name of a zone or `September`.
    host.produce(layout.len().saturating_mul(3 + time.zone.name().len()))?;
    Ok(time.format(layout))
}

fn rfc_3339(args: Args<'_>, what: &str) -> Result<Vec<u8>, Failure> {
    let text = receiver(args)?.rfc_3339();
    text.map_err(|fault| Failure::new(format!("{what}: {fault}")))
}

fn append_binary(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    appended(args, binary(args)?)
}

/// Go's own encoding: a version, seconds, nanoseconds, and minutes of the offset, where -1 is UTC.
fn binary(args: Args<'_>) -> Result<Vec<u8>, Failure> {
    let time = receiver(args)?;
    let offset = time.zone.offset();
    let (minutes, seconds) = (offset / 60, (offset % 60) as i8);
    let minutes = match (&time.zone, i16::try_from(minutes)) {
        (Zone::Utc, _) => -1,
        (_, Ok(minutes)) if minutes != -1 => minutes,
        _ => return Err(Failure::new("Time.MarshalBinary: unexpected zone offset")),
    };
    let mut out = vec![if seconds == 0 { 1 } else { 2 }];
    out.extend(time.seconds.to_be_bytes());
    out.extend(time.nanoseconds.to_be_bytes());
    out.extend(minutes.to_be_bytes());
    if seconds != 0 {
        out.extend(seconds.to_be_bytes());
    }
    Ok(out)
}

/// A method whose results templates do not allow.
const fn uncallable(name: &'static str, why: &'static str) -> Method {
    Method {
        pointer: false,
        function: Function {
            name,
            params: &[],
            variadic: false,
            result: &ANY,
            body: Body::Uncallable(why),
        },
    }
}
