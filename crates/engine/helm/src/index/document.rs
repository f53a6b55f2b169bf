//! An index as source-controller stores it: checked, its charts and versions in order, as JSON.
//!
//! A row for each entry is all that is kept in memory. An index of the form that Helm writes is read as it arrives, and
//! not even in memory as text (`lines.rs`, `block.rs`): its entries are written as JSON at once, and put in order
//! afterwards. Any other is read as YAML.

use super::IndexError;
use super::chart_version::ChartVersion;
use super::json::Writer;
use super::lines::{Lines, MAX_PART_BYTES, Sink, Stop};
use super::read::{Place, placed};
use crate::chart::{Fields, time};
use crate::yaml::{YamlError, json_of, read};
use bumpwright_budget::{Exceeded, Reservation};
use bumpwright_semver::Version;
use bumpwright_text::Parts;
use bumpwright_yaml::{Node, Value};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

/// Go's zero time.
const NEVER: &str = "0001-01-01T00:00:00Z";
/// Bytes of memory that a version takes until all of its chart are in order, about.
const VERSION_BYTES: u64 = 256;
/// Bytes of memory that a byte of YAML takes as nodes, at worst.
const NODE_BYTES: u64 = 64;
/// Bytes of memory that a chart takes besides its name and entries, about.
const CHART_BYTES: u64 = 128;

/// The fields of an index, in Go's order.
const INDEX_FIELDS: [&str; 6] = [
    "serverInfo",
    "apiVersion",
    "generated",
    "entries",
    "publicKeys",
    "annotations",
];

/// The depth of entries in a document, and what is between two.
const DEPTH: usize = 3;
const BETWEEN: &str = ",\n      ";
/// Bytes of entries that are copied at once.
const COPIED: usize = 64 << 10;

/// The text of an index or of its entries, wherever it is.
pub trait IndexText {
    /// Appends bytes of it.
    ///
    /// # Errors
    /// They cannot be read.
    fn copy_part(&self, bytes: Range<usize>, into: &mut Vec<u8>) -> io::Result<()>;
}

impl IndexText for str {
    fn copy_part(&self, bytes: Range<usize>, into: &mut Vec<u8>) -> io::Result<()> {
        into.extend_from_slice(self.as_bytes().part(bytes));
        Ok(())
    }
}

/// The charts of an index: the places of their entries, the newest first; none of a chart without a list.
type Charts = BTreeMap<Box<str>, Option<Vec<Place>>>;

/// What the text has at the places of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// What they are in the index.
    Yaml,
    /// What they are in the document.
    Json,
}

/// An index that was checked. Its text is elsewhere.
#[derive(Debug)]
pub struct IndexDocument {
    form: Form,
    /// What is not an entry.
    head: Node,
    /// Whether there are entries at all.
    has_entries: bool,
    charts: Charts,
    /// The account that the rows are on.
    _held: Reservation,
}

impl IndexDocument {
    /// Checks an index, YAML or JSON, on an account: entries that are not valid charts are left out, unknown fields of
    /// YAML are an error.
    pub fn read(text: &str, mut held: Reservation) -> Result<Self, IndexError> {
        if text.is_empty() {
            return Err(IndexError::Empty);
        }
        let is_strict = serde_json::from_str::<serde::de::IgnoredAny>(text).is_err();
        let mut charts: BTreeMap<String, Vec<(Version, Place)>> = BTreeMap::new();
        let found = placed::<IndexError>(text, &|_| true, &mut |name, _, place| {
            let bytes = text.part(place.bytes.clone());
            let node = node(bytes, place.column, &mut held)?;
            let mut entry = ChartVersion::read(&node, is_strict)?;
            let Some(version) = entry.valid() else {
                return Ok(());
            };
            held.grow(VERSION_BYTES)?;
            match charts.get_mut(name) {
                Some(versions) => versions.push((version, place.clone())),
                None => drop(charts.insert(name.to_owned(), vec![(version, place.clone())])),
            }
            Ok(())
        })?;
        if let Some((found, wanted)) = found.fault {
            let wanted = wanted.to_owned();
            return Err(YamlError::Type { found, wanted }.into());
        }
        let head = head(text, found.all.as_ref(), &mut held)?;
        check_head(&head, is_strict)?;
        if found.api_version.is_empty() {
            return Err(IndexError::NoApiVersion);
        }
        let names = found.charts.into_iter();
        let charts = names.map(|(name, has_list)| {
            let versions = has_list.then(|| in_order(charts.remove(&name).unwrap_or_default()));
            (name.into_boxed_str(), versions)
        });
        Ok(Self {
            form: Form::Yaml,
            head,
            has_entries: found.all.is_some(),
            charts: charts.collect(),
            _held: held,
        })
    }

