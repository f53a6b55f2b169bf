//! What Helm reads of a document: its kind and its annotations.

use crate::{
    chart::Fields,
    yaml::{YamlError, read},
};

/// The head of a document.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) kind: String,
    pub(super) annotations: Vec<(String, String)>,
}

impl Head {
    /// Reads a document.
    ///
    /// # Errors
    /// It is not YAML, or a part of its head has the wrong type.
    pub(super) fn read(content: &str) -> Result<Self, YamlError> {
        let node = read(content.as_bytes())?;
        let mut head = Self::default();
        let Some(root) = Fields::named(&node, "SimpleHead", "Go value of type util.SimpleHead")? else {
            return Ok(head);
        };
        // Of what is not used the type counts alone.
        let mut unused = String::new();
        root.text("apiVersion", &mut unused)?;
        root.text("kind", &mut head.kind)?;
        let metadata = root.get("metadata");
        let wanted = "Go struct field SimpleHead.metadata of type struct";
        let metadata = metadata.map(|node| Fields::named(node, "SimpleHead.metadata", wanted));
        if let Some(metadata) = metadata.transpose()?.flatten() {
            metadata.text("name", &mut unused)?;
            if let Some(annotations) = metadata.pairs("annotations")? {
                head.annotations = annotations;
            }
        }
        Ok(head)
    }
}
