//! Redaction of every text before it is logged or sent.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// Removes secrets from texts. Passwords in URLs are scrubbed at their source (`bumpwright_http`); this is the
/// last gate, for secrets that only the caller has.
#[derive(Clone)]
pub struct Redaction(Option<Arc<Function>>);

type Function = dyn Fn(&str) -> Cow<'_, str> + Send + Sync;

impl Redaction {
    /// Keeps every text.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Redacts with a function. It is called from any thread and must not log.
    #[must_use]
    pub fn new(function: impl Fn(&str) -> Cow<'_, str> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(function)))
    }

    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.0 {
            Some(function) => function(text),
            None => Cow::Borrowed(text),
        }
    }

    /// Redacts all strings in a value, including keys.
    #[must_use]
    pub(crate) fn value(&self, value: Value) -> Value {
        if self.0.is_none() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.text(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                fields
                    .map(|(key, value)| (self.text(&key).into_owned(), self.value(value)))
                    .collect()
            }
            other => other,
        }
    }
}

impl Default for Redaction {
    fn default() -> Self {
        Self::none()
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Redaction(function)"
        } else {
            "Redaction(none)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reaches_every_string() {
        let redaction = Redaction::new(|text| text.replace("hunter2", "***").into());
        let value = json!({"a hunter2": ["hunter2", 1, {"b": "x hunter2"}], "n": null});
        assert_eq!(
            redaction.value(value),
            json!({"a ***": ["***", 1, {"b": "x ***"}], "n": null})
        );
        assert_eq!(redaction.text("a hunter2 b"), "a *** b");
        assert_eq!(Redaction::none().text("hunter2"), "hunter2");
    }
}
