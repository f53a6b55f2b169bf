//! From YAML events to sites: binds markers to scalars.
//!
//! The remarks of [`super::remark`] wait in a queue; an event that has comments in go-yaml takes those that are
//! bound to its offset or before it (`yaml_parser_set_event_comments`). A scalar value with exactly one comment, a
//! marker, is a site.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StructureStyle, Tag};

use super::object::{MappingKind, Objects};
use super::parser::{offset, options};
use super::remark::{self, Header, Remark, Remarks, Role};
use super::values::{Untold, Value, documents};
use super::{marker, repair, strict, texts};
use crate::cut::{Cut, OUTSIDE};
use crate::edits::pairs::is_version;
use crate::lines::Lines;
use crate::model::{DocumentId, Reason, Setter};
use crate::scanned::{LocalSkip, Scan};
use crate::site::{Choice, Neighbour, Site, Spelling};
use crate::spelling::block;
use bumpwright_text::ContentEnd;

/// The node that took a marker comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Binding {
    /// No node took it.
    Loose,
    /// A key took it.
    Key,
    /// A collection took it.
    Collection,
    /// An alias took it.
    Alias,
    /// It forms one text with other comments.
    Joined,
    /// It marks a scalar, or was already reported.
    Done,
}

#[derive(Debug)]
struct Frame {
    map: bool,
    flow: bool,
    /// In a mapping: whether the next node is a key.
    at_key: bool,
    /// Whether the frame is inside a key.
    in_key: bool,
    key: String,
    mapping: MappingKind,
    object: usize,
    /// Its number among the collections of the file.
    number: usize,
}

struct SiteWalker<'a> {
    text: &'a str,
    is_repaired: bool,
    lines: &'a Lines<'a>,
    /// The first part that go-yaml refuses.
    refused: Option<(usize, &'static str)>,
    remarks: Vec<Remark>,
    markers: Vec<remark::MarkerComment>,
    headers: std::vec::IntoIter<Header>,
    bindings: Vec<Binding>,
    next_remark: usize,
    /// Whether fields are chosen without markers.
    is_chosen: bool,
    /// What is chosen, by the number of the scalar.
    choice: Choice,
    /// The scalars before this one.
    scalars: usize,
    line_comments: Vec<Option<u32>>,

    heads: Vec<Remark>,
    frames: Vec<Frame>,
    objects: Objects,
    /// The collections before this one.
    collections: usize,
    /// Sites of the current document: index into `sites`, object.
    open_sites: Vec<(usize, usize)>,
    /// Tags and digests of the current document that nothing sets, by where they begin.
    open_neighbours: Vec<(usize, Neighbour)>,
    scan: Scan,
}

/// Reads a YAML file.
///
/// # Errors
/// The skip to report when the file does not parse.
pub(crate) fn walk(text: &str) -> Result<Scan, LocalSkip> {
    walk_for(text, "none of the file's markers was read", None)
}

/// Reads a YAML file for the fields that `choose` names.
///
/// # Errors
/// The skip to report when the file does not parse.
pub(crate) fn walk_chosen(text: &str, choose: Choose<'_>) -> Result<Scan, LocalSkip> {
    walk_for(text, "no rule read it", Some(choose))
}

/// Chooses fields when it sees the documents of a file.
pub(crate) type Choose<'c> = &'c dyn Fn(&[Value]) -> Choice;

fn walk_for(text: &str, lost: &str, choose: Option<Choose<'_>>) -> Result<Scan, LocalSkip> {
    let lines = Lines::of(text);
    let unparsable = |at: usize, why: &str| {
        let message = format!("the YAML does not parse: {why}; correct it, {lost}");
        LocalSkip::new(lines.place(at), Reason::Unparsable, message)
    };
    if let Some((at, found)) = forbidden(text) {
        let why = format!("the control character U+{:04X} is not allowed", u32::from(found));
        return Err(unparsable(at, &why));
    }
    let mut repaired: Option<String> = None;
    let mut repairs = repair::budget(text.len());
    loop {
        let shadow = repaired.as_deref().unwrap_or(text);
        let read = choice(shadow, choose).and_then(|choice| read(text, shadow, &lines, choice));
        let error = match read {
            Ok(scan) => return Ok(scan),
            Err(Failure::Refused(at, why)) => return Err(unparsable(at, why)),
            Err(Failure::Scan(error)) => error,
        };
        repairs = repairs.saturating_sub(1);
        match repair::repair(shadow, &error).filter(|_| repairs > 0) {
            Some(next) => repaired = Some(next),
            None => {
                let at = offset(error.marker());
                let at = if at < text.len() {
                    at
                } else {
                    ContentEnd::of(text).offset
                };
                return Err(unparsable(at, &error.info()));
            }
        }
    }
}

