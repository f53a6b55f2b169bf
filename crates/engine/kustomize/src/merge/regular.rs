//! Merges regular lists, where every element has every key, in linear time.
//!
//! Of elements with equal keys the first one is merged, and the last one of the object remains.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use super::MergeError;
use super::elements::{PatchList, is_droppable, key_text};
use super::step::{Origin, Outcome, Walk};
use crate::schema::TypeRef;
use bumpwright_yaml::Node;

/// Lists up to this length are searched linearly: cheaper than an index.
const SHORT: usize = 8;

/// The elements with equal keys.
pub(super) struct Pairs {
    /// For every element of the object, the first one with its keys.
    first: Vec<usize>,
    /// For every first one, the last.
    last: Vec<usize>,
    /// For every element of the patch, its partner.
    patch: Vec<Partner>,
}

#[derive(Clone, Copy)]
enum Partner {
    /// This element of the object.
    Dest(usize),
    /// None: it is new.
    None,
    /// It is ignored, since the patch has another with its keys.
    Ignored,
}

/// An element, compared by its values under the keys.
struct ByKeys<'n> {
    item: &'n Node,
    keys: &'n [&'n str],
}

impl ByKeys<'_> {
    fn values(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key_text(self.item, key))
    }

    /// Whether it has a value under each key.
    fn is_complete(&self) -> bool {
        let fits = self.keys == [""] || self.item.as_mapping().is_some();
        fits && !is_droppable(self.item) && self.values().all(|value| !value.is_empty())
    }
}

impl PartialEq for ByKeys<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.values().eq(other.values())
    }
}

impl Eq for ByKeys<'_> {}

impl Hash for ByKeys<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.values().for_each(|value| value.hash(state));
    }
}

/// The first elements of a list, indexed by their keys.
struct Index<'n> {
    keys: &'n [&'n str],
    items: &'n [Node],
    map: Option<HashMap<ByKeys<'n>, usize>>,
}

impl<'n> Index<'n> {
    fn new(keys: &'n [&'n str], items: &'n [Node]) -> Self {
        let map = (items.len() > SHORT).then(|| {
            let mut map = HashMap::with_capacity(items.len());
            for (at, item) in items.iter().enumerate() {
                map.entry(ByKeys { item, keys }).or_insert(at);
            }
            map
        });
        Self { keys, items, map }
    }

    fn first(&self, item: &'n Node) -> Option<usize> {
        let wanted = ByKeys { item, keys: self.keys };
        match &self.map {
            Some(map) => map.get(&wanted).copied(),
            None => {
                let mut items = self.items.iter();
                items.position(|item| ByKeys { item, keys: self.keys } == wanted)
            }
        }
    }
}

/// Pairs the elements; `None` if one is without a key.
pub(super) fn pair(keys: &[&str], items: &[Node], from: &PatchList) -> Option<Pairs> {
    let patch = from.patch();
    let complete = |item| ByKeys { item, keys }.is_complete();
    if !items.iter().chain(patch).all(complete) {
        return None;
    }
    let index = Index::new(keys, items);
    let first: Vec<usize> = items.iter().filter_map(|item| index.first(item)).collect();
    let mut last: Vec<usize> = (0..items.len()).collect();
    for (at, first) in first.iter().enumerate() {
        if let Some(last) = last.get_mut(*first) {
            *last = at;
        }
    }
    let own = Index::new(keys, patch);
    let partner = |(at, item)| match own.first(item) {
        Some(first) if first != at => Partner::Ignored,
        _ => index.first(item).map_or(Partner::None, Partner::Dest),
    };
    let patch = patch.iter().enumerate().map(partner).collect();
    Some(Pairs { first, last, patch })
}

/// Merges into `items`.
///
/// With one key, elements of the patch come first, in its order; with several (`in_order`), only new ones do.
pub(super) fn merge<'s>(
    walk: Walk<'s>,
    items: &mut Vec<Node>,
    from: PatchList,
    pairs: Pairs,
    of: Option<TypeRef<'s>>,
    in_order: bool,
) -> Result<(), MergeError> {
    let dest: Vec<Option<Node>> = std::mem::take(items).into_iter().map(Some).collect();
    let (patch, same) = match from {
        PatchList::Patch(patch) => (patch, false),
        PatchList::Absent => (Vec::new(), false),
        PatchList::Same => (Vec::new(), true),
    };
    let mut list = RegularList {
        walk,
        of,
        in_order,
        state: vec![GroupState::Untouched; dest.len()],
        dest,
        pairs,
        out: items,
    };
    for (at, mut patch) in patch.into_iter().enumerate() {
        match list.pairs.patch.get(at) {
            Some(Partner::Dest(first)) => list.merge(*first, Origin::Patch(&mut patch))?,
            Some(Partner::None) => {
                let outcome = walk.node(None, Origin::Patch(&mut patch), of)?;
                if outcome == Outcome::Origin && !is_droppable(&patch) {
                    list.out.push(patch);
                }
            }
            Some(Partner::Ignored) | None => {}
        }
    }
    for at in 0..list.dest.len() {
        let origin = if same { Origin::Same } else { Origin::Absent };
        list.visit(at, origin)?;
    }
    Ok(())
}

/// The state of the elements with the same keys, kept at the first of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupState {
    Untouched,
    Kept,
    /// They are removed, or already in the result.
    Done,
}

struct RegularList<'o, 's> {
    walk: Walk<'s>,
    /// The type of the elements.
    of: Option<TypeRef<'s>>,
    /// Whether elements of the object keep their order.
    in_order: bool,
    dest: Vec<Option<Node>>,
    state: Vec<GroupState>,
    pairs: Pairs,
    out: &'o mut Vec<Node>,
}

impl RegularList<'_, '_> {
    /// Merges the first element with some keys; appends the last one, unless that waits for its turn.
    ///
    /// A replacement of an element by the patch has no effect: the element of the object wins in the end.
    fn merge(&mut self, first: usize, origin: Origin<'_>) -> Result<(), MergeError> {
        let node = self.dest.get_mut(first).and_then(Option::as_mut);
        let state = match self.walk.node(node, origin, self.of)? {
            Outcome::Gone => GroupState::Done,
            Outcome::Dest | Outcome::Origin if self.in_order => GroupState::Kept,
            Outcome::Dest | Outcome::Origin => {
                let last = self.pairs.last.get(first).copied();
                let node = last.and_then(|last| self.dest.get_mut(last)?.take());
                self.out.extend(node);
                GroupState::Done
            }
        };
        if let Some(slot) = self.state.get_mut(first) {
            *slot = state;
        }
        Ok(())
    }

    /// Visits an element of the object: one that the patch does not name is walked over, and appended where
    /// its turn has come.
    fn visit(&mut self, at: usize, origin: Origin<'_>) -> Result<(), MergeError> {
        let Some(&first) = self.pairs.first.get(at) else {
            return Ok(());
        };
        let state = |list: &Self| list.state.get(first).copied();
        if first == at && state(self) == Some(GroupState::Untouched) {
            self.merge(first, origin)?;
        }
        if state(self) == Some(GroupState::Kept) && self.pairs.last.get(first) == Some(&at) {
            let node = self.dest.get_mut(at).and_then(Option::take);
            self.out.extend(node);
        }
        Ok(())
    }
}