    /// Writes it as `json.MarshalIndent` does. The text is the one that was read, or what was written
    /// while it was scanned.
    ///
    /// # Errors
    /// Those of the text and of `out`.
    pub fn write<T: IndexText + ?Sized>(&self, text: &T, out: &mut dyn Write) -> io::Result<()> {
        let head = Head::read(&self.head).map_err(io::Error::other)?;
        let mut json = Writer::new(out);
        json.open("{")?;
        if let Some(info) = &head.server_info {
            json.key("serverInfo")?;
            json.any(info)?;
        }
        json.key("apiVersion")?;
        json.text(&head.api_version)?;
        json.key("generated")?;
        json.text(&head.generated)?;
        json.key("entries")?;
        if self.has_entries {
            self.write_entries(text, &mut json)?
        } else {
            json.raw("null")?
        }
        json.filled_texts("publicKeys", &head.public_keys)?;
        json.filled_pairs("annotations", &head.annotations)?;
        json.close("}")
    }

    fn write_entries<T: IndexText + ?Sized>(&self, text: &T, json: &mut Writer<'_>) -> io::Result<()> {
        json.open("{")?;
        for (name, versions) in &self.charts {
            json.key(name)?;
            let Some(versions) = versions else {
                json.raw("null")?;
                continue;
            };
            json.open("[")?;
            match self.form {
                Form::Yaml => write_yaml(versions, text, json)?,
                Form::Json => write_json(versions, text, json)?,
            }
            json.close("]")?;
        }
        json.close("}")
    }
}

/// Entries that are read again.
fn write_yaml<T: IndexText + ?Sized>(places: &[Place], text: &T, json: &mut Writer<'_>) -> io::Result<()> {
    for place in places {
        let mut part = vec![b' '; place.column];
        text.copy_part(place.bytes.clone(), &mut part)?;
        let node = read(&part).map_err(io::Error::other)?;
        let mut entry = ChartVersion::read(&node, false).map_err(io::Error::other)?;
        let _ = entry.valid();
        json.item()?;
        entry.write(json)?;
    }
    Ok(())
}

/// Entries as they are. Neighbours are copied at once.
fn write_json<T: IndexText + ?Sized>(places: &[Place], text: &T, json: &mut Writer<'_>) -> io::Result<()> {
    let is_next = |a: &Place, b: &Place| a.bytes.end + BETWEEN.len() == b.bytes.start;
    let (mut part, mut places) = (Vec::new(), places.iter().peekable());
    while let Some(first) = places.next() {
        let mut last = first;
        while let Some(next) = places.next_if(|next| is_next(last, next) && last.bytes.end - first.bytes.start < COPIED)
        {
            last = next;
        }
        part.clear();
        text.copy_part(first.bytes.start..last.bytes.end, &mut part)?;
        json.item()?;
        json.bytes(&part)?;
    }
    Ok(())
}

fn in_order(mut versions: Vec<(Version, Place)>) -> Vec<Place> {
    versions.sort_by(|(a, _), (b, _)| b.cmp(a));
    versions.into_iter().map(|(_, place)| place).collect()
}

/// An index that is read piece by piece, as it arrives. Its entries are written to `W` as JSON.
#[derive(Debug)]
pub struct IndexScan<W> {
    lines: Lines,
    rows: Rows<W>,
    stop: Option<Stop>,
}

/// What a text is.
#[derive(Debug)]
pub enum Scanned<W> {
    /// An index of the form that Helm writes, and its entries, which are its text.
    Document(IndexDocument, W),
    /// Something else, for [`IndexDocument::read`] on the same account.
    Other(Reservation),
}

