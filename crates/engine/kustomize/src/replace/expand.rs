//! Replaces `$(NAME)` by the values of variables.

use crate::fields::{Fault, FieldError, FieldSpecs, SharedEntries, walk_all};
use crate::growth;
use bumpwright_budget::Exceeded;
use bumpwright_gostd::format_float;
use bumpwright_yaml::{Node, Scalar, Style, Tag, Value};
use compact_str::{CompactString, ToCompactString};
use std::collections::BTreeMap;

/// The value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub enum VarValue {
    Text(CompactString),
    Integer(i64),
    /// Another number.
    Float(f64),
    Boolean(bool),
    /// A mapping or a list: such a value is never inserted, as in kustomize, which warns.
    Collection,
}

impl VarValue {
    /// The value within a text.
    fn text(&self) -> Option<CompactString> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Integer(number) => Some(number.to_compact_string()),
            Self::Float(number) => Some(format_float(*number, b'g', None, 64).into()),
            Self::Boolean(flag) => Some(flag.to_compact_string()),
            Self::Collection => None,
        }
    }

    /// Upper bound of its bytes within a text.
    fn length(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.len()),
            Self::Integer(_) | Self::Float(_) | Self::Boolean(_) => Some(24),
            Self::Collection => None,
        }
    }

    /// The value as a scalar of its own.
    fn scalar(&self) -> Option<Scalar> {
        let (text, tag) = match self {
            Self::Float(number) => (format_float(*number, b'f', None, 64).into(), Tag::Float),
            Self::Integer(_) => (self.text()?, Tag::Int),
            Self::Boolean(_) => (self.text()?, Tag::Bool),
            Self::Text(_) | Self::Collection => (self.text()?, Tag::Str),
        };
        Some(Scalar {
            text,
            tag,
            style: Style::Plain,
        })
    }
}

/// The variables of a build with their values, and which of them were used.
#[derive(Debug, Clone, Default)]
pub struct Expansion {
    values: BTreeMap<CompactString, (VarValue, bool)>,
}

impl Expansion {
    /// An expansion with no variable used yet.
    pub fn new(values: impl IntoIterator<Item = (CompactString, VarValue)>) -> Self {
        Self {
            values: values.into_iter().map(|(name, value)| (name, (value, false))).collect(),
        }
    }

    /// Inserts the values into the fields of an object. Without any variables, `$$` stays too.
    ///
    /// # Errors
    /// A field is a mapping with a key that is not a string, or a list with an item that is not a string; or a path
    /// leads through a scalar.
    pub fn apply(
        &mut self,
        object: &mut Node,
        shared: &mut SharedEntries,
        fields: &FieldSpecs,
    ) -> Result<(), FieldError> {
        if self.values.is_empty() {
            return Ok(());
        }
        walk_all(fields.as_slice(), object, None, &mut |field| self.field(field))?;
        shared.settle(object);
        Ok(())
    }

    /// The unused variables, sorted.
    pub fn unused(&self) -> impl Iterator<Item = &str> {
        let unused = self.values.iter().filter(|(_, (_, used))| !used);
        unused.map(|(name, _)| name.as_str())
    }

    fn field(&mut self, field: &mut Node) -> Result<(), Fault> {
        match &mut field.value {
            Value::Scalar(scalar) => {
                return self
                    .scalar(scalar)
                    .map_err(|error| Fault::new(field.place, error.to_string()));
            }
            Value::Mapping(mapping) => {
                for entry in &mut mapping.entries {
                    if entry.key.tag != Tag::Str {
                        let problem = format!("invalid map key: value='{}' is not a string", entry.key.text);
                        return Err(Fault::new(entry.place, problem));
                    }
                    if let Value::Scalar(scalar) = &mut entry.value.value {
                        let reserved = self.scalar(scalar);
                        reserved.map_err(|error| Fault::new(entry.place, error.to_string()))?;
                    }
                }
            }
            Value::Sequence(sequence) => {
                for item in &mut sequence.items {
                    match &mut item.value {
                        Value::Scalar(scalar) if scalar.tag == Tag::Str => {
                            let reserved = self.scalar(scalar);
                            reserved.map_err(|error| Fault::new(item.place, error.to_string()))?;
                        }
                        _ => return Err(Fault::new(item.place, "invalid value type expect a string")),
                    }
                }
            }
        }
        Ok(())
    }

