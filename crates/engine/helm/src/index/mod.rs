//! `index.yaml` of a chart repository: which charts there are, in which versions, and where.
//!
//! Real ones have 30 MB: they are read event by event into a table, not into a tree.

mod block;
mod chart_version;
mod document;
mod error;
mod json;
mod lines;
mod read;
mod stored;
mod table;
#[cfg(test)]
mod twins;

pub(crate) use chart_version::{write_dependencies, write_metadata};
pub use document::{IndexDocument, IndexScan, IndexText, Scanned};
pub use error::{ChoiceError, IndexError};
pub(crate) use json::{Writer as JsonWriter, text as json_text};
pub use read::entries as read_entries;
pub use table::TableScan;

use bumpwright_budget::Reservation;
use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_semver::{Constraint, ConstraintError, Version};
use serde::Deserialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::Read;

/// Bytes of the largest index that is read. Those of thousands of charts have 20 MB.
pub const MAX_INDEX_BYTES: usize = 64 << 20;

/// The charts of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    charts: BTreeMap<Box<str>, Vec<Entry>>,
}

/// A version of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// The version, as written.
    pub version: Box<str>,
    /// The SHA-256 of the archive in hexadecimal digits; may be empty.
    pub digest: Box<str>,
    /// Where the archive is; may be relative to the index.
    #[serde(deserialize_with = "stored::urls")]
    pub urls: Vec<Box<str>>,
    /// When it was made, as written.
    pub created: Box<str>,
    /// Whether it should no longer be used.
    pub deprecated: bool,
}

impl Index {
    /// Reads an index, YAML or JSON. Entries without a valid version are left out, as Helm does.
    pub fn read(text: &[u8]) -> Result<Self, IndexError> {
        Self::read_on(text, None)
    }

    /// The same on an account.
    ///
    /// # Errors
    /// Also when the account has too little left.
    pub fn read_on(text: &[u8], mut held: Option<&mut Reservation>) -> Result<Self, IndexError> {
        let text = std::str::from_utf8(text).map_err(|_| IndexError::NotUtf8)?;
        if text.trim().is_empty() {
            return Err(IndexError::Empty);
        }
        let mut index = Self::default();
        let api_version = read_entries::<IndexError>(text, &|_| true, &mut |name, entry| {
            if Version::parse(&entry.version).is_err() {
                return Ok(());
            }
            if let Some(held) = held.as_deref_mut() {
                held.grow(entry.weight())?;
            }
            index.push(name, entry);
            Ok(())
        })?;
        if api_version.is_empty() {
            Err(IndexError::NoApiVersion)
        } else {
            Ok(index)
        }
    }

    /// Reads an index that [`IndexDocument`] wrote, from one end to the other, on an account: its text
    /// is never in memory.
    ///
    /// # Errors
    /// It is not JSON, or cannot be read; the account has too little left.
    pub fn read_stored(reader: impl Read, held: &mut Reservation) -> Result<Self, IndexError> {
        let mut charts = stored::charts(reader, held)?;
        charts.values_mut().for_each(Vec::shrink_to_fit);
        Ok(Self { charts })
    }

