//! The tree: scalars with text and tag, mappings in the order of the file, sequences, and the place of each node.

use super::place::Place;
use compact_str::CompactString;

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its start. Copies keep the place of their original.
    pub place: Place,
    pub value: Value,
}

/// The value of a node. Aliases are replaced when a text is read.
#[derive(Debug, Clone)]
pub enum Value {
    /// Text with a tag.
    Scalar(Scalar),
    Mapping(Mapping),
    Sequence(Sequence),
}

/// A text with its tag and style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The text after unquoting and unfolding.
    pub text: CompactString,
    /// The type; never changed by a change of the text alone, as in yaml.v3.
    pub tag: Tag,
    pub style: Style,
}

/// The tags of YAML 1.1 that Go's libraries resolve to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    Null,
    Bool,
    Int,
    Float,
    Timestamp,
    Str,
    /// `!!binary`: base64 of bytes.
    Binary,
    /// `!!merge`: the key `<<`.
    Merge,
    /// Any other, as written or with its prefix resolved. An empty one counts as none: style and text decide the type.
    Other(Box<str>),
}

/// The style of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    #[default]
    Plain,
    /// `'…'`
    Single,
    /// `"…"`
    Double,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

/// Entries in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    /// The entries. Keys are unique, unless duplicates were allowed when reading.
    pub entries: Vec<Entry>,
    /// Whether it was written as `{…}`.
    pub flow: bool,
    /// An explicit tag, other than `!!map`.
    pub tag: Option<Box<str>>,
}

/// A key with its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key. Go's libraries accept only scalars on the way to JSON.
    pub key: Scalar,
    /// The place of the key.
    pub place: Place,
    pub value: Node,
}

/// The items of a sequence, and how it was written.
#[derive(Debug, Clone, Default)]
pub struct Sequence {
    pub items: Vec<Node>,
    /// Whether it was written as `[…]`.
    pub flow: bool,
    /// An explicit tag, other than `!!seq`.
    pub tag: Option<Box<str>>,
}

impl Scalar {
    pub fn string(text: impl Into<CompactString>) -> Self {
        Self {
            text: text.into(),
            tag: Tag::Str,
            style: Style::Plain,
        }
    }

    /// Whether kyaml treats it as a string: it is one, or has no tag.
    #[must_use]
    pub fn is_string(&self) -> bool {
        match &self.tag {
            Tag::Str => true,
            Tag::Other(tag) => tag.is_empty(),
            _ => false,
        }
    }

    /// Whether this is the string or the plain word `text`, whatever its tag: the comparison of keys.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.text == text
    }
}

impl Node {
    /// A node without a file.
    #[must_use]
    pub const fn new(value: Value) -> Self {
        Self {
            place: Place::NONE,
            value,
        }
    }

    pub fn string(text: impl Into<CompactString>) -> Self {
        Self::new(Value::Scalar(Scalar::string(text)))
    }

    #[must_use]
    pub fn null() -> Self {
        Self::new(Value::Scalar(Scalar {
            text: CompactString::const_new("null"),
            tag: Tag::Null,
            style: Style::Plain,
        }))
    }

    /// A mapping without entries.
    #[must_use]
    pub fn mapping() -> Self {
        Self::new(Value::Mapping(Mapping::default()))
    }

    /// A sequence of these items.
    #[must_use]
    pub fn sequence(items: Vec<Self>) -> Self {
        Self::new(Value::Sequence(Sequence {
            items,
            ..Sequence::default()
        }))
    }

