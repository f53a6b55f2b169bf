//! An index that is read piece by piece, as it arrives, into the table that charts are chosen from: its text is never
//! in memory as a whole.

use super::lines::{Lines, Sink, Stop, api_version};
use super::read::{MAX_CHARTS, Place, entry_of};
use super::{CHART_BYTES, Index, IndexError};
use bumpwright_budget::Reservation;
use bumpwright_semver::Version;
use std::collections::BTreeSet;

/// A table that is filled while an index of the form that Helm writes arrives. Of the locations of an archive it keeps
/// the first one, which counts.
#[derive(Debug)]
pub struct TableScan<'w> {
    lines: Lines,
    table: Table<'w>,
    stop: Option<Stop>,
}

impl<'w> TableScan<'w> {
    /// An empty table, on this account while it is filled; with a name, of the entries of that chart only.
    #[must_use]
    pub fn new(wanted: Option<&'w str>, held: Reservation) -> Self {
        Self {
            lines: Lines::default(),
            table: Table {
                wanted,
                names: BTreeSet::new(),
                name: String::new(),
                index: Index::default(),
                held,
            },
            stop: None,
        }
    }

    /// Reads the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.stop.is_none() {
            self.stop = self.lines.push(bytes, &mut self.table).err();
        }
    }

    /// Whether the text so far is certainly of another form, for [`Index::read_on`].
    #[must_use]
    pub fn is_declined(&self) -> bool {
        matches!(self.stop, Some(Stop::Declined))
    }

    /// Ends the text. None where it is of another form, for [`Index::read_on`].
    pub fn finish(self) -> Result<Option<Index>, IndexError> {
        let Self { lines, mut table, stop } = self;
        let head = match stop {
            Some(stop) => Err(stop),
            None => lines.finish(&mut table),
        };
        match head {
            Ok(head) if api_version(&head).is_empty() => Err(IndexError::NoApiVersion),
            Ok(_) => {
                let mut index = table.index;
                index.charts.values_mut().for_each(Vec::shrink_to_fit);
                Ok(Some(index))
            }
            Err(Stop::Declined) => Ok(None),
            Err(Stop::Failed(why)) => Err(why),
        }
    }
}

/// The entries so far.
#[derive(Debug)]
struct Table<'w> {
    wanted: Option<&'w str>,
    names: BTreeSet<Box<str>>,
    /// The chart of the last entry.
    name: String,
    index: Index,
    held: Reservation,
}

impl Table<'_> {
    fn hold(&mut self, bytes: u64) -> Result<(), Stop> {
        self.held.grow(bytes).map_err(|error| Stop::Failed(error.into()))
    }
}

impl Sink for Table<'_> {
    fn chart(&mut self, name: &str, _: bool) -> Result<(), Stop> {
        if self.names.len() >= MAX_CHARTS || !self.names.insert(name.into()) {
            return Err(Stop::Declined);
        }
        self.hold(name.len() as u64 + CHART_BYTES)?;
        name.clone_into(&mut self.name);
        Ok(())
    }

    fn entry(&mut self, text: &str, place: Place) -> Result<(), Stop> {
        // Also one that is not wanted says whether the text is of this form.
        let mut entry = entry_of(text, place.column).ok_or(Stop::Declined)?;
        let is_wanted = self.wanted.is_none_or(|wanted| wanted == self.name);
        if !is_wanted || Version::parse(&entry.version).is_err() {
            return Ok(());
        }
        entry.urls.truncate(1);
        entry.urls.shrink_to_fit();
        self.hold(entry.weight())?;
        self.index.push(&self.name, entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::TableScan;
    use crate::index::{Index, IndexError};
    use bumpwright_budget::{Memory, Reservation};

    const TEXT: &str = "\
apiVersion: v1
entries:
  db:
  - name: db
    version: 3.0.0
    urls:
    - db-3.0.0.tgz
  none: []
  web:
  - name: web
    version: 1.0.0
    created: \"2026-01-01T00:00:00Z\"
    digest: aa
    urls:
    - web-1.0.0.tgz
    - https://mirror.example/web-1.0.0.tgz
  - {name: web, version: 1.10.0, urls: [web-1.10.0.tgz]}
  - name: web
    version: not a version
generated: \"2026-01-01T00:00:00Z\"
";

    fn held(bytes: u64) -> Reservation {
        Memory::single(bytes, "--fetch-memory").of("a").nothing()
    }

    fn scanned(text: &str, piece: usize, wanted: Option<&str>) -> Result<Option<Index>, IndexError> {
        let mut scan = TableScan::new(wanted, held(1 << 30));
        text.as_bytes().chunks(piece).for_each(|piece| scan.push(piece));
        scan.finish()
    }

    #[test]
    fn a_table_of_pieces_has_what_a_whole_index_has() {
        let whole = Index::read(TEXT.as_bytes()).unwrap();
        for piece in [1, 7, 64, TEXT.len()] {
            let index = scanned(TEXT, piece, None).unwrap().unwrap();
            assert_eq!(index.names().collect::<Vec<_>>(), whole.names().collect::<Vec<_>>());
            assert_eq!(index.versions("web").len(), 2);
            for (one, other) in index.versions("web").iter().zip(whole.versions("web")) {
                assert_eq!(
                    (&one.version, &one.digest, &one.created),
                    (&other.version, &other.digest, &other.created)
                );
                assert_eq!(one.urls, other.urls[..1]);
            }
            for version in ["", "1.0.x", "9.x"] {
                let chosen = |index: &Index| index.chosen("web", version).map(|entry| entry.version.clone());
                assert_eq!(chosen(&index), chosen(&whole), "{version}");
            }
        }
    }

    #[test]
    fn a_table_of_one_chart_has_no_other() {
        let index = scanned(TEXT, 16, Some("web")).unwrap().unwrap();
        assert_eq!(index.names().collect::<Vec<_>>(), ["web"]);
        assert_eq!(index.versions("web").len(), 2);
        assert!(
            scanned(TEXT, 16, Some("other"))
                .unwrap()
                .unwrap()
                .names()
                .next()
                .is_none()
        );
    }

    #[test]
    fn what_is_of_another_form_is_declined() {
        for text in [
            "",
            "<html></html>\n",
            "apiVersion: v1\nentries: {}\n",
            "{\"apiVersion\":\"v1\",\"entries\":{\"a\":[{\"version\":\"1.0.0\"}]}}\n",
            "apiVersion: v1\nentries:\n  a: &x\n  - {version: 1.0.0}\n  b: *x\n",
        ] {
            assert!(scanned(text, 5, None).unwrap().is_none(), "{text}");
        }
        let mut scan = TableScan::new(None, held(1 << 30));
        scan.push(b"apiVersion: v1\n");
        assert!(!scan.is_declined());
        scan.push(b"- a\n");
        assert!(scan.is_declined());
        let error = scanned("entries:\n  a:\n  - {name: a, version: 1.0.0}\n", 5, None).unwrap_err();
        assert_eq!(error.to_string(), "no API version specified");
    }

    #[test]
    fn a_table_takes_memory_of_its_account() {
        let mut scan = TableScan::new(None, held(200));
        scan.push(TEXT.as_bytes());
        assert!(matches!(scan.finish(), Err(IndexError::Memory(_))));
    }
}
