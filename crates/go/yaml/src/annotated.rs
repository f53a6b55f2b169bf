//! Trees with comments, as go-yaml v3 has them, and the text that its encoder writes for them.

use super::analyze::Library;
use super::annotated_read::AnnotatedDocument;
use super::emit::{Context, Emitter};
use super::kyaml::spelling;
use super::node::Scalar;

/// A node with its comments. The lines of a comment begin with `#`.
#[derive(Clone)]
pub struct Annotated {
    /// Its value.
    pub value: AnnotatedValue,
    /// Above it.
    pub head: String,
    /// After it, on its line.
    pub line: String,
    /// Below it.
    pub foot: String,
}

/// The value of an annotated node. Collections are written as blocks, unless they are empty.
#[derive(Clone)]
pub enum AnnotatedValue {
    /// Text with a tag.
    Scalar(Scalar),
    /// Keys and values. A comment below a value is the `foot` of its key.
    Mapping(Vec<(Annotated, Annotated)>),
    /// Items.
    Sequence(Vec<Annotated>),
    /// The target of an alias, with its comments. It is written in place of the alias.
    Alias(Box<Annotated>),
}

impl Annotated {
    /// A node without comments.
    #[must_use]
    pub const fn new(value: AnnotatedValue) -> Self {
        Self {
            value,
            head: String::new(),
            line: String::new(),
            foot: String::new(),
        }
    }
}

/// Writes documents as the encoder of go-yaml v3 does with `SetIndent(step)`.
pub fn write_annotated(documents: &[AnnotatedDocument], step: usize, out: &mut String) {
    let mut writer = Writer {
        emitter: Emitter::new(out, Library::V3),
        head: String::new(),
        foot: String::new(),
        tail: String::new(),
        key_line: String::new(),
    };
    writer.emitter.step = step.clamp(2, 9);
    for (at, document) in documents.iter().enumerate() {
        writer.document(document, at == 0);
    }
}

/// The comments of the current event; each is removed once it is written.
struct Writer<'o> {
    emitter: Emitter<'o>,
    head: String,
    foot: String,
    /// The comment below the previous value.
    tail: String,
    /// The comment after a key whose value begins on another line.
    key_line: String,
}

