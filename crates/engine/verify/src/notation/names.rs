//! Distinguished names, as trust policies spell them (RFC 4514) and as certificates have them.

use std::collections::BTreeMap;

use crate::cosign::der::{Der, SEQUENCE, SET};
use thiserror::Error;

/// Attributes by the last arc of their identifiers below 2.5.4.
const ATTRIBUTES: [(u8, &str); 9] = [
    (3, "CN"),
    (5, "SERIALNUMBER"),
    (6, "C"),
    (7, "L"),
    (8, "ST"),
    (9, "STREET"),
    (10, "O"),
    (11, "OU"),
    (17, "POSTALCODE"),
];
/// Those that a trusted identity must have.
const REQUIRED: [&str; 3] = ["C", "ST", "O"];
/// Kinds of text: UTF8String, PrintableString, T61String, IA5String.
const TEXTS: [u8; 4] = [0x0c, 0x13, 0x14, 0x16];

/// Why the name of a trusted identity is not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("parsing distinguished name (DN) {name:?} failed with err: {problem}")]
pub struct NameError {
    pub name: String,
    /// What is wrong with it.
    #[source]
    pub problem: NameProblem,
}

/// What is wrong with a name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameProblem {
    /// It ends within an escape.
    #[error("incomplete escape")]
    OpenEscape,
    /// A part has no value.
    #[error("incomplete type, value pair")]
    NoValue,
    /// A part has an escape that does not exist, or several attributes.
    #[error("invalid escape, or several attributes in one part (+)")]
    Value,
    /// An attribute is given twice.
    #[error("duplicate RDN attribute for {0:?}")]
    Twice(String),
    /// An attribute is missing.
    #[error("it has no mandatory RDN attribute for {0:?}")]
    Missing(&'static str),
}

/// A name with each attribute at most once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name(BTreeMap<String, String>);

impl Name {
    /// Reads the name of a trusted identity.
    pub(super) fn read(text: &str) -> Result<Self, NameError> {
        let attributes = attributes(text).map_err(|problem| NameError {
            name: text.to_owned(),
            problem,
        })?;
        Ok(Self(attributes))
    }

    /// The name in a certificate. `None` when an attribute is twice in it.
    pub(super) fn of_certificate(der: &[u8]) -> Option<Self> {
        let mut parts = Der(der).sequence()?;
        let mut attributes = BTreeMap::new();
        while !parts.is_empty() {
            let mut set = Der(parts.element(SET)?);
            let mut pair = Der(set.element(SEQUENCE)?);
            let identifier = pair.object()?;
            let value = pair.any().filter(|_| set.is_empty())?;
            let [0x55, 0x04, arc] = identifier else { continue };
            let attribute = ATTRIBUTES.iter().find(|(known, _)| known == arc);
            let Some((_, name)) = attribute.filter(|_| TEXTS.contains(&value.tag)) else {
                continue;
            };
            let value = String::from_utf8(value.content.to_vec()).ok()?;
            if attributes.insert((*name).to_owned(), value).is_some() {
                return None;
            }
        }
        Some(Self(attributes))
    }

    /// Whether the other name has all attributes of this one.
    pub(super) fn is_part_of(&self, other: &Self) -> bool {
        self.0.iter().all(|(name, value)| other.0.get(name) == Some(value))
    }
}

fn attributes(text: &str) -> Result<BTreeMap<String, String>, NameProblem> {
    let mut attributes = BTreeMap::new();
    for part in split(text).ok_or(NameProblem::OpenEscape)? {
        let (name, value) = part.split_once('=').ok_or(NameProblem::NoValue)?;
        let name = name.trim().to_ascii_uppercase();
        let name = if name == "S" { "ST".to_owned() } else { name };
        let value = unescaped(value.trim()).ok_or(NameProblem::Value)?;
        if attributes.insert(name.clone(), value).is_some() {
            return Err(NameProblem::Twice(name));
        }
    }
    match REQUIRED.iter().find(|name| !attributes.contains_key(**name)) {
        Some(name) => Err(NameProblem::Missing(name)),
        None => Ok(attributes),
    }
}

/// The parts between commas that are not escaped.
fn split(text: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ',' => parts.push(String::new()),
            '\\' => {
                let last = parts.last_mut()?;
                last.push(letter);
                last.push(letters.next()?);
            }
            letter => parts.last_mut()?.push(letter),
        }
    }
    Some(parts)
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let mut pushed = [0; 4];
        match letter {
            '+' => return None,
            '\\' => {
                let next = letters.next()?;
                match next.to_digit(16) {
                    Some(high) => bytes.push(u8::try_from(high << 4 | letters.next()?.to_digit(16)?).ok()?),
                    None => bytes.extend_from_slice(next.encode_utf8(&mut pushed).as_bytes()),
                }
            }
            letter => bytes.extend_from_slice(letter.encode_utf8(&mut pushed).as_bytes()),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_compared_by_attribute() {
        let read = |text: &str| Name::read(text);
        let name = read("C=US, S=WA, O=Acme\\, Inc., CN=a\\2Bb").unwrap();
        assert!(read("O=Acme\\2c Inc.,c=US,ST=WA").unwrap().is_part_of(&name));
        assert!(!read("O=Acme,C=US,ST=WA").unwrap().is_part_of(&name));
        assert!(!name.is_part_of(&read("O=Acme\\, Inc.,C=US,ST=WA").unwrap()));
        for wrong in [
            "C=US,ST=WA",
            "C=US,ST=WA,O=a,O=b",
            "C=US,ST=WA,O=a+OU=b",
            "C=US,ST=WA,O",
            "C=US,ST=WA,O=a\\",
            "",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
