//! YAML (and JSON, which is YAML) as a tree in which every node has its place and its bytes.
//!
//! A tree between text and types is what lets an error name line, column and field, lets `kind: List` be unwrapped,
//! and keeps the spelling of a scalar: `tag: 1.10` is the text `1.10`, not the number 1.1.
//!
//! [`parse`] is for readers of objects: aliases and merge keys are written out, within a bound, and keys are scalars
//! that occur once. [`parse_as_written`] is for those that rewrite a text: it keeps aliases and merge keys, since what
//! moves must not be written out, keeps documents that are empty, and refuses only what is not YAML.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use bumpwright_edit::offset;
use bumpwright_text::{ContentEnd, Parts};
use granit_parser::{Event, Marker, Options, Parser, ScalarStyle, Span, StructureStyle, Tag};
use zeroize::Zeroizing;

/// A place in a file; lines and columns count from 1, columns are in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

/// Nodes that aliases and merge keys may write in the whole of a stream: plenty for people, too few for a bomb.
const MAX_ALIASED_NODES: usize = 1_000_000;

/// A node, where it starts and which bytes it takes; anchor and tag are not among them.
#[derive(Debug)]
pub struct Node {
    /// Where it starts. An empty value is where its key is.
    pub place: Place,
    /// From its first byte to behind its last one; trailing blank lines are part of a block scalar that keeps them
    /// only. An alias that is written out has those of what it stands for.
    pub span: Range<usize>,
    /// Whether it has an anchor or a tag.
    pub bound: bool,
    pub value: Value,
    /// Nodes below and including this one, aliases written out.
    weight: usize,
}

/// What a node holds.
#[derive(Debug)]
pub enum Value {
    Scalar {
        /// As it is after unquoting.
        text: Zeroizing<String>,
        /// Whether it stands without quotes, so that it may be a null, a boolean or a number.
        plain: bool,
    },
    List {
        /// In the order of the text.
        items: Vec<Rc<Node>>,
        /// Whether it is in brackets.
        flow: bool,
    },
    Map {
        /// In the order of the text, merged ones last.
        entries: Vec<Entry>,
        /// Whether it is in braces.
        flow: bool,
    },
    /// `*name`, as written.
    Alias {
        /// The number of the anchor.
        id: usize,
        /// The text of the scalar that it stands for.
        text: Option<Zeroizing<String>>,
    },
}

/// A key and its value.
#[derive(Debug)]
pub struct Entry {
    pub key: Rc<Node>,
    pub node: Rc<Node>,
}

/// Text that is not YAML, or not the part of YAML that manifests are written in.
#[derive(Debug)]
pub struct SyntaxError {
    pub place: Place,
    pub message: String,
}

impl Node {
    /// The entries of a mapping; none of anything else.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map { entries, .. } => entries,
            _ => &[],
        }
    }

    /// The items of a sequence; none of anything else.
    #[must_use]
    pub fn items(&self) -> &[Rc<Self>] {
        match &self.value {
            Value::List { items, .. } => items,
            _ => &[],
        }
    }

    /// The entry of a key.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.is(key))
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &*entry.node)
    }

    /// The value of a key, unless it is null: Kubernetes reads such a field as an absent one.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&Self> {
        self.get(key).filter(|node| !node.is_null())
    }

    /// The text of a field that is a scalar.
    #[must_use]
    pub fn field_text(&self, key: &str) -> Option<&str> {
        self.field(key)?.text()
    }

    /// The text of a field; empty if it is not a scalar.
    #[must_use]
    pub fn text_of(&self, key: &str) -> &str {
        self.field_text(key).unwrap_or("")
    }

    /// The items of a field; none if it is not a sequence.
    #[must_use]
    pub fn items_of(&self, key: &str) -> &[Rc<Self>] {
        self.field(key).map_or(&[], Self::items)
    }

    /// The entries of a field; none if it is not a mapping.
    #[must_use]
    pub fn entries_of(&self, key: &str) -> &[Entry] {
        self.field(key).map_or(&[], Self::entries)
    }

    /// The text of a scalar, also through an alias.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            Value::Alias { text, .. } => text.as_deref().map(String::as_str),
            _ => None,
        }
    }

    /// The text of a scalar, also through an alias; empty for a collection.
    #[must_use]
    pub fn scalar_text(&self) -> &str {
        self.text().unwrap_or("")
    }

    /// Whether it is a collection in brackets or braces.
    #[must_use]
    pub fn is_flow(&self) -> bool {
        matches!(
            self.value,
            Value::List { flow: true, .. } | Value::Map { flow: true, .. }
        )
    }

    /// Whether it is a null: nothing, `~` or `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Column from 0.
    #[must_use]
    pub fn column(&self) -> usize {
        self.place.column.saturating_sub(1)
    }

    /// What the node is, for errors.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match self.value {
            Value::Scalar { .. } if self.is_null() => "nothing",
            Value::Scalar { .. } => "a scalar",
            Value::List { .. } => "a list",
            Value::Map { .. } => "a mapping",
            Value::Alias { .. } => "an alias",
        }
    }

    /// The node itself and all below it.
    #[must_use]
    pub fn all(&self) -> Vec<&Self> {
        let (mut all, mut next) = (vec![self], 0);
        while let Some(node) = all.get(next).copied() {
            all.extend(node.items().iter().map(|item| &**item));
            all.extend(node.entries().iter().flat_map(|entry| [&*entry.key, &*entry.node]));
            next += 1;
        }
        all
    }
}

