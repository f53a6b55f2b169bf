//! An index in the form that Helm writes, line by line: which lines are of which entry. It comes in pieces, and only
//! one entry of it is in memory at a time.

use super::IndexError;
use super::block::{Value, key, scalar_of_line};
use super::read::Place;
use bumpwright_yaml::{Dialect, Tag, plain_tag};

/// Bytes of the largest entry, and of all that is besides entries. Others are read whole.
pub(super) const MAX_PART_BYTES: usize = 1 << 20;
/// Lines besides entries.
const MAX_HEAD_LINES: usize = 32;

/// Who takes what is found.
pub(super) trait Sink {
    /// A chart, with a list of entries or with nothing.
    fn chart(&mut self, name: &str, has_list: bool) -> Result<(), Stop>;

    /// An entry of the last chart: its text, with blanks before it up to its column, and its place.
    fn entry(&mut self, text: &str, place: Place) -> Result<(), Stop>;
}

#[derive(Debug)]
pub(super) enum Stop {
    /// It is of another form.
    Declined,
    /// It cannot go on.
    Failed(IndexError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Before,
    Entries,
    After,
}

#[derive(Debug)]
pub(super) struct Lines {
    state: State,
    /// The line that is not whole yet.
    rest: Vec<u8>,
    /// Bytes before it.
    at: usize,
    /// What is besides entries.
    head: String,
    head_lines: usize,
    /// A chart of which nothing else is known.
    chart: Option<String>,
    /// The column of the dashes of its entries.
    dash: Option<usize>,
    entry: Vec<u8>,
    /// Where it is; none without one.
    place: Option<Place>,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            state: State::Before,
            rest: Vec::new(),
            at: 0,
            head: String::new(),
            head_lines: 0,
            chart: None,
            dash: None,
            entry: Vec::new(),
            place: None,
        }
    }
}

