//! Schedules of CronJobs, as robfig's cron v3 reads them for the API server.

use bumpwright_gostd::{Duration, atoi};

/// The least and the greatest number of a field, and its names in order.
struct Bounds {
    least: i64,
    most: i64,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds {
        least: 0,
        most: 59,
        names: &[],
    },
    Bounds {
        least: 0,
        most: 23,
        names: &[],
    },
    Bounds {
        least: 1,
        most: 31,
        names: &[],
    },
    Bounds {
        least: 1,
        most: 12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    Bounds {
        least: 0,
        most: 6,
        names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

const DESCRIPTORS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// Why a schedule is refused, in the words of that library.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScheduleError {
    #[error("expected exactly 5 fields, found {}: [{}]", .0.len(), .0.join(" "))]
    Count(Vec<String>),
    #[error("unrecognized descriptor: {0}")]
    Descriptor(String),
    #[error("failed to parse duration {0}")]
    Every(String),
    #[error("failed to parse int from {0}")]
    Number(String),
    #[error("negative number ({0}) not allowed: {0}")]
    Negative(i64),
    #[error("too many hyphens: {0}")]
    Hyphens(String),
    #[error("too many slashes: {0}")]
    Slashes(String),
    #[error("beginning of range ({start}) below minimum ({least}): {range}")]
    Below { start: i64, least: i64, range: String },
    #[error("end of range ({end}) above maximum ({most}): {range}")]
    Above { end: i64, most: i64, range: String },
    #[error("beginning of range ({start}) beyond end of range ({end}): {range}")]
    Beyond { start: i64, end: i64, range: String },
    #[error("step of range should be a positive number: {0}")]
    Step(String),
}

/// Whether the API server takes a schedule. One that begins with a time zone is not looked at: it is refused for new
/// CronJobs only.
///
/// # Errors
/// As in the library.
pub(super) fn check(schedule: &str) -> Result<(), ScheduleError> {
    if schedule.contains("TZ") {
        return Ok(());
    }
    if schedule.starts_with('@') {
        return descriptor(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(ScheduleError::Count(fields.into_iter().map(str::to_owned).collect()));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        for one in field.split(',').filter(|one| !one.is_empty()) {
            range(one, bounds)?;
        }
    }
    Ok(())
}

fn descriptor(schedule: &str) -> Result<(), ScheduleError> {
    if DESCRIPTORS.contains(&schedule) {
        return Ok(());
    }
    match schedule.strip_prefix("@every ") {
        Some(every) if Duration::parse(every.as_bytes()).is_err() => Err(ScheduleError::Every(every.to_owned())),
        Some(_) => Ok(()),
        None => Err(ScheduleError::Descriptor(schedule.to_owned())),
    }
}

/// `number | number "-" number [ "/" number ]`.
fn range(text: &str, bounds: &Bounds) -> Result<(), ScheduleError> {
    let range = || text.to_owned();
    let mut parts = text.split('/');
    let (numbers, step) = (parts.next().unwrap_or(text), parts.next());
    let ends: Vec<&str> = numbers.split('-').collect();
    let (start, end) = match ends.as_slice() {
        ["*" | "?", ..] => (bounds.least, bounds.most),
        [one] => {
            let start = number(one, bounds)?;
            (start, if step.is_some() { bounds.most } else { start })
        }
        [start, end] => (number(start, bounds)?, number(end, bounds)?),
        _ => return Err(ScheduleError::Hyphens(range())),
    };
    if parts.next().is_some() {
        return Err(ScheduleError::Slashes(range()));
    }
    let step = step.map_or(Ok(1), plain)?;
    let (least, most) = (bounds.least, bounds.most);
    if start < least {
        return Err(ScheduleError::Below {
            start,
            least,
            range: range(),
        });
    }
    if end > most {
        return Err(ScheduleError::Above {
            end,
            most,
            range: range(),
        });
    }
    if start > end {
        return Err(ScheduleError::Beyond {
            start,
            end,
            range: range(),
        });
    }
    if step == 0 {
        return Err(ScheduleError::Step(range()));
    }
    Ok(())
}

/// A number, or the name of one.
fn number(text: &str, bounds: &Bounds) -> Result<i64, ScheduleError> {
    let name = text.to_lowercase();
    let named = (bounds.least..).zip(bounds.names).find(|(_, one)| **one == name);
    named.map_or_else(|| plain(text), |(number, _)| Ok(number))
}

fn plain(text: &str) -> Result<i64, ScheduleError> {
    match atoi(text) {
        Err(_) => Err(ScheduleError::Number(text.to_owned())),
        Ok(number) if number < 0 => Err(ScheduleError::Negative(number)),
        Ok(number) => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By `cron.ParseStandard` of github.com/robfig/cron v3.0.1.
    #[test]
    fn schedules_are_read_as_the_server_does() {
        for (schedule, said) in [
            ("*/5 * * * *", ""),
            ("0 3 * * mon-FRI", ""),
            ("0 0 1,15 jan-jun ?", ""),
            ("5/10 0-6/2 * * *", ""),
            ("@hourly", ""),
            ("@every 1h30m", ""),
            ("TZ=UTC 0 0 * * *", ""),
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("0 0 0 1 1 *", "expected exactly 5 fields, found 6: [0 0 0 1 1 *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("0 0 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("0 0 * * 7", "end of range (7) above maximum (6): 7"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            ("a * * * *", "failed to parse int from a"),
            ("@dayly", "unrecognized descriptor: @dayly"),
            ("@every day", "failed to parse duration day"),
        ] {
            let found = check(schedule).err().map(|error| error.to_string());
            assert_eq!(found.as_deref().unwrap_or(""), said, "{schedule}");
        }
    }
}