impl Entry {
    /// Whether this is the entry of `key`.
    #[must_use]
    pub fn is(&self, key: &str) -> bool {
        matches!(&self.key.value, Value::Scalar { text, .. } if text.as_str() == key)
    }

    /// The key's text, as JSON has it: that of a null is `null`.
    #[must_use]
    pub fn name(&self) -> &str {
        if self.key.is_null() {
            "null"
        } else {
            self.key.scalar_text()
        }
    }
}

/// The documents of a stream that are not empty, as objects. After an error the documents that precede
/// it are still there.
#[must_use]
pub fn parse(text: &str) -> (Vec<Rc<Node>>, Option<SyntaxError>) {
    let mut builder = Builder::new(text, Aliases::WrittenOut);
    let error = builder.run().err();
    (builder.documents, error)
}

/// All documents of a stream, as they are written.
///
/// # Errors
/// The place and the parser's words, when the text is not YAML.
pub fn parse_as_written(text: &str) -> Result<Vec<Rc<Node>>, SyntaxError> {
    let mut builder = Builder::new(text, Aliases::Kept);
    builder.run()?;
    Ok(builder.documents)
}

fn place(marker: &Marker) -> Place {
    Place {
        line: marker.line(),
        column: marker.col() + 1,
    }
}

/// What becomes of aliases; with them go merge keys and the bounds of what an object may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aliases {
    WrittenOut,
    Kept,
}

/// Builds nodes from events.
struct Builder<'a> {
    text: &'a str,
    aliases: Aliases,
    open: Vec<Open>,
    anchors: HashMap<usize, Rc<Node>>,
    documents: Vec<Rc<Node>>,
    /// Nodes that aliases and merge keys have written so far.
    aliased: usize,
}

