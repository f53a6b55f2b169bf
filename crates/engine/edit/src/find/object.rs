//! Finds the Kubernetes object that a field belongs to, while a document is read.

use crate::model::DocumentId;

/// The role of a mapping in the search for objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MappingKind {
    /// An object: the document's root, or an item of a list.
    Object(usize),
    /// `metadata` of an object.
    Metadata(usize),
    /// `items` of the document's root.
    Items,
    /// Any other mapping.
    #[default]
    Elsewhere,
}

/// The objects of a document: the root first, then its items in case it is a list.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    found: Vec<Fields>,
}

/// The first occurrence of a field counts, as in kyaml's `Field`.
#[derive(Debug, Default)]
struct Fields {
    api_version: Option<String>,
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl Objects {
    /// Begins a new object.
    pub(crate) fn open(&mut self) -> MappingKind {
        self.found.push(Fields::default());
        MappingKind::Object(self.found.len() - 1)
    }

    /// Records a scalar field.
    pub(crate) fn field(&mut self, mapping: MappingKind, key: &str, value: &str) {
        let (index, metadata) = match mapping {
            MappingKind::Object(index) => (index, false),
            MappingKind::Metadata(index) => (index, true),
            MappingKind::Items | MappingKind::Elsewhere => return,
        };
        let Some(fields) = self.found.get_mut(index) else {
            return;
        };
        let slot = match (metadata, key) {
            (false, "apiVersion") => &mut fields.api_version,
            (false, "kind") => &mut fields.kind,
            (true, "namespace") => &mut fields.namespace,
            (true, "name") => &mut fields.name,
            _ => return,
        };
        slot.get_or_insert_with(|| value.to_owned());
    }

    /// The object that a field below object `index` belongs to: the item if the document is a list,
    /// else the root (docs/behaviour/image-automation-controller.md, *Files and markers*: `kind: List`
    /// and ResourceList are unwrapped).
    pub(crate) fn identify(&self, index: usize) -> DocumentId {
        let root = self.found.first();
        let is_list = matches!(
            root.and_then(|root| root.kind.as_deref()),
            Some("List" | "ResourceList")
        );
        let fields = if is_list { self.found.get(index) } else { root };
        let Some(fields) = fields else {
            return DocumentId::default();
        };
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        DocumentId {
            api_version: text(&fields.api_version),
            kind: text(&fields.kind),
            namespace: text(&fields.namespace),
            name: text(&fields.name),
        }
    }
}