impl<W: Write> IndexScan<W> {
    /// Nothing yet. The rows will be on this account.
    #[must_use]
    pub fn new(out: W, held: Reservation) -> Self {
        Self {
            lines: Lines::default(),
            rows: Rows {
                charts: Charts::new(),
                name: String::new(),
                versions: Vec::new(),
                out,
                written: 0,
                json: Vec::new(),
                held,
            },
            stop: None,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.stop.is_none() {
            self.stop = self.lines.push(bytes, &mut self.rows).err();
        }
    }

    pub fn finish(self) -> Result<Scanned<W>, IndexError> {
        let Self { lines, mut rows, stop } = self;
        let head = match stop {
            Some(stop) => Err(stop),
            None => lines.finish(&mut rows),
        };
        let head = head.and_then(|head| {
            rows.end()?;
            rows.out.flush().map_err(|error| Stop::Failed(error.into()))?;
            // No charts at all are null.
            if rows.charts.is_empty() {
                Err(Stop::Declined)
            } else {
                head_alone(&head)
            }
        });
        match head {
            Ok(head) => {
                let document = IndexDocument {
                    form: Form::Json,
                    head,
                    has_entries: true,
                    charts: rows.charts,
                    _held: rows.held,
                };
                Ok(Scanned::Document(document, rows.out))
            }
            Err(Stop::Declined) => Ok(Scanned::Other(rows.held)),
            Err(Stop::Failed(why)) => Err(why),
        }
    }
}

/// What a valid index has besides entries.
fn head_alone(text: &str) -> Result<Node, Stop> {
    let node = read(text.as_bytes()).map_err(|_| Stop::Declined)?;
    check_head(&node, true).map_err(|_| Stop::Declined)?;
    if Head::read(&node).is_ok_and(|head| !head.api_version.is_empty()) {
        Ok(node)
    } else {
        Err(Stop::Declined)
    }
}

/// The rows of the charts, and the versions of the last one.
#[derive(Debug)]
struct Rows<W> {
    charts: Charts,
    name: String,
    versions: Vec<(Version, Place)>,
    out: W,
    /// Bytes of `out`.
    written: usize,
    /// An entry.
    json: Vec<u8>,
    held: Reservation,
}

impl<W> Rows<W> {
    fn hold(&mut self, bytes: u64) -> Result<(), Stop> {
        self.held.grow(bytes).map_err(|error| Stop::Failed(error.into()))
    }

    /// Puts the versions of the last chart in order.
    fn end(&mut self) -> Result<(), Stop> {
        let versions = std::mem::take(&mut self.versions);
        if let Some(Some(places)) = self.charts.get_mut(self.name.as_str()) {
            let count = versions.len() as u64;
            *places = in_order(versions);
            let places = size_of::<Place>() as u64 * count;
            self.held.shrink((VERSION_BYTES * count).saturating_sub(places));
        }
        Ok(())
    }
}

impl<W: Write> Sink for Rows<W> {
    fn chart(&mut self, name: &str, has_list: bool) -> Result<(), Stop> {
        self.end()?;
        self.hold(name.len() as u64 * 2 + CHART_BYTES)?;
        name.clone_into(&mut self.name);
        match self.charts.insert(name.into(), has_list.then(Vec::new)) {
            None => Ok(()),
            Some(_) => Err(Stop::Declined),
        }
    }

