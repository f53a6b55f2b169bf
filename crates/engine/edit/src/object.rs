//! The Kubernetes object that a field belongs to, gathered while a document is read.

use super::model::DocumentId;

/// What a mapping of the document is to the search for objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// An object: the document's root, or an item of a list.
    Object(usize),
    /// `metadata` of an object.
    Metadata(usize),
    /// `items` of the document's root.
    Items,
    /// Anything else.
    #[default]
    Elsewhere,
}

/// The objects of one document: the root first, then the items that it would have if it is a list.
#[derive(Debug, Default)]
pub(super) struct Objects {
    found: Vec<Fields>,
}

/// The first spelling of a field counts, as kyaml's `Field` takes it.
#[derive(Debug, Default)]
struct Fields {
    api_version: Option<String>,
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl Objects {
    /// Opens a new object and gives its place.
    pub(super) fn open(&mut self) -> Place {
        self.found.push(Fields::default());
        Place::Object(self.found.len() - 1)
    }

    /// Takes note of a scalar field.
    pub(super) fn field(&mut self, place: Place, key: &str, value: &str) {
        let (index, metadata) = match place {
            Place::Object(index) => (index, false),
            Place::Metadata(index) => (index, true),
            Place::Items | Place::Elsewhere => return,
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

    /// The object that a field below object `index` belongs to: the item where the document is a list, else the root
    /// (docs/behaviour/image-automation-controller.md, *Files and markers*: `kind: List` and ResourceList are unwrapped).
    pub(super) fn identify(&self, index: usize) -> DocumentId {
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
