//! Puts markers behind the fields of an image, and takes markers away. Nothing else of a file changes.

use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::file::FileKind;
use super::lines::Lines;
use super::marker;
use super::model::{Part, Setter};
use super::plan::{Plan, is_same_image};
use super::scan::scan;
use super::splice::{Edit, splice};
use super::walk::options;
use bumpwright_policy::{LatestRef, PolicyName};

/// A field that was given a marker, or lost one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remarked {
    /// Line of the field, from 1.
    pub line: usize,
    /// Column of the field, from 1.
    pub column: usize,
    /// What its marker says.
    pub setter: Setter,
    /// What the field holds.
    pub value: String,
}

/// A field that has none, though it is of the image, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftField {
    /// Line of the field, from 1.
    pub line: usize,
    /// Column of the field, from 1.
    pub column: usize,
    /// Why.
    pub why: &'static str,
}

/// A file with other markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marking {
    /// Its content; none when nothing changes.
    pub new: Option<Vec<u8>>,
    /// In the order of the file.
    pub changed: Vec<Remarked>,
    /// In the order of the file.
    pub left: Vec<LeftField>,
}

/// Puts markers behind the fields of a YAML file that hold a version of `image`: references with a tag or a digest, entries of a kustomization's
/// `images`, and pairs of `repository` and `tag` as in values of Helm charts.
///
/// # Errors
/// The file does not parse.
pub fn mark(text: &str, image: &str, policy: &PolicyName) -> Result<Marking, String> {
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

/// Puts markers behind fields of a YAML file, by the byte where each begins. A field that has its marker is passed over; one with
/// another marker, and a place where no field begins, is left.
///
/// # Errors
/// The file does not parse.
pub fn mark_at(text: &str, wanted: &BTreeMap<usize, Setter>) -> Result<Marking, String> {
    let lines = Lines::of(text);
    let fields = fields(text)?;
    let known = scan(FileKind::Yaml, text.as_bytes());
    let (mut places, mut left) = (Vec::new(), Vec::new());
    for (start, setter) in wanted {
        // Fields and sites are in their order.
        let field = fields.binary_search_by_key(start, |field| field.span.start).ok();
        let next = known.sites.partition_point(|site| site.span.end <= *start);
        let other = known
            .sites
            .get(next)
            .is_some_and(|site| site.span.contains(start) && site.setter != *setter);
        let (line, column) = lines.place(*start);
        let why = match field {
            _ if other => "it has the marker of another policy",
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

/// Where the field begins that is on a line, both from 1; with a column the one that begins there.
///
/// # Errors
/// The file does not parse, or there is not one field.
pub fn field_on(text: &str, line: usize, column: Option<usize>) -> Result<usize, String> {
    let lines = Lines::of(text);
    let fields = fields(text)?;
    let places = fields
        .iter()
        .map(|field| (lines.place(field.span.start), field.span.start));
    let on_line: Vec<(usize, usize)> = places
        .filter(|((at, _), _)| *at == line)
        .map(|((_, at), start)| (at, start))
        .collect();
    match (on_line.as_slice(), column) {
        ([], _) => Err(format!("no value is on line {line}")),
        ([(_, start)], None) => Ok(*start),
        (_, None) => Err(format!(
            "several values are on line {line}: add the column of one, as in :{line}:{}",
            on_line.first().map_or(1, |(at, _)| *at)
        )),
        (_, Some(column)) => {
            let found = on_line.iter().find(|(at, _)| *at == column);
            found
                .map(|(_, start)| *start)
                .ok_or_else(|| format!("no value begins at {line}:{column}"))
        }
    }
}

/// Marks these fields, which are in their order, but those that have a marker.
fn mark_fields(text: &str, fields: &[Field], wanted: &[(usize, Setter)]) -> Result<Marking, String> {
    let lines = Lines::of(text);
    let known = scan(FileKind::Yaml, text.as_bytes());
    let mut marking = Marking::default();
    let mut plan = Plan::default();
    for (n, setter) in wanted {
        let Some(field) = fields.get(*n) else { continue };
        // Sites are in their order.
        let next = known.sites.partition_point(|site| site.span.end < field.span.start);
        if known
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
    let new = splice(text.as_bytes(), &plan).map_err(|error| error.to_string())?;
    if scan(FileKind::Yaml, &new).sites.len() != known.sites.len() + plan.edits.len() {
        return Err("a marker would not be read where it is put; put it there by hand".to_owned());
    }
    marking.new = Some(new);
    Ok(marking)
}

/// Takes markers away: those of a policy, or all. A comment that is a line of its own goes with its line.
///
/// # Errors
/// Two markers share bytes.
pub fn unmark(kind: FileKind, text: &str, policy: Option<&PolicyName>) -> Result<Marking, String> {
    let lines = Lines::of(text);
    let mut marking = Marking::default();
    let mut removed: BTreeMap<usize, Edit> = BTreeMap::new();
    for site in scan(kind, text.as_bytes()).sites {
        if policy.is_some_and(|policy| *policy != site.setter.policy) {
            continue;
        }
        let last = lines.number(site.span.end.saturating_sub(1).max(site.span.start));
        let places = [site.line, last, site.line.saturating_sub(1)];
        let found = places
            .into_iter()
            .find_map(|line| comment_of(text, &lines, line, &site.setter));
        match found.filter(|range| !removed.contains_key(&range.start)) {
            Some(span) => {
                let old = text.get(span.clone()).unwrap_or_default().to_owned();
                let new = String::new();
                removed.insert(span.start, Edit { span, old, new });
                marking.changed.push(Remarked {
                    line: site.line,
                    column: site.column,
                    setter: site.setter,
                    value: site.value,
                });
            }
            None => marking.left.push(LeftField {
                line: site.line,
                column: site.column,
                why: "its marker is not alone on its line or behind the field",
            }),
        }
    }
    if !removed.is_empty() {
        let plan = Plan {
            edits: removed.into_values().collect(),
            ..Plan::default()
        };
        marking.new = Some(splice(text.as_bytes(), &plan).map_err(|error| error.to_string())?);
    }
    Ok(marking)
}

/// The bytes of the comment with this marker on a line, with the blanks before it; all of the line if it has nothing else.
fn comment_of(text: &str, lines: &Lines<'_>, line: usize, setter: &Setter) -> Option<Range<usize>> {
    let range = lines.range(line)?;
    let content = text.get(range.clone())?.trim_end_matches(['\n', '\r']);
    content.match_indices('{').find_map(|(at, _)| {
        let rest = content.get(at..)?;
        let (json, behind) = rest.split_at_checked(rest.find('}')? + 1)?;
        let is_it = marker::parse(json).is_ok_and(|found| found == *setter);
        let is_all = ["", "*/", "*/}}", "*/ -}}"].contains(&behind.trim());
        let before = before_comment(content.get(..at)?).filter(|_| is_it && is_all)?;
        Some(match before.is_empty() {
            true => range.clone(),
            false => range.start + before.len()..range.start + content.len(),
        })
    })
}

/// What is before the beginning of a comment.
fn before_comment(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let openers = ["{{- /*", "{{/*", "/*", "//", ";", "!"];
    let before = match text.trim_end_matches('#') {
        before if before.len() < text.len() => Some(before),
        _ => openers.into_iter().find_map(|opener| text.strip_suffix(opener)),
    };
    before.map(|before| before.trim_end_matches([' ', '\t']))
}

/// A scalar value of a file.
struct Field {
    /// The mapping that it is in.
    mapping: usize,
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
        let written = text.get(self.span.clone()).unwrap_or_default();
        let rest = text.get(self.span.end..).unwrap_or_default();
        let behind = rest.split(['\n', '\r']).next().unwrap_or_default();
        match behind.trim_matches([' ', '\t']) {
            _ if self.is_flow => Some("it is in a flow collection ({} or []): write it on a line of its own"),
            _ if self.is_block || written.contains(['\n', '\r']) => Some("it spans lines: write it on one"),
            "" => None,
            comment if comment.starts_with('#') => Some("it has a comment: a marker would have to be the only one"),
            _ => Some("something follows on its line"),
        }
    }
}

/// The fields of an image, by their index, and the part of it that each holds.
fn of_image(fields: &[Field], image: &str) -> Vec<(usize, Part)> {
    let mut mappings: BTreeMap<usize, BTreeMap<&str, usize>> = BTreeMap::new();
    let mut found: BTreeMap<usize, Part> = BTreeMap::new();
    for (n, field) in fields.iter().enumerate() {
        if !field.key.is_empty() {
            mappings.entry(field.mapping).or_default().insert(&field.key, n);
        }
        let (name, tag, digest) = LatestRef::split(&field.value);
        if (tag.is_some() || digest.is_some()) && is_same_image(name, image) {
            found.insert(n, Part::Reference);
        }
    }
    for keys in mappings.values() {
        let value = |key: &str| fields.get(*keys.get(key)?).map(|field| field.value.as_str());
        let is_image = |key: &str| value(key).is_some_and(|value| is_same_image(value, image));
        let mut add = |key: &str, part| found.extend(keys.get(key).map(|n| (*n, part)));
        // An entry of `images` of a kustomization.
        if keys.contains_key("newTag") && (is_image("newName") || (!keys.contains_key("newName") && is_image("name"))) {
            add("newName", Part::Name);
            add("newTag", Part::Tag);
            add("digest", Part::Digest);
        }
        // Values of Helm charts.
        let joined = value("registry")
            .zip(value("repository"))
            .map(|(host, path)| format!("{host}/{path}"));
        let is_joined = joined.is_some_and(|joined| is_same_image(&joined, image));
        let whole = ["repository", "image"]
            .into_iter()
            .find(|key| is_image(key) && !is_joined);
        if keys.contains_key("tag") && (is_joined || whole.is_some()) {
            if let Some(key) = whole {
                add(key, Part::Name);
            }
            add("tag", Part::Tag);
            if value("digest").is_some_and(|digest| !digest.is_empty()) {
                add("digest", Part::Digest);
            }
        }
    }
    found.into_iter().collect()
}

/// A collection that is open.
struct Frame {
    is_map: bool,
    is_flow: bool,
    /// In a mapping: whether the next node is a key.
    at_key: bool,
    key: String,
    id: usize,
}

/// The scalar values of a file, in their order.
fn fields(text: &str) -> Result<Vec<Field>, String> {
    let mut options = options();
    options.set_emit_comments(false);
    let mut reader = FieldReader::default();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| format!("the YAML does not parse: {error}"))?;
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
        self.open.push(Frame {
            is_map,
            is_flow,
            at_key: is_map,
            key: String::new(),
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
        let start = span.start.byte_offset().unwrap_or_default();
        let end = span.end.byte_offset().unwrap_or(start);
        if start == end {
            return;
        }
        self.fields.push(Field {
            mapping: frame.id,
            key: if frame.is_map { frame.key.clone() } else { String::new() },
            value: value.to_owned(),
            span: start..end,
            is_flow: frame.is_flow,
            is_block: matches!(style, ScalarStyle::Literal | ScalarStyle::Folded),
        });
    }
}
