//! Writes the YAML of go-yaml v3 with kyaml's settings: nodes in their order and style, lines of any length. This is
//! the input of functions, and the result of `RNode.String`.

use super::analyze::Library;
use super::emit::{Context, Emitter};
use crate::node::{Mapping, Node, Scalar, Sequence, Style, Tag, Value};
use crate::read::options::Dialect;
use crate::read::resolve::plain_tag;

/// The position of the items of a sequence under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceIndent {
    /// Two columns to the right of the key.
    Wide,
    /// At the column of the key.
    Compact,
}

/// The prefix of the tags of the YAML specification.
const YAML_TAGS: &str = "tag:yaml.org,2002:";

/// Writes a node as kyaml prints it, at the end of `out`; the text ends with a line break. Comments are dropped, and
/// a tag is written only where text and style do not imply it.
pub fn write_kyaml(node: &Node, indent: SequenceIndent, out: &mut String) {
    let mut writer = Writer {
        emitter: Emitter::new(out, Library::V3),
        indent,
    };
    writer.node(node, Context::Root);
    writer.emitter.indent_line();
}

struct Writer<'o> {
    emitter: Emitter<'o>,
    indent: SequenceIndent,
}

/// The style of a scalar and its tag, if written.
pub(crate) struct Spelling<'a> {
    pub(crate) style: Style,
    /// Handle and suffix of the tag, if it is written.
    pub(crate) tag: Option<(&'a str, &'a str)>,
}

impl Writer<'_> {
    fn node(&mut self, node: &Node, context: Context) {
        match &node.value {
            Value::Scalar(scalar) => self.scalar(scalar, context),
            Value::Sequence(sequence) => self.sequence(sequence, context),
            Value::Mapping(mapping) => self.mapping(mapping),
        }
    }

    fn tag(&mut self, tag: Option<(&str, &str)>) {
        if let Some((handle, suffix)) = tag {
            self.emitter.tag(handle, suffix);
        }
    }

    fn scalar(&mut self, scalar: &Scalar, context: Context) {
        let spelling = spelling(scalar);
        let allowed = self.emitter.allowed(&scalar.text);
        self.tag(spelling.tag);
        self.emitter.scalar(&scalar.text, spelling.style, context, allowed);
    }

    fn sequence(&mut self, sequence: &Sequence, context: Context) {
        self.tag(sequence.tag.as_deref().map(handle_of));
        if self.emitter.flow > 0 || sequence.flow || sequence.items.is_empty() {
            self.emitter.indicator("[", true, true, false);
            let old = self.emitter.enter(true, false);
            self.emitter.flow += 1;
            for (at, item) in sequence.items.iter().enumerate() {
                if at > 0 {
                    self.emitter.indicator(",", false, false, false);
                }
                self.node(item, Context::Item);
            }
            self.emitter.flow -= 1;
            self.emitter.leave(old);
            self.emitter.indicator("]", false, false, false);
            return;
        }
        let below_key = context == Context::Value && (self.emitter.column == 0 || !self.emitter.indention);
        let same = below_key && self.indent == SequenceIndent::Compact;
        let old = self.emitter.enter(false, same);
        for item in &sequence.items {
            self.emitter.indent_line();
            self.emitter.indicator("-", true, false, true);
            self.node(item, Context::Item);
        }
        self.emitter.leave(old);
    }

    fn mapping(&mut self, mapping: &Mapping) {
        self.tag(mapping.tag.as_deref().map(handle_of));
        if self.emitter.flow > 0 || mapping.flow || mapping.entries.is_empty() {
            return self.flow_mapping(mapping);
        }
        let old = self.emitter.enter(false, false);
        for entry in &mapping.entries {
            self.emitter.indent_line();
            if self.is_simple(&entry.key) {
                self.scalar(&entry.key, Context::SimpleKey);
                self.emitter.indicator(":", false, false, false);
            } else {
                self.emitter.indicator("?", true, false, true);
                self.scalar(&entry.key, Context::Value);
                self.emitter.indent_line();
                self.emitter.indicator(":", true, false, true);
            }
            self.node(&entry.value, Context::Value);
        }
        self.emitter.leave(old);
    }

    fn flow_mapping(&mut self, mapping: &Mapping) {
        self.emitter.indicator("{", true, true, false);
        let old = self.emitter.enter(true, false);
        self.emitter.flow += 1;
        for (at, entry) in mapping.entries.iter().enumerate() {
            if at > 0 {
                self.emitter.indicator(",", false, false, false);
            }
            if self.is_simple(&entry.key) {
                self.scalar(&entry.key, Context::SimpleKey);
                self.emitter.indicator(":", false, false, false);
            } else {
                self.emitter.indicator("?", true, false, false);
                self.scalar(&entry.key, Context::Value);
                self.emitter.indicator(":", true, false, false);
            }
            self.node(&entry.value, Context::Value);
        }
        self.emitter.flow -= 1;
        self.emitter.leave(old);
        self.emitter.indicator("}", false, false, false);
    }

    fn is_simple(&self, key: &Scalar) -> bool {
        let tag = spelling(key)
            .tag
            .map_or(0, |(handle, suffix)| handle.len() + suffix.len());
        Emitter::is_simple_key(&key.text, self.emitter.allowed(&key.text), tag)
    }
}

/// The spelling that keeps text and tag: quotes where the bare text would have another type, the tag where quotes
/// do not help.
pub(crate) fn spelling(scalar: &Scalar) -> Spelling<'_> {
    let quoted = scalar.style != Style::Plain;
    let implied = match quoted {
        _ if matches!(&scalar.tag, Tag::Other(none) if none.is_empty()) => true,
        true => scalar.tag == Tag::Str,
        false => plain_tag(&scalar.text, Dialect::V3) == scalar.tag,
    };
    let force = !implied && scalar.tag == Tag::Str;
    let tag = (!implied && !force).then(|| tag_parts(&scalar.tag));
    let style = match scalar.style {
        Style::Plain if scalar.text.contains('\n') => Style::Literal,
        Style::Plain if force => Style::Double,
        style => style,
    };
    Spelling { style, tag }
}

fn tag_parts(tag: &Tag) -> (&str, &str) {
    match tag {
        Tag::Null => ("!!", "null"),
        Tag::Bool => ("!!", "bool"),
        Tag::Int => ("!!", "int"),
        Tag::Float => ("!!", "float"),
        Tag::Timestamp => ("!!", "timestamp"),
        Tag::Str => ("!!", "str"),
        Tag::Binary => ("!!", "binary"),
        Tag::Merge => ("!!", "merge"),
        Tag::Other(tag) => handle_of(tag),
    }
}

/// Splits a tag into the default handle and its suffix; no handle for a tag that is written in full.
pub(crate) fn handle_of(tag: &str) -> (&str, &str) {
    let shortened = |handle: &'static str, prefix| {
        let suffix: &str = tag.strip_prefix(prefix)?;
        (!suffix.is_empty()).then_some((handle, suffix))
    };
    shortened("!!", "!!")
        .or_else(|| shortened("!!", YAML_TAGS))
        .or_else(|| shortened("!", "!"))
        .unwrap_or(("", tag))
}
