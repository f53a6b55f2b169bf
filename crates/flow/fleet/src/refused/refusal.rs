//! What the API server says of fields that it refuses.

use std::fmt::Write;

use serde_json::Value;

use bumpwright_gostd::quote;
use bumpwright_json::Texts as _;

/// A field that is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Its JSON pointer; the object may not have it.
    pub(super) pointer: String,
    /// In the words of the API server.
    pub(super) text: String,
}

/// The refused fields of an object.
#[derive(Debug, Default)]
pub(super) struct Refusals(pub(super) Vec<Refusal>);

impl Refusals {
    pub(super) fn required(&mut self, pointer: String, detail: &str) {
        self.add(pointer, "Required value".to_owned(), detail);
    }

    pub(super) fn duplicate(&mut self, pointer: String, value: &str) {
        self.add(pointer, format!("Duplicate value: {}", quote(value)), "");
    }

    pub(super) fn not_found(&mut self, pointer: String, value: &str) {
        self.add(pointer, format!("Not found: {}", quote(value)), "");
    }

    pub(super) fn invalid(&mut self, pointer: String, value: &str, detail: &str) {
        self.add(pointer, format!("Invalid value: {}", quote(value)), detail);
    }

    pub(super) fn unsupported(&mut self, pointer: String, value: &str, supported: &str) {
        let detail = format!("supported values: {supported}");
        self.add(pointer, format!("Unsupported value: {}", quote(value)), &detail);
    }

    pub(super) fn forbidden(&mut self, pointer: String, detail: &str) {
        self.add(pointer, "Forbidden".to_owned(), detail);
    }

    /// Items of a list that a server-side apply cannot tell apart.
    pub(super) fn same_key(&mut self, pointer: String, key: &str) {
        self.add(pointer, format!("duplicate entries for key [{key}]"), "");
    }

    fn add(&mut self, pointer: String, problem: String, detail: &str) {
        let separator = if detail.is_empty() { "" } else { ": " };
        let text = format!("{}: {problem}{separator}{detail}", field(&pointer));
        self.0.push(Refusal { pointer, text });
    }
}

/// `/spec/containers/0/image` as `spec.containers[0].image`.
fn field(pointer: &str) -> String {
    let mut text = String::new();
    for step in pointer.split('/').skip(1) {
        // Writing to a text does not fail.
        let _ = match step.parse::<usize>() {
            Ok(at) => write!(text, "[{at}]"),
            Err(_) if text.is_empty() => write!(text, "{step}"),
            Err(_) => write!(text, ".{step}"),
        };
    }
    text
}

/// The items of a list; none if it is not one.
pub(super) fn items<'v>(value: &'v Value, field: &str) -> Vec<(usize, &'v Value)> {
    let items = value.get(field).and_then(Value::as_array);
    items.into_iter().flatten().enumerate().collect()
}

/// Whether a field is missing or empty. One of another type is for its schema.
pub(super) fn is_missing(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Bool(_) | Value::Number(_)) => false,
    }
}

/// Whether a text has no variable left in it.
pub(super) fn is_known(text: &str) -> bool {
    !text.contains("${")
}

/// The text of a field that is given and known.
pub(super) fn known<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    let text = value.text_of(field);
    (!text.is_empty() && is_known(text)).then_some(text)
}

/// The names of the fields of an object that have a value.
pub(super) fn given(value: Option<&Value>) -> Vec<&str> {
    let fields = value.and_then(Value::as_object).into_iter().flatten();
    fields
        .filter(|(_, value)| !value.is_null())
        .map(|(name, _)| name.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_as_the_server_does() {
        assert_eq!(
            field("/spec/template/spec/containers/0/image"),
            "spec.template.spec.containers[0].image"
        );
        let mut all = Refusals::default();
        all.required("/spec/ports".to_owned(), "");
        all.invalid(
            "/spec/ports/1/port".to_owned(),
            "0",
            "must be between 1 and 65535, inclusive",
        );
        let texts: Vec<&str> = all.0.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "spec.ports: Required value",
                "spec.ports[1].port: Invalid value: \"0\": must be between 1 and 65535, inclusive"
            ]
        );
    }
}
