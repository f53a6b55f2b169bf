//! JSON (RFC 8259), which has no comments: a member `"//name"` beside `"name"` holds its marker.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::reader::{State, Value};
use super::valued::{Refused, Values};
use crate::cut::OUTSIDE;
use crate::find::marker;
use crate::lines::Lines;
use crate::model::{Reason, Setter};
use crate::scanned::{LocalSkip, Scan};
use crate::site::Site;
use bumpwright_text::Parts;

const KEY: &str = "$imagepolicy";

/// Nesting deeper than this is refused.
const DEEPEST: usize = 1_000;

/// The values of a file.
pub(super) fn values(text: &str) -> Result<Values, Refused> {
    let mut reader = Reader::new(text, Some(Values::default()));
    let read = reader.read();
    read.map_err(|why| (reader.at, why.to_owned()))?;
    Ok(reader.values.unwrap_or_default())
}

pub(super) fn scan(text: &str) -> Scan {
    let lines = Lines::of(text);
    let mut reader = Reader::new(text, None);
    if let Err(why) = reader.read() {
        let message = format!("the JSON does not parse: {why}; correct it, none of the file's markers was read");
        return LocalSkip::new(lines.place(reader.at), Reason::Unparsable, message).into();
    }
    let mut scan = Scan::default();
    for found in reader.found {
        match found {
            // The quotes are at the bounds of the value.
            Found::Site(setter, value, _) => {
                let inside = value.start + 1..value.end - 1;
                let place = lines.place(value.start);
                match Site::verbatim(setter, text, inside, place) {
                    Some(site) => scan.sites.push(site),
                    None => {
                        let skip = LocalSkip::new(place, Reason::NotAScalar, OUTSIDE.to_owned());
                        scan.skips.push(skip);
                    }
                }
            }
            Found::Skip(at, reason, message) => scan.skips.push(LocalSkip::new(lines.place(at), reason, message)),
        }
    }
    scan.sites.sort_by_key(|site| site.span.start);
    scan.skips.sort_by_key(|skip| (skip.line, skip.column));
    scan
}

/// A value that is not an object or list.
#[derive(Debug)]
pub(super) struct Member {
    /// Its key with quotes; none for items of lists.
    pub(super) key: Option<Range<usize>>,
    /// It, with quotes.
    pub(super) value: Range<usize>,
    pub(super) is_text: bool,
    /// Whether `"//name"` is beside it.
    pub(super) has_neighbour: bool,
}

/// The values of a file that are not objects or lists, in their order.
pub(super) fn members(text: &str) -> Result<Vec<Member>, Refused> {
    let mut reader = Reader::new(text, None);
    reader.kept = Some(Vec::new());
    let read = reader.read();
    read.map_err(|why| (reader.at, why.to_owned()))?;
    let mut members = reader.kept.unwrap_or_default();
    members.sort_by_key(|member| member.value.start);
    Ok(members)
}

/// The bytes of each marker with the comma that goes with it, by where the text begins that it marks.
pub(crate) fn markers(text: &str) -> BTreeMap<usize, Range<usize>> {
    let mut reader = Reader::new(text, None);
    if reader.read().is_err() {
        return BTreeMap::new();
    }
    let sites = reader.found.into_iter().filter_map(|found| match found {
        Found::Site(_, value, member) => Some((value.start + 1, with_comma(text, member))),
        Found::Skip(..) => None,
    });
    sites.collect()
}

/// A member up to the next one; the last one from the end of the one before.
fn with_comma(text: &str, member: Range<usize>) -> Range<usize> {
    const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];
    let behind = text.part(member.end..).trim_start_matches(BLANKS);
    if let Some(next) = behind.strip_prefix(',') {
        return member.start..text.len() - next.trim_start_matches(BLANKS).len();
    }
    let before = text.part(..member.start).trim_end_matches(BLANKS);
    before.strip_suffix(',').map_or(member.start, str::len)..member.end
}

/// The members of an object by their names: texts with quotes, other values as none.
type Named<'f> = BTreeMap<String, Vec<Option<&'f Range<usize>>>>;

enum Found {
    /// With the value, and the member that is the marker.
    Site(Setter, Range<usize>, Range<usize>),
    Skip(usize, Reason, String),
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    open: Vec<Frame>,
    found: Vec<Found>,
    /// All values, where they are wanted.
    values: Option<Values>,
    /// All that markers may be on, where it is wanted.
    kept: Option<Vec<Member>>,
}

