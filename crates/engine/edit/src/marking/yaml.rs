//! Markers behind the fields of YAML files.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::{LeftField, MarkError, Marking, OTHER_POLICY, Remarked, one_on};
use crate::conventions::{image_keys, of_images_entry, of_values_mapping};
use crate::cut::{Cut, OUTSIDE};
use crate::edits::plan::is_same_image;
use crate::edits::planned::{Edit, Plan};
use crate::edits::splice::splice;
use crate::file::FileKind;
use crate::find::parser::options;
use crate::find::scan::scan;
use crate::lines::Lines;
use crate::model::{Part, Setter};
use bumpwright_policy::{LatestRef, PolicyName};

/// Puts markers behind the fields of a YAML file that hold a version of `image`: references with a tag or a digest,
/// entries of a kustomization's `images`, and pairs of `repository` and `tag` as in values of Helm charts.
///
/// # Errors
/// The file does not parse.
pub fn mark(text: &str, image: &str, policy: &PolicyName) -> Result<Marking, MarkError> {
    let fields = fields(text)?;
    let setter = |part| Setter {
        policy: policy.clone(),
        part,
    };
    let wanted: Vec<(usize, Setter)> = of_image(&fields, image)
        .into_iter()
        .map(|(n, part)| (n, setter(part)))
        .collect();
    mark_fields(text, &fields, &wanted)
}

/// Puts markers behind fields of a YAML file, by the byte where each begins. A field that has its marker is passed
/// over; one with another marker, and a place where no field begins, is left.
///
/// # Errors
/// The file does not parse.
pub fn mark_at(text: &str, wanted: &BTreeMap<usize, Setter>) -> Result<Marking, MarkError> {
    let lines = Lines::of(text);
    let fields = fields(text)?;
    let scanned = scan(FileKind::Yaml, text.as_bytes());
    let (mut places, mut left) = (Vec::new(), Vec::new());
    for (start, setter) in wanted {
        // Fields and sites are in their order.
        let field = fields.binary_search_by_key(start, |field| field.span.start).ok();
        let next = scanned.sites.partition_point(|site| site.span.end <= *start);
        let other = scanned
            .sites
            .get(next)
            .is_some_and(|site| site.span.contains(start) && site.setter != *setter);
        let (line, column) = lines.place(*start);
        let why = match field {
            _ if other => OTHER_POLICY,
            None => "it holds nothing: write a value there",
            Some(n) => {
                places.push((n, setter.clone()));
                continue;
            }
        };
        left.push(LeftField { line, column, why });
    }
    let mut marking = mark_fields(text, &fields, &places)?;
    marking.left.extend(left);
    marking.left.sort_by_key(|field| (field.line, field.column));
    Ok(marking)
}

/// Why fields of a YAML file can have no marker, by the byte where each begins; those that are left out can have one.
/// All are tried at once, which costs as much as one.
///
/// # Errors
/// The file does not parse, or markers would not be read where they are put.
pub fn obstacles(
    text: &str,
    starts: impl IntoIterator<Item = usize>,
) -> Result<BTreeMap<usize, &'static str>, MarkError> {
    // Any policy does.
    let setter = Setter {
        policy: PolicyName::new("a", "b"),
        part: Part::Reference,
    };
    let wanted: BTreeMap<usize, Setter> = starts.into_iter().map(|start| (start, setter.clone())).collect();
    let marking = mark_at(text, &wanted)?;
    let free: BTreeSet<(usize, usize)> = marking.changed.iter().map(|field| (field.line, field.column)).collect();
    let left = marking.left.iter().map(|field| ((field.line, field.column), field.why));
    let left: BTreeMap<(usize, usize), &'static str> = left.collect();
    let lines = Lines::of(text);
    let places = wanted.into_keys().map(|start| (start, lines.place(start)));
    let blocked = places.filter(|(_, place)| !free.contains(place));
    Ok(blocked
        .map(|(start, place)| (start, left.get(&place).copied().unwrap_or("it has a marker")))
        .collect())
}

/// Where the field begins that is on a line, both from 1; with a column the one that begins there.
///
/// # Errors
/// The file does not parse, or there is not one field.
pub(super) fn field_on(text: &str, line: usize, column: Option<usize>) -> Result<usize, MarkError> {
    let fields = fields(text)?;
    one_on(text, fields.iter().map(|field| field.span.start), line, column)
}

/// Marks these fields, which are in their order, but those that have a marker.
fn mark_fields(text: &str, fields: &[Field], wanted: &[(usize, Setter)]) -> Result<Marking, MarkError> {
    let lines = Lines::of(text);
    let scanned = scan(FileKind::Yaml, text.as_bytes());
    let mut marking = Marking::default();
    let mut plan = Plan::default();
    for (n, setter) in wanted {
        let Some(field) = fields.get(*n) else { continue };
        // Sites are in their order.
        let next = scanned.sites.partition_point(|site| site.span.end < field.span.start);
        if scanned
            .sites
            .get(next)
            .is_some_and(|site| site.span.start <= field.span.end)
        {
            continue;
        }
        let (line, column) = lines.place(field.span.start);
        match field.obstacle(text) {
            Some(why) => marking.left.push(LeftField { line, column, why }),
            None => {
                plan.edits.push(Edit {
                    span: field.span.end..field.span.end,
                    old: String::new(),
                    new: format!(" # {{\"$imagepolicy\": \"{setter}\"}}"),
                });
                marking.changed.push(Remarked {
                    line,
                    column,
                    setter: setter.clone(),
                    value: field.value.clone(),
                });
            }
        }
    }
    if plan.edits.is_empty() {
        return Ok(marking);
    }
    let new = splice(text.as_bytes(), &plan)?;
    if scan(FileKind::Yaml, &new).sites.len() != scanned.sites.len() + plan.edits.len() {
        return Err(MarkError::NotRead);
    }
    marking.new = Some(new);
    Ok(marking)
}