    /// Bytes of memory.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let charts = self.charts.iter();
        let of = |entries: &Vec<Entry>| entries.iter().map(Entry::weight).sum::<u64>();
        let weights = charts.map(|(name, entries)| name.len() as u64 + CHART_BYTES + of(entries));
        weights.sum()
    }

    fn push(&mut self, name: &str, entry: Entry) {
        match self.charts.get_mut(name) {
            Some(versions) => versions.push(entry),
            None => drop(self.charts.insert(name.into(), vec![entry])),
        }
    }

    /// The versions of a chart in the order of the index.
    #[must_use]
    pub fn versions(&self, name: &str) -> &[Entry] {
        self.charts.get(name).map_or(&[], Vec::as_slice)
    }

    /// The names of all charts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.charts.keys().map(|name| &**name)
    }

    /// The chart of exactly this version; else the newest one in the range, which is `*` for an empty text.
    ///
    /// # Errors
    /// The range is invalid.
    pub fn newest(&self, name: &str, version: &str) -> Result<Option<&Entry>, ConstraintError> {
        let versions = self.versions(name);
        if versions.is_empty() {
            return Ok(None);
        }
        let range = match version {
            "" => "*",
            range => range,
        };
        let range = Constraint::parse(range)?;
        let exact = versions
            .iter()
            .find(|entry| !version.is_empty() && &*entry.version == version);
        if exact.is_some() {
            return Ok(exact);
        }
        let mut newest: Option<(Version, &Entry)> = None;
        for entry in versions {
            let Ok(version) = Version::parse(&entry.version) else {
                continue;
            };
            let is_newer = newest.as_ref().is_none_or(|(best, _)| version > *best);
            if is_newer && range.check(&version) {
                newest = Some((version, entry));
            }
        }
        Ok(newest.map(|(_, entry)| entry))
    }

    /// The chart that source-controller takes: as [`Index::newest`] among versions that are written in full, and of
    /// those that differ by their build only the one that was made last.
    pub fn chosen(&self, name: &str, version: &str) -> Result<&Entry, ChoiceError> {
        let Some(versions) = self.charts.get(name) else {
            return Err(ChoiceError::NoChart);
        };
        if versions.is_empty() {
            return Err(ChoiceError::NoVersion);
        }
        let exact = versions.iter().find(|entry| &*entry.version == version);
        if let Some(exact) = exact.filter(|_| !version.is_empty()) {
            return Ok(exact);
        }
        let range = match version {
            "" => "*",
            range => range,
        };
        let range = Constraint::parse(range)?;
        // One without a time is the oldest.
        let made = |entry: &Entry| Time::parse(RFC_3339, entry.created.as_bytes()).unwrap_or_default();
        let mut chosen: Option<(Version, &Entry)> = None;
        for entry in versions {
            let Ok(version) = Version::parse_flux(&entry.version) else {
                continue;
            };
            let is_newer = chosen.as_ref().is_none_or(|(best, other)| match version.cmp(best) {
                Ordering::Less => false,
                Ordering::Equal => made(entry).order(&made(other)).is_ge(),
                Ordering::Greater => true,
            });
            if is_newer && range.check(&version) {
                chosen = Some((version, entry));
            }
        }
        chosen.map(|(_, entry)| entry).ok_or_else(|| ChoiceError::NoMatch {
            name: name.to_owned(),
            version: version.to_owned(),
        })
    }
}

/// Bytes that a chart takes besides its name and entries.
const CHART_BYTES: u64 = 64;
/// Locations of an archive that are kept; the first one counts.
const MAX_URLS: usize = 16;

