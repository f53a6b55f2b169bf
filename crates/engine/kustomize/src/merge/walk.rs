//! Walks over object and patch together.
//!
//! Every function gets the object's value (`dest`) and the source of the patch ([`Origin`]), changes both in place, and
//! returns which of them is the result ([`Outcome`]): the caller moves it to its destination.

use super::directive::{self, Directive};
use super::step::{NodeKind, Origin, Outcome, Walk};
use super::{MergeError, elements};
use crate::fields::is_other_in_yaml_1_1;
use crate::schema::{Schema, TypeRef};
use bumpwright_yaml::{Entry, Mapping, Node, Style, Tag, Value};

/// Maximum depth, of which real objects have thirty: recursion stays within a thread's stack.
const MAX_DEPTH: usize = 1000;

/// The result of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merged {
    Kept,
    /// The patch deletes it. What is left of the node is meaningless.
    Deleted,
}

/// Merges `patch` into `object`, in time linear in both.
///
/// # Errors
///
/// When the patch has other kinds of values than the object or an unknown directive. The object is then half merged.
pub fn merge(object: &mut Node, mut patch: Node, schema: &Schema) -> Result<Merged, MergeError> {
    let walk = Walk { schema, depth: 0 };
    match walk.node(Some(object), Origin::Patch(&mut patch), None)? {
        // The whole object cannot be replaced: kustomize continues with the old one.
        Outcome::Dest | Outcome::Origin => Ok(Merged::Kept),
        Outcome::Gone => Ok(Merged::Deleted),
    }
}

type Type<'s> = Option<TypeRef<'s>>;

impl<'s> Walk<'s> {
    pub(super) fn node(self, dest: Option<&mut Node>, origin: Origin<'_>, of: Type<'s>) -> Result<Outcome, MergeError> {
        let of = of.or_else(|| self.own_type(dest.as_deref(), &origin));
        let kind = self.kind(dest.as_deref(), &origin)?;
        let below = Self {
            depth: self.depth + 1,
            ..self
        };
        match (kind, of.and_then(TypeRef::merge_keys)) {
            (Some(NodeKind::Mapping) | None, _) => below.mapping(dest, origin, of),
            (Some(NodeKind::List), Some(_)) => below.list(dest, origin, of),
            (Some(NodeKind::List | NodeKind::Scalar), _) => Ok(match origin {
                Origin::Patch(patch) if patch.is_null() => Outcome::Gone,
                Origin::Patch(_) => Outcome::Origin,
                Origin::Absent | Origin::Same => Outcome::Dest,
            }),
        }
    }

