//! From YAML events to the entries of an index.

use super::Entry;
use granit_parser::{Event, Parser, ScanError, Span};
use std::ops::Range;

/// Levels of collections in an index.
const MAX_DEPTH: usize = 100;

/// A collection around the next event: a mapping with the key whose value comes next, or a list.
#[derive(Debug)]
enum Level {
    Mapping(Option<String>),
    List,
}

/// Calls `each` with the entries of the charts that are `wanted` by name, in the order of the index; returns its API version, which may be
/// empty. Nothing else of the index is kept.
///
/// # Errors
/// Those of `each`, and where the YAML is not valid.
pub fn entries<E: From<String>>(
    text: &str,
    wanted: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(&str, Entry) -> Result<(), E>,
) -> Result<String, E> {
    let read = placed(text, wanted, &mut |name, entry, _| each(name, entry))?;
    Ok(read.api_version)
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
    /// What is in the place of a list or of an entry.
    pub(super) fault: Option<&'static str>,
}

/// As [`entries`], with the place of each entry.
pub(super) fn placed<E: From<String>>(
    text: &str,
    wanted: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(&str, Entry, &Place) -> Result<(), E>,
) -> Result<Read, E> {
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| invalid(&error))?;
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
    reader.read.api_version = reader.api_version;
    Ok(reader.read)
}

fn invalid(error: &ScanError) -> String {
    format!("line {}: {}", error.marker().line(), error.info())
}

#[derive(Debug, Default)]
struct Reader {
    levels: Vec<Level>,
    api_version: String,
    /// The entry that is being read.
    entry: Entry,
    /// Where it is.
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
            (event, [Level::Mapping(Some(top)), Level::Mapping(Some(name))]) if top == "entries" => match event {
                Event::SequenceStart(..) => self.read.charts.push((name.clone(), true)),
                Event::Scalar(text, ..) if matches!(&**text, "" | "~" | "null" | "Null" | "NULL") => {
                    self.read.charts.push((name.clone(), false));
                }
                Event::Scalar(..) => {
                    self.read.fault = Some("string into Go struct field .entries of type repo.ChartVersions")
                }
                Event::MappingStart(..) => {
                    self.read.fault = Some("object into Go struct field .entries of type repo.ChartVersions");
                }
                _ => {}
            },
            (Event::Scalar(..) | Event::SequenceStart(..), [Level::Mapping(Some(top)), _, Level::List])
                if top == "entries" =>
            {
                self.read.fault = Some("string into Go struct field .entries of type repo.ChartVersion");
            }
            (Event::MappingStart(..), [_, _, Level::List]) => self.place = begun(),
            (Event::MappingEnd, [_, _, Level::List, _]) => self.place.bytes.end = end,
            _ => {}
        }
    }

    fn begin(&mut self, level: Level) -> Result<(), String> {
        if self.levels.len() >= MAX_DEPTH {
            return Err(format!("the index nests more than {MAX_DEPTH} levels deep"));
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
                ("urls", [Level::List]) => self.entry.urls.push(text.into()),
                _ => {}
            },
            _ => {}
        }
    }

    /// What an alias stands for is not kept: it is passed over where it does not matter.
    fn alias(&mut self) -> Result<(), String> {
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
        match matters {
            true => Err("an alias among the entries of an index is not supported".to_owned()),
            false => Ok(()),
        }
    }
}