impl Entry {
    /// Bytes of memory.
    fn weight(&self) -> u64 {
        let urls = self.urls.iter().map(|url| url.len() + size_of::<Box<str>>());
        let texts = [&self.version, &self.digest, &self.created].map(|text| text.len());
        (size_of::<Self>() + texts.iter().sum::<usize>() + urls.sum::<usize>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Index;
    use bumpwright_budget::{Memory, Reservation};

    fn held() -> Reservation {
        Memory::single(1 << 30, "--fetch-memory").of("a").nothing()
    }

    const TEXT: &str = "\
apiVersion: v1
generated: \"2026-01-01T00:00:00Z\"
entries:
  web:
  - name: web
    version: 1.0.0
    digest: aa
    created: 2026-01-01T00:00:00Z
    urls: [web-1.0.0.tgz, https://mirror.example/web-1.0.0.tgz]
    maintainers:
    - &a {name: a, version: 9.9.9}
    sources: [*a]
  - {name: web, version: 1.10.0, urls: [web-1.10.0.tgz], deprecated: true}
  - {name: web, version: 1.9.0, urls: [web-1.9.0.tgz]}
  - {name: web, version: 2.0.0-rc.1, urls: [web-2.0.0-rc.1.tgz]}
  - {name: web, version: not a version, urls: [a.tgz]}
  - {name: web, urls: [a.tgz]}
  db: []
";

    fn newest<'i>(index: &'i Index, version: &str) -> Option<&'i str> {
        index.newest("web", version).unwrap().map(|entry| &*entry.version)
    }

    #[test]
    fn the_newest_version_in_a_range_is_found() {
        let index = Index::read(TEXT.as_bytes()).unwrap();
        assert_eq!(index.versions("web").len(), 4);
        assert_eq!(newest(&index, ""), Some("1.10.0"));
        assert_eq!(newest(&index, "1.0.0"), Some("1.0.0"));
        assert_eq!(newest(&index, "<1.10"), Some("1.9.0"));
        assert_eq!(newest(&index, ">0.0.0-0"), Some("2.0.0-rc.1"));
        assert_eq!(newest(&index, "2.x"), None);
        assert_eq!(index.newest("db", "").unwrap(), None);
        assert_eq!(index.newest("none", "").unwrap(), None);
        assert!(index.newest("web", "no range").is_err());
        let first = &index.versions("web")[0];
        assert_eq!((&*first.digest, first.urls.len(), first.deprecated), ("aa", 2, false));
        assert!(index.versions("web")[1].deprecated);
    }

    #[test]
    fn an_index_may_be_json() {
        let text = r#"{"apiVersion":"v1","entries":{"a":[{"version":"1.0.0","urls":["a.tgz"]}]}}"#;
        let index = Index::read(text.as_bytes()).unwrap();
        assert_eq!(index.names().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn what_is_no_index_is_an_error() {
        for (text, wanted) in [
            ("", "empty index.yaml file"),
            ("entries: {}\n", "no API version specified"),
            ("apiVersion: v1\nentries: [", "line 2"),
            (
                "apiVersion: v1\nentries:\n  a: &x\n  - {version: 1.0.0}\n  b: *x\n",
                "alias",
            ),
            ("<html></html>", "no API version specified"),
        ] {
            let error = Index::read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn a_stored_index_is_read_and_chosen_from_as_source_controller_does() {
        let text = "apiVersion: v1\nentries:\n  a:\n  - {name: a, version: 1.0.0, created: '2026-01-01T00:00:00Z', urls: [one]}\n  \
                    - {name: a, version: 1.0.0+b, created: '2026-01-02T00:00:00Z', urls: [two]}\n  \
                    - {name: a, version: '3', urls: [short]}\n  - {name: a, version: v2.0.0-rc.1}\n  none: null\n  empty: []\n";
        let mut stored = Vec::new();
        let document = super::IndexDocument::read(text, held()).unwrap();
        document.write(text, &mut stored).unwrap();
        let index = Index::read_stored(&stored[..], &mut held()).unwrap();
        assert!(index.weight() > 400);
        for (version, wanted) in [
            ("", Ok("1.0.0+b")),
            ("1.x", Ok("1.0.0+b")),
            ("1.0.0", Ok("1.0.0")),
            ("3", Ok("3")),
            (">=3", Err("no 'a' chart with version matching '>=3' found")),
            (">=2.0.0-0", Ok("v2.0.0-rc.1")),
            ("x y", Err("improper constraint: \"x y\"")),
        ] {
            let found = index.chosen("a", version).map(|entry| &*entry.version);
            assert_eq!(
                found.map_err(|error| error.to_string()),
                wanted.map_err(str::to_owned),
                "{version}"
            );
        }
        assert_eq!(index.chosen("b", "").unwrap_err().to_string(), "no chart name found");
        assert_eq!(
            index.chosen("empty", "").unwrap_err().to_string(),
            "no chart version found"
        );
        assert_eq!(
            index.chosen("none", "").unwrap_err().to_string(),
            "no chart version found"
        );
    }
}