    /// The type that a value declares itself, as objects within objects do.
    fn own_type(self, dest: Option<&Node>, origin: &Origin<'_>) -> Type<'s> {
        let declared = |node: &Node| {
            let text = |key| node.get(key).map_or("", |value| value.as_str().unwrap_or(""));
            let (version, kind) = (text("apiVersion"), text("kind"));
            let complete = !version.is_empty() && !kind.is_empty();
            complete.then(|| self.schema.kind(version, kind)).flatten()
        };
        dest.and_then(declared).or_else(|| match origin {
            Origin::Patch(patch) => declared(patch),
            Origin::Absent | Origin::Same => None,
        })
    }

    /// The kind of both sides, unless both are null; an error if they differ.
    fn kind(self, dest: Option<&Node>, origin: &Origin<'_>) -> Result<Option<NodeKind>, MergeError> {
        let dest = dest.filter(|node| !node.is_null());
        let patch = match origin {
            Origin::Patch(patch) if !patch.is_null() => Some(&**patch),
            _ => None,
        };
        if let Some(node) = patch.or(dest).filter(|_| self.depth > MAX_DEPTH) {
            return Err(MergeError::Depth {
                path: String::new(),
                place: node.place,
            });
        }
        match (dest, patch) {
            (Some(dest), Some(patch)) => NodeKind::of(dest).expect_of(patch).map(Some),
            (Some(one), None) | (None, Some(one)) => Ok(Some(NodeKind::of(one))),
            (None, None) => Ok(None),
        }
    }

    fn mapping(self, dest: Option<&mut Node>, origin: Origin<'_>, of: Type<'s>) -> Result<Outcome, MergeError> {
        let kept_null = dest.as_deref().is_some_and(is_written_null);
        let dest = dest.and_then(Node::as_mapping_mut);
        match (dest, origin) {
            // An explicit null stays; an empty value does not.
            (None, Origin::Absent) if kept_null => Ok(Outcome::Dest),
            (None, Origin::Absent | Origin::Same) => Ok(Outcome::Gone),
            (None, Origin::Patch(patch)) => {
                let Some(patch) = patch.as_mapping_mut() else {
                    return Ok(Outcome::Gone);
                };
                // An unknown directive is not an error here, and stays.
                if directive::of_mapping(patch) == Ok(Directive::Delete) {
                    return Ok(Outcome::Gone);
                }
                self.fields(patch, None, true, of)?;
                Ok(Outcome::Origin)
            }
            (Some(dest), Origin::Absent) => self.fields(dest, None, false, of),
            (Some(dest), Origin::Same) => match directive::of_mapping(dest)? {
                Directive::Delete => Ok(Outcome::Gone),
                Directive::Merge | Directive::Replace => self.fields(dest, None, true, of),
            },
            (Some(dest), Origin::Patch(patch)) => {
                let Some(patch) = patch.as_mapping_mut() else {
                    return Ok(Outcome::Gone);
                };
                match directive::of_mapping(patch)? {
                    Directive::Delete => Ok(Outcome::Gone),
                    Directive::Replace => self.fields(patch, None, true, of).map(|_| Outcome::Origin),
                    Directive::Merge => self.fields(dest, Some(patch), false, of),
                }
            }
        }
    }

    /// Merges the fields of `patch` into `dest`; without one, walks over `dest` alone, as part of the
    /// patch (`same`) or not.
    fn fields(
        self,
        dest: &mut Mapping,
        patch: Option<&mut Mapping>,
        same: bool,
        of: Type<'s>,
    ) -> Result<Outcome, MergeError> {
        let mut patch = patch.map(PatchFields::new);
        if let Some(patch) = patch.as_ref().filter(|_| dest.entries.is_empty()) {
            dest.flow = patch.flow;
        }
        let again = repeated(&dest.entries);
        let (mut fault, mut at) = (None, 0..);
        dest.entries.retain_mut(|entry| {
            // The second of duplicate fields stays as it is.
            let is_again = at.next().is_some_and(|at| again.binary_search(&at).is_ok());
            if fault.is_some() || is_again {
                return true;
            }
            let from = patch.as_mut().and_then(|patch| patch.take(&entry.key.text));
            match self.field(entry, from, same, of) {
                Ok(keep) => keep,
                Err(error) => {
                    fault = Some(error.below(&entry.key.text));
                    true
                }
            }
        });
        if let Some(error) = fault {
            return Err(error);
        }
        for mut entry in patch.into_iter().flat_map(PatchFields::rest) {
            let field = of.and_then(|of| of.field(&entry.key.text));
            let outcome = self.node(None, Origin::Patch(&mut entry.value), field);
            if outcome.map_err(|error| error.below(&entry.key.text))? == Outcome::Origin {
                quote_old_words(&mut entry.value);
                dest.entries.push(entry);
            }
        }
        Ok(Outcome::Dest)
    }

    /// Merges one field that the object has; returns whether it stays.
    fn field(self, entry: &mut Entry, from: Option<Node>, same: bool, of: Type<'s>) -> Result<bool, MergeError> {
        let of = of.and_then(|of| of.field(&entry.key.text));
        let Some(mut patch) = from else {
            let origin = if same { Origin::Same } else { Origin::Absent };
            let outcome = self.node(Some(&mut entry.value), origin, of)?;
            quote_old_words(&mut entry.value);
            return Ok(outcome != Outcome::Gone);
        };
        let outcome = self.node(Some(&mut entry.value), Origin::Patch(&mut patch), of)?;
        if outcome == Outcome::Origin {
            take_style(&mut patch, &entry.value);
            entry.value = patch;
        }
        Ok(outcome != Outcome::Gone)
    }

    /// Merges a list whose elements have keys or are values of a set.
    fn list(self, mut dest: Option<&mut Node>, origin: Origin<'_>, of: Type<'s>) -> Result<Outcome, MergeError> {
        if let (Some(dest), Origin::Patch(patch)) = (dest.as_deref_mut(), &origin)
            && let (Value::Sequence(dest), Value::Sequence(patch)) = (&mut dest.value, &patch.value)
            && dest.items.is_empty()
        {
            dest.flow = patch.flow;
        }
        match (dest.and_then(Node::as_items_mut), origin) {
            (None, Origin::Patch(patch)) => {
                let Some(items) = patch.as_items_mut() else {
                    return Ok(Outcome::Gone);
                };
                elements::merge(self, items, elements::PatchList::Same, of)?;
                Ok(Outcome::Origin)
            }
            (None, Origin::Absent | Origin::Same) => Ok(Outcome::Gone),
            (Some(dest), Origin::Absent) => elements::merge(self, dest, elements::PatchList::Absent, of),
            (Some(dest), Origin::Same) => match directive::of_list(dest)? {
                Directive::Delete => Ok(Outcome::Gone),
                Directive::Merge | Directive::Replace => elements::merge(self, dest, elements::PatchList::Same, of),
            },
            (Some(dest), Origin::Patch(patch)) => {
                let Some(items) = patch.as_items_mut() else {
                    return Ok(Outcome::Gone);
                };
                match directive::of_list(items)? {
                    Directive::Delete => Ok(Outcome::Gone),
                    Directive::Replace => {
                        elements::merge(self, items, elements::PatchList::Same, of)?;
                        Ok(Outcome::Origin)
                    }
                    Directive::Merge => {
                        let items = std::mem::take(items);
                        elements::merge(self, dest, elements::PatchList::Patch(items), of)
                    }
                }
            }
        }
    }
}

impl NodeKind {
    pub(super) const fn of(node: &Node) -> Self {
        match &node.value {
            Value::Mapping(_) => Self::Mapping,
            Value::Sequence(_) => Self::List,
            Value::Scalar(_) => Self::Scalar,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Mapping => "MappingNode",
            Self::List => "SequenceNode",
            Self::Scalar => "ScalarNode",
        }
    }

