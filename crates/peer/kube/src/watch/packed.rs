//! Compact JSON that is kept for long and read seldom.
//!
//! The status of every automation names every policy of its namespace: 200 automations beside 500 policies have 6 MB of
//! such texts, and ten times as much as trees. They are repetitive, so deflated they take a tenth.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde_json::Value;

/// Shorter texts, in bytes, are not deflated.
const SMALL: usize = 1 << 10;

/// A JSON value as text, deflated when it is long. Equal values are kept as equal bytes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Packed {
    Nothing,
    Text(Box<str>),
    Deflated(Box<[u8]>),
}

impl Packed {
    /// A compact text; none of null.
    pub(crate) fn of(text: Option<&str>) -> Self {
        let Some(text) = text else {
            return Self::Nothing;
        };
        if text.len() < SMALL {
            return Self::Text(text.into());
        }
        // The plain text is the fallback if deflating fails.
        deflated(text).map_or_else(|_| Self::Text(text.into()), Self::Deflated)
    }

    /// Its bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Text(text) => text.len(),
            Self::Deflated(bytes) => bytes.len(),
        }
    }

    /// The value; null if absent.
    pub(crate) fn value(&self) -> Value {
        let text = self.text();
        text.and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    /// The value as JSON, when there is one.
    pub(crate) fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Nothing => None,
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Deflated(bytes) => inflated(bytes).map(Cow::Owned),
        }
    }
}

fn deflated(text: &str) -> std::io::Result<Box<[u8]>> {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::fast());
    deflate.write_all(text.as_bytes())?;
    deflate.finish().map(Vec::into_boxed_slice)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a watched object, unpacked; bound: what it had when it was packed; account: memory of watched objects"
)]
fn inflated(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    DeflateDecoder::new(bytes).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Packed;

    #[test]
    fn what_was_packed_comes_back() {
        let many: serde_json::Map<String, Value> = (0..500)
            .map(|n| {
                (
                    format!("p{n:03}"),
                    json!({"name": "example.com/app", "tag": format!("1.0.{n}")}),
                )
            })
            .collect();
        for value in [json!({}), json!({"a": "b"}), json!({"observedPolicies": many})] {
            let text = value.to_string();
            let packed = Packed::of(Some(&text));
            assert_eq!(packed.value(), value);
            assert!(packed == Packed::of(Some(&text)));
        }
        assert_eq!(Packed::of(None).value(), Value::Null);
    }

    #[test]
    fn long_and_repetitive_values_take_a_fraction() {
        let many: Vec<Value> = (0..500).map(|n| json!({"name": "example.com/app", "tag": n})).collect();
        let text = Value::Array(many).to_string();
        let packed = Packed::of(Some(&text));
        let fraction = |bytes: &[u8]| bytes.len() * 5 < text.len();
        assert!(matches!(packed, Packed::Deflated(bytes) if fraction(&bytes)));
    }
}
