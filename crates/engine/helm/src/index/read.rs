//! From YAML events to the entries of an index, where it is not of the form that Helm writes.

use super::block::{self, Value};
use super::lines::{Lines, Sink, Stop, api_version};
use super::{Entry, IndexError, MAX_URLS};
use granit_parser::{Event, Parser, Span};
use std::collections::BTreeSet;
use std::ops::Range;

/// Levels of collections in an index.
pub(super) const MAX_DEPTH: usize = 100;
/// What ends a line in YAML as well, of some version.
const OTHER_BREAKS: [char; 4] = ['\r', '\u{85}', '\u{2028}', '\u{2029}'];
/// Charts of an index.
pub(super) const MAX_CHARTS: usize = 100_000;

/// A collection around the next event: a mapping with the key whose value comes next, or a list.
#[derive(Debug)]
enum Level {
    Mapping(Option<String>),
    List,
}

/// Calls `each` with the entries of the charts that are `wanted` by name, in the order of the index; returns its API
/// version, which may be empty. Nothing else of the index is kept.
///
/// # Errors
/// Those of `each`, and where the YAML is not valid.
pub fn entries<E: From<IndexError>>(
    text: &str,
    wanted: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(&str, Entry) -> Result<(), E>,
) -> Result<String, E> {
    if let Some((api_version, found)) = of_lines(text, wanted) {
        for (name, entries) in found {
            entries.into_iter().try_for_each(|entry| each(&name, entry))?;
        }
        return Ok(api_version);
    }
    entries_of_yaml(text, wanted, each)
}

/// The same of any form.
pub(super) fn entries_of_yaml<E: From<IndexError>>(
    text: &str,
    wanted: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(&str, Entry) -> Result<(), E>,
) -> Result<String, E> {
    let read = placed(text, wanted, &mut |name, entry, _| each(name, entry))?;
    Ok(read.api_version)
}

/// Charts with their entries.
type Found = Vec<(String, Vec<Entry>)>;

/// The entries of an index of the form that Helm writes, and its API version; none of any other.
pub(super) fn of_lines(text: &str, wanted: &dyn Fn(&str) -> bool) -> Option<(String, Found)> {
    let mut charts = Charts {
        wanted,
        names: BTreeSet::new(),
        is_wanted: false,
        found: Vec::new(),
    };
    let mut lines = Lines::default();
    lines.push(text.as_bytes(), &mut charts).ok()?;
    let head = lines.finish(&mut charts).ok()?;
    Some((api_version(&head), charts.found))
}

/// The entries of the charts that are wanted.
struct Charts<'w> {
    wanted: &'w dyn Fn(&str) -> bool,
    names: BTreeSet<Box<str>>,
    is_wanted: bool,
    found: Found,
}

impl Sink for Charts<'_> {
    fn chart(&mut self, name: &str, _: bool) -> Result<(), Stop> {
        if self.names.len() >= MAX_CHARTS || !self.names.insert(name.into()) {
            return Err(Stop::Declined);
        }
        self.is_wanted = (self.wanted)(name);
        if self.is_wanted {
            self.found.push((name.to_owned(), Vec::new()));
        }
        Ok(())
    }

    fn entry(&mut self, text: &str, place: Place) -> Result<(), Stop> {
        let entry = entry_of(text, place.column).ok_or(Stop::Declined)?;
        if let Some((_, entries)) = self.found.last_mut().filter(|_| self.is_wanted) {
            entries.push(entry);
        }
        Ok(())
    }
}

/// The entry in a text that begins in this column; none of a text that is not whole by itself.
pub(super) fn entry_of(text: &str, column: usize) -> Option<Entry> {
    match block::mapping(text, column) {
        Some(map) => of_block(map),
        None => of_events(text),
    }
}

