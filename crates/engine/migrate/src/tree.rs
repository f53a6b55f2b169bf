//! YAML (and JSON) as a tree in which every node knows its bytes.
//!
//! Aliases are kept as aliases: what is moved must not be written out, and a bomb stays small.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Marker, Options, Parser, ScalarStyle, Span, StructureStyle};

use bumpwright_api::Place;

/// A node, where it starts and which bytes it takes; anchor and tag are not among them.
#[derive(Debug)]
pub(super) struct Node {
    /// Line and column from 1.
    pub(super) place: Place,
    /// From its first byte to behind its last one; trailing blank lines are part of a block scalar that keeps them only.
    pub(super) span: Range<usize>,
    /// Whether it has an anchor or a tag.
    pub(super) bound: bool,
    /// What it holds.
    pub(super) value: Value,
}

/// What a node holds.
#[derive(Debug)]
pub(super) enum Value {
    /// A scalar's text; `plain` when it stands without quotes.
    Scalar { text: String, plain: bool },
    /// A sequence; `flow` when in brackets.
    List { items: Vec<Node>, flow: bool },
    /// A mapping; `flow` when in braces.
    Map { entries: Vec<Entry>, flow: bool },
    /// `*name`: the number of the anchor, and the text of the scalar that it stands for.
    Alias { id: usize, text: Option<String> },
}

/// A key and its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Node,
    pub(super) node: Node,
}

/// Text that is not YAML.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) place: Place,
    pub(super) message: String,
}

impl Node {
    /// The entries of a mapping; none of anything else.
    pub(super) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map { entries, .. } => entries,
            _ => &[],
        }
    }

    /// The items of a sequence; none of anything else.
    pub(super) fn items(&self) -> &[Node] {
        match &self.value {
            Value::List { items, .. } => items,
            _ => &[],
        }
    }

    /// The entry of a key.
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.is(key))
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The text of a scalar, also through an alias.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            Value::Alias { text, .. } => text.as_deref(),
            _ => None,
        }
    }

    /// Whether it is a collection in brackets or braces.
    pub(super) fn is_flow(&self) -> bool {
        matches!(
            self.value,
            Value::List { flow: true, .. } | Value::Map { flow: true, .. }
        )
    }

    /// Whether nothing stands there, or a null.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Column from 0.
    pub(super) fn column(&self) -> usize {
        self.place.column.saturating_sub(1)
    }

    /// The node itself and all below it.
    pub(super) fn all(&self) -> Vec<&Node> {
        let (mut all, mut next) = (vec![self], 0);
        while let Some(node) = all.get(next).copied() {
            all.extend(node.items());
            all.extend(node.entries().iter().flat_map(|entry| [&entry.key, &entry.node]));
            next += 1;
        }
        all
    }
}

impl Entry {
    /// Whether this is the entry of `key`.
    pub(super) fn is(&self, key: &str) -> bool {
        matches!(&self.key.value, Value::Scalar { text, .. } if text == key)
    }

    /// The key's text.
    pub(super) fn name(&self) -> &str {
        self.key.text().unwrap_or_default()
    }
}

/// The root nodes of the documents of a stream.
///
/// # Errors
/// The place and the parser's words, when the text is not YAML.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, SyntaxError> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut builder = Builder {
        text,
        ..Builder::default()
    };
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| SyntaxError {
            place: place(error.marker()),
            message: error.info(),
        })?;
        builder.take(event, &span);
    }
    Ok(builder.documents)
}

fn place(marker: &Marker) -> Place {
    Place {
        line: marker.line(),
        column: marker.col() + 1,
    }
}