impl Writer<'_> {
    fn document(&mut self, document: &AnnotatedDocument, first: bool) {
        if !first {
            self.emitter.indent_line();
            self.emitter.indicator("---", true, false, false);
            self.emitter.indent_line();
        }
        if !document.head.is_empty() {
            set(&mut self.head, &document.head);
            self.head_comment();
            self.emitter.line_break();
        }
        self.take(&document.root, "");
        self.head_comment();
        self.node(&document.root, Context::Root);
        set(&mut self.foot, &document.foot);
        self.emitter.foot_indent = Some(0);
        self.foot_comment();
        self.emitter.foot_indent = None;
        self.emitter.indent_line();
    }

    /// The comments of the event that begins a node. Pending ones stay where there are none.
    fn take(&mut self, node: &Annotated, tail: &str) {
        set(&mut self.head, &node.head);
        set(&mut self.tail, tail);
        if matches!(node.value, AnnotatedValue::Scalar(_)) {
            set(&mut self.emitter.line_comment, &node.line);
            set(&mut self.foot, &node.foot);
        }
    }

    fn head_comment(&mut self) {
        let tail = std::mem::take(&mut self.tail);
        if !tail.is_empty() {
            self.emitter.indent_line();
            self.emitter.comment(&tail);
            self.emitter.foot_indent = Some(self.emitter.indent.unwrap_or(0));
        }
        let head = std::mem::take(&mut self.head);
        if !head.is_empty() {
            self.emitter.indent_line();
            self.emitter.comment(&head);
        }
    }

    fn line_comment(&mut self) {
        self.emitter.behind();
    }

    fn foot_comment(&mut self) {
        let foot = std::mem::take(&mut self.foot);
        if !foot.is_empty() {
            self.emitter.indent_line();
            self.emitter.comment(&foot);
            self.emitter.foot_indent = Some(self.emitter.indent.unwrap_or(0));
        }
    }

    /// A node, and the comments after and below it. go-yaml emits the latter when a collection begins, so those at
    /// its end wait for the next node.
    fn node(&mut self, node: &Annotated, context: Context) {
        if let AnnotatedValue::Scalar(scalar) = &node.value {
            self.scalar(scalar, context);
        }
        self.line_comment();
        self.foot_comment();
        match &node.value {
            AnnotatedValue::Scalar(_) => {}
            AnnotatedValue::Alias(other) => self.node(other, context),
            AnnotatedValue::Mapping(entries) if entries.is_empty() => self.empty(node, "{", "}"),
            AnnotatedValue::Sequence(items) if items.is_empty() => self.empty(node, "[", "]"),
            AnnotatedValue::Mapping(entries) => self.mapping(node, entries, context),
            AnnotatedValue::Sequence(items) => self.sequence(node, items, context),
        }
    }

    fn scalar(&mut self, scalar: &Scalar, context: Context) {
        let spelling = spelling(scalar);
        let allowed = self.emitter.allowed(&scalar.text);
        if let Some((handle, suffix)) = spelling.tag {
            self.emitter.tag(handle, suffix);
        }
        self.emitter.scalar(&scalar.text, spelling.style, context, allowed);
    }

    fn empty(&mut self, node: &Annotated, open: &str, close: &str) {
        self.emitter.indicator(open, true, true, false);
        set(&mut self.emitter.line_comment, &node.line);
        set(&mut self.foot, &node.foot);
        if open == "{" {
            self.head_comment();
        }
        if open == "[" && self.emitter.column == 0 {
            self.emitter.indent_line();
        }
        self.emitter.indicator(close, false, false, false);
        self.line_comment();
        self.foot_comment();
    }

    fn sequence(&mut self, node: &Annotated, items: &[Annotated], context: Context) {
        let old = self.emitter.enter_below(false, false, context == Context::Item);
        for item in items {
            self.take(item, "");
            self.head_comment();
            self.emitter.indent_line();
            self.emitter.indicator("-", true, false, true);
            self.node(item, Context::Item);
        }
        self.emitter.leave(old);
        set(&mut self.emitter.line_comment, &node.line);
        set(&mut self.foot, &node.foot);
    }

    fn mapping(&mut self, node: &Annotated, entries: &[(Annotated, Annotated)], context: Context) {
        let old = self.emitter.enter_below(false, false, context == Context::Item);
        let mut tail = "";
        for (key, value) in entries {
            set(&mut self.head, &key.head);
            set(&mut self.tail, tail);
            set(&mut self.emitter.line_comment, &key.line);
            // The comment below an entry is written after its value.
            tail = &key.foot;
            self.entry(key, value);
        }
        set(&mut self.tail, tail);
        set(&mut self.emitter.line_comment, &node.line);
        set(&mut self.foot, &node.foot);
        self.head_comment();
        self.emitter.leave(old);
    }

    fn entry(&mut self, key: &Annotated, value: &Annotated) {
        self.head_comment();
        self.emitter.indent_line();
        if !self.emitter.line_comment.is_empty() {
            self.key_line = std::mem::take(&mut self.emitter.line_comment);
        }
        match &key.value {
            AnnotatedValue::Scalar(scalar) if self.is_simple(scalar) => {
                self.scalar(scalar, Context::SimpleKey);
                self.emitter.indicator(":", false, false, false);
            }
            _ => {
                self.emitter.indicator("?", true, false, true);
                if let AnnotatedValue::Scalar(scalar) = &key.value {
                    self.scalar(scalar, Context::Value);
                }
                self.emitter.indent_line();
                self.emitter.indicator(":", true, false, true);
            }
        }
        self.take(value, "");
        self.comment_of_key(value);
        self.node(value, Context::Value);
    }

    /// Writes a comment after the key behind the value, or alone on the key's line.
    fn comment_of_key(&mut self, value: &Annotated) {
        if self.key_line.is_empty() {
            return;
        }
        match &value.value {
            AnnotatedValue::Scalar(_) => {
                if self.emitter.line_comment.is_empty() {
                    self.emitter.line_comment = std::mem::take(&mut self.key_line);
                }
            }
            _ => {
                std::mem::swap(&mut self.emitter.line_comment, &mut self.key_line);
                self.line_comment();
                std::mem::swap(&mut self.emitter.line_comment, &mut self.key_line);
            }
        }
    }

    fn is_simple(&self, key: &Scalar) -> bool {
        let tag = spelling(key)
            .tag
            .map_or(0, |(handle, suffix)| handle.len() + suffix.len());
        Emitter::is_simple_key(&key.text, self.emitter.allowed(&key.text), tag)
    }
}

/// An event without a comment keeps the pending one.
fn set(slot: &mut String, text: &str) {
    if !text.is_empty() {
        slot.clear();
        slot.push_str(text);
    }
}