    /// This kind, if `node` is of it.
    pub(super) fn expect_of(self, node: &Node) -> Result<Self, MergeError> {
        let actual = Self::of(node);
        if actual == self {
            return Ok(self);
        }
        Err(MergeError::Kind {
            path: String::new(),
            expected: self.name(),
            found: actual.name(),
            place: node.place,
        })
    }
}

/// Whether it is an explicit `null`, `~` or the like.
fn is_written_null(node: &Node) -> bool {
    node.is_null() && node.as_scalar().is_some_and(|scalar| !scalar.text.is_empty())
}

/// Gives a value the style of the one that it replaces. Quotes make it a string, unless a tag stood before them.
fn take_style(new: &mut Node, old: &Node) {
    match (&mut new.value, &old.value) {
        (Value::Scalar(new), Value::Scalar(old)) => {
            new.style = old.style;
            let plain = matches!(
                new.tag,
                Tag::Bool | Tag::Int | Tag::Float | Tag::Timestamp | Tag::Merge | Tag::Null
            );
            if plain && old.style != Style::Plain && old.tag == Tag::Str {
                new.tag = Tag::Str;
            }
        }
        (Value::Mapping(new), Value::Mapping(old)) if !old.entries.is_empty() => new.flow = old.flow,
        (Value::Sequence(new), Value::Sequence(old)) if !old.items.is_empty() => new.flow = old.flow,
        _ => {}
    }
}

/// Quotes a string, or a scalar without a tag, that YAML 1.1 reads as something else (`yes`, `1:30`): it is a string
/// from now on, and its successor keeps the quotes.
fn quote_old_words(node: &mut Node) {
    if let Value::Scalar(scalar) = &mut node.value
        && scalar.is_string()
        && scalar.style == Style::Plain
        && is_other_in_yaml_1_1(&scalar.text)
    {
        scalar.style = Style::Double;
        scalar.tag = Tag::Str;
    }
}

/// The positions of entries with the key of an earlier one.
fn repeated(entries: &[Entry]) -> Vec<usize> {
    let key = |at: usize| entries.get(at).map(|entry| entry.key.text.as_str());
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|one, other| key(*one).cmp(&key(*other)));
    let again = order.windows(2).filter_map(|pair| match *pair {
        [one, other] if key(one) == key(other) => Some(other),
        _ => None,
    });
    let mut again: Vec<usize> = again.collect();
    again.sort_unstable();
    again
}

/// The fields of a patch, to be taken by name. The first of duplicates counts.
struct PatchFields {
    entries: Vec<Option<Entry>>,
    /// Their indices, by name.
    order: Vec<usize>,
    flow: bool,
}

impl PatchFields {
    fn new(mapping: &mut Mapping) -> Self {
        let entries: Vec<_> = std::mem::take(&mut mapping.entries).into_iter().map(Some).collect();
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|one, other| name(&entries, *one).cmp(name(&entries, *other)));
        order.dedup_by(|one, other| name(&entries, *one) == name(&entries, *other));
        Self {
            entries,
            order,
            flow: mapping.flow,
        }
    }

    /// Takes a value. Its key stays, for the order depends on it; with a null it adds nothing in the end.
    fn take(&mut self, key: &str) -> Option<Node> {
        let position = self.order.binary_search_by(|at| name(&self.entries, *at).cmp(key));
        let at = *self.order.get(position.ok()?)?;
        let entry = self.entries.get_mut(at)?;
        entry
            .as_mut()
            .map(|entry| std::mem::replace(&mut entry.value, Node::null()))
    }

    /// Those that were not taken, by name.
    fn rest(mut self) -> impl Iterator<Item = Entry> {
        self.order
            .into_iter()
            .filter_map(move |at| self.entries.get_mut(at)?.take())
    }
}

fn name(entries: &[Option<Entry>], at: usize) -> &str {
    let entry = entries.get(at).and_then(Option::as_ref);
    entry.map_or("", |entry| &entry.key.text)
}
