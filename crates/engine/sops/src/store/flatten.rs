//! Metadata of flat formats: converts `age__list_0__map_enc` back to a tree.

use crate::tree::{Branch, Entry, Key, MAX_DEPTH, Value};
use bumpwright_gostd::{atoi, quote_bytes};
use bumpwright_text::Parts;
use std::collections::BTreeMap;

const MAP: &[u8] = b"__map_";
const LIST: &[u8] = b"__list_";

/// Why flat keys do not form a tree, in SOPS' words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnflattenError {
    #[error("Error while unflattening {0}: Duplicate value")]
    Duplicate(String),
    #[error("Error while unflattening: Type mismatch")]
    Mismatch,
    #[error("Error while unflattening: Incomplete list")]
    Incomplete,
    #[error("Error while unflattening {0}: more than {MAX_DEPTH} levels")]
    Deep(String),
    #[error("Found non-string key {0} when unflattening")]
    NoName(String),
}

#[derive(Default)]
struct Node {
    value: Option<Value>,
    names: BTreeMap<Vec<u8>, Self>,
    items: BTreeMap<i64, Self>,
}

enum Token<'a> {
    Name(&'a [u8]),
    Item(i64),
}

/// The tree of flat entries; comments are left out, names sorted.
pub(crate) fn unflatten(branch: Branch) -> Result<Branch, UnflattenError> {
    let mut root = Node::default();
    for entry in branch {
        match entry.key {
            Key::Comment(_) => {}
            Key::Name(name) => root.place(&name, entry.value)?,
            Key::Other(other) => return Err(UnflattenError::NoName(other.go_type().to_owned())),
        }
    }
    match root.into_value()? {
        Value::Branch(branch) => Ok(branch),
        _ => Err(UnflattenError::Mismatch),
    }
}

impl Node {
    fn place(&mut self, name: &[u8], value: Value) -> Result<(), UnflattenError> {
        let tokens = tokens(name);
        if tokens.len() > MAX_DEPTH {
            return Err(UnflattenError::Deep(quote_bytes(name.get(..64).unwrap_or(name))));
        }
        let mut node = self;
        for token in tokens {
            node = match token {
                Token::Name(name) => node.names.entry(name.to_vec()).or_default(),
                Token::Item(at) => node.items.entry(at).or_default(),
            };
        }
        match node.value.replace(value) {
            Some(_) => Err(UnflattenError::Duplicate(quote_bytes(name))),
            None => Ok(()),
        }
    }

    fn into_value(self) -> Result<Value, UnflattenError> {
        let kinds = [self.value.is_some(), !self.names.is_empty(), !self.items.is_empty()];
        if kinds.iter().filter(|there| **there).count() > 1 {
            return Err(UnflattenError::Mismatch);
        }
        if let Some(value) = self.value {
            return Ok(value);
        }
        if self.items.is_empty() {
            let entries = self.names.into_iter();
            let entries = entries.map(|(name, node)| Ok(Entry::new(name, node.into_value()?)));
            return Ok(Value::Branch(entries.collect::<Result<_, _>>()?));
        }
        let complete = self.items.keys().zip(0..).all(|(at, wanted)| *at == wanted);
        if !complete {
            return Err(UnflattenError::Incomplete);
        }
        let items = self.items.into_values().map(Self::into_value);
        Ok(Value::List(items.collect::<Result<_, _>>()?))
    }
}

fn tokens(path: &[u8]) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut start, mut list, mut at) = (0, false, 0);
    let token = |start: usize, end: usize, list: bool| {
        let text = path.part(start..end);
        if list {
            Token::Item(atoi(text).unwrap_or_default())
        } else {
            Token::Name(text)
        }
    };
    while let Some(rest) = path.get(at..).filter(|rest| !rest.is_empty()) {
        let separator = match (rest.starts_with(MAP), rest.starts_with(LIST)) {
            (true, _) => MAP,
            (_, true) => LIST,
            _ => {
                at += 1;
                continue;
            }
        };
        tokens.push(token(start, at, list));
        at += separator.len();
        (start, list) = (at, separator == LIST);
    }
    tokens.push(token(start, at, list));
    tokens
}