impl Lines {
    pub(super) fn push(&mut self, mut bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Stop> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.split_at(1).1;
            if self.rest.is_empty() {
                self.line(line, sink)?;
            } else {
                self.rest.extend_from_slice(line);
                let line = std::mem::take(&mut self.rest);
                self.line(&line, sink)?;
                self.rest = line;
                self.rest.clear();
            }
        }
        self.rest.extend_from_slice(bytes);
        if self.rest.len() > MAX_PART_BYTES {
            Err(Stop::Declined)
        } else {
            Ok(())
        }
    }

    /// The end. Returns what is besides entries, with `entries: {}` in their place.
    pub(super) fn finish(mut self, sink: &mut dyn Sink) -> Result<String, Stop> {
        let line = std::mem::take(&mut self.rest);
        if !line.is_empty() {
            self.line(&line, sink)?;
            // Its last line has no end, which a text in many lines has then neither.
            self.entry.pop();
        }
        self.end_chart(sink)?;
        match self.state {
            State::Before => Err(Stop::Declined),
            State::Entries | State::After => Ok(self.head),
        }
    }

    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) -> Result<(), Stop> {
        let begin = self.at;
        self.at += line.len() + 1;
        if self.state != State::Entries {
            return self.head(line);
        }
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        let is_inside = |place: &Place| line.is_empty() || indent >= place.column;
        if self.place.as_ref().is_some_and(is_inside) {
            return self.more(line, begin);
        }
        let content = line.split_at(indent).1;
        match (indent, content) {
            (2 | 4, [b'-', b' ', rest @ ..]) => self.begin_entry(indent, rest, begin, sink),
            (2, content) => self.begin_chart(content, sink),
            (0, [first, ..]) if first.is_ascii_alphabetic() => {
                self.end_chart(sink)?;
                self.state = State::After;
                self.head(line)
            }
            _ => Err(Stop::Declined),
        }
    }

    /// A line at the outermost level.
    fn head(&mut self, line: &[u8]) -> Result<(), Stop> {
        let line = std::str::from_utf8(line).map_err(|_| Stop::Declined)?;
        self.head_lines += 1;
        let is_long = self.head_lines > MAX_HEAD_LINES || self.head.len() + line.len() > MAX_PART_BYTES;
        let (name, rest) = key(line).filter(|_| !is_long).ok_or(Stop::Declined)?;
        if self.head.lines().filter_map(key).any(|(known, _)| known == name) {
            return Err(Stop::Declined);
        }
        match (name, rest, self.state) {
            ("entries", "", State::Before) => {
                self.state = State::Entries;
                self.head.push_str("entries: {}\n");
                return Ok(());
            }
            ("entries", ..) | (_, "", _) => return Err(Stop::Declined),
            _ => {}
        }
        scalar_of_line(rest).ok_or(Stop::Declined)?;
        self.head.push_str(line);
        self.head.push('\n');
        Ok(())
    }

    fn begin_chart(&mut self, content: &[u8], sink: &mut dyn Sink) -> Result<(), Stop> {
        self.end_chart(sink)?;
        let content = std::str::from_utf8(content).map_err(|_| Stop::Declined)?;
        let (name, rest) = key(content).or_else(|| numbered(content)).ok_or(Stop::Declined)?;
        match rest {
            "" => self.chart = Some(name.to_owned()),
            "[]" => sink.chart(name, true)?,
            _ => return Err(Stop::Declined),
        }
        Ok(())
    }

    fn begin_entry(&mut self, dash: usize, rest: &[u8], begin: usize, sink: &mut dyn Sink) -> Result<(), Stop> {
        self.end_entry(sink)?;
        if let Some(name) = self.chart.take() {
            sink.chart(&name, true)?;
            self.dash = Some(dash);
        }
        if self.dash != Some(dash) || matches!(rest.first(), None | Some(b' ')) {
            return Err(Stop::Declined);
        }
        let column = dash + 2;
        let start = begin + column;
        self.place = Some(Place {
            bytes: start..start + rest.len(),
            column,
        });
        self.entry.clear();
        self.entry.resize(column, b' ');
        self.add(rest)
    }

    fn more(&mut self, line: &[u8], begin: usize) -> Result<(), Stop> {
        if let Some(place) = &mut self.place {
            place.bytes.end = begin + line.len();
        }
        self.add(line)
    }

    fn add(&mut self, line: &[u8]) -> Result<(), Stop> {
        self.entry.extend_from_slice(line);
        self.entry.push(b'\n');
        if self.entry.len() > MAX_PART_BYTES {
            Err(Stop::Declined)
        } else {
            Ok(())
        }
    }

    fn end_entry(&mut self, sink: &mut dyn Sink) -> Result<(), Stop> {
        let Some(place) = self.place.take() else {
            return Ok(());
        };
        let text = std::str::from_utf8(&self.entry).map_err(|_| Stop::Declined)?;
        sink.entry(text, place)
    }

    fn end_chart(&mut self, sink: &mut dyn Sink) -> Result<(), Stop> {
        self.end_entry(sink)?;
        self.dash = None;
        match self.chart.take() {
            Some(name) => sink.chart(&name, false),
            None => Ok(()),
        }
    }
}

/// The name of a chart that begins with a digit and is a text all the same.
fn numbered(content: &str) -> Option<(&str, &str)> {
    let (name, rest) = content.split_once(':')?;
    let rest = rest.trim_start_matches(' ');
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let fits = name.as_bytes().first()?.is_ascii_digit() && name.bytes().all(is_name) && name.len() <= 128;
    (fits && plain_tag(name, Dialect::V2) == Tag::Str).then_some((name, rest))
}

/// The API version in what is besides entries; empty without one.
pub(super) fn api_version(head: &str) -> String {
    let entry = head.lines().filter_map(key).find(|(name, _)| *name == "apiVersion");
    match entry.and_then(|(_, rest)| scalar_of_line(rest)) {
        Some(Value::Scalar(scalar)) => scalar.text.into_owned(),
        _ => String::new(),
    }
}