/// A scalar value of a file.
pub(super) struct Field {
    /// The mapping that it is in.
    mapping: usize,
    /// The key of that mapping, or of the list that has it.
    parent: Rc<str>,
    /// Its key; empty for items of lists.
    key: String,
    value: String,
    span: Range<usize>,
    is_flow: bool,
    is_block: bool,
}

impl Field {
    /// Why no marker can be put behind it.
    fn obstacle(&self, text: &str) -> Option<&'static str> {
        let Some(cut) = Cut::at(text, &self.span) else {
            return Some(OUTSIDE);
        };
        let behind = cut.after.split(['\n', '\r']).next().unwrap_or(cut.after);
        match behind.trim_matches([' ', '\t']) {
            _ if self.is_flow => Some("it is in a flow collection ({} or []): write it on a line of its own"),
            _ if self.is_block || cut.inside.contains(['\n', '\r']) => Some("it spans lines: write it on one"),
            "" => None,
            comment if comment.starts_with('#') => {
                Some("it has a comment, and a marker has to be the only one: move that to a line of its own")
            }
            _ => Some("something follows on its line"),
        }
    }
}

/// The fields of an image, by their index, and the part of it that each holds.
fn of_image(fields: &[Field], image: &str) -> Vec<(usize, Part)> {
    let mut mappings: BTreeMap<usize, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
    for (n, field) in fields.iter().enumerate() {
        if !field.key.is_empty() {
            mappings.entry(field.mapping).or_default().insert(&field.key, n);
        }
        let (name, tag, digest) = LatestRef::split(&field.value);
        if (tag.is_some() || digest.is_some()) && is_same_image(name, image) {
            parts.insert(n, Part::Reference);
        }
    }
    for keys in mappings.values() {
        let parent = keys.values().next().and_then(|n| fields.get(*n));
        let parent = parent.map_or("", |field| &field.parent);
        let scalar = |key: &str| {
            let n = *keys.get(key)?;
            let value = fields.get(n).map(|field| field.value.as_str())?;
            (!value.is_empty()).then_some((value, n))
        };
        let names: Vec<&str> = keys.keys().copied().collect();
        let mut of_keys = vec![of_images_entry(scalar)];
        let may_be = image_keys(parent, &names, |key| Some(scalar(key)?.0));
        of_keys.extend(may_be.iter().map(|keys| of_values_mapping(keys, scalar)));
        for field in of_keys.concat() {
            if is_same_image(&field.image, image) {
                // A reference has its own tag.
                parts.entry(field.number).or_insert(field.part);
            }
        }
    }
    parts.into_iter().collect()
}

/// A collection that is open.
struct Frame {
    is_map: bool,
    is_flow: bool,
    /// In a mapping: whether the next node is a key.
    at_key: bool,
    key: String,
    /// The key that the collection itself is at, or the list that has it.
    parent: Rc<str>,
    id: usize,
}

/// The scalar values of a file, in their order.
pub(super) fn fields(text: &str) -> Result<Vec<Field>, MarkError> {
    let mut options = options();
    options.set_emit_comments(false);
    let mut reader = FieldReader::default();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next?;
        reader.event(&event, &span);
    }
    Ok(reader.fields)
}

#[derive(Default)]
struct FieldReader {
    fields: Vec<Field>,
    open: Vec<Frame>,
    count: usize,
}

impl FieldReader {
    fn event(&mut self, event: &Event<'_>, span: &Span) {
        match event {
            Event::MappingStart(style, ..) => self.start(true, *style),
            Event::SequenceStart(style, ..) => self.start(false, *style),
            Event::MappingEnd | Event::SequenceEnd => {
                self.open.pop();
            }
            Event::Alias(_) => {
                self.node();
            }
            Event::Scalar(value, style, ..) => self.scalar(value, *style, span),
            _ => {}
        }
    }

    fn start(&mut self, is_map: bool, style: StructureStyle) {
        self.node();
        self.count += 1;
        let is_flow = style == StructureStyle::Flow || self.open.last().is_some_and(|frame| frame.is_flow);
        let parent = match self.open.last() {
            Some(frame) if frame.is_map => frame.key.as_str().into(),
            Some(frame) => Rc::clone(&frame.parent),
            None => "".into(),
        };
        self.open.push(Frame {
            is_map,
            is_flow,
            at_key: is_map,
            key: String::new(),
            parent,
            id: self.count,
        });
    }

    /// Returns whether a node here is a key.
    fn node(&mut self) -> bool {
        let Some(frame) = self.open.last_mut().filter(|frame| frame.is_map) else {
            return false;
        };
        let is_key = frame.at_key;
        frame.at_key = !is_key;
        is_key
    }

    fn scalar(&mut self, value: &str, style: ScalarStyle, span: &Span) {
        if self.node() {
            if let Some(frame) = self.open.last_mut() {
                value.clone_into(&mut frame.key);
            }
            return;
        }
        let Some(frame) = self.open.last() else { return };
        let Some(span) = span.byte_range().filter(|span| !span.is_empty()) else {
            return;
        };
        self.fields.push(Field {
            mapping: frame.id,
            parent: Rc::clone(&frame.parent),
            key: if frame.is_map { frame.key.clone() } else { String::new() },
            value: value.to_owned(),
            span,
            is_flow: frame.is_flow,
            is_block: matches!(style, ScalarStyle::Literal | ScalarStyle::Folded),
        });
    }
}