/// An object or a list around.
#[derive(Default)]
struct Frame {
    is_object: bool,
    key: Option<Range<usize>>,
    /// The members of an object that are texts: key and value, with quotes; other values as none.
    members: Vec<(Range<usize>, Option<Range<usize>>)>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, values: Option<Values>) -> Self {
        Self {
            text,
            at: 0,
            open: Vec::new(),
            found: Vec::new(),
            values,
            kept: None,
        }
    }

    /// Reads all values; texts in them are checked as their objects end.
    fn read(&mut self) -> Result<(), &'static str> {
        let mut is_value_next = true;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b'"' => {
                    let text = self.quoted()?;
                    self.text_found(text, is_value_next)?;
                    is_value_next = false;
                }
                b'{' | b'[' => {
                    self.open(byte)?;
                    is_value_next = true;
                }
                b'}' | b']' => {
                    self.close(byte)?;
                    is_value_next = false;
                }
                b':' | b',' => {
                    self.at += 1;
                    is_value_next = true;
                }
                _ => {
                    let start = self.at;
                    self.other()?;
                    self.keep(
                        start..self.at,
                        State::Other("a value that is not a string; put it in quotes"),
                    );
                    self.keep_other(start..self.at, false);
                    self.value(None);
                }
            }
        }
        if self.open.is_empty() {
            Ok(())
        } else {
            Err("it ends within an object or a list")
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn open(&mut self, byte: u8) -> Result<(), &'static str> {
        if self.open.len() >= DEEPEST {
            return Err("it nests too deep");
        }
        if let Some(values) = &mut self.values
            && !values.tree.open(byte == b'{')
        {
            return Err("it nests deeper than 128 levels");
        }
        self.at += 1;
        self.open.push(Frame {
            is_object: byte == b'{',
            ..Frame::default()
        });
        Ok(())
    }

    fn close(&mut self, byte: u8) -> Result<(), &'static str> {
        let frame = self.open.pop().filter(|frame| frame.is_object == (byte == b'}'));
        let frame = frame.ok_or("a bracket closes what is not open")?;
        self.at += 1;
        if let Some(values) = &mut self.values {
            values.tree.close();
        }
        self.members(&frame);
        self.keep_texts(&frame);
        self.value(None);
        Ok(())
    }

    fn other(&mut self) -> Result<(), &'static str> {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.'))
        {
            self.at += 1;
        }
        let word = self.text.part(start..self.at);
        if serde_json::from_str::<serde_json::Number>(word).is_ok() || matches!(word, "true" | "false" | "null") {
            return Ok(());
        }
        self.at = start;
        Err("there is something that is no value")
    }

    /// A text with its quotes.
    fn quoted(&mut self) -> Result<Range<usize>, &'static str> {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(start..self.at);
                }
                b'\\' => self.at += 2,
                0..0x20 => return Err("a text has a control character"),
                _ => self.at += 1,
            }
        }
        self.at = start;
        Err("a text does not end")
    }

    fn text_found(&mut self, text: Range<usize>, is_expected: bool) -> Result<(), &'static str> {
        if !is_expected {
            self.at = text.start;
            return Err("there is no comma or colon before a text");
        }
        let has_escapes = self.text.get(text.clone()).is_some_and(|raw| raw.contains('\\'));
        self.keep(text.clone(), if has_escapes { State::ESCAPED } else { State::Whole });
        match self.open.last_mut() {
            Some(frame) if frame.is_object && frame.key.is_none() => frame.key = Some(text),
            Some(frame) if frame.is_object => self.value(Some(text)),
            _ => {
                self.lonely(&text);
                self.keep_other(text, true);
            }
        }
        Ok(())
    }

    /// Keeps a scalar, if values are wanted.
    fn keep(&mut self, span: Range<usize>, state: State) {
        let Some(mut values) = self.values.take() else { return };
        let is_text = self.text.as_bytes().get(span.start) == Some(&b'"');
        let inside = if is_text {
            span.start + 1..span.end - 1
        } else {
            span.clone()
        };
        let read = self.read_text(&span).filter(|_| is_text);
        let text = read.unwrap_or_else(|| self.text.part(inside.clone()).to_owned());
        let (at, span) = (span.start, inside);
        values.scalar(&text, Value { at, span, state });
        self.values = Some(values);
    }

    /// Keeps a value that is not text of an object, if that is wanted.
    fn keep_other(&mut self, value: Range<usize>, is_text: bool) {
        let key = self.open.last().and_then(|frame| frame.key.clone());
        if let Some(kept) = &mut self.kept {
            kept.push(Member {
                key,
                value,
                is_text,
                has_neighbour: false,
            });
        }
    }

    /// Keeps the texts of an object, if that is wanted.
    fn keep_texts(&mut self, frame: &Frame) {
        let Some(mut kept) = self.kept.take() else { return };
        let names = frame.members.iter().filter_map(|(key, _)| self.read_text(key));
        let names: BTreeSet<String> = names.collect();
        let texts = frame.members.iter().filter_map(|(key, value)| {
            Some(Member {
                has_neighbour: self
                    .read_text(key)
                    .is_some_and(|key| names.contains(&format!("//{key}"))),
                key: Some(key.clone()),
                value: value.clone()?,
                is_text: true,
            })
        });
        kept.extend(texts);
        self.kept = Some(kept);
    }

    /// A value of the object around, if there is one.
    fn value(&mut self, text: Option<Range<usize>>) {
        if let Some(frame) = self.open.last_mut()
            && let Some(key) = frame.key.take()
        {
            frame.members.push((key, text));
        }
    }

    /// A text without its escapes; none if one of them is half a character, which no marker and no name has.
    fn read_text(&self, text: &Range<usize>) -> Option<String> {
        serde_json::from_str(self.text.part(text.clone())).ok()
    }

    /// The text, if it mentions a marker.
    fn mention(&self, text: &Range<usize>) -> Option<String> {
        let raw = self.text.get(text.clone())?;
        let read = raw.contains(KEY).then(|| self.read_text(text))??;
        marker::mentions(&read).then_some(read)
    }

    /// Reports a marker without a member to mark. A text that mentions one, such as a recorded file, is not a marker.
    fn lonely(&mut self, text: &Range<usize>) {
        if self.mention(text).is_some_and(|text| marker::parse(&text).is_ok()) {
            let message = "a marker is a member \"//name\" beside the member \"name\" that it marks".to_owned();
            self.found.push(Found::Skip(text.start, Reason::NotAScalar, message));
        }
    }

    fn members(&mut self, frame: &Frame) {
        let mut named: Option<Named<'_>> = None;
        for (key, value) in &frame.members {
            self.lonely(key);
            let Some((value, text)) = value.as_ref().and_then(|value| Some((value, self.mention(value)?))) else {
                continue;
            };
            let name = self.read_text(key);
            let Some(name) = name.as_deref().and_then(|name| name.strip_prefix("//")) else {
                self.lonely(value);
                continue;
            };
            let named = named.get_or_insert_with(|| self.named(frame));
            let site = match self.marked(named.get(name).map(Vec::as_slice), name, &text) {
                Ok((setter, marked)) => Found::Site(setter, marked, key.start..value.end),
                Err((reason, message)) => Found::Skip(value.start, reason, message),
            };
            self.found.push(site);
        }
    }

    /// The members of an object by their names.
    fn named<'f>(&self, frame: &'f Frame) -> Named<'f> {
        let mut named = Named::new();
        for (key, value) in &frame.members {
            if let Some(name) = self.read_text(key) {
                named.entry(name).or_default().push(value.as_ref());
            }
        }
        named
    }

    /// What a marker with this text says and marks, which is beside these members of one name.
    fn marked(
        &self,
        members: Option<&[Option<&Range<usize>>]>,
        name: &str,
        text: &str,
    ) -> Result<(Setter, Range<usize>), (Reason, String)> {
        let setter = marker::parse(text).map_err(|why| (Reason::MalformedMarker, why.to_string()))?;
        let refused = |why: &str| Err((Reason::NotAScalar, format!("the marker {setter} {why}")));
        let value = match members {
            Some([Some(value)]) => *value,
            Some([None]) => return refused("is on a value that is not a string"),
            None | Some([]) => return refused(&format!("has no member {name:?} beside it")),
            _ => return refused(&format!("is beside several members {name:?}")),
        };
        if self.text.get(value.clone()).is_some_and(|raw| raw.contains('\\')) {
            return refused("is on a text with escapes; write it without");
        }
        Ok((setter, value.clone()))
    }
}
