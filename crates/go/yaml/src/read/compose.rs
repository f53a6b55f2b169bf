//! Builds nodes from events. Aliases are replaced by copies of their targets, within bounds.

use std::collections::HashMap;

use compact_str::CompactString;

use super::entries::{Pair, mapping_of, normalize_v2};
use super::error::{ReadError, shown_mark};
use super::node_count::NodeCount;
use super::options::{Dialect, ReadOptions};
use super::parse::{Event, EventKind, Parser, Properties};
use super::resolve::{collection_tag, tag_of};
use super::token::Mark;
use crate::node::{Mapping, Node, Scalar, Sequence, Value};
use crate::place::Place;
use crate::write::go_syntax::go_syntax;

/// Builds documents one by one.
pub(crate) struct Composer<'a, 'o> {
    parser: Parser<'a>,
    text: &'a str,
    options: &'o ReadOptions,
    /// Lines before the text.
    line: u32,
    open: Vec<OpenCollection<'a>>,
    anchors: HashMap<&'a str, Anchored>,
    spent: NodeCount,
}

/// The target of an anchor.
enum Anchored {
    /// An open collection, by its index among the open ones.
    Open(usize),
    Done(Box<Measured>),
}

/// A node, its number of nodes, and its depth.
#[derive(Clone)]
pub(crate) struct Measured {
    pub(crate) node: Node,
    pub(crate) weight: usize,
    depth: usize,
    alias: bool,
}

/// An error that ends the reading of a document.
enum Failure {
    /// The text is not YAML.
    Text(ReadError),
    /// The YAML is valid, its content is not.
    Meaning(ReadError),
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::Meaning(error)
    }
}

/// A collection that has not ended yet.
struct OpenCollection<'a> {
    place: Place,
    properties: Properties<'a>,
    flow: bool,
    weight: usize,
    depth: usize,
    content: Content,
}

enum Content {
    Items(Vec<Node>),
    Pairs {
        pairs: Vec<Pair>,
        key: Option<(Scalar, Place)>,
    },
}

impl<'a, 'o> Composer<'a, 'o> {
    pub(crate) fn new(text: &'a str, options: &'o ReadOptions, line: u32) -> Self {
        Self {
            parser: Parser::new(text, options.dialect),
            text,
            options,
            line,
            open: Vec::new(),
            anchors: HashMap::new(),
            spent: NodeCount::default(),
        }
    }

    fn place(&self, mark: Mark) -> Place {
        Place {
            file: self.options.file,
            line: mark.line + 1 + self.line,
            column: mark.column + 1,
        }
    }