enum Failure {
    Scan(ScanError),
    /// An offset, and the message about what go-yaml refuses there.
    Refused(usize, &'static str),
}

/// What is chosen, if it is not markers that choose.
fn choice(shadow: &str, choose: Option<Choose<'_>>) -> Result<Option<Choice>, Failure> {
    let Some(choose) = choose else { return Ok(None) };
    match documents(shadow) {
        Ok(documents) => Ok(Some(choose(&documents))),
        Err(Untold::Scan(error)) => Err(Failure::Scan(error)),
        Err(Untold::TooDeep(at)) => Err(Failure::Refused(at, "it nests deeper than 128 levels")),
        Err(Untold::TooMany(at)) => Err(Failure::Refused(at, "it has more than 100,000 values; split it")),
    }
}

fn read(text: &str, shadow: &str, lines: &Lines<'_>, choice: Option<Choice>) -> Result<Scan, Failure> {
    let mut options = options();
    let Remarks {
        mut remarks,
        mut markers,
        headers,
        refused_tab,
    } = remark::read(text, shadow, &options);
    if choice.is_some() {
        (remarks, markers) = (Vec::new(), Vec::new());
    }
    if let Some(at) = refused_tab {
        return Err(Failure::Refused(at, "there is a tab where only spaces may indent"));
    }
    let bindings = vec![Binding::Loose; markers.len()];
    let mut walker = SiteWalker {
        text,
        is_repaired: !std::ptr::eq(text, shadow),
        lines,
        refused: None,
        remarks,
        markers,
        headers: headers.into_iter(),
        bindings,
        next_remark: 0,
        is_chosen: choice.is_some(),
        choice: choice.unwrap_or_default(),
        scalars: 0,
        line_comments: Vec::new(),
        heads: Vec::new(),
        frames: Vec::new(),
        objects: Objects::default(),
        collections: 0,
        open_sites: Vec::new(),
        open_neighbours: Vec::new(),
        scan: Scan::default(),
    };
    // The comments are known by now, and the parser would buffer them all in some places.
    options.set_emit_comments(false);
    for next in Parser::new_from_str_with_options(shadow, options) {
        let (event, span) = next.map_err(Failure::Scan)?;
        walker.event(&event, &span);
    }
    match walker.refused {
        Some((at, why)) => Err(Failure::Refused(at, why)),
        None => Ok(walker.finish()),
    }
}

/// The first character that YAML does not allow anywhere.
fn forbidden(text: &str) -> Option<(usize, char)> {
    let bad = |c: char| {
        c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r')
            || matches!(c, '\u{80}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
    };
    text.char_indices().find(|&(_, c)| bad(c))
}

/// A tag with the blanks after it.
type Untag = Option<(Range<usize>, String)>;

impl SiteWalker<'_> {
    fn event(&mut self, event: &Event<'_>, span: &Span) {
        let Some(Range { start, end }) = span.byte_range() else {
            self.refused.get_or_insert((0, OUTSIDE));
            return;
        };
        match event {
            Event::DocumentStart(explicit, _) => self.document_start(*explicit, start),
            Event::DocumentEnd => self.document_end(start),
            Event::Alias(_) => {
                self.take(start, Binding::Alias);
                self.node(None);
            }
            Event::Scalar(value, style, _, tag) => self.scalar(value, *style, tag.as_deref(), span),
            Event::SequenceStart(style, anchor, tag) => {
                self.open(false, *style, *anchor == 0 && tag.is_none(), start..end);
            }
            Event::MappingStart(style, anchor, tag) => {
                self.open(true, *style, *anchor == 0 && tag.is_none(), start..end);
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(matches!(event, Event::MappingEnd), start, end),
            _ => {}
        }
    }

    fn document_start(&mut self, explicit: bool, start: usize) {
        self.objects = Objects::default();
        self.open_sites.clear();
        self.pull(start);
        if explicit {
            // kyaml cuts the file here, including the comments above.
            self.heads.clear();
            self.line_comments.clear();
        } else {
            self.heads
                .retain(|head| !matches!(head.role, Role::Head { blank_after: true, .. }));
        }
    }

    fn document_end(&mut self, start: usize) {
        if start > 0 {
            self.take(start - 1, Binding::Loose);
        }
        for &(site, object) in &self.open_sites {
            if let Some(site) = self.scan.sites.get_mut(site) {
                site.object = self.objects.identify(object);
            }
        }
        self.keep_neighbours();
        self.open_sites.clear();
        self.frames.clear();
    }

    /// Keeps the tags and digests that are in a collection with a site.
    fn keep_neighbours(&mut self) {
        let sites = self
            .open_sites
            .iter()
            .filter_map(|(site, _)| self.scan.sites.get(*site));
        let collections: BTreeSet<usize> = sites.filter_map(|site| site.collection).collect();
        for (start, mut neighbour) in std::mem::take(&mut self.open_neighbours) {
            if collections.contains(&neighbour.collection) {
                (neighbour.line, neighbour.column) = self.lines.place(start);
                self.scan.neighbours.push(neighbour);
            }
        }
    }

    /// Notes a tag or a digest that nothing sets.
    fn note(&mut self, value: &str, start: usize) {
        let Some(frame) = self
            .frames
            .last()
            .filter(|frame| frame.map && is_version(&frame.key, value))
        else {
            return;
        };
        let neighbour = Neighbour {
            collection: frame.number,
            key: frame.key.clone(),
            line: 0,
            column: 0,
            value: value.to_owned(),
        };
        self.open_neighbours.push((start, neighbour));
    }

    /// Records a node in its parent: a key, a value, an item. Returns whether it is a key.
    fn node(&mut self, scalar: Option<&str>) -> bool {
        let Some(frame) = self.frames.last_mut() else {
            return false;
        };
        if !frame.map {
            return frame.in_key;
        }
        let is_key = frame.at_key;
        frame.at_key = !is_key;
        if is_key {
            frame.key = scalar.unwrap_or_default().to_owned();
        } else if let Some(value) = scalar {
            self.objects.field(frame.mapping, &frame.key, value);
        }
        is_key || frame.in_key
    }

    fn open(&mut self, map: bool, style: StructureStyle, is_bare: bool, span: Range<usize>) {
        let start = span.start;
        let flow = style == StructureStyle::Flow;
        let in_entry = self.frames.last().is_some_and(|frame| !frame.map && !frame.flow);
        if flow && !span.is_empty() {
            self.take(start, Binding::Collection);
        } else if !flow && in_entry && is_bare {
            self.pull(start);
            self.heads
                .retain(|head| !matches!(head.role, Role::Head { next, above_entry: true, .. } if next < start));
        }
        let mapping = self.child_mapping(map);
        let object = match mapping {
            MappingKind::Object(index) => index,
            _ => self.frames.last().map_or(0, |frame| frame.object),
        };
        let in_key = self.node(None);
        let flow = flow || self.frames.last().is_some_and(|frame| frame.flow);
        self.collections += 1;
        self.frames.push(Frame {
            map,
            flow,
            at_key: map,
            in_key,
            key: String::new(),
            mapping,
            object,
            number: self.collections,
        });
    }

    fn child_mapping(&mut self, map: bool) -> MappingKind {
        let Some(parent) = self.frames.last() else {
            return if map {
                self.objects.open()
            } else {
                MappingKind::Elsewhere
            };
        };
        if parent.in_key || (parent.map && parent.at_key) {
            return MappingKind::Elsewhere;
        }
        match (parent.mapping, parent.key.as_str(), map) {
            (MappingKind::Object(index), "metadata", true) => MappingKind::Metadata(index),
            (MappingKind::Object(0), "items", false) => MappingKind::Items,
            (MappingKind::Items, _, true) => self.objects.open(),
            _ => MappingKind::Elsewhere,
        }
    }

    fn close(&mut self, map: bool, start: usize, end: usize) {
        let flow = self.frames.pop().is_some_and(|frame| frame.flow);
        if flow && end > start {
            self.take(start, Binding::Collection);
        } else if map && !flow && start > 0 {
            // A block mapping's end takes the comments of the tokens before it.
            self.pull(start - 1);
            self.settle_lines(Binding::Loose);
            self.heads
                .retain(|head| matches!(head.role, Role::Head { next, .. } if next >= start));
        }
    }

    fn scalar(&mut self, value: &str, style: ScalarStyle, tag: Option<&Tag>, span: &Span) {
        // Events without bytes do not come here.
        let Some(Range { mut start, end }) = span.byte_range() else {
            return;
        };
        let chosen = self.choice.remove(&self.scalars);
        self.scalars += 1;
        let header = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
            .then(|| self.headers.next())
            .flatten();
        if let Some(header) = header {
            start = header.start;
        }
        let empty = style == ScalarStyle::Plain && start == end;
        let object = self.frames.last().map_or(0, |frame| frame.object);
        let value = &*self.as_read(value, style, start..end);
        let is_null = style == ScalarStyle::Plain && tag.is_none() && matches!(value, "~" | "null" | "Null" | "NULL");
        let is_key = self.node((!empty).then_some(if is_null { "" } else { value }));
        if empty {
            return;
        }
        if is_key {
            let written = self.text.get(start..end);
            if self.is_repaired && written.is_some_and(|key| key.contains(['\n', '\r'])) {
                self.refused.get_or_insert((start, "a key spans several lines"));
            }
            self.take(start, Binding::Key);
            return;
        }
        let setters = match chosen {
            Some(chosen) => chosen.into_iter().map(|(setter, rule)| (setter, Some(rule))).collect(),
            None => match self.take_marker(start) {
                Some(setter) => vec![(setter, None)],
                None => {
                    self.look_into(value, style, start..end);
                    return self.note(value, start);
                }
            },
        };
        let collection = self.frames.last().map(|frame| (frame.number, frame.key.clone()));
        let (collection, key) = collection.unzip();
        let flow = self.frames.last().is_some_and(|frame| frame.flow);
        let place = match header {
            Some(header) => block::shape(self.text, header, start, end, value),
            None => Some(flow_place(style, flow, start, end)),
        };
        let text = place.as_ref().and_then(|(span, _)| self.text.get(span.clone()));
        let (Some(text), Some(place), Some((untag, typed))) = (text, &place, self.tag(tag, span)) else {
            self.refused.get_or_insert((start, OUTSIDE));
            return;
        };
        let (line, column) = self.lines.place(start);
        for (setter, rule) in setters {
            self.open_sites.push((self.scan.sites.len(), object));
            self.scan.sites.push(Site {
                setter,
                text: text.to_owned(),
                span: place.0.clone(),
                line,
                column,
                value: value.to_owned(),
                spelling: place.1.clone(),
                untag: untag.clone(),
                typed,
                object: DocumentId::default(),
                rule,
                collection,
                key: key.clone().unwrap_or_default(), // none at the top
            });
        }
    }

    /// Tells of markers in a text, which no comment of the file is.
    fn look_into(&mut self, value: &str, style: ScalarStyle, span: Range<usize>) {
        let is_prose = self.frames.last().is_some_and(|frame| frame.key.ends_with(".md"));
        if style == ScalarStyle::Plain || is_prose || self.is_chosen {
            return;
        }
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let Some(written) = self.text.get(span.clone()) else {
            return;
        };
        for (at, message) in texts::markers(if is_block { written } else { value }) {
            let at = if is_block { span.start + at } else { span.start };
            let skip = LocalSkip::new(self.lines.place(at), Reason::NotAScalar, message);
            self.scan.skips.push(skip);
        }
    }

    /// The value in go-yaml.
    fn as_read<'v>(&mut self, value: &'v str, style: ScalarStyle, span: Range<usize>) -> Cow<'v, str> {
        let Some(written) = self.text.get(span.clone()) else {
            self.refused.get_or_insert((span.start, OUTSIDE));
            return Cow::Borrowed(value);
        };
        match style {
            // granit ends a block scalar with a line break even if the file ends without one.
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let unended = span.end >= self.text.len() && !self.text.ends_with(['\n', '\r']);
                Cow::Borrowed(value.strip_suffix('\n').filter(|_| unended).unwrap_or(value))
            }
            ScalarStyle::DoubleQuoted | ScalarStyle::SingleQuoted => {
                let escape = (style == ScalarStyle::DoubleQuoted)
                    .then(|| strict::refused_escape(written))
                    .flatten();
                if let Some(at) = escape {
                    self.refused
                        .get_or_insert((span.start + at, "the escape \\/ is unknown"));
                }
                let differs = self.is_repaired && written.contains(['\n', '\r']);
                let read = differs.then(|| repair::value_of(written)).flatten();
                read.map_or(Cow::Borrowed(value), Cow::Owned)
            }
            ScalarStyle::Plain => Cow::Borrowed(value),
        }
    }

    /// The tag to take away, and whether the type is that of a tag. `None` where it is not a part of the text.
    fn tag(&self, tag: Option<&Tag>, span: &Span) -> Option<(Untag, bool)> {
        let Some(tag) = tag else { return Some((None, false)) };
        let keeps = tag
            .suffix_in_namespace("tag:yaml.org,2002:")
            .is_none_or(|name| name == "str");
        let range = span.tag_span().and_then(|span| span.byte_range());
        let Some(range) = range.filter(|_| !keeps) else {
            return Some((None, keeps));
        };
        let rest = Cut::at(self.text, &range)?.after;
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let range = range.start..range.end + blanks;
        let text = self.text.get(range.clone())?.to_owned();
        Some((Some((range, text)), false))
    }

    /// Moves the remarks bound to `place` or before it from the queue to the comments of the next node.
    fn pull(&mut self, place: usize) {
        while let Some(remark) = self.remarks.get(self.next_remark).filter(|remark| remark.mark <= place) {
            match remark.role {
                Role::Foot => {}
                Role::Line => self.line_comments.push(remark.marker),
                Role::Head { .. } => self.heads.push(*remark),
            }
            self.next_remark += 1;
        }
    }

    fn take(&mut self, place: usize, binding: Binding) {
        self.pull(place);
        self.settle_lines(binding);
        for head in std::mem::take(&mut self.heads) {
            self.settle(head.marker, binding);
        }
    }

    fn settle_lines(&mut self, binding: Binding) {
        for line in std::mem::take(&mut self.line_comments) {
            self.settle(line, binding);
        }
    }

    fn settle(&mut self, marker: Option<u32>, binding: Binding) {
        let slot = marker.and_then(|marker| self.bindings.get_mut(usize::try_from(marker).ok()?));
        if let Some(slot) = slot {
            *slot = binding;
        }
    }

    /// The setter of the scalar at `place`: its line comment if it has one, else its head.
    fn take_marker(&mut self, place: usize) -> Option<Setter> {
        self.pull(place);
        let chosen = match (self.line_comments.as_slice(), self.heads.as_slice()) {
            ([one], _) => *one,
            ([], [one]) => one.marker,
            _ => None,
        };
        self.take(place, Binding::Joined);
        let text = chosen.and_then(|marker| self.markers.get(usize::try_from(marker).ok()?))?;
        let setter = marker::parse(&text.text).ok()?;
        self.settle(chosen, Binding::Done);
        Some(setter)
    }

    fn finish(mut self) -> Scan {
        for (marker, binding) in self.markers.iter().zip(&self.bindings) {
            if *binding == Binding::Done {
                continue;
            }
            let (reason, message) = match marker::parse(&marker.text) {
                _ if marker.is_commented_out => {
                    let message = "the field is commented out with its marker".to_owned();
                    (Reason::Commented, message)
                }
                Err(why) => (Reason::MalformedMarker, why.to_string()),
                Ok(setter) => explain(*binding, &setter),
            };
            let place = self.lines.place(marker.comment.start);
            self.scan.skips.push(LocalSkip::new(place, reason, message));
        }
        self.scan.skips.sort_by_key(|skip| (skip.line, skip.column));
        // Scans are cached.
        self.scan.sites.shrink_to_fit();
        self.scan.skips.shrink_to_fit();
        self.scan.neighbours.shrink_to_fit();
        self.scan
    }
}

