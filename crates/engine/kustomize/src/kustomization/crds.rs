//! `crds:`: OpenAPI definitions of custom kinds, as far as they mark fields that hold names, labels and annotations.

use crate::Gvk;
use crate::fields::{ConfigError, FieldConfig, FieldSpec, FieldSpecs, NameReferences};
use bumpwright_yaml::{Entry, Node};

/// The field specs of a file of definitions: its types by name, each an object with a `Schema`.
///
/// # Errors
///
/// Two statements about a field contradict each other.
pub fn crd_config(document: &Node) -> Result<FieldConfig, ConfigError> {
    let mut config = FieldConfig::default();
    for entry in entries(Some(document)) {
        let Some(properties) = properties(&entry.value) else {
            continue;
        };
        if ["kind", "apiVersion", "metadata"]
            .iter()
            .all(|name| properties.get(name).is_some())
        {
            let name = entry.key.text.as_str();
            let kind = name.rsplit('.').next().unwrap_or(name);
            let mut walk = Walk {
                document,
                gvk: Gvk::of_kind(kind),
                config: &mut config,
                path: Vec::new(),
            };
            walk.definition(name)?;
        }
    }
    Ok(config)
}

/// Maximum depth: names of types may refer to each other.
const MAX_DEPTH: usize = 100;

struct Walk<'a> {
    document: &'a Node,
    gvk: Gvk,
    config: &'a mut FieldConfig,
    path: Vec<&'a str>,
}

fn entries(node: Option<&Node>) -> &[Entry] {
    node.map_or(&[], Node::entries)
}

fn properties(definition: &Node) -> Option<&Node> {
    let schema = definition.get("Schema").or_else(|| definition.get("schema"))?;
    schema.get("properties")
}

impl<'a> Walk<'a> {
    fn definition(&mut self, name: &str) -> Result<(), ConfigError> {
        let definition = self.document.get(name).and_then(properties);
        for entry in entries(definition) {
            let property = &entry.value;
            self.path.push(entry.key.text.as_str());
            self.property(property)?;
            let reference = property.get("$ref").and_then(Node::as_str);
            if let Some(reference) = reference.filter(|_| self.path.len() < MAX_DEPTH) {
                self.definition(reference)?;
            }
            self.path.pop();
        }
        Ok(())
    }

    fn spec(&self, more: Option<&str>) -> FieldSpec {
        let parts: Vec<&str> = self.path.iter().copied().chain(more).collect();
        FieldSpec::new(self.gvk.clone(), parts.join("/"), false)
    }

    fn property(&mut self, property: &'a Node) -> Result<(), ConfigError> {
        let text = |name: &str| property.get(name).and_then(Node::as_str);
        if text("x-kubernetes-annotation").is_some() {
            let spec = self.spec(None);
            self.config.common_annotations.add(spec)?;
        }
        if text("x-kubernetes-label-selector").is_some() {
            let spec = self.spec(None);
            self.config.common_labels.add(spec)?;
        }
        if text("x-kubernetes-identity").is_some() {
            let spec = self.spec(None);
            self.config.name_prefix.add(spec)?;
        }
        let version = text("x-kubernetes-object-ref-api-version");
        if let Some((version, kind)) = version.zip(text("x-kubernetes-object-ref-kind")) {
            let key = text("x-kubernetes-object-ref-name-key").unwrap_or("name");
            let referrers: FieldSpecs = [self.spec(Some(key))].into_iter().collect();
            self.config.add_names(&NameReferences {
                gvk: Gvk::new("", version, kind),
                referrers,
            })?;
        }
        Ok(())
    }
}