fn of_block(map: block::Map<'_>) -> Option<Entry> {
    let mut entry = Entry::default();
    for (key, value) in map {
        match (key, value) {
            ("version", Value::Scalar(text)) => entry.version = text.text.into(),
            ("digest", Value::Scalar(text)) => entry.digest = text.text.into(),
            ("created", Value::Scalar(text)) => entry.created = text.text.into(),
            ("deprecated", Value::Scalar(text)) => entry.deprecated = text.text == "true",
            ("urls", Value::List(items)) => {
                let urls = items.into_iter().take(MAX_URLS).map(|item| match item {
                    Value::Scalar(text) => Some(text.text.into()),
                    _ => None,
                });
                entry.urls = urls.collect::<Option<_>>()?;
            }
            ("version" | "digest" | "created" | "deprecated" | "urls", _) => return None,
            _ => {}
        }
    }
    Some(entry)
}

/// The entry in a text that is a mapping by itself; none of another text.
fn of_events(text: &str) -> Option<Entry> {
    // After them something may begin that is not of the entry.
    if text.contains(OTHER_BREAKS) {
        return None;
    }
    let mut entries = Vec::new();
    let content = text.trim_start_matches(' ');
    let dash = (text.len() - content.len()).checked_sub(2)?;
    let text = format!("entries:\n  a:\n{:dash$}- {content}", "");
    let read = placed::<IndexError>(&text, &|_| true, &mut |_, entry, _| {
        entries.push(entry);
        Ok(())
    });
    let is_all = read.is_ok_and(|read| read.fault.is_none() && read.charts.len() == 1);
    entries.pop().filter(|_| is_all && entries.is_empty())
}

/// Whether a text is a mapping by itself: nothing of it is open at its end, and nothing refers to what
/// is outside of it.
pub(super) fn is_mapping(text: &str) -> bool {
    of_events(text).is_some()
}

/// A node of the text: its bytes, and the column that it begins in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) bytes: Range<usize>,
    pub(super) column: usize,
}

/// What an index has besides its entries.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) api_version: String,
    /// The mapping with all entries; none without one.
    pub(super) all: Option<Place>,
    /// The charts, and whether they have a list of entries, which may be empty, or nothing.
    pub(super) charts: Vec<(String, bool)>,
    /// What is in the place of a list or of an entry: what it is, and what it should be.
    pub(super) fault: Option<(&'static str, &'static str)>,
}

/// As [`entries`], with the place of each entry.
pub(super) fn placed<E: From<IndexError>>(
    text: &str,
    wanted: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(&str, Entry, &Place) -> Result<(), E>,
) -> Result<Read, E> {
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(IndexError::Syntax)?;
        reader.see(&event, &span);
        match event {
            Event::MappingStart(..) => reader.begin(Level::Mapping(None))?,
            Event::SequenceStart(..) => reader.begin(Level::List)?,
            Event::MappingEnd => {
                reader.levels.pop();
                if reader.levels.len() == 3 {
                    let entry = std::mem::take(&mut reader.entry);
                    if let Some(name) = reader.chart().filter(|name| wanted(name)) {
                        each(name, entry, &reader.place)?;
                    }
                }
                reader.passed();
            }
            Event::SequenceEnd => {
                reader.levels.pop();
                reader.passed();
            }
            Event::Scalar(text, ..) => reader.scalar(&text),
            Event::Alias(_) => reader.alias()?,
            Event::DocumentEnd => break,
            _ => {}
        }
    }
    if reader.read.charts.len() > MAX_CHARTS {
        return Err(IndexError::Charts.into());
    }
    reader.read.api_version = reader.api_version;
    Ok(reader.read)
}

#[derive(Debug, Default)]
struct Reader {
    levels: Vec<Level>,
    api_version: String,
    /// The entry that is being read.
    entry: Entry,
    place: Place,
    read: Read,
}

