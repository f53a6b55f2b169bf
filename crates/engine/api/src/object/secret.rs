//! `Secret`: values that are never printed and are wiped from memory when they are dropped.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

use super::meta::{Metadata, ObjectName};

/// A core `v1` Secret; `stringData` wins over `data`. Values are decoded on access, so that an unused Secret
/// (one encrypted by SOPS, in a folder given as manifests) is not an error.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    pub metadata: Metadata,
    /// `type`, such as `Opaque` or `kubernetes.io/tls`.
    pub kind: String,
    values: BTreeMap<String, Value>,
}

#[derive(Clone, PartialEq, Eq)]
enum Value {
    Bytes(Zeroizing<Vec<u8>>),
    NotBase64,
    Encrypted,
}

/// An unusable value of a Secret. The value itself is not part of the error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSecret {
    /// A value under `data` that is not base64.
    #[error("Secret {name}: data.{key} is not base64; write plain text under stringData")]
    NotBase64 { name: ObjectName, key: String },
    /// A value that is SOPS ciphertext.
    #[error("Secret {name}: the value of {key} is encrypted by SOPS; give the decrypted Secret")]
    Encrypted { name: ObjectName, key: String },
    /// A value that is not text, where text is required.
    #[error("Secret {name}: the value of {key} is not UTF-8 text")]
    NotText { name: ObjectName, key: String },
}

impl Secret {
    /// The value of a key; `None` when the Secret does not have it.
    ///
    /// # Errors
    /// When the value cannot be decoded, or is SOPS ciphertext.
    pub fn get(&self, key: &str) -> Result<Option<&[u8]>, InvalidSecret> {
        let (name, owned) = (|| self.metadata.object_name(), key.to_owned());
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Bytes(bytes)) => Ok(Some(bytes.as_slice())),
            Some(Value::NotBase64) => Err(InvalidSecret::NotBase64 {
                name: name(),
                key: owned,
            }),
            Some(Value::Encrypted) => Err(InvalidSecret::Encrypted {
                name: name(),
                key: owned,
            }),
        }
    }

    /// The value of a key as text; `None` when the Secret does not have it.
    ///
    /// # Errors
    /// As [`Secret::get`], and when the value is not UTF-8.
    pub fn text(&self, key: &str) -> Result<Option<&str>, InvalidSecret> {
        let text = self.get(key)?.map(std::str::from_utf8).transpose();
        text.map_err(|_| InvalidSecret::NotText {
            name: self.metadata.object_name(),
            key: key.to_owned(),
        })
    }

    /// All entries with their values.
    ///
    /// # Errors
    /// As [`Secret::get`], for the first that cannot be read.
    pub fn entries(&self) -> Result<Vec<(&str, &[u8])>, InvalidSecret> {
        let entries = self.keys().filter_map(|key| {
            let value = self.get(key).transpose()?;
            Some(value.map(|value| (key, value)))
        });
        entries.collect()
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}

/// Name and keys; never a value.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret")
            .field("name", &self.metadata.object_name().to_string())
            .field("type", &self.kind)
            .field("keys", &self.values.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Wire {
    metadata: Metadata,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    data: BTreeMap<String, Text>,
    #[serde(rename = "stringData", default)]
    string_data: BTreeMap<String, Text>,
}

/// A value as written, wiped when dropped.
struct Text(Zeroizing<String>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Zeroizing::new(text)))
    }
}

impl From<Wire> for Secret {
    fn from(wire: Wire) -> Self {
        let mut values: BTreeMap<String, Value> = BTreeMap::new();
        values.extend(wire.data.into_iter().map(|(key, value)| (key, encoded(&value))));
        values.extend(wire.string_data.into_iter().map(|(key, value)| (key, plain(&value))));
        Self {
            metadata: wire.metadata,
            kind: wire.kind,
            values,
        }
    }
}

fn encoded(text: &Text) -> Value {
    if is_ciphertext(text) {
        return Value::Encrypted;
    }
    // The API server's decoder ignores line breaks, so folded base64 is valid.
    let compact: Zeroizing<String> = Zeroizing::new(text.0.split(['\n', '\r']).collect());
    match STANDARD.decode(compact.as_bytes()) {
        Ok(bytes) => Value::Bytes(Zeroizing::new(bytes)),
        Err(_) => Value::NotBase64,
    }
}

fn plain(text: &Text) -> Value {
    if is_ciphertext(text) {
        return Value::Encrypted;
    }
    Value::Bytes(Zeroizing::new(text.0.as_bytes().to_vec()))
}

fn is_ciphertext(text: &Text) -> bool {
    text.0.starts_with("ENC[AES256_GCM,")
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Wire::deserialize(deserializer).map(Self::from)
    }
}
