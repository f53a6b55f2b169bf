//! YAML (and JSON, which is YAML) as a tree in which every node knows its place.
//!
//! A tree between text and types is what lets an error name line, column and field, lets `kind: List` be unwrapped,
//! and keeps the spelling of a scalar: `tag: 1.10` is the text `1.10`, not the number 1.1.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use granit_parser::{Event, Marker, Options, Parser, ScalarStyle, Tag};
use zeroize::Zeroizing;

use super::manifests::Place;

/// Nodes that aliases and merge keys may write in the whole of a stream: plenty for people, too few for a bomb.
const MAX_ALIASED_NODES: usize = 1_000_000;

/// A node and where it starts.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
    /// Nodes below and including this one, aliases written out.
    weight: usize,
}

/// What a node holds.
#[derive(Debug)]
pub(super) enum Value {
    /// A null: nothing, `~` or `null`.
    Null,
    /// A scalar's text; `plain` when it stands without quotes, so that it may be a boolean.
    Scalar { text: Zeroizing<String>, plain: bool },
    /// A sequence.
    List(Vec<Rc<Node>>),
    /// A mapping in the order of the text.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Where the key starts.
    pub(super) place: Place,
    pub(super) node: Rc<Node>,
}

/// Text that is not YAML, or not the part of YAML that manifests are written in.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) place: Place,
    pub(super) message: String,
}

impl Node {
    /// The value of a key, unless it is null.
    pub(super) fn get(&self, key: &str) -> Option<&Rc<Node>> {
        let Value::Map(entries) = &self.value else { return None };
        let entry = entries.iter().find(|entry| entry.key == key)?;
        (!matches!(entry.node.value, Value::Null)).then_some(&entry.node)
    }

    /// The text of a scalar under a key.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// What the node is, for errors.
    pub(super) fn describe(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Scalar { .. } => "a scalar",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// The documents of a stream that are not empty. After an error the documents that precede it are still there.
pub(super) fn parse(text: &str) -> (Vec<Rc<Node>>, Option<SyntaxError>) {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut builder = Builder::default();
    for next in Parser::new_from_str_with_options(text, options) {
        let step = match next {
            Ok((event, span)) => builder.take(event, place(&span.start)),
            Err(error) => Err(SyntaxError {
                place: place(error.marker()),
                message: error.info(),
            }),
        };
        if let Err(error) = step {
            return (builder.documents, Some(error));
        }
    }
    (builder.documents, None)
}

fn place(marker: &Marker) -> Place {
    Place {
        line: marker.line(),
        column: marker.col() + 1,
    }
}

/// Builds nodes from events.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Rc<Node>>,
    documents: Vec<Rc<Node>>,
    /// Nodes that aliases and merge keys have written so far.
    aliased: usize,
}

/// A collection whose end has not come yet.
struct Open {
    place: Place,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Rc<Node>>),
    Map {
        entries: Vec<(Rc<Node>, Rc<Node>)>,
        key: Option<Rc<Node>>,
    },
}