    /// The same node with another place.
    #[must_use]
    pub const fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Whether it is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.tag == Tag::Null)
    }

    /// The scalar, if it is one.
    #[must_use]
    pub const fn as_scalar(&self) -> Option<&Scalar> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The text of a scalar with any tag but null.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar()
            .filter(|scalar| scalar.tag != Tag::Null)
            .map(|scalar| scalar.text.as_str())
    }

    /// The text of a scalar, as by [`Self::as_str`]; empty for null and for collections.
    #[must_use]
    pub fn text(&self) -> &str {
        self.as_str().unwrap_or("")
    }

    /// The text of a scalar of any tag, null as it is written; empty for collections.
    #[must_use]
    pub fn written(&self) -> &str {
        self.as_scalar().map_or("", |scalar| &scalar.text)
    }

    /// The mapping, if it is one.
    #[must_use]
    pub const fn as_mapping(&self) -> Option<&Mapping> {
        match &self.value {
            Value::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The entries of a mapping; none of anything else.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Mapping(mapping) => &mapping.entries,
            _ => &[],
        }
    }

    /// The mapping, if it is one, mutable.
    pub const fn as_mapping_mut(&mut self) -> Option<&mut Mapping> {
        match &mut self.value {
            Value::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The items of a sequence; none of anything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::Sequence(sequence) => &sequence.items,
            _ => &[],
        }
    }

    /// The items, if it is a sequence.
    #[must_use]
    pub fn as_items(&self) -> Option<&[Self]> {
        match &self.value {
            Value::Sequence(sequence) => Some(&sequence.items),
            _ => None,
        }
    }

    /// The items, if it is a sequence, mutable.
    pub const fn as_items_mut(&mut self) -> Option<&mut Vec<Self>> {
        match &mut self.value {
            Value::Sequence(sequence) => Some(&mut sequence.items),
            _ => None,
        }
    }

    /// The value under a key of a mapping.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_mapping()?.get(key)
    }

    /// The value under a key of a mapping, mutable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.as_mapping_mut()?.get_mut(key)
    }

    /// The value at a path of keys.
    #[must_use]
    pub fn lookup(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The string at a path of keys, as by [`Self::as_str`]; empty without one.
    #[must_use]
    pub fn text_at(&self, path: &[&str]) -> &str {
        self.lookup(path).map_or("", Self::text)
    }

    /// The items of the sequence at a path of keys; none without one.
    #[must_use]
    pub fn items_at(&self, path: &[&str]) -> &[Self] {
        self.lookup(path).map_or(&[], Self::items)
    }

    /// The entries of the mapping at a path of keys; none without one.
    #[must_use]
    pub fn entries_at(&self, path: &[&str]) -> &[Entry] {
        self.lookup(path).map_or(&[], Self::entries)
    }

    /// The value at a path of keys, mutable.
    pub fn lookup_mut(&mut self, path: &[&str]) -> Option<&mut Self> {
        path.iter().try_fold(self, |node, key| node.get_mut(key))
    }
}

impl Mapping {
    /// The value under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value under a key, mutable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let entry = self.entries.iter_mut().find(|entry| entry.key.is(key));
        entry.map(|entry| &mut entry.value)
    }

    /// The entry of a key.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key.is(key))
    }

    /// Sets the value under `key`: replaces an existing one in its position, or appends.
    pub fn set(&mut self, key: &str, value: Node) {
        match self.get_mut(key) {
            Some(old) => *old = value,
            None => self.entries.push(Entry {
                key: Scalar::string(key),
                place: value.place,
                value,
            }),
        }
    }

    /// Removes a key with its value, and returns that.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|entry| entry.key.is(key))?;
        Some(self.entries.remove(at).value)
    }

    /// The value under `key`, created by `new` if missing.
    pub fn get_or_insert_with(&mut self, key: &str, new: impl FnOnce() -> Node) -> &mut Node {
        let at = self.entries.iter().position(|entry| entry.key.is(key));
        let at = at.unwrap_or_else(|| {
            let value = new();
            self.entries.push(Entry {
                key: Scalar::string(key),
                place: value.place,
                value,
            });
            self.entries.len() - 1
        });
        #[allow(clippy::indexing_slicing)] // found or pushed above
        &mut self.entries[at].value
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_keeps_the_order_of_its_keys() {
        let mut node = Node::mapping();
        let mapping = node.as_mapping_mut().unwrap();
        mapping.set("b", Node::string("1"));
        mapping.set("a", Node::string("2"));
        mapping.set("b", Node::string("3"));
        *mapping.get_or_insert_with("c", Node::mapping) = Node::null();
        let keys: Vec<_> = mapping.entries.iter().map(|entry| entry.key.text.as_str()).collect();
        assert_eq!(keys, ["b", "a", "c"]);
        assert_eq!(node.get("b").and_then(Node::as_str), Some("3"));
        assert!(node.get("c").is_some_and(Node::is_null));
        assert!(node.as_mapping_mut().unwrap().remove("a").is_some());
        assert!(node.lookup(&["a"]).is_none());
    }

    #[test]
    fn a_node_is_small() {
        assert!(std::mem::size_of::<Node>() <= 72, "{}", std::mem::size_of::<Node>());
    }
}
