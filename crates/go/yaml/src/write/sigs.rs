//! Writes the YAML of sigs.k8s.io/yaml, as kustomize prints it: node ▶ JSON ▶ go-yaml v2, without the JSON in between.
//!
//! The effects of JSON on values are applied here: dates are strings, `1.0` is `1`, characters that YAML rejects
//! in JSON are errors.

use std::borrow::Cow;
use std::fmt::Write;

use super::analyze::Library;
use super::emit::{Context, Emitter};
use super::json::write_text;
use super::natural::sort_by_key;
use super::value::{Leaf, WriteError, check_twice, json_float, leaf, members};
use crate::node::{Mapping, Node, Sequence, Style, Tag, Value};
use crate::place::Place;
use crate::read::documents::read_first;
use crate::read::options::{Dialect, FIRST_OF_V2};
use crate::read::resolve::{Resolved, plain_tag, resolve};
use bumpwright_gostd::format_float;

/// Maximum length of a key in JSON, including quotes, before go-yaml no longer parses it as one.
const MAX_JSON_KEY: usize = 1024;

/// Writes a node as kustomize prints an object, at the end of `out`; the text ends with a line break.
///
/// # Errors
/// As [`crate::write_json`], and for characters and keys that go-yaml does not read back from JSON. Output written
/// before the error stays.
pub fn write_sigs(node: &Node, out: &mut String) -> Result<(), WriteError> {
    let mut writer = Writer {
        emitter: Emitter::new(out, Library::V2),
        number: String::new(),
        flow: 0,
    };
    writer.node(node, Context::Root)?;
    writer.emitter.indent_line();
    Ok(())
}

struct Writer<'o> {
    emitter: Emitter<'o>,
    number: String,
    /// The number of enclosing collections that were written as `{}` or `[]`.
    flow: usize,
}

impl Writer<'_> {
    fn node(&mut self, node: &Node, context: Context) -> Result<(), WriteError> {
        match &node.value {
            Value::Scalar(scalar) => {
                let leaf = leaf(scalar, node.place, self.flow > 0)?;
                self.leaf(&leaf, node.place, context)
            }
            Value::Sequence(sequence) => self.sequence(sequence, context),
            Value::Mapping(mapping) => self.mapping(mapping, context),
        }
    }

    fn sequence(&mut self, sequence: &Sequence, context: Context) -> Result<(), WriteError> {
        if sequence.items.is_empty() {
            self.emitter.indicator("[", true, true, false);
            self.emitter.indicator("]", false, false, false);
            return Ok(());
        }
        let same = context == Context::Value && !self.emitter.indention;
        let old = self.emitter.enter(false, same);
        self.flow += usize::from(sequence.flow);
        for item in &sequence.items {
            self.emitter.indent_line();
            self.emitter.indicator("-", true, false, true);
            self.node(item, Context::Item)?;
        }
        self.flow -= usize::from(sequence.flow);
        self.emitter.leave(old);
        Ok(())
    }

    fn mapping(&mut self, mapping: &Mapping, context: Context) -> Result<(), WriteError> {
        let mut members = members(mapping, context == Context::Root, mapping.flow || self.flow > 0)?;
        if members.is_empty() {
            self.emitter.indicator("{", true, true, false);
            self.emitter.indicator("}", false, false, false);
            return Ok(());
        }
        sort_by_key(&mut members, |(key, _)| key);
        check_twice(&members)?;
        let old = self.emitter.enter(false, false);
        self.flow += usize::from(mapping.flow);
        for (key, entry) in members {
            self.emitter.indent_line();
            self.key(key, entry.place)?;
            self.node(&entry.value, Context::Value)?;
        }
        self.flow -= usize::from(mapping.flow);
        self.emitter.leave(old);
        Ok(())
    }

    fn key(&mut self, key: &str, place: Place) -> Result<(), WriteError> {
        check_key(key, place)?;
        let allowed = self.emitter.allowed(key);
        if Emitter::is_simple_key(key, allowed, 0) {
            self.emitter.scalar(key, style_of(key), Context::SimpleKey, allowed);
            self.emitter.indicator(":", false, false, false);
            return Ok(());
        }
        self.emitter.indicator("?", true, false, true);
        self.emitter.scalar(key, style_of(key), Context::Value, allowed);
        self.emitter.indent_line();
        self.emitter.indicator(":", true, false, true);
        Ok(())
    }

    fn leaf(&mut self, leaf: &Leaf<'_>, place: Place, context: Context) -> Result<(), WriteError> {
        self.number.clear();
        // Writing to a string does not fail.
        let _ = match leaf {
            Leaf::Null => self.number.write_str("null"),
            Leaf::Bool(value) => write!(self.number, "{value}"),
            Leaf::Int(number) => write!(self.number, "{number}"),
            Leaf::Uint(number) => write!(self.number, "{number}"),
            Leaf::Float(number) => {
                float(*number, &mut self.number);
                Ok(())
            }
            Leaf::Text(text) => return self.text(text, place, context),
            Leaf::Bytes(bytes) => return self.text(&bumpwright_gostd::lossy(bytes), place, context),
        };
        self.emitter.word(&self.number);
        Ok(())
    }

    fn text(&mut self, text: &str, place: Place, context: Context) -> Result<(), WriteError> {
        let text = through_json(text, place)?;
        let allowed = self.emitter.allowed(&text);
        self.emitter.scalar(&text, style_of(&text), context, allowed);
        Ok(())
    }
}

