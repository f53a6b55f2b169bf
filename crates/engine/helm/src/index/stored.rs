//! The table of an index that [`super::IndexDocument`] wrote: as much of it as charts are chosen by, on an account
//! while it is read.

use super::{CHART_BYTES, Entry, IndexError, MAX_URLS};
use bumpwright_budget::Reservation;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

type Charts = BTreeMap<Box<str>, Vec<Entry>>;

/// Reads the entries of all charts.
///
/// # Errors
/// It is not JSON, or cannot be read; the account has too little left.
pub(super) fn charts(reader: impl Read, held: &mut Reservation) -> Result<Charts, IndexError> {
    let mut json = serde_json::Deserializer::from_reader(reader);
    let charts = Whole(held).deserialize(&mut json)?;
    json.end()?;
    Ok(charts)
}

/// The locations of an archive that count.
pub(super) fn urls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Box<str>>, D::Error> {
    deserializer.deserialize_any(Urls)
}

struct Urls;

impl<'de> Visitor<'de> for Urls {
    type Value = Vec<Box<str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of URLs")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut urls = Vec::new();
        while urls.len() < MAX_URLS {
            match items.next_element()? {
                Some(url) => urls.push(url),
                None => return Ok(urls),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(urls)
    }
}

struct Whole<'h>(&'h mut Reservation);

impl<'de> DeserializeSeed<'de> for Whole<'_> {
    type Value = Charts;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Charts, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = Charts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an index")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Charts, A::Error> {
        let mut charts = Charts::new();
        while let Some(name) = fields.next_key::<Box<str>>()? {
            match &*name {
                "entries" => fields.next_value_seed(Entries(&mut charts, self.0))?,
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        Ok(charts)
    }
}

/// The charts of an index, which may be null.
struct Entries<'c>(&'c mut Charts, &'c mut Reservation);

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("charts")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut charts: A) -> Result<(), A::Error> {
        while let Some(name) = charts.next_key::<Box<str>>()? {
            let bytes = CHART_BYTES + name.len() as u64;
            self.1.grow(bytes).map_err(A::Error::custom)?;
            let entries = charts.next_value_seed(Versions(self.1))?;
            self.0.insert(name, entries);
        }
        Ok(())
    }
}

/// The entries of a chart, which may be null.
struct Versions<'h>(&'h mut Reservation);

impl<'de> DeserializeSeed<'de> for Versions<'_> {
    type Value = Vec<Entry>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Entry>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Versions<'_> {
    type Value = Vec<Entry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("versions of a chart")
    }

    fn visit_unit<E: Error>(self) -> Result<Vec<Entry>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<Entry>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = items.next_element::<Entry>()? {
            self.0.grow(entry.weight()).map_err(A::Error::custom)?;
            entries.push(entry);
        }
        Ok(entries)
    }
}
