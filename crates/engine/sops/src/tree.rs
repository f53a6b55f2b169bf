//! A document in SOPS' model: entries in their order, comments among them, typed leaves.
//!
//! Nothing here can be printed: decrypted leaves are secrets, and are wiped when dropped.

use bumpwright_gostd::Time;
use zeroize::Zeroizing;

/// Text of a leaf or a comment: bytes, since dotenv and INI files need not be UTF-8.
pub(crate) type Text = Zeroizing<Vec<u8>>;

/// A leaf or a collection.
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// A number above Go's `int`: read by the YAML store, and rejected by everything after it.
    Uint(u64),
    Float(f64),
    Time(Time),
    Text(Text),
    /// Among items: a comment. As the value of a key: a value encrypted with the type `comment`.
    Comment(Comment),
    List(Vec<Self>),
    Branch(Branch),
}

/// A line of comment, without its `#`.
pub(crate) struct Comment {
    pub(crate) text: Text,
    /// Whether it was after a value on the same line.
    pub(crate) inline: bool,
}

/// The key of an entry.
pub(crate) enum Key {
    Name(Vec<u8>),
    /// No key: a comment among entries.
    Comment(Comment),
    /// A YAML key that is not a string, which SOPS rejects.
    Other(Value),
}

/// A key with its value.
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) value: Value,
}

/// Entries in the order of the file. A name may come twice.
pub(crate) type Branch = Vec<Entry>;

/// Maximum depth of collections, since trees are walked by recursion.
pub(crate) const MAX_DEPTH: usize = 1000;

impl Value {
    pub(crate) fn text(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Text(Zeroizing::new(bytes.into()))
    }

    /// Its Go type, as in SOPS' errors.
    pub(crate) const fn go_type(&self) -> &'static str {
        match self {
            Self::Null => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint64",
            Self::Float(_) => "float64",
            Self::Time(_) => "time.Time",
            Self::Text(_) => "string",
            Self::Comment(_) => "sops.Comment",
            Self::List(_) => "[]interface {}",
            Self::Branch(_) => "sops.TreeBranch",
        }
    }
}

impl Comment {
    pub(crate) fn new(bytes: impl Into<Vec<u8>>, inline: bool) -> Self {
        Self {
            text: Zeroizing::new(bytes.into()),
            inline,
        }
    }
}

impl Entry {
    pub(crate) fn new(name: impl Into<Vec<u8>>, value: Value) -> Self {
        Self {
            key: Key::Name(name.into()),
            value,
        }
    }

    pub(crate) const fn comment(comment: Comment) -> Self {
        Self {
            key: Key::Comment(comment),
            value: Value::Null,
        }
    }

    /// Whether this is the entry with a name.
    pub(crate) fn is(&self, name: &[u8]) -> bool {
        matches!(&self.key, Key::Name(key) if key == name)
    }
}