#[derive(Default)]
struct Builder<'a> {
    text: &'a str,
    open: Vec<(Node, Option<Node>)>,
    scalars: HashMap<usize, String>,
    documents: Vec<Node>,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: &Span) {
        let start = span.start.byte_offset().unwrap_or_default();
        let end = span.end.byte_offset().unwrap_or(start);
        let node = |bound: bool, value| Node {
            place: place(&span.start),
            span: start..end,
            bound,
            value,
        };
        match event {
            Event::DocumentStart(..) => self.scalars.clear(),
            Event::Scalar(text, style, anchor, tag) => {
                if anchor != 0 {
                    self.scalars.insert(anchor, text.to_string());
                }
                let end = self.end(start..end, style, &text);
                let value = Value::Scalar {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain,
                };
                let mut node = node(anchor != 0 || tag.is_some(), value);
                node.span.end = end;
                self.attach(node);
            }
            Event::Alias(id) => {
                let text = self.scalars.get(&id).cloned();
                self.attach(node(false, Value::Alias { id, text }));
            }
            Event::SequenceStart(style, anchor, tag) => {
                let (items, flow) = (Vec::new(), style == StructureStyle::Flow);
                let value = Value::List { items, flow };
                self.open.push((node(anchor != 0 || tag.is_some(), value), None));
            }
            Event::MappingStart(style, anchor, tag) => {
                let (entries, flow) = (Vec::new(), style == StructureStyle::Flow);
                let value = Value::Map { entries, flow };
                self.open.push((node(anchor != 0 || tag.is_some(), value), None));
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(end),
            _ => {}
        }
    }

    /// Where the bytes of a scalar end: a block scalar's span reaches to the next token, and only one that keeps blank
    /// lines has those below it.
    fn end(&self, span: Range<usize>, style: ScalarStyle, text: &str) -> usize {
        if !matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            return span.end;
        }
        let body = self.text.get(span.clone()).unwrap_or_default();
        let end = span.start + body.trim_end_matches([' ', '\n', '\r']).len();
        let kept = text
            .bytes()
            .rev()
            .take_while(|byte| matches!(byte, b' ' | b'\n'))
            .filter(|byte| *byte == b'\n')
            .count();
        let blank = self.text.get(end..).unwrap_or_default().match_indices('\n');
        let last = blank.take(kept.saturating_sub(1)).last();
        last.map_or(end, |(at, _)| end + at + 1)
    }

    fn close(&mut self, end: usize) {
        let Some((mut node, _)) = self.open.pop() else { return };
        let last = match &node.value {
            Value::List { items, flow: false } => items.last().map(|item| item.span.end),
            Value::Map { entries, flow: false } => entries.last().map(|entry| entry.node.span.end),
            _ => Some(end),
        };
        node.span.end = last.unwrap_or(end);
        self.attach(node);
    }

    /// Hands a finished node to the collection that it is part of, or makes it a document.
    fn attach(&mut self, mut node: Node) {
        let Some((parent, key)) = self.open.last_mut() else {
            return self.documents.push(node);
        };
        match &mut parent.value {
            Value::List { items, .. } => items.push(node),
            Value::Map { entries, .. } => match key.take() {
                None => *key = Some(node),
                Some(key) => {
                    if node.span.is_empty() {
                        // Nothing stands there; the parser is somewhere behind.
                        node.span = key.span.end..key.span.end;
                        node.place = key.place;
                    }
                    entries.push(Entry { key, node });
                }
            },
            _ => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn slice<'a>(text: &'a str, node: &Node) -> &'a str {
        &text[node.span.clone()]
    }

    #[test]
    fn nodes_know_their_bytes() {
        let text = "a: 'x y'  # c\nb:\n  c: [1, {d: e}]\n\n  f: |\n    g\n\n    h  \n\nn:\nz: &q \"w\"\ny: *q\n";
        let root = &parse(text).unwrap()[0];
        assert_eq!(slice(text, root.get("a").unwrap()), "'x y'");
        let b = root.get("b").unwrap();
        assert_eq!(slice(text, b.get("c").unwrap()), "[1, {d: e}]");
        assert!(slice(text, b).starts_with("c: ["), "{}", slice(text, b));
        assert!(slice(text, b).ends_with("    h"), "{:?}", slice(text, b));
        assert!(root.get("n").unwrap().is_null());
        assert_eq!(root.get("n").unwrap().span.start, text.find("n:").unwrap() + 1);
        assert_eq!(slice(text, root.get("z").unwrap()), "\"w\"");
        assert_eq!(root.get("y").unwrap().text(), Some("w"));
        assert_eq!(root.get("z").unwrap().place, Place { line: 11, column: 7 });
    }

    #[test]
    fn a_scalar_that_keeps_blank_lines_has_them() {
        for (text, end) in [
            ("a: |+\n  x\n \n\nb: 1\n", "|+\n  x\n \n"),
            ("a: |\n  x\n    \n\nb: 1\n", "|\n  x\n"),
        ] {
            let root = &parse(text).unwrap()[0];
            let to = root.get("a").unwrap().span.end;
            assert_eq!(&text[3..to], end);
        }
    }

    #[test]
    fn documents_count_also_when_they_are_empty() {
        assert_eq!(parse("---\na: 1\n---\n# nothing\n---\nb: 2\n").unwrap().len(), 3);
        assert!(parse("a: [\n").is_err());
    }

    #[test]
    fn a_byte_order_mark_shifts_bytes_only() {
        let text = "\u{feff}kind: x\r\nb: y\r\n";
        let root = &parse(text).unwrap()[0];
        assert_eq!(slice(text, root.get("kind").unwrap()), "x");
        assert_eq!(root.get("b").unwrap().place, Place { line: 2, column: 4 });
        assert_eq!(root.column(), 0);
    }
}