/// A collection whose end has not come yet.
struct Open {
    node: Node,
    anchor: usize,
    /// A key whose value has not come yet.
    key: Option<Rc<Node>>,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str, aliases: Aliases) -> Self {
        Self {
            text,
            aliases,
            open: Vec::new(),
            anchors: HashMap::new(),
            documents: Vec::new(),
            aliased: 0,
        }
    }

    fn run(&mut self) -> Result<(), SyntaxError> {
        let mut options = Options::default();
        options.set_emit_comments(false);
        for next in Parser::new_from_str_with_options(self.text, options) {
            let (event, span) = next.map_err(|error| SyntaxError {
                place: self.shown(error.marker()),
                message: error.info(),
            })?;
            self.take(event, &span)?;
        }
        Ok(())
    }

    /// Where an error is shown: one at the end of the text is where the content ends. The line after it is empty, and
    /// none of the file's.
    fn shown(&self, marker: &Marker) -> Place {
        if marker.byte_offset().is_none_or(|offset| offset < self.text.len()) {
            return place(marker);
        }
        let end = ContentEnd::of(self.text);
        Place {
            line: end.line + 1,
            column: end.column + 1,
        }
    }

    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), SyntaxError> {
        let (start, end) = (offset(&span.start), offset(&span.end));
        let node = |bound: bool, value| Node {
            place: place(&span.start),
            span: start..end,
            bound,
            value,
            weight: 1,
        };
        match event {
            Event::DocumentStart(..) => self.anchors.clear(),
            Event::Scalar(text, style, anchor, tag) => {
                let mut node = node(anchor != 0 || tag.is_some(), scalar(&text, style, tag.as_deref()));
                node.span.end = self.end(start..end, style, &text);
                return self.add(node, anchor);
            }
            Event::Alias(id) => return self.alias(id, node(false, Value::Alias { id, text: None })),
            Event::SequenceStart(style, anchor, tag) => {
                let (items, flow) = (Vec::new(), style == StructureStyle::Flow);
                let node = node(anchor != 0 || tag.is_some(), Value::List { items, flow });
                self.push(node, anchor);
            }
            Event::MappingStart(style, anchor, tag) => {
                let (entries, flow) = (Vec::new(), style == StructureStyle::Flow);
                let node = node(anchor != 0 || tag.is_some(), Value::Map { entries, flow });
                self.push(node, anchor);
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(end),
            _ => {}
        }
        Ok(())
    }

    fn alias(&mut self, id: usize, mut alias: Node) -> Result<(), SyntaxError> {
        let (node, place) = (self.anchors.get(&id).cloned(), alias.place);
        if self.aliases == Aliases::Kept {
            let text = node.and_then(|node| node.text().map(|text| Zeroizing::new(text.to_owned())));
            alias.value = Value::Alias { id, text };
            return self.add(alias, 0);
        }
        let node = node.ok_or_else(|| error(place, "the alias refers to a node that holds the alias itself"))?;
        self.spend(node.weight, place)?;
        self.attach(node, place)
    }

    /// Where the bytes of a scalar end: a block scalar's span reaches to the next token, and only one that keeps blank
    /// lines has those below it.
    fn end(&self, span: Range<usize>, style: ScalarStyle, text: &str) -> usize {
        if !matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
            return span.end;
        }
        let body = self.text.part(span.clone());
        let end = span.start + body.trim_end_matches([' ', '\n', '\r']).len();
        let kept = text
            .bytes()
            .rev()
            .take_while(|byte| matches!(byte, b' ' | b'\n'))
            .filter(|byte| *byte == b'\n')
            .count();
        let blank = self.text.part(end..).match_indices('\n');
        let last = blank.take(kept.saturating_sub(1)).last();
        last.map_or(end, |(at, _)| end + at + 1)
    }

    fn push(&mut self, node: Node, anchor: usize) {
        let key = None;
        self.open.push(Open { node, anchor, key });
    }

    fn close(&mut self, end: usize) -> Result<(), SyntaxError> {
        let Some(Open { mut node, anchor, .. }) = self.open.pop() else {
            return Ok(());
        };
        let last = match &node.value {
            Value::List { items, flow: false } => items.last().map(|item| item.span.end),
            Value::Map { entries, flow: false } => entries.last().map(|entry| entry.node.span.end),
            _ => None,
        };
        node.span.end = last.unwrap_or(end);
        if let (Value::Map { entries, .. }, Aliases::WrittenOut) = (&mut node.value, self.aliases) {
            let inherited = merge(entries)?;
            self.spend(inherited, node.place)?;
        }
        let items = node.items().iter().map(|item| item.weight);
        let below = items.chain(node.entries().iter().map(|entry| entry.node.weight));
        node.weight = below.fold(1, usize::saturating_add);
        self.add(node, anchor)
    }

    /// Counts nodes that an alias or a merge key at `place` writes.
    fn spend(&mut self, nodes: usize, place: Place) -> Result<(), SyntaxError> {
        self.aliased = self.aliased.saturating_add(nodes);
        if self.aliased > MAX_ALIASED_NODES {
            Err(error(place, "too large once its aliases are written out"))
        } else {
            Ok(())
        }
    }

    fn add(&mut self, mut node: Node, anchor: usize) -> Result<(), SyntaxError> {
        let place = node.place;
        if let Some(key) = self.open.last().and_then(|open| open.key.as_ref())
            && node.span.is_empty()
            && matches!(node.value, Value::Scalar { .. })
        {
            // The place is empty; the parser is somewhere behind.
            node.span = key.span.end..key.span.end;
            node.place = key.place;
        }
        let node = Rc::new(node);
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.attach(node, place)
    }

    /// Hands a finished node to the collection that it is part of, or makes it a document.
    fn attach(&mut self, node: Rc<Node>, place: Place) -> Result<(), SyntaxError> {
        let as_written = self.aliases == Aliases::Kept;
        let Some(open) = self.open.last_mut() else {
            if as_written || !node.is_null() {
                self.documents.push(node);
            }
            return Ok(());
        };
        match &mut open.node.value {
            Value::List { items, .. } => items.push(node),
            Value::Map { entries, .. } => match open.key.take() {
                Some(key) => entries.push(Entry { key, node }),
                None if as_written || matches!(node.value, Value::Scalar { .. }) => open.key = Some(node),
                None => return Err(error(place, "a key of a manifest must be a scalar")),
            },
            _ => {}
        }
        Ok(())
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    Value::Scalar {
        text: Zeroizing::new(text.to_owned()),
        plain: style == ScalarStyle::Plain && tag.is_none_or(|tag| !tag.is_yaml_core_schema_tag("str")),
    }
}

