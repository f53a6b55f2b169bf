//! The values of a file as a tree, in which each scalar has its number among the scalars of the file.

use granit_parser::{Event, Parser, ScanError};

use super::parser::{offset, options};

/// Nesting deeper than this is refused where values are read.
pub(crate) const DEEPEST: usize = 128;

/// More scalars, with keys, are refused: each rule reads all of them.
pub(crate) const MOST: usize = 100_000;

/// A value of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Scalar {
        text: String,
        /// Its number among the scalars of the file, with keys.
        number: usize,
    },
    List(Vec<Self>),
    /// A mapping, in its order.
    Map(Vec<(String, Self)>),
    /// Something else, such as an alias.
    Other,
}

impl Value {
    /// The value of a key of a mapping; the first one, if there are several.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A scalar that is not empty: text and number.
    #[must_use]
    pub fn scalar(&self) -> Option<(&str, usize)> {
        match self {
            Self::Scalar { text, number } if !text.is_empty() => Some((text, *number)),
            _ => None,
        }
    }
}

/// Why a text cannot be read as a tree.
pub(crate) enum Untold {
    Scan(ScanError),
    /// An offset where it nests too deep.
    TooDeep(usize),
    /// An offset where there are too many scalars.
    TooMany(usize),
}

/// The documents of a YAML file.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>, Untold> {
    let mut options = options();
    options.set_emit_comments(false);
    let mut tree = Tree::default();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(Untold::Scan)?;
        let is_kept = match event {
            Event::MappingStart(..) => tree.open(true),
            Event::SequenceStart(..) => tree.open(false),
            Event::MappingEnd | Event::SequenceEnd => {
                tree.close();
                true
            }
            Event::Alias(_) => {
                tree.other();
                true
            }
            Event::Scalar(value, ..) => {
                tree.scalar(&value);
                true
            }
            _ => true,
        };
        let at = || offset(&span.start);
        if !is_kept {
            return Err(Untold::TooDeep(at()));
        }
        if tree.count > MOST {
            return Err(Untold::TooMany(at()));
        }
    }
    Ok(tree.roots)
}

/// A tree that is built from its nodes in their order.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The values that no other contains, once they are complete.
    pub(crate) roots: Vec<Value>,
    open: Vec<Open>,
    /// The number of scalars.
    count: usize,
}

/// A collection that has not ended.
#[derive(Debug)]
enum Open {
    List(Vec<Value>),
    /// The entries, and the key whose value is next.
    Map(Vec<(String, Value)>, Option<String>),
}

impl Tree {
    /// Begins a collection. Returns whether that is not too deep.
    pub(crate) fn open(&mut self, is_map: bool) -> bool {
        self.open.push(if is_map {
            Open::Map(Vec::new(), None)
        } else {
            Open::List(Vec::new())
        });
        self.open.len() <= DEEPEST
    }

    pub(crate) fn close(&mut self) {
        match self.open.pop() {
            Some(Open::List(items)) => self.add(Value::List(items)),
            Some(Open::Map(entries, _)) => self.add(Value::Map(entries)),
            None => {}
        }
    }

    /// Adds a scalar, a key or a value, and returns its number.
    pub(crate) fn scalar(&mut self, text: &str) -> usize {
        let number = self.count;
        self.count += 1;
        let text = text.to_owned();
        self.add(Value::Scalar { text, number });
        number
    }

    /// Adds a node that is not a scalar and has no values in it.
    pub(crate) fn other(&mut self) {
        self.add(Value::Other);
    }

    fn add(&mut self, value: Value) {
        match self.open.last_mut() {
            None => self.roots.push(value),
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map(entries, key)) => match key.take() {
                Some(key) => entries.push((key, value)),
                None => {
                    // Only a scalar is a key that has a name.
                    *key = Some(match value {
                        Value::Scalar { text, .. } => text,
                        _ => String::new(),
                    });
                }
            },
        }
    }
}