    fn entry(&mut self, text: &str, place: Place) -> Result<(), Stop> {
        let mut entry = match ChartVersion::of_block(text, place.column) {
            Some(entry) => entry,
            None => {
                held_while(&mut self.held, text.len(), || other(text)).map_err(|error| Stop::Failed(error.into()))??
            }
        };
        let Some(version) = entry.valid() else { return Ok(()) };
        self.hold(VERSION_BYTES)?;
        self.json.clear();
        if !self.versions.is_empty() {
            self.json.extend_from_slice(BETWEEN.as_bytes());
        }
        let start = self.written + self.json.len();
        let written = entry.write(&mut Writer::at(&mut self.json, DEPTH));
        let written = written.and_then(|()| self.out.write_all(&self.json));
        written.map_err(|error| Stop::Failed(error.into()))?;
        self.written += self.json.len();
        let bytes = start..self.written;
        let column = place.column;
        self.versions.push((version, Place { bytes, column }));
        Ok(())
    }
}

/// An entry of another form than Helm's, if it is whole by itself.
fn other(text: &str) -> Result<ChartVersion, Stop> {
    let is_whole = super::read::is_mapping(text);
    let node = read(text.as_bytes()).map_err(|_| Stop::Declined)?;
    if matches!(node.value, Value::Mapping(_)) && is_whole {
        ChartVersion::read(&node, true).map_err(|_| Stop::Declined)
    } else {
        Err(Stop::Declined)
    }
}

/// Reads YAML with the memory for its nodes on an account.
fn held_while<T>(held: &mut Reservation, bytes: usize, read: impl FnOnce() -> T) -> Result<T, Exceeded> {
    let memory = NODE_BYTES * bytes as u64;
    held.grow(memory)?;
    let read = read();
    held.shrink(memory);
    Ok(read)
}

/// The node of a text that begins in a column. What it refers to outside of it is not there.
fn node(text: &str, column: usize, held: &mut Reservation) -> Result<Node, IndexError> {
    if text.len() > MAX_PART_BYTES {
        return Err(IndexError::LargeEntry);
    }
    let indent = " ".repeat(column);
    let node = held_while(held, text.len(), || {
        read([indent.as_bytes(), text.as_bytes()].concat().as_slice())
    })?;
    Ok(node?)
}

/// The index with no entries.
fn head(text: &str, entries: Option<&Place>, held: &mut Reservation) -> Result<Node, IndexError> {
    let bytes = entries.map_or(text.len()..text.len(), |place| place.bytes.clone());
    let before = text.part(..bytes.start);
    let after = text.part(bytes.end..);
    let length = before.len() + after.len();
    if length > MAX_PART_BYTES {
        return Err(IndexError::LargeHead);
    }
    let line = match entries {
        None => "",
        Some(_) if after.starts_with([',', '}', ' ', '\n', '\r']) => "{}",
        Some(_) => "{}\n",
    };
    Ok(held_while(held, length, || {
        read([before, line, after].concat().as_bytes())
    })??)
}

fn check_head(head: &Node, is_strict: bool) -> Result<(), YamlError> {
    if let Some(fields) = Fields::of(head, "repo.IndexFile")? {
        refuse_unknown(&fields, &[&INDEX_FIELDS], is_strict)?;
    }
    Head::read(head).map(drop)
}

pub(super) fn refuse_unknown(fields: &Fields<'_>, known: &[&[&str]], is_strict: bool) -> Result<(), YamlError> {
    match fields.unknown(&known.concat()).filter(|_| is_strict) {
        Some(name) => Err(YamlError::UnknownField(name.to_owned())),
        None => Ok(()),
    }
}

/// What an index has besides entries.
#[derive(Debug)]
struct Head {
    server_info: Option<serde_json::Value>,
    api_version: String,
    generated: String,
    public_keys: Vec<String>,
    annotations: Vec<(String, String)>,
}

impl Head {
    fn read(node: &Node) -> Result<Self, YamlError> {
        let mut head = Self {
            server_info: None,
            api_version: String::new(),
            generated: NEVER.to_owned(),
            public_keys: Vec::new(),
            annotations: Vec::new(),
        };
        let Some(fields) = Fields::of(node, "repo.IndexFile")? else {
            return Ok(head);
        };
        let info = fields.get("serverInfo").map(json_of).transpose()?;
        head.server_info = info.filter(|info| info.as_object().is_none_or(|info| !info.is_empty()));
        fields.text("apiVersion", &mut head.api_version)?;
        head.generated = time(&fields, "generated")?;
        fields.texts("publicKeys", &mut head.public_keys)?;
        if let Some(annotations) = fields.pairs("annotations")? {
            head.annotations = annotations;
        }
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::IndexDocument;
    use bumpwright_budget::Memory;

    fn document(text: &str) -> Result<IndexDocument, super::IndexError> {
        IndexDocument::read(text, Memory::single(1 << 30, "--fetch-memory").of("a").nothing())
    }

    fn written(text: &str) -> Result<String, super::IndexError> {
        let mut out = Vec::new();
        document(text)?.write(text, &mut out).unwrap();
        Ok(String::from_utf8(out).unwrap())
    }

    /// `tests/sources` compares the bytes with those of source-controller.
    #[test]
    fn an_index_is_written_in_order_and_without_invalid_charts() {
        let text = "\
apiVersion: v1
entries:
  web:
  - name: web
    version: 1.9.0
    appVersion: 1.10
    created: 2026-01-01T00:00:00.500+00:00
    urls: [web-1.9.0.tgz]
  - {name: web, version: 1.10.0, description: a <b>, urls: [], annotations: {z: 1, a: true}}
  - {name: web, version: none}
  db: []
generated: 2026-01-01T00:00:00Z
";
        let wanted = r#"{
  "apiVersion": "v1",
  "generated": "2026-01-01T00:00:00Z",
  "entries": {
    "db": [],
    "web": [
      {
        "name": "web",
        "version": "1.10.0",
        "description": "a \u003cb\u003e",
        "apiVersion": "v1",
        "annotations": {
          "a": "true",
          "z": "1"
        },
        "urls": [],
        "created": "0001-01-01T00:00:00Z"
      },
      {
        "name": "web",
        "version": "1.9.0",
        "apiVersion": "v1",
        "appVersion": "1.1",
        "urls": [
          "web-1.9.0.tgz"
        ],
        "created": "2026-01-01T00:00:00.5Z"
      }
    ]
  }
}"#;
        assert_eq!(written(text).unwrap(), wanted);
    }

    #[test]
    fn what_is_not_an_index_is_an_error() {
        for (text, wanted) in [
            ("", "empty index.yaml file"),
            ("entries: {}\n", "no API version specified"),
            (
                "<html></html>",
                "cannot unmarshal string into Go value of type repo.IndexFile",
            ),
            ("apiVersion: v1\nother: 1\n", "unknown field \"other\""),
            (
                "apiVersion: v1\nentries: {a: [{name: a, version: 1.0.0, more: 1}]}\n",
                "unknown field \"more\"",
            ),
            ("apiVersion: v1\ngenerated: today\n", "parsing time"),
        ] {
            let error = written(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
        let lax = r#"{"apiVersion":"v1","more":1,"entries":{}}"#;
        assert!(written(lax).unwrap().ends_with("\"entries\": {}\n}"));
    }
}