/// Merges the mappings of the `<<` keys into the entries of a mapping; how many nodes these brought. The mapping's own
/// keys win, then the earlier merge.
fn merge(entries: &mut Vec<Entry>) -> Result<usize, SyntaxError> {
    let mut names = HashSet::with_capacity(entries.len());
    let (merges, own): (Vec<_>, Vec<_>) = std::mem::take(entries).into_iter().partition(is_merge);
    *entries = own;
    for entry in entries.iter() {
        if !names.insert(entry.name().to_owned()) {
            let message = format!("duplicate key {:?}; an object has each key once", entry.name());
            return Err(error(entry.key.place, &message));
        }
    }
    let own = entries.len();
    for Entry { node: source, .. } in merges {
        let sources = match &source.value {
            Value::List { items, .. } => items.as_slice(),
            _ => std::slice::from_ref(&source),
        };
        for mapping in sources {
            if !matches!(mapping.value, Value::Map { .. }) {
                return Err(error(
                    source.place,
                    "the merge key << takes a mapping or a list of mappings",
                ));
            }
            let new = mapping.entries().iter();
            let new = new.filter(|entry| names.insert(entry.name().to_owned()));
            entries.extend(new.map(|entry| Entry {
                key: Rc::clone(&entry.key),
                node: Rc::clone(&entry.node),
            }));
        }
    }
    let inherited = entries.tail(own).iter();
    Ok(inherited.map(|entry| entry.node.weight).fold(0, usize::saturating_add))
}

fn is_merge(entry: &Entry) -> bool {
    matches!(&entry.key.value, Value::Scalar { text, plain: true } if text.as_str() == "<<")
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
        assert_eq!(node.field_text("a"), Some("1.10"));
        let b = node.get("b").unwrap();
        assert_eq!(b.field_text("c"), Some("0x1"));
        assert_eq!(b.get("c").unwrap().place, Place { line: 3, column: 6 });
    }

    #[test]
    fn a_null_is_no_value_and_an_empty_document_no_document() {
        assert!(one("a:\nb: ~\nc: 'null'\n").field("a").is_none());
        assert!(one("a:\nb: ~\nc: 'null'\n").field("b").is_none());
        assert_eq!(one("~: a\n").entries()[0].name(), "null");
        assert_eq!(one("a:\nc: 'null'\n").field_text("c"), Some("null"));
        assert_eq!(parse("---\n# nothing\n---\na: b\n---\n").0.len(), 1);
    }

    #[test]
    fn aliases_and_merge_keys_resolve() {
        let node = one("base: &b {x: 1, y: 2}\nc:\n  <<: *b\n  y: 3\nd: *b\ne:\n  <<: [{x: 7}, *b]\n");
        assert_eq!(
            (
                node.get("c").unwrap().field_text("x"),
                node.get("c").unwrap().field_text("y")
            ),
            (Some("1"), Some("3"))
        );
        assert_eq!(node.get("d").unwrap().field_text("y"), Some("2"));
        assert_eq!(
            (
                node.get("e").unwrap().field_text("x"),
                node.get("e").unwrap().field_text("y")
            ),
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
        // What is not ended is not in the line after the last one.
        for text in [
            "b: 1\na: \"x\n",
            "b: 1\na: {c: 1\n\n\n",
            "b: 1\nword\n",
            "b: 1\n? [x\n",
            "b: 1\na: 'x\r\n",
        ] {
            assert_eq!(fails(text).0, 2, "{text:?}");
        }
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

    fn slice<'a>(text: &'a str, node: &Node) -> &'a str {
        &text[node.span.clone()]
    }

    #[test]
    fn nodes_know_their_bytes() {
        let text = "a: 'x y'  # c\nb:\n  c: [1, {d: e}]\n\n  f: |\n    g\n\n    h  \n\nn:\nz: &q \"w\"\ny: *q\n";
        let root = &parse_as_written(text).unwrap()[0];
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
            let root = &parse_as_written(text).unwrap()[0];
            let to = root.get("a").unwrap().span.end;
            assert_eq!(&text[3..to], end);
        }
    }

    #[test]
    fn documents_count_also_when_they_are_empty() {
        assert_eq!(
            parse_as_written("---\na: 1\n---\n# nothing\n---\nb: 2\n")
                .unwrap()
                .len(),
            3
        );
        assert!(parse_as_written("a: [\n").is_err());
    }

    #[test]
    fn a_byte_order_mark_shifts_bytes_only() {
        let text = "\u{feff}kind: x\r\nb: y\r\n";
        let root = &parse_as_written(text).unwrap()[0];
        assert_eq!(slice(text, root.get("kind").unwrap()), "x");
        assert_eq!(root.get("b").unwrap().place, Place { line: 2, column: 4 });
        assert_eq!(root.column(), 0);
    }
}