impl Builder {
    fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), SyntaxError> {
        match event {
            Event::DocumentStart(..) => {
                self.anchors.clear();
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => self.add(scalar(&text, style, tag.as_deref(), place), anchor),
            Event::SequenceStart(_, anchor, _) => self.push(place, anchor, Content::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => {
                let (entries, key) = (Vec::new(), None);
                self.push(place, anchor, Content::Map { entries, key })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(id) => match self.anchors.get(&id).cloned() {
                Some(node) => {
                    self.spend(node.weight, place)?;
                    self.attach(node, place)
                }
                None => Err(error(place, "the alias refers to a node that holds the alias itself")),
            },
            _ => Ok(()),
        }
    }

    fn push(&mut self, place: Place, anchor: usize, content: Content) -> Result<(), SyntaxError> {
        self.open.push(Open { place, anchor, content });
        Ok(())
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        let Some(Open { place, anchor, content }) = self.open.pop() else {
            return Ok(());
        };
        let value = match content {
            Content::List(items) => Value::List(items),
            Content::Map { entries, .. } => {
                let (entries, inherited) = merged(entries)?;
                self.spend(inherited, place)?;
                Value::Map(entries)
            }
        };
        let below = match &value {
            Value::List(items) => items.iter().map(|node| node.weight).fold(0, usize::saturating_add),
            Value::Map(entries) => entries
                .iter()
                .map(|entry| entry.node.weight)
                .fold(0, usize::saturating_add),
            _ => 0,
        };
        let weight = below.saturating_add(1);
        self.add(Node { place, value, weight }, anchor)
    }

    /// Counts nodes that an alias or a merge key at `place` writes.
    fn spend(&mut self, nodes: usize, place: Place) -> Result<(), SyntaxError> {
        self.aliased = self.aliased.saturating_add(nodes);
        match self.aliased > MAX_ALIASED_NODES {
            true => Err(error(place, "too large once its aliases are written out")),
            false => Ok(()),
        }
    }

    fn add(&mut self, node: Node, anchor: usize) -> Result<(), SyntaxError> {
        let place = node.place;
        let node = Rc::new(node);
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.attach(node, place)
    }

    /// Hands a finished node to the collection that it is part of, or makes it a document.
    fn attach(&mut self, node: Rc<Node>, place: Place) -> Result<(), SyntaxError> {
        match self.open.last_mut().map(|open| &mut open.content) {
            None => {
                if !matches!(node.value, Value::Null) {
                    self.documents.push(node);
                }
            }
            Some(Content::List(items)) => items.push(node),
            Some(Content::Map { entries, key }) => match key.take() {
                Some(key) => entries.push((key, node)),
                None if matches!(node.value, Value::Scalar { .. } | Value::Null) => *key = Some(node),
                None => return Err(error(place, "a key of a manifest must be a scalar")),
            },
        }
        Ok(())
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, place: Place) -> Node {
    let plain = style == ScalarStyle::Plain && tag.is_none_or(|tag| !tag.is_yaml_core_schema_tag("str"));
    let null = plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
    let value = if null {
        Value::Null
    } else {
        let text = Zeroizing::new(text.to_owned());
        Value::Scalar { text, plain }
    };
    Node {
        place,
        value,
        weight: 1,
    }
}

/// The entries of a mapping with the mappings of its `<<` keys merged in, and how many nodes these brought. The
/// mapping's own keys win, then the earlier merge.
fn merged(pairs: Vec<(Rc<Node>, Rc<Node>)>) -> Result<(Vec<Entry>, usize), SyntaxError> {
    let mut entries = Vec::with_capacity(pairs.len());
    let mut seen = HashSet::with_capacity(pairs.len());
    let mut merges = Vec::new();
    for (key_node, node) in pairs {
        let key = match &key_node.value {
            Value::Scalar { text, plain: true } if text.as_str() == "<<" => {
                merges.push(node);
                continue;
            }
            Value::Scalar { text, .. } => text.to_string(),
            _ => "null".to_owned(),
        };
        if !seen.insert(key.clone()) {
            return Err(error(
                key_node.place,
                &format!("duplicate key {key:?}; an object has each key once"),
            ));
        }
        let place = key_node.place;
        entries.push(Entry { key, place, node });
    }
    let own = entries.len();
    for source in merges {
        let sources = match &source.value {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(&source),
        };
        for mapping in sources {
            let Value::Map(inherited) = &mapping.value else {
                return Err(error(
                    source.place,
                    "the merge key << takes a mapping or a list of mappings",
                ));
            };
            let new = inherited.iter().filter(|entry| seen.insert(entry.key.clone()));
            entries.extend(new.map(|entry| Entry {
                key: entry.key.clone(),
                place: entry.place,
                node: Rc::clone(&entry.node),
            }));
        }
    }
    let inherited = entries.get(own..).unwrap_or_default();
    let inherited = inherited
        .iter()
        .map(|entry| entry.node.weight)
        .fold(0, usize::saturating_add);
    Ok((entries, inherited))
}

fn error(place: Place, message: &str) -> SyntaxError {
    SyntaxError {
        place,
        message: message.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn one(text: &str) -> Rc<Node> {
        let (documents, error) = parse(text);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(documents.len(), 1);
        Rc::clone(&documents[0])
    }

    fn fails(text: &str) -> (usize, usize, String) {
        let error = parse(text).1.expect("a syntax error");
        (error.place.line, error.place.column, error.message)
    }

    #[test]
    fn keeps_spelling_and_place() {
        let node = one("a: 1.10\nb:\n  c: '0x1'\n");
        assert_eq!(node.text("a"), Some("1.10"));
        let b = node.get("b").unwrap();
        assert_eq!(b.text("c"), Some("0x1"));
        assert_eq!(b.get("c").unwrap().place, Place { line: 3, column: 6 });
    }

    #[test]
    fn a_null_is_no_value_and_an_empty_document_no_document() {
        assert!(one("a:\nb: ~\nc: 'null'\n").get("a").is_none());
        assert_eq!(one("a:\nc: 'null'\n").text("c"), Some("null"));
        assert_eq!(parse("---\n# nothing\n---\na: b\n---\n").0.len(), 1);
    }

    #[test]
    fn aliases_and_merge_keys_resolve() {
        let node = one("base: &b {x: 1, y: 2}\nc:\n  <<: *b\n  y: 3\nd: *b\ne:\n  <<: [{x: 7}, *b]\n");
        assert_eq!(
            (node.get("c").unwrap().text("x"), node.get("c").unwrap().text("y")),
            (Some("1"), Some("3"))
        );
        assert_eq!(node.get("d").unwrap().text("y"), Some("2"));
        assert_eq!(
            (node.get("e").unwrap().text("x"), node.get("e").unwrap().text("y")),
            (Some("7"), Some("2"))
        );
        assert!(fails("a: {<<: 5}\n").2.contains("merge key"));
    }

    #[test]
    fn errors_name_the_place() {
        assert_eq!(
            fails("a: 1\nb: 2\na: 3\n"),
            (3, 1, "duplicate key \"a\"; an object has each key once".to_owned())
        );
        assert_eq!(fails("b: 1\na: [1\n").0, 2);
        assert!(fails("? {a: b}\n: c\n").2.contains("must be a scalar"));
        assert!(fails("a: &x [*x]\n").2.contains("itself"));
    }

    #[test]
    fn documents_before_an_error_remain() {
        let (documents, error) = parse("a: 1\n---\nb: [\n");
        assert_eq!(documents.len(), 1);
        assert!(error.is_some());
    }

    #[test]
    fn a_laughing_alias_is_stopped() {
        let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for level in 1..9 {
            let items = vec![format!("*a{}", level - 1); 10].join(",");
            text.push_str(&format!("a{level}: &a{level} [{items}]\n"));
        }
        assert!(fails(&text).2.contains("too large"));
    }

    #[test]
    fn a_merge_repeated_is_stopped() {
        let base: String = (0..2_000).map(|key| format!("  k{key}: v\n")).collect();
        let users: String = (0..2_000).map(|user| format!("u{user}:\n  <<: *b\n")).collect();
        assert!(fails(&format!("b: &b\n{base}{users}")).2.contains("too large"));
    }

    #[test]
    fn many_nodes_without_aliases_are_fine() {
        assert_eq!(parse(&"- x\n".repeat(MAX_ALIASED_NODES / 10 * 11)).0.len(), 1);
    }

    #[test]
    fn deep_nesting_is_an_error() {
        assert!(parse(&"[".repeat(100_000)).1.is_some());
        assert!(parse(&"- ".repeat(100_000)).1.is_some());
    }
}
