//! `index.yaml` of a chart repository: which charts there are, in which versions, and where.
//!
//! Real ones have 30 MB: they are read event by event into a table, not into a tree.

mod document;
mod json;
mod read;

pub use document::IndexDocument;
pub use read::entries as read_entries;

use bumpwright_semver::{Constraint, Version};
use std::collections::BTreeMap;

/// Bytes of the largest index that is read. Those of thousands of charts have 20 MB.
pub const MAX_INDEX_BYTES: usize = 64 << 20;

/// The charts of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    charts: BTreeMap<Box<str>, Vec<Entry>>,
}

/// A version of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The version, as written.
    pub version: Box<str>,
    /// The SHA-256 of the archive in hexadecimal digits; may be empty.
    pub digest: Box<str>,
    /// Where the archive is; may be relative to the index.
    pub urls: Vec<Box<str>>,
    /// When it was made, as written.
    pub created: Box<str>,
    /// Whether it should no longer be used.
    pub deprecated: bool,
}

impl Index {
    /// Reads an index, YAML or JSON. Entries without a valid version are left out, as Helm does.
    ///
    /// # Errors
    /// Helm's text, or where the YAML is not valid.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|_| "the index is not UTF-8".to_owned())?;
        if text.trim().is_empty() {
            return Err("empty index.yaml file".to_owned());
        }
        let mut index = Self::default();
        let api_version = read_entries::<String>(text, &|_| true, &mut |name, entry| {
            if Version::parse(&entry.version).is_ok() {
                index.push(name, entry);
            }
            Ok(())
        })?;
        match api_version.is_empty() {
            true => Err("no API version specified".to_owned()),
            false => Ok(index),
        }
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
    /// The range is invalid: Masterminds' text.
    pub fn newest(&self, name: &str, version: &str) -> Result<Option<&Entry>, String> {
        let versions = self.versions(name);
        if versions.is_empty() {
            return Ok(None);
        }
        let range = match version {
            "" => "*",
            range => range,
        };
        let range = Constraint::parse(range).map_err(|error| error.to_string())?;
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
}

#[cfg(test)]
mod tests {
    use super::Index;

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
            let error = Index::read(text.as_bytes()).unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
