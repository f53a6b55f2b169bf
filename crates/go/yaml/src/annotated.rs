//! Trees with comments, as go-yaml v3 has them, and the text that its encoder writes for them.

use super::node::{Scalar, Style};
use super::read::annotated::AnnotatedDocument;
use super::write::analyze::Library;
use super::write::emit::{Context, Emitter};
use super::write::kyaml::{handle_of, spelling};

/// A node with its comments. The lines of a comment begin with `#`.
#[derive(Clone)]
pub struct Annotated {
    pub value: AnnotatedValue,
    /// Above it.
    pub head: String,
    /// After it, on its line.
    pub line: String,
    /// Below it.
    pub foot: String,
    /// Its anchor; for an alias, the name that it refers to.
    pub anchor: Option<Box<str>>,
    /// Its tag, if that was written.
    pub tag: Option<Box<str>>,
    /// Whether it is a collection that was written as `{…}` or `[…]`.
    pub flow: bool,
}

/// The value of an annotated node. Empty collections are never written as blocks.
#[derive(Clone)]
pub enum AnnotatedValue {
    /// Text with a tag.
    Scalar(Scalar),
    /// Keys and values. A comment below a value is the `foot` of its key.
    Mapping(Vec<(Annotated, Annotated)>),
    Sequence(Vec<Annotated>),
    /// An alias: its target, with the comments there.
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
            anchor: None,
            tag: None,
            flow: false,
        }
    }
}

/// Writes documents as the encoder of go-yaml v3 does with `SetIndent(step)`.
pub fn write_annotated(documents: &[AnnotatedDocument], step: usize, out: &mut String) {
    let mut writer = Writer::new(out, step, false);
    for (at, document) in documents.iter().enumerate() {
        writer.document(document, at == 0);
    }
}

/// Writes a document as kyaml does: two columns for each level, the items of a list at the column of its key.
pub fn write_annotated_kyaml(document: &AnnotatedDocument, out: &mut String) {
    Writer::new(out, 2, true).document(document, true);
}

/// The comments of the current event; each is removed once it is written.
struct Writer<'o> {
    emitter: Emitter<'o>,
    /// Whether the items of a list are at the column of its key.
    compact: bool,
    head: String,
    foot: String,
    /// The comment below the previous value.
    tail: String,
    /// The comment after a key whose value begins on another line.
    key_line: String,
}

