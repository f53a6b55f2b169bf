//! Reads text into trees with comments, like the nodes of go-yaml v3.

use std::collections::HashMap;

use super::encoding::text_of;
use super::error::{ReadError, shown_mark};
use super::options::{Dialect, MAX_DEPTH};
use super::parse::{Event, EventKind, Parser, Properties};
use super::resolve::tag_of;
use super::scan_comment::Comments;
use crate::annotated::{Annotated, AnnotatedValue};
use crate::node::{Scalar, Style, Tag};
use crate::place::{FileId, Place};

/// Nodes that aliases may add to one stream.
const MAX_ALIASED: usize = 1_000_000;

/// A document with the comments around it.
pub struct AnnotatedDocument {
    /// At its start, separated by an empty line from the content.
    pub head: String,
    /// At its end.
    pub foot: String,
    pub root: Annotated,
}

/// All documents of a stream with their comments. Duplicate keys are kept, merge keys are ordinary keys, and aliases
/// have their targets with them.
///
/// # Errors
/// For text that is not YAML, and for aliases in a cycle or beyond the limit.
pub fn read_annotated(bytes: &[u8]) -> Result<Vec<AnnotatedDocument>, ReadError> {
    let text = text_of(bytes, FileId::NONE)?;
    let mut builder = Builder::new(&text, true);
    let mut documents = Vec::new();
    while let Some(document) = builder.document()? {
        documents.push(document);
    }
    Ok(documents)
}

/// The first document of a stream alone, as go-yaml's `Unmarshal` reads it; none in an empty one. Aliases are names
/// without their targets, which may be anything, even what the alias is in: a null stands there.
///
/// # Errors
/// For text that is not YAML, up to the end of the document.
pub fn read_first_annotated(bytes: &[u8]) -> Result<Option<AnnotatedDocument>, ReadError> {
    let text = text_of(bytes, FileId::NONE)?;
    Builder::new(&text, false).document()
}

struct Builder<'a> {
    parser: Parser<'a>,
    text: &'a str,
    open: Vec<OpenCollection<'a>>,
    /// The target of an anchor and its number of nodes; `None` for a collection that is still open.
    anchors: HashMap<&'a str, Option<(Annotated, usize)>>,
    aliased: usize,
    /// Whether aliases have their targets with them.
    has_targets: bool,
}