    fn event(&mut self) -> Result<Event<'a>, ReadError> {
        self.parser.next().map_err(|fault| {
            let place = self.place(shown_mark(&fault, self.text));
            ReadError::of_fault(&fault, place, self.options.dialect)
        })
    }

    /// The next document; `None` at the end of the stream.
    pub(crate) fn document(&mut self) -> Result<Option<Node>, ReadError> {
        self.anchors.clear();
        self.spent = NodeCount::default();
        match self.compose() {
            Err(Failure::Text(error)) => Err(error),
            // go-yaml parses to the end of the document before it decodes the content.
            Err(Failure::Meaning(error)) => Err(self.rest_of_document().err().unwrap_or(error)),
            Ok(document) => Ok(document),
        }
    }

    fn rest_of_document(&mut self) -> Result<(), ReadError> {
        while !matches!(self.event()?.happening, EventKind::DocumentEnd | EventKind::StreamEnd) {}
        Ok(())
    }

    fn compose(&mut self) -> Result<Option<Node>, Failure> {
        let mut root = None;
        loop {
            let Event { mark, happening, .. } = self.event().map_err(Failure::Text)?;
            let place = self.place(mark);
            let done = match happening {
                EventKind::StreamEnd => return Ok(root),
                EventKind::DocumentStart => None,
                EventKind::DocumentEnd => return Ok(root),
                EventKind::Alias(name) if !self.anchors.contains_key(name) => {
                    let problem = format!("unknown anchor '{name}' referenced");
                    return Err(Failure::Text(ReadError::yaml(place, problem)));
                }
                EventKind::Alias(name) => Some(self.alias(name, place)?),
                EventKind::Scalar {
                    text,
                    style,
                    properties,
                } => {
                    let tag = tag_of(&text, style, properties.tag.as_deref(), self.options.dialect);
                    let text = CompactString::from(text);
                    let node = Node {
                        place,
                        value: Value::Scalar(Scalar { text, tag, style }),
                    };
                    self.spent.total += 1;
                    Some(self.finish(node, 1, 0, &properties))
                }
                EventKind::SequenceStart { flow, properties } => {
                    self.begin(place, flow, properties, Content::Items(Vec::new()))?;
                    None
                }
                EventKind::MappingStart { flow, properties } => {
                    let (pairs, key) = (Vec::new(), None);
                    self.begin(place, flow, properties, Content::Pairs { pairs, key })?;
                    None
                }
                EventKind::End => self.end()?,
            };
            if let Some(done) = done {
                root = self.attach(done, place)?.or(root);
                if let Some(root) = root.as_mut().filter(|_| self.options.dialect == Dialect::V2) {
                    normalize_v2(root)?;
                }
            }
        }
    }

    fn begin(&mut self, place: Place, flow: bool, properties: Properties<'a>, content: Content) -> Result<(), Failure> {
        self.check_depth(1, place)?;
        if let Some(name) = properties.anchor {
            self.anchors.insert(name, Anchored::Open(self.open.len()));
        }
        self.spent.total += 1;
        self.open.push(OpenCollection {
            place,
            properties,
            flow,
            weight: 1,
            depth: 1,
            content,
        });
        Ok(())
    }

    fn check_depth(&self, more: usize, place: Place) -> Result<(), Failure> {
        if self.open.len() + more > self.options.max_depth {
            Err(Failure::Text(ReadError::new(
                place,
                format!("nested more than {} levels deep", self.options.max_depth),
                format!("yaml: exceeded max depth of {}", self.options.max_depth),
            )))
        } else {
            Ok(())
        }
    }

    /// A copy of the target of an alias.
    fn alias(&mut self, name: &'a str, place: Place) -> Result<Measured, Failure> {
        match self.anchors.get(name) {
            Some(Anchored::Done(done)) => {
                self.spent.copy(done.weight, place)?;
                self.check_depth(done.depth, place)?;
                Ok(Measured {
                    alias: true,
                    ..(**done).clone()
                })
            }
            _ => Err(ReadError::yaml(place, format!("anchor '{name}' value contains itself")).into()),
        }
    }

    fn finish(&mut self, node: Node, weight: usize, depth: usize, properties: &Properties<'a>) -> Measured {
        let done = Measured {
            node,
            weight,
            depth,
            alias: false,
        };
        let Some(name) = properties.anchor else { return done };
        // A collection whose anchor was redefined inside of it keeps none.
        let level = self.open.len();
        let taken_over = match self.anchors.get(name) {
            Some(Anchored::Open(own)) => *own != level,
            Some(Anchored::Done(_)) => matches!(done.node.value, Value::Mapping(_) | Value::Sequence(_)),
            None => false,
        };
        if !taken_over || matches!(done.node.value, Value::Scalar(_)) {
            self.anchors.insert(name, Anchored::Done(Box::new(done.clone())));
        }
        done
    }

    /// Ends the innermost open collection.
    fn end(&mut self) -> Result<Option<Measured>, ReadError> {
        let Some(open) = self.open.pop() else { return Ok(None) };
        let (place, flow) = (open.place, open.flow);
        let given = open.properties.tag.as_deref();
        let (value, weight) = match open.content {
            Content::Items(items) => {
                let tag = collection_tag(given, "!!seq");
                (Value::Sequence(Sequence { items, flow, tag }), open.weight)
            }
            Content::Pairs { pairs, .. } => {
                let tag = collection_tag(given, "!!map");
                let (entries, copied) = mapping_of(pairs, self.options, &mut self.spent)?;
                (Value::Mapping(Mapping { entries, flow, tag }), open.weight + copied)
            }
        };
        let node = Node { place, value };
        Ok(Some(self.finish(node, weight, open.depth, &open.properties)))
    }

    /// Adds a node to its collection; returns it if it is the root.
    fn attach(&mut self, done: Measured, place: Place) -> Result<Option<Node>, ReadError> {
        let Some(open) = self.open.last_mut() else {
            return Ok(Some(done.node));
        };
        open.weight = open.weight.saturating_add(done.weight);
        open.depth = open.depth.max(done.depth + 1);
        match &mut open.content {
            Content::Items(items) => items.push(done.node),
            Content::Pairs { pairs, key } => match (key.take(), done.node.value) {
                (Some((key, place)), value) => pairs.push(Pair {
                    key,
                    place,
                    value: Node {
                        place: done.node.place,
                        value,
                    },
                    weight: done.weight,
                    alias: done.alias,
                }),
                (None, Value::Scalar(scalar)) => *key = Some((scalar, place)),
                (None, value) => {
                    let kind = match value {
                        Value::Mapping(_) => "map",
                        _ => "list",
                    };
                    let shown = format!(": {}", go_syntax(&value));
                    let problem = format!("a {kind} cannot be a key");
                    return Err(ReadError::new(done.node.place, problem, "yaml: invalid map key").showing(shown));
                }
            },
        }
        Ok(None)
    }
}