impl<'o> Writer<'o> {
    fn new(out: &'o mut String, step: usize, compact: bool) -> Self {
        let mut emitter = Emitter::new(out, Library::V3);
        emitter.step = step.clamp(2, 9);
        Self {
            emitter,
            compact,
            head: String::new(),
            foot: String::new(),
            tail: String::new(),
            key_line: String::new(),
        }
    }

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
        if matches!(node.value, AnnotatedValue::Scalar(_) | AnnotatedValue::Alias(_)) {
            self.take_end(node);
        }
    }

    /// The comments of the event that ends a node.
    fn take_end(&mut self, node: &Annotated) {
        set(&mut self.emitter.line_comment, &node.line);
        set(&mut self.foot, &node.foot);
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

    /// Whether a comment waits that is written behind or below a node: the comma after the node comes before it then.
    const fn is_pending(&self) -> bool {
        !self.emitter.line_comment.is_empty() || !self.foot.is_empty() || !self.tail.is_empty()
    }

    fn comma(&mut self, wanted: bool) {
        if wanted {
            self.emitter.indicator(",", false, false, false);
        }
    }

    /// A node, and the comments after and below it. go-yaml emits the latter when a collection begins, so those at
    /// its end wait for the next node.
    fn node(&mut self, node: &Annotated, context: Context) {
        self.begin(node, context);
        let is_inside = self.emitter.flow > 0;
        self.comma(is_inside && self.is_pending());
        self.line_comment();
        self.foot_comment();
        match &node.value {
            AnnotatedValue::Scalar(_) | AnnotatedValue::Alias(_) => {}
            AnnotatedValue::Mapping(entries) if is_inside || node.flow || entries.is_empty() => {
                self.flow_mapping(node, entries, context);
            }
            AnnotatedValue::Sequence(items) if is_inside || node.flow || items.is_empty() => {
                self.flow_sequence(node, items, context);
            }
            AnnotatedValue::Mapping(entries) => self.mapping(node, entries, context),
            AnnotatedValue::Sequence(items) => self.sequence(node, items, context),
        }
    }

    /// Anchor, tag and, for a scalar, its text.
    fn begin(&mut self, node: &Annotated, context: Context) {
        let is_alias = matches!(node.value, AnnotatedValue::Alias(_));
        if let Some(name) = &node.anchor {
            self.emitter.anchor(if is_alias { "*" } else { "&" }, name);
        }
        let AnnotatedValue::Scalar(scalar) = &node.value else {
            if let Some(tag) = &node.tag {
                let (handle, suffix) = handle_of(tag);
                self.emitter.tag(handle, suffix);
            }
            return;
        };
        let spelling = spelling(scalar);
        let allowed = self.emitter.allowed(&scalar.text);
        let given = node.tag.as_deref().map(handle_of);
        // Quotes stand for a tag that is not written.
        let style = match (given, scalar.style) {
            (Some(_), Style::Plain) if !scalar.text.contains('\n') => Style::Plain,
            _ => spelling.style,
        };
        if let Some((handle, suffix)) = given.or(spelling.tag) {
            self.emitter.tag(handle, suffix);
        }
        self.emitter.scalar(&scalar.text, style, context, allowed);
    }

    fn flow_sequence(&mut self, node: &Annotated, items: &[Annotated], context: Context) {
        let old = self.open("[", context);
        let mut wants_comma = false;
        for item in items {
            self.take(item, "");
            self.comma(wants_comma);
            self.head_comment();
            if self.emitter.column == 0 {
                self.emitter.indent_line();
            }
            wants_comma = !self.is_pending();
            self.node(item, Context::Item);
        }
        self.take_end(node);
        self.emitter.flow -= 1;
        self.emitter.leave(old);
        if self.emitter.column == 0 {
            self.emitter.indent_line();
        }
        self.close("]");
    }

    fn flow_mapping(&mut self, node: &Annotated, entries: &[(Annotated, Annotated)], context: Context) {
        let old = self.open("{", context);
        let (mut wants_comma, mut tail) = (false, "");
        for (key, value) in entries {
            set(&mut self.head, &key.head);
            set(&mut self.tail, tail);
            set(&mut self.emitter.line_comment, &key.line);
            // The comment below an entry is written after its value.
            tail = &key.foot;
            self.comma(wants_comma);
            self.head_comment();
            if self.emitter.column == 0 {
                self.emitter.indent_line();
            }
            let is_simple = self.is_simple(key);
            if is_simple {
                self.begin(key, Context::SimpleKey);
            } else {
                self.emitter.indicator("?", true, false, false);
                self.begin(key, Context::Value);
            }
            self.take(value, "");
            self.emitter.indicator(":", !is_simple, false, false);
            wants_comma = !self.is_pending();
            self.node(value, Context::Value);
        }
        set(&mut self.tail, tail);
        self.take_end(node);
        let has_comments = !self.head.is_empty() || !self.foot.is_empty() || !self.tail.is_empty();
        self.comma(has_comments && wants_comma);
        self.head_comment();
        self.emitter.flow -= 1;
        self.emitter.leave(old);
        self.close("}");
    }

    fn open(&mut self, bracket: &str, context: Context) -> Option<usize> {
        self.emitter.indicator(bracket, true, true, false);
        let is_item_of_block = context == Context::Item && self.emitter.flow == 0;
        let old = self.emitter.enter_below(true, false, is_item_of_block);
        self.emitter.flow += 1;
        old
    }

    fn close(&mut self, bracket: &str) {
        self.emitter.indicator(bracket, false, false, false);
        self.line_comment();
        self.foot_comment();
    }

    fn sequence(&mut self, node: &Annotated, items: &[Annotated], context: Context) {
        let below_key = context == Context::Value && (self.emitter.column == 0 || !self.emitter.indention);
        let old = self
            .emitter
            .enter_below(false, self.compact && below_key, context == Context::Item);
        for item in items {
            self.take(item, "");
            self.head_comment();
            self.emitter.indent_line();
            self.emitter.indicator("-", true, false, true);
            self.node(item, Context::Item);
        }
        self.emitter.leave(old);
        self.take_end(node);
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
        self.take_end(node);
        self.head_comment();
        self.emitter.leave(old);
    }

    fn entry(&mut self, key: &Annotated, value: &Annotated) {
        self.head_comment();
        self.emitter.indent_line();
        if !self.emitter.line_comment.is_empty() {
            self.key_line = std::mem::take(&mut self.emitter.line_comment);
        }
        if self.is_simple(key) {
            self.begin(key, Context::SimpleKey);
            self.emitter.indicator(":", false, false, false);
        } else {
            self.emitter.indicator("?", true, false, true);
            self.begin(key, Context::Value);
            self.emitter.indent_line();
            self.emitter.indicator(":", true, false, true);
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
            // go-yaml keeps it for the next value that may have it.
            AnnotatedValue::Alias(_) => {}
            _ if value.flow => {}
            _ => {
                std::mem::swap(&mut self.emitter.line_comment, &mut self.key_line);
                self.line_comment();
                std::mem::swap(&mut self.emitter.line_comment, &mut self.key_line);
            }
        }
    }

    /// Whether a key is written without `?`.
    fn is_simple(&self, key: &Annotated) -> bool {
        let anchor = key.anchor.as_deref().map_or(0, str::len);
        match &key.value {
            AnnotatedValue::Scalar(scalar) => {
                let given = key.tag.as_deref().map(handle_of);
                let tag = given
                    .or(spelling(scalar).tag)
                    .map_or(0, |(handle, suffix)| handle.len() + suffix.len());
                Emitter::is_simple_key(&scalar.text, self.emitter.allowed(&scalar.text), anchor + tag)
            }
            AnnotatedValue::Alias(_) => true,
            AnnotatedValue::Mapping(_) | AnnotatedValue::Sequence(_) => false,
        }
    }
}

/// An event without a comment keeps the pending one.
fn set(slot: &mut String, text: &str) {
    if !text.is_empty() {
        slot.clear();
        slot.push_str(text);
    }
}