/// A collection that has not ended yet.
struct OpenCollection<'a> {
    head: String,
    mapping: bool,
    flow: bool,
    anchor: Option<&'a str>,
    tag: Option<Box<str>>,
    /// Items, or alternating keys and values.
    content: Vec<Annotated>,
    weight: usize,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str, has_targets: bool) -> Self {
        Self {
            parser: Parser::with_comments(text),
            text,
            open: Vec::new(),
            anchors: HashMap::new(),
            aliased: 0,
            has_targets,
        }
    }

    fn document(&mut self) -> Result<Option<AnnotatedDocument>, ReadError> {
        self.anchors.clear();
        let mut head = String::new();
        let mut root = None;
        loop {
            let Event {
                mark,
                comments,
                happening,
            } = self.parser.next().map_err(|fault| {
                let mark = shown_mark(&fault, self.text);
                let place = place_of(mark.line, mark.column);
                ReadError::of_fault(&fault, place, Dialect::V3)
            })?;
            let comments = comments.map(|comments| *comments).unwrap_or_default();
            let place = place_of(mark.line, mark.column);
            let done = match happening {
                EventKind::StreamEnd => return Ok(None),
                EventKind::DocumentStart => {
                    head = comments.head;
                    continue;
                }
                EventKind::DocumentEnd => {
                    let foot = comments.foot;
                    return Ok(root.map(|root| AnnotatedDocument { head, foot, root }));
                }
                EventKind::SequenceStart { flow, properties } => {
                    self.begin((false, flow), &properties, comments, place)?;
                    continue;
                }
                EventKind::MappingStart { flow, properties } => {
                    self.begin((true, flow), &properties, comments, place)?;
                    continue;
                }
                EventKind::End => self.end(comments),
                EventKind::Alias(name) => self.alias(name, comments, place)?,
                EventKind::Scalar {
                    text,
                    style,
                    properties,
                } => {
                    let tag = tag_of(&text, style, properties.tag.as_deref(), Dialect::V3);
                    let text = text.into();
                    let node = Annotated {
                        anchor: properties.anchor.map(Into::into),
                        tag: given(&properties),
                        ..node(AnnotatedValue::Scalar(Scalar { text, tag, style }), comments)
                    };
                    self.name(properties.anchor, &node, 1);
                    (node, 1)
                }
            };
            match self.open.last_mut() {
                Some(open) => open.add(done),
                None => root = Some(done.0),
            }
        }
    }

    fn begin(
        &mut self,
        (mapping, flow): (bool, bool),
        properties: &Properties<'a>,
        comments: Comments,
        place: Place,
    ) -> Result<(), ReadError> {
        if self.open.len() >= MAX_DEPTH {
            let problem = format!("nested more than {MAX_DEPTH} levels deep");
            return Err(ReadError::yaml(place, problem));
        }
        if let Some(name) = properties.anchor {
            self.anchors.insert(name, None);
        }
        self.open.push(OpenCollection {
            head: comments.head,
            mapping,
            flow,
            anchor: properties.anchor,
            tag: given(properties),
            content: Vec::new(),
            weight: 1,
        });
        Ok(())
    }

    fn name(&mut self, anchor: Option<&'a str>, node: &Annotated, weight: usize) {
        let Some(name) = anchor else { return };
        let target = if self.has_targets {
            (node.clone(), weight)
        } else {
            (null(), 1)
        };
        self.anchors.insert(name, Some(target));
    }

    fn alias(&mut self, name: &str, comments: Comments, place: Place) -> Result<(Annotated, usize), ReadError> {
        let (target, weight) = match self.anchors.get(name) {
            Some(Some((target, weight))) => (target.clone(), *weight),
            Some(None) if !self.has_targets => (null(), 1),
            Some(None) => return Err(ReadError::yaml(place, format!("anchor '{name}' value contains itself"))),
            None => return Err(ReadError::yaml(place, format!("unknown anchor '{name}' referenced"))),
        };
        self.aliased = self.aliased.saturating_add(weight);
        if self.aliased > MAX_ALIASED {
            return Err(ReadError::yaml(place, "document contains excessive aliasing"));
        }
        let alias = Annotated {
            anchor: Some(name.into()),
            ..node(AnnotatedValue::Alias(Box::new(target)), comments)
        };
        Ok((alias, weight))
    }

    /// Ends the innermost open collection.
    fn end(&mut self, comments: Comments) -> (Annotated, usize) {
        let Some(mut open) = self.open.pop() else {
            return (node(AnnotatedValue::Sequence(Vec::new()), comments), 1);
        };
        let Comments { line, mut foot, .. } = comments;
        let last_key = open.content.len().checked_sub(2);
        if open.mapping
            && !open.flow
            && !foot.is_empty()
            && let Some(key) = last_key.and_then(|at| open.content.get_mut(at))
        {
            key.foot = std::mem::take(&mut foot);
        }
        let value = if open.mapping {
            AnnotatedValue::Mapping(pairs(open.content))
        } else {
            AnnotatedValue::Sequence(open.content)
        };
        let node = Annotated {
            value,
            head: open.head,
            line,
            foot,
            anchor: open.anchor.map(Into::into),
            tag: open.tag,
            flow: open.flow,
        };
        self.name(open.anchor, &node, open.weight);
        (node, open.weight)
    }
}

impl OpenCollection<'_> {
    /// A comment below a value belongs to its key; one below a key, to the previous key.
    fn add(&mut self, (node, weight): (Annotated, usize)) {
        self.weight = self.weight.saturating_add(weight);
        self.content.push(node);
        let count = self.content.len();
        if !self.mapping {
            return;
        }
        let (from, to) = match count % 2 {
            1 if !self.flow && count > 2 => (count - 1, count - 3),
            0 => (count - 1, count - 2),
            _ => return,
        };
        let is_key = count % 2 == 1;
        let takes = is_key || self.content.get(to).is_some_and(|key| key.foot.is_empty());
        let foot = self
            .content
            .get_mut(from)
            .filter(|_| takes)
            .map(|node| std::mem::take(&mut node.foot));
        if let (Some(foot), Some(key)) = (foot.filter(|foot| !foot.is_empty()), self.content.get_mut(to)) {
            key.foot = foot;
        }
    }
}

fn node(value: AnnotatedValue, comments: Comments) -> Annotated {
    let Comments { head, line, foot } = comments;
    Annotated {
        head,
        line,
        foot,
        ..Annotated::new(value)
    }
}

fn null() -> Annotated {
    Annotated::new(AnnotatedValue::Scalar(Scalar {
        text: "null".into(),
        tag: Tag::Null,
        style: Style::Plain,
    }))
}

/// The tag that is written at a node; `!` alone does not count.
fn given(properties: &Properties<'_>) -> Option<Box<str>> {
    let tag = properties.tag.as_deref().filter(|tag| !matches!(*tag, "" | "!"))?;
    Some(tag.into())
}

fn pairs(content: Vec<Annotated>) -> Vec<(Annotated, Annotated)> {
    let mut content = content.into_iter();
    let mut pairs = Vec::with_capacity(content.len() / 2);
    while let (Some(key), Some(value)) = (content.next(), content.next()) {
        pairs.push((key, value));
    }
    pairs
}

const fn place_of(line: u32, column: u32) -> Place {
    Place {
        file: FileId::NONE,
        line: line + 1,
        column: column + 1,
    }
}