impl Reader {
    /// Learns where the entries are, before an event counts.
    fn see(&mut self, event: &Event<'_>, span: &Span) {
        let start = span.start.byte_offset().unwrap_or_default();
        let end = span.end.byte_offset().unwrap_or(start);
        let begun = || Place {
            bytes: start..start,
            column: span.start.col(),
        };
        match (event, self.levels.as_slice()) {
            (Event::MappingStart(..), [Level::Mapping(Some(top))]) if top == "entries" => self.read.all = Some(begun()),
            (Event::MappingEnd, [Level::Mapping(Some(top)), _]) if top == "entries" => {
                if let Some(all) = &mut self.read.all {
                    all.bytes.end = end;
                }
            }
            (event, [Level::Mapping(Some(top)), Level::Mapping(Some(name))])
                if top == "entries" && self.read.charts.len() <= MAX_CHARTS =>
            {
                match event {
                    Event::SequenceStart(..) => self.read.charts.push((name.clone(), true)),
                    Event::Scalar(text, ..) if matches!(&**text, "" | "~" | "null" | "Null" | "NULL") => {
                        self.read.charts.push((name.clone(), false));
                    }
                    Event::Scalar(..) => {
                        self.read.fault = Some(("string", "Go struct field .entries of type repo.ChartVersions"));
                    }
                    Event::MappingStart(..) => {
                        self.read.fault = Some(("object", "Go struct field .entries of type repo.ChartVersions"));
                    }
                    _ => {}
                }
            }
            (Event::Scalar(..) | Event::SequenceStart(..), [Level::Mapping(Some(top)), _, Level::List])
                if top == "entries" =>
            {
                self.read.fault = Some(("string", "Go struct field .entries of type repo.ChartVersion"));
            }
            (Event::MappingStart(..), [_, _, Level::List]) => self.place = begun(),
            (Event::MappingEnd, [_, _, Level::List, _]) => self.place.bytes.end = end,
            _ => {}
        }
    }

    fn begin(&mut self, level: Level) -> Result<(), IndexError> {
        if self.levels.len() >= MAX_DEPTH {
            return Err(IndexError::Nesting);
        }
        self.levels.push(level);
        Ok(())
    }

    /// A value has ended, or a key that is a collection.
    fn passed(&mut self) {
        if let Some(Level::Mapping(key)) = self.levels.last_mut() {
            *key = match key {
                Some(_) => None,
                None => Some(String::new()),
            };
        }
    }

    /// The name of the chart in whose list of entries the reader is.
    fn chart(&self) -> Option<&str> {
        match self.levels.as_slice() {
            [Level::Mapping(Some(top)), Level::Mapping(Some(name)), Level::List] if top == "entries" => Some(name),
            _ => None,
        }
    }

    fn scalar(&mut self, text: &str) {
        if let Some(Level::Mapping(key @ None)) = self.levels.last_mut() {
            *key = Some(text.to_owned());
            return;
        }
        self.value(text);
        self.passed();
    }

    fn value(&mut self, text: &str) {
        match self.levels.as_slice() {
            [Level::Mapping(Some(key))] if key == "apiVersion" => text.clone_into(&mut self.api_version),
            [
                Level::Mapping(Some(top)),
                _,
                Level::List,
                Level::Mapping(Some(key)),
                inner @ ..,
            ] if top == "entries" => match (&**key, inner) {
                ("version", []) => self.entry.version = text.into(),
                ("digest", []) => self.entry.digest = text.into(),
                ("created", []) => self.entry.created = text.into(),
                ("deprecated", []) => self.entry.deprecated = text == "true",
                ("urls", [Level::List]) if self.entry.urls.len() < MAX_URLS => self.entry.urls.push(text.into()),
                _ => {}
            },
            _ => {}
        }
    }

    /// What an alias stands for is not kept: it is passed over where it does not matter.
    fn alias(&mut self) -> Result<(), IndexError> {
        let matters = match self.levels.as_slice() {
            [Level::Mapping(Some(top))] => top == "entries",
            [Level::Mapping(Some(top)), rest @ ..] if top == "entries" => match rest {
                [_] | [_, Level::List] | [_, Level::List, Level::Mapping(None)] => true,
                [_, Level::List, Level::Mapping(Some(key)), ..] => {
                    matches!(&**key, "version" | "digest" | "created" | "urls")
                }
                _ => false,
            },
            _ => false,
        };
        self.passed();
        if matters { Err(IndexError::Alias) } else { Ok(()) }
    }
}