/// The value of a float after its spelling in JSON was read again: often an integer.
fn float(number: f64, out: &mut String) {
    let json = json_float(number);
    let spelled = match resolve(&json, Dialect::V2) {
        Resolved::Int(number) => number.to_string(),
        Resolved::Uint(number) => number.to_string(),
        Resolved::Float(number) => format_float(number, b'g', None, 64),
        _ => json,
    };
    out.push_str(&spelled);
}

/// The style that go-yaml v2 requests for a string.
fn style_of(text: &str) -> Style {
    if text.contains('\n') {
        return Style::Literal;
    }
    if plain_tag(text, Dialect::V2) == Tag::Str && !is_base_60(text) {
        Style::Plain
    } else {
        Style::Double
    }
}

/// `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`: a number to the base of 60 in YAML 1.1, as `1:30`.
#[must_use]
pub fn is_base_60(text: &str) -> bool {
    if !matches!(text.as_bytes(), [b'+' | b'-' | b'0'..=b'9', ..]) {
        return false;
    }
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let Some((whole, sixtieths)) = rest.split_once(':') else {
        return false;
    };
    let digits = |bytes: &[u8]| bytes.iter().all(|byte| byte.is_ascii_digit() || *byte == b'_');
    if !whole.starts_with(|first: char| first.is_ascii_digit()) || !digits(whole.as_bytes()) {
        return false;
    }
    let mut parts = sixtieths.split(':').peekable();
    while let Some(part) = parts.next() {
        let (part, fraction) = match (part.split_once('.'), parts.peek()) {
            (Some((part, fraction)), None) => (part, fraction),
            (Some(_), Some(_)) => return false,
            (None, _) => (part, ""),
        };
        let sixtieth = matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
        if !sixtieth || !digits(fraction.as_bytes()) {
            return false;
        }
    }
    true
}

/// Whether JSON may change or reject a text.
fn is_risky(text: &str) -> bool {
    text.bytes()
        .fold(false, |risky, byte| risky | matches!(byte, 0x7F | 0xC2 | 0xEF))
}

/// A text as go-yaml v2 reads it from JSON: control characters above ASCII's are rejected, U+0085 is a line break.
fn through_json(text: &str, place: Place) -> Result<Cow<'_, str>, WriteError> {
    if !is_risky(text) || text.chars().all(|ch| !is_strange(ch)) {
        return Ok(Cow::Borrowed(text));
    }
    let mut json = String::with_capacity(text.len() + 2);
    write_text(text, &mut json);
    let read =
        read_first(json.as_bytes(), &FIRST_OF_V2).map_err(|error| WriteError::new(place, refusal(text), error.go()))?;
    match read.map(|node| node.value) {
        Some(Value::Scalar(scalar)) => Ok(Cow::Owned(scalar.text.into())),
        _ => Ok(Cow::Borrowed(text)),
    }
}

const fn is_strange(ch: char) -> bool {
    matches!(ch, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
}

fn refusal(text: &str) -> String {
    let strange = text.chars().filter(|ch| is_strange(*ch)).map(u32::from);
    let first: String = strange.take(1).map(|code| format!(" U+{code:04X}")).collect();
    format!("the text holds the character{first}, which YAML does not take; put it into binaryData or take it away")
}

fn check_key(key: &str, place: Place) -> Result<(), WriteError> {
    let go = "yaml: did not find expected ',' or '}'";
    if is_risky(key)
        && let Some(ch) = key.chars().find(|ch| is_strange(*ch))
    {
        let go = if ch == '\u{85}' {
            go
        } else {
            "yaml: control characters are not allowed"
        };
        return Err(WriteError::new(place, refusal(key), go));
    }
    // An escape has six characters at most.
    if key.len() * 6 < MAX_JSON_KEY {
        return Ok(());
    }
    let mut json = String::new();
    write_text(key, &mut json);
    if json.chars().count() > MAX_JSON_KEY {
        Err(WriteError::new(place, "a key has more than 1022 characters", go))
    } else {
        Ok(())
    }
}
