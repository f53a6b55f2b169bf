//! Parts of timestamps and durations.

use std::sync::Arc;

use super::outcome::Outcome;
use crate::value::{Fault, Value};
use bumpwright_gostd::{Duration, Time, Zone, atoi};

/// The part of a timestamp (in a zone, if given) or of a duration that a function returns.
pub fn part(name: &str, value: &Value, zone: Option<&Value>) -> Outcome {
    match (value, zone) {
        (Value::Duration(nanoseconds), None) => part_of_span(name, *nanoseconds),
        (Value::Timestamp(time), None) => part_of_moment(name, time, Zone::Utc),
        (Value::Timestamp(time), Some(Value::String(zone))) => part_of_moment(name, time, named_zone(zone)?),
        _ => Err(Fault::no_overload()),
    }
}

fn part_of_span(name: &str, nanoseconds: i64) -> Outcome {
    let units = |unit: i64| Duration(nanoseconds).in_units(unit) as i64;
    Ok(Value::Int(match name {
        "getHours" => units(3_600_000_000_000),
        "getMinutes" => units(60_000_000_000),
        "getSeconds" => units(1_000_000_000),
        "getMilliseconds" => nanoseconds / 1_000_000,
        _ => return Err(Fault::no_overload()),
    }))
}

fn part_of_moment(name: &str, time: &Time, zone: Zone) -> Outcome {
    let calendar = time.clone().in_zone(zone).calendar();
    Ok(Value::Int(match name {
        "getFullYear" => calendar.year,
        "getMonth" => i64::from(calendar.month) - 1,
        "getDayOfYear" => i64::from(calendar.day_of_year) - 1,
        "getDayOfMonth" => i64::from(calendar.day) - 1,
        "getDate" => i64::from(calendar.day),
        "getDayOfWeek" => i64::from(calendar.weekday),
        "getHours" => i64::from(calendar.hour),
        "getMinutes" => i64::from(calendar.minute),
        "getSeconds" => i64::from(calendar.second),
        "getMilliseconds" => i64::from(time.nanoseconds / 1_000_000),
        _ => return Err(Fault::no_overload()),
    }))
}

/// `UTC`, or an offset as `-08:00`. Named zones would need a time zone database.
fn named_zone(name: &str) -> Result<Zone, Fault> {
    let Some((hours, minutes)) = name.split_once(':') else {
        return match name {
            "" | "UTC" => Ok(Zone::Utc),
            "Local" => Ok(Zone::Local),
            _ => Err(Fault::new(format!("unknown time zone {name}"))),
        };
    };
    let number = |text: &str| atoi(text).map_err(|error| Fault::new(error.to_string()));
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let signed = if name.starts_with('-') {
        minutes.wrapping_neg()
    } else {
        minutes
    };
    let offset = hours.wrapping_mul(60).wrapping_add(signed).wrapping_mul(60);
    Ok(Zone::Fixed {
        name: Arc::from([]),
        offset,
    })
}
