//! The order of the output.

use crate::Gvk;
use crate::kustomization::SortOptions;
use crate::resource::{ResId, ResMap};
use std::cmp::Ordering;
use std::collections::HashMap;

/// An order of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As they were read.
    Fifo,
    /// By kind: dependencies first.
    Legacy,
}

/// Sort options that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    #[error("the field 'sortOptions.order' must be one of [fifo, legacy], not {0:?}")]
    Unknown(String),
    /// Options of an order that is not selected.
    #[error("the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not 'legacy'")]
    NotLegacy,
}

/// Sorts as the kustomization says; else as requested; else in legacy order.
pub(super) fn sort(
    map: &mut ResMap,
    options: Option<&SortOptions>,
    requested: Option<Order>,
) -> Result<(), OrderError> {
    let Some(options) = options else {
        if requested != Some(Order::Fifo) {
            by_kind(map, None);
        }
        return Ok(());
    };
    match (options.order.as_str(), &options.legacy) {
        ("fifo", None) => {}
        ("fifo", Some(_)) => return Err(OrderError::NotLegacy),
        ("legacy", Some((first, last))) => {
            let mut ranks = HashMap::new();
            let count = |list: &[compact_str::CompactString]| i64::try_from(list.len()).unwrap_or(i64::MAX);
            ranks.extend(first.iter().map(|kind| kind.as_str()).zip(-count(first)..));
            ranks.extend(last.iter().map(|kind| kind.as_str()).zip(1..));
            by_kind(map, Some(&ranks));
        }
        ("legacy", None) => by_kind(map, None),
        (other, _) => return Err(OrderError::Unknown(other.to_owned())),
    }
    Ok(())
}

fn by_kind(map: &mut ResMap, ranks: Option<&HashMap<&str, i64>>) {
    let rank = |gvk: &Gvk| match ranks {
        Some(ranks) => ranks.get(gvk.kind.as_str()).copied().unwrap_or_default(),
        None => i64::from(gvk.kind_rank()),
    };
    map.list_mut()
        .sort_by_cached_key(|resource| Key::of(resource.id(), rank(&resource.id().gvk)));
}

/// The sort key of an object.
#[derive(PartialEq, Eq)]
struct Key {
    rank: i64,
    /// Namespaces of the core group come before those of others, against the order of the text.
    is_core_namespace: bool,
    gvk: String,
    id: String,
}

impl Key {
    fn of(id: &ResId, rank: i64) -> Self {
        let or = |text: &str, none: &'static str| {
            if text.is_empty() {
                none.to_owned()
            } else {
                text.to_owned()
            }
        };
        let gvk = &id.gvk;
        let parts = [or(&gvk.group, "~G"), or(&gvk.version, "~V"), or(&gvk.kind, "~K")];
        Self {
            rank,
            is_core_namespace: gvk.kind == "Namespace" && gvk.group.is_empty(),
            gvk: parts.join("_"),
            id: format!("{gvk}|{}|{}", or(&id.namespace, "~X"), or(&id.name, "~N")),
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let ranks = self.rank.cmp(&other.rank);
        let cores = other.is_core_namespace.cmp(&self.is_core_namespace);
        // The core group matters only among namespaces.
        let namespaces = |key: &Self| key.gvk.ends_with("_Namespace");
        let cores = if namespaces(self) && namespaces(other) {
            cores
        } else {
            Ordering::Equal
        };
        ranks
            .then(cores)
            .then_with(|| self.gvk.cmp(&other.gvk))
            .then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
