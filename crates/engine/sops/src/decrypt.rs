//! Decrypts a tree leaf by leaf, and computes the digest over its leaves that a file's MAC is compared with.

use super::cipher::{Cipher, CipherError};
use super::leftover::ENVELOPE;
use super::rules::{Decider, Exhausted, Rule};
use super::tree::{Branch, Comment, Entry, Key, Value};
use bumpwright_gostd::format_float;
use sha2::{Digest, Sha512};
use std::fmt::Write;

/// The prefix of a digest over only encrypted leaves: SHA-256 of `sops`.
const ONLY_ENCRYPTED: [u8; 32] = [
    0x8a, 0x3f, 0xd2, 0xad, 0x54, 0xce, 0x66, 0x52, 0x7b, 0x10, 0x34, 0xf3, 0xd1, 0x47, 0xbe, 0x0b, 0x0b, 0x97, 0x5b,
    0x3b, 0xf4, 0x4f, 0x72, 0xc6, 0xfd, 0xad, 0xec, 0x81, 0x76, 0xf2, 0x7d, 0x69,
];

/// Why a tree cannot be decrypted, in SOPS' words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WalkError {
    #[error("Could not decrypt value: {0}")]
    Value(CipherError),
    #[error("could not decrypt value at '{0}': {1}")]
    ValueAt(String, CipherError),
    #[error("Expected encrypted value as string, but got {0}")]
    NoText(&'static str),
    #[error("Cannot walk value, unknown type: {0}")]
    UnknownType(&'static str),
    #[error("walkValue of Comment should be either Comment or string, was {0}")]
    Comment(&'static str),
    #[error("Tree contains a non-string key (type {0}): {1}. Only string keys are supported")]
    NoName(&'static str, String),
    #[error("Could not convert time to bytes: Time.MarshalText: {0}")]
    Time(&'static str),
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

/// The digests that a file's MAC may have, in hexadecimal.
pub(crate) struct Digests {
    /// As SOPS computes it when it decrypts.
    pub(crate) decrypted: String,
    /// As it was computed when the file was encrypted. SOPS 3.13 turns comments in lists into items, which it counts
    /// when it decrypts and not when it encrypts; so it rejects such files of its own, and kustomize-controller, which
    /// ignores the MAC, accepts them.
    pub(crate) encrypted: Option<String>,
}

/// Decrypts all documents in place; returns the digests over them.
pub(crate) fn decrypt(
    branches: &mut [Branch],
    cipher: &Cipher,
    rule: Rule,
    only_encrypted: bool,
) -> Result<Digests, WalkError> {
    let mut walk = Walk {
        cipher,
        decider: Decider::new(rule),
        only_encrypted,
        digest: Sha512::new(),
        without_items: None,
        path: Vec::new(),
        marks: Vec::new(),
        comments: Vec::new(),
    };
    if only_encrypted {
        walk.digest.update(ONLY_ENCRYPTED);
    }
    for branch in branches {
        walk.branch(branch)?;
    }
    Ok(Digests {
        decrypted: hexadecimal(walk.digest),
        encrypted: walk.without_items.map(hexadecimal),
    })
}

fn hexadecimal(digest: Sha512) -> String {
    let mut text = String::with_capacity(128);
    for byte in digest.finalize() {
        let _ = write!(text, "{byte:02X}"); // writing to a text does not fail
    }
    text
}

struct Walk<'c> {
    cipher: &'c Cipher,
    decider: Decider,
    only_encrypted: bool,
    digest: Sha512,
    /// The same without items that turned out to be comments, once there is one.
    without_items: Option<Sha512>,
    /// The names down to the current leaf, each followed by `:`.
    path: Vec<u8>,
    /// Whether the rule marks them.
    marks: Vec<bool>,
    /// The comments in force, level by level, as written.
    comments: Vec<Vec<Vec<u8>>>,
}

impl Walk<'_> {
    fn branch(&mut self, branch: &mut Branch) -> Result<(), WalkError> {
        self.comments.push(Vec::new());
        for entry in branch {
            self.entry(entry)?;
        }
        self.comments.pop();
        Ok(())
    }

    fn entry(&mut self, entry: &mut Entry) -> Result<(), WalkError> {
        let name = match &mut entry.key {
            Key::Comment(comment) => {
                self.remember(comment);
                return self.comment_among_entries(comment);
            }
            Key::Other(other) => return Err(WalkError::NoName(other.go_type(), formatted(other))),
            Key::Name(name) => &*name,
        };
        let is_comment = matches!(entry.value, Value::Comment(_));
        if let Value::Comment(comment) = &entry.value {
            self.remember(comment);
        }
        let length = self.path.len();
        self.path.extend_from_slice(name);
        self.path.push(b':');
        self.marks.push(self.decider.marks_name(name)?);
        self.value(&mut entry.value)?;
        self.marks.pop();
        self.path.truncate(length);
        if !is_comment {
            self.forget();
        }
        Ok(())
    }

    fn remember(&mut self, comment: &Comment) {
        if let Some(level) = self.comments.last_mut() {
            level.push(comment.text.to_vec());
        }
    }

    fn forget(&mut self) {
        if let Some(level) = self.comments.last_mut() {
            level.clear();
        }
    }

    fn value(&mut self, value: &mut Value) -> Result<(), WalkError> {
        match value {
            Value::Null => Ok(()),
            Value::Uint(_) => Err(WalkError::UnknownType(value.go_type())),
            Value::Branch(branch) => self.branch(branch),
            Value::List(items) => self.list(items),
            leaf => self.leaf(leaf),
        }
    }

    fn list(&mut self, items: &mut [Value]) -> Result<(), WalkError> {
        self.comments.push(Vec::new());
        for item in items {
            let is_comment = matches!(item, Value::Comment(_));
            if let Value::Comment(comment) = item {
                self.remember(comment);
            }
            let before =
                matches!(item, Value::Text(_)).then(|| self.without_items.as_ref().unwrap_or(&self.digest).clone());
            self.value(item)?;
            if matches!(item, Value::Comment(_)) && before.is_some() {
                self.without_items = before;
            }
            if !is_comment {
                self.forget();
            }
        }
        self.comments.pop();
        Ok(())
    }

    /// Whether a leaf that is not among the comments of a level is encrypted.
    fn is_leaf_encrypted(&mut self, leaf: &Value) -> Result<bool, WalkError> {
        if self.decider.goes_by_envelopes() {
            Ok(matches!(leaf, Value::Text(text) if text.starts_with(ENVELOPE)))
        } else {
            self.is_encrypted(matches!(leaf, Value::Comment(_)))
        }
    }

    /// The error for the value at the current path. Where nothing but its looks says that it is encrypted,
    /// its path is reported.
    fn undecryptable(&self, error: CipherError) -> WalkError {
        if !self.decider.goes_by_envelopes() {
            return WalkError::Value(error);
        }
        let path = String::from_utf8_lossy(&self.path);
        WalkError::ValueAt(path.trim_end_matches(':').replace(':', "."), error)
    }

    fn is_encrypted(&mut self, is_comment: bool) -> Result<bool, WalkError> {
        let marked = self.marks.contains(&true);
        Ok(self.decider.is_encrypted(marked, &self.comments, is_comment)?)
    }

    fn leaf(&mut self, leaf: &mut Value) -> Result<(), WalkError> {
        let is_comment = matches!(leaf, Value::Comment(_));
        let encrypted = self.is_leaf_encrypted(leaf)?;
        if encrypted {
            match leaf {
                Value::Comment(comment) => {
                    // A comment that cannot be decrypted was never encrypted.
                    if let Ok(plain) = self.cipher.decrypt(&comment.text, &self.path) {
                        *leaf = plain;
                    }
                }
                Value::Text(text) => {
                    let plain = self.cipher.decrypt(text, &self.path);
                    *leaf = plain.map_err(|error| self.undecryptable(error))?;
                }
                other => return Err(WalkError::NoText(other.go_type())),
            }
        }
        if !is_comment && (encrypted || !self.only_encrypted) {
            self.count(leaf)?;
        }
        Ok(())
    }

    fn comment_among_entries(&mut self, comment: &mut Comment) -> Result<(), WalkError> {
        if !self.is_encrypted(true)? {
            return Ok(());
        }
        // A comment at the top is at the empty path, which SOPS spells like one with an empty name.
        let path: &[u8] = if self.path.is_empty() { b":" } else { &self.path };
        match self.cipher.decrypt(&comment.text, path) {
            Err(_) => Ok(()),
            Ok(Value::Comment(plain)) => {
                *comment = plain;
                Ok(())
            }
            Ok(Value::Text(text)) => {
                comment.text = text;
                Ok(())
            }
            Ok(other) => Err(WalkError::Comment(other.go_type())),
        }
    }

    /// Adds a leaf to the digests, in SOPS' encoding as bytes.
    fn count(&mut self, leaf: &Value) -> Result<(), WalkError> {
        match leaf {
            Value::Text(text) => self.update(text),
            Value::Comment(comment) => self.update(&comment.text),
            Value::Int(number) => self.update(number.to_string().as_bytes()),
            Value::Float(number) => self.update(format_float(*number, b'f', None, 64).as_bytes()),
            Value::Bool(true) => self.update(b"True"),
            Value::Bool(false) => self.update(b"False"),
            Value::Time(time) => self.update(&time.rfc_3339().map_err(WalkError::Time)?),
            Value::Null | Value::Uint(_) | Value::List(_) | Value::Branch(_) => {}
        }
        Ok(())
    }

    fn update(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        if let Some(digest) = &mut self.without_items {
            digest.update(bytes);
        }
    }
}

/// A key that is not a string as Go's `%s` prints it.
fn formatted(key: &Value) -> String {
    match key {
        Value::Int(number) => format!("%!s(int={number})"),
        Value::Uint(number) => format!("%!s(uint64={number})"),
        Value::Float(number) => format!("%!s(float64={})", format_float(*number, b'g', None, 64)),
        Value::Bool(boolean) => format!("%!s(bool={boolean})"),
        Value::Time(time) => String::from_utf8_lossy(&time.text()).into_owned(),
        _ => "%!s(<nil>)".to_owned(),
    }
}