    /// Expands a string; leaves other scalars alone.
    fn scalar(&mut self, scalar: &mut Scalar) -> Result<(), Exceeded> {
        if !scalar.is_string() {
            return Ok(());
        }
        // kustomize writes it again even without a reference: folded text then has the line breaks of that output.
        (scalar.tag, scalar.style) = (Tag::Str, Style::Plain);
        let uses = scalar.text.matches("$(").count();
        if !scalar.text.contains('$') {
            return Ok(());
        }
        let lengths = self.values.values().filter_map(|(value, _)| value.length());
        growth::take(uses.saturating_mul(lengths.fold(0, usize::max)) as u64)?;
        let whole = scalar.text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
        let typed = whole
            .filter(|name| !name.contains(')'))
            .and_then(|name| self.take(name)?.scalar());
        *scalar = typed.unwrap_or_else(|| Scalar {
            text: expand(&scalar.text, |name| self.take(name)?.text()).into(),
            tag: Tag::Str,
            style: Style::Plain,
        });
        Ok(())
    }

    fn take(&mut self, name: &str) -> Option<&VarValue> {
        let (value, used) = self.values.get_mut(name)?;
        *used |= *value != VarValue::Collection;
        Some(value)
    }
}

/// A text with each `$(NAME)` replaced by the result of `value`; without a result the reference stays.
/// `$$` is a dollar.
pub fn expand(text: &str, mut value: impl FnMut(&str) -> Option<CompactString>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            match value(name) {
                Some(value) => out.push_str(&value),
                None => out.extend(["$(", name, ")"]),
            }
            rest = after;
        } else {
            out.push('$');
            // The character after a dollar is skipped, even if it opens a reference that does not close.
            let mut chars = rest.chars();
            out.extend(chars.next());
            rest = chars.as_str();
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{json, node};

    fn expanded(text: &str) -> String {
        expand(text, |name| (name == "A").then(|| "1".into()))
    }

    #[test]
    fn references_are_replaced() {
        assert_eq!(expanded("x $(A) $(B) $(A"), "x 1 $(B) $(A");
        assert_eq!(expanded("$$(A) $$$(A) $"), "$(A) $1 $");
        assert_eq!(expanded("$x$(A) $é $()"), "$x1 $é $()");
        assert_eq!(expanded("$(A"), "$(A");
        assert_eq!(expanded("$($(A))"), "$($(A))", "the name is `$(A`");
    }

    #[test]
    fn a_reference_alone_keeps_the_type_of_the_value() {
        let mut object =
            node(r#"{"a":{"n":"$(N)","b":"$(B)","f":"$(F)","m":"$(M)","t":"n=$(N) $(F)","i":5},"l":["$(N)"]}"#);
        let values = [
            ("N", VarValue::Integer(8)),
            ("B", VarValue::Boolean(true)),
            ("F", VarValue::Float(1_000_000.0)),
            ("M", VarValue::Collection),
            ("U", VarValue::Text("u".into())),
        ];
        let mut expansion = Expansion::new(values.map(|(name, value)| (name.into(), value)));
        let fields = ["a", "l"].map(|path| crate::fields::FieldSpec::of_any(path, false));
        let fields = fields.into_iter().collect();
        expansion
            .apply(&mut object, &mut SharedEntries::default(), &fields)
            .unwrap();
        let wanted = r#"{"a":{"b":true,"f":1000000,"i":5,"m":"$(M)","n":8,"t":"n=8 1e+06"},"l":[8]}"#;
        assert_eq!(json(&object), wanted);
        assert_eq!(expansion.unused().collect::<Vec<_>>(), ["M", "U"]);
    }
}
