//! `Chart.lock`: the versions that dependencies were resolved to.

use super::decode::Fields;
use super::folder::Folder;
use super::metadata::{Dependency, dependency};
use crate::yaml::{self, YamlError};
use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_yaml::Node;

/// Go's zero time.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// The fields of `Chart.lock`, and of `requirements.lock` of older charts.
#[derive(Clone, Debug, PartialEq)]
// The names are Helm's.
pub struct Lock {
    /// As Go writes it.
    pub generated: String,
    pub digest: String,
    /// None when the file has no such field.
    pub dependencies: Option<Vec<Option<Dependency>>>,
}

impl Lock {
    /// That of a chart in a folder; none without one that can be read.
    #[must_use]
    pub fn of_folder(folder: &dyn Folder) -> Option<Self> {
        let names = ["Chart.lock", "requirements.lock"].into_iter();
        let mut texts = names.filter_map(|name| folder.read(name, folder.most()).ok());
        let node = yaml::read(&texts.next()?).ok()?;
        Self::read(&node).ok()?
    }

    /// Reads a document; none of an empty one.
    pub(super) fn read(node: &Node) -> Result<Option<Self>, YamlError> {
        let Some(fields) = Fields::of(node, "v2.Lock")? else {
            return Ok(None);
        };
        let mut lock = Self {
            generated: time(&fields, "generated")?,
            digest: String::new(),
            dependencies: None,
        };
        fields.text("digest", &mut lock.digest)?;
        if let Some(items) = fields.list("dependencies", "[]*v2.Dependency")? {
            lock.dependencies = Some(items.iter().map(dependency).collect::<Result<_, _>>()?);
        }
        Ok(Some(lock))
    }
}

/// The time of a field as Go writes it.
pub(crate) fn time(fields: &Fields<'_>, name: &str) -> Result<String, YamlError> {
    let mut text = String::new();
    fields.text(name, &mut text)?;
    spelled_time(&text)
}

/// A time as Go writes it; nothing is its zero time.
pub(crate) fn spelled_time(text: &str) -> Result<String, YamlError> {
    if text.is_empty() {
        return Ok(NEVER.to_owned());
    }
    if let Some(spelled) = usual(text) {
        return Ok(spelled);
    }
    let parsed = Time::parse(RFC_3339, text.as_bytes())?;
    let spelled = parsed.rfc_3339().map_err(YamlError::TimeRange)?;
    Ok(String::from_utf8_lossy(&spelled).into_owned())
}

/// A time in UTC as most are, without a parser: only zeros at its end are left out. None of any other.
fn usual(text: &str) -> Option<String> {
    const SHAPE: &[u8; 19] = b"0000-00-00T00:00:00";
    let (date, rest) = text.split_at_checked(SHAPE.len())?;
    let fits = |(byte, shape): (u8, &u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        shape => byte == *shape,
    };
    let number = |from: usize| date.get(from..from + 2)?.parse::<u8>().ok();
    // Each month has 28 days.
    let is_time = date.bytes().zip(SHAPE).all(fits)
        && (1..=12).contains(&number(5)?)
        && (1..=28).contains(&number(8)?)
        && number(11)? < 24
        && number(14)? < 60
        && number(17)? < 60;
    let part = match rest.strip_suffix('Z')? {
        "" => "",
        part => part.strip_prefix('.').filter(|digits| !digits.is_empty())?,
    };
    let is_part = part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_time || !is_part {
        return None;
    }
    Some(match part.trim_end_matches('0') {
        "" => format!("{date}Z"),
        part => format!("{date}.{part}Z"),
    })
}

#[cfg(test)]
mod tests {
    use super::{RFC_3339, Time, usual};

    #[test]
    fn usual_times_are_spelled_as_go_spells_them() {
        let mut count = 0;
        for text in [
            "2026-01-01T00:00:00Z",
            "2026-02-28T23:59:59.120Z",
            "2026-12-28T01:02:03.000000000Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.1234567890Z",
            "2026-01-01T00:00:00+00:00",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00Z ",
        ] {
            if let Some(spelled) = usual(text) {
                let parsed = Time::parse(RFC_3339, text.as_bytes()).unwrap();
                assert_eq!(spelled.as_bytes(), parsed.rfc_3339().unwrap(), "{text}");
                count += 1;
            }
        }
        assert_eq!(count, 3);
    }
}