fn flow_place(style: ScalarStyle, flow: bool, start: usize, end: usize) -> (Range<usize>, Spelling) {
    let spelling = match style {
        ScalarStyle::SingleQuoted => Spelling::Single,
        ScalarStyle::DoubleQuoted => Spelling::Double,
        _ => Spelling::Plain { flow },
    };
    (start..end, spelling)
}

fn explain(binding: Binding, setter: &Setter) -> (Reason, String) {
    let way_out = "put it after the value, on the same line";
    match binding {
        Binding::Joined => {
            let message =
                format!("the marker {setter} is among other comments of the same field; leave only the marker");
            (Reason::MalformedMarker, message)
        }
        Binding::Key => (
            Reason::NotAScalar,
            format!("the marker {setter} is on a key, not on a value; {way_out}"),
        ),
        Binding::Alias => (
            Reason::NotAScalar,
            format!("the marker {setter} is on an alias; mark the value with its anchor"),
        ),
        Binding::Collection => (
            Reason::NotAScalar,
            format!(
                "the marker {setter} is on a collection; put it after a value, which has to be on a line of its own"
            ),
        ),
        Binding::Loose | Binding::Done => (
            Reason::NotAScalar,
            format!("the marker {setter} is not on a value; {way_out}"),
        ),
    }
}
