//! Namespaces and kinds that objects of a build create, which the server cannot know before they are applied.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::object::item::Item;
use crate::stage::defined;
use bumpwright_api::ObjectId;

#[derive(Debug, Default)]
pub(crate) struct Coming {
    namespaces: BTreeSet<String>,
    /// By group and name.
    kinds: BTreeSet<(String, String)>,
}

impl Coming {
    pub(crate) fn add(&mut self, object: &Value) {
        let id = ObjectId::of(object);
        if id.kind == "Namespace" && id.group.is_empty() {
            self.namespaces.insert(id.name.name);
        }
        self.kinds.extend(defined(object));
    }

    pub(crate) fn brings(&self, item: &Item) -> bool {
        let kind = (item.gvk.group.clone(), item.gvk.kind.clone());
        self.kinds.contains(&kind) || self.namespaces.contains(&item.id.name.namespace)
    }
}

/// Whether others may need an object: a namespace or a definition.
pub(crate) fn brings_others(object: &Value) -> bool {
    let id = ObjectId::of(object);
    (id.kind == "Namespace" && id.group.is_empty()) || defined(object).is_some()
}
