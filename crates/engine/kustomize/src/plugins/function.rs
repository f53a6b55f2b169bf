//! Functions: programs that read a `ResourceList` and write one.

use super::program::PluginError;
use crate::resource::Resource;
use bumpwright_yaml::{
    FileId, Node, ReadOptions, Scalar, SequenceIndent, Style, Value, WriteError, read_first, write_kyaml, write_sigs,
};

const ANNOTATIONS: [&str; 3] = [
    "config.kubernetes.io/function",
    "config.k8s.io/function",
    "internal.config.kubernetes.io/function",
];

/// The function of a config, from its annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Function {
    Program {
        /// Its path, from the directory of the kustomization.
        path: String,
        arguments: Vec<String>,
    },
    Container(String),
    Starlark,
}

impl Function {
    /// The function of a config, if it has one.
    pub(super) fn of(config: &Resource) -> Result<Option<Self>, PluginError> {
        let Some(text) = ANNOTATIONS.iter().find_map(|key| config.annotation(key)) else {
            return Ok(None);
        };
        let options = ReadOptions::kyaml(FileId::NONE);
        let spec = read_first(text.as_bytes(), &options).map_err(|error| PluginError::Spec {
            plugin: config.id().to_string(),
            error,
        })?;
        let spec = spec.unwrap_or_else(Node::null);
        let text = |path: &[&str]| spec.text_at(path).to_owned();
        if spec.get("exec").is_some() {
            let arguments = spec
                .items_at(&["exec", "args"])
                .iter()
                .filter_map(Node::as_scalar)
                .map(|scalar: &Scalar| scalar.text.to_string());
            return Ok(Some(Self::Program {
                path: text(&["exec", "path"]),
                arguments: arguments.collect(),
            }));
        }
        if spec.get("container").is_some() {
            return Ok(Some(Self::Container(text(&["container", "image"]))));
        }
        Ok(spec.get("starlark").map(|_| Self::Starlark))
    }
}

/// The input of a function: objects and config as kyaml prints them, with its annotations.
pub(super) fn resource_list(items: &[Node], config: &Node) -> Result<String, WriteError> {
    let mut numbered = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let mut item = printed(item)?;
        for (key, number) in [
            ("config.kubernetes.io/index", at),
            ("internal.config.kubernetes.io/index", at),
            ("internal.config.kubernetes.io/annotations-migration-resource-id", at),
            ("internal.config.kubernetes.io/id", at + 1),
            ("config.k8s.io/id", at + 1),
        ] {
            annotate(&mut item, key, &number.to_string());
        }
        numbered.push(item);
    }
    let mut config = printed(config)?;
    annotate(&mut config, "config.kubernetes.io/local-config", "true");
    let mut list = Node::mapping();
    if let Some(map) = list.as_mapping_mut() {
        map.set("apiVersion", Node::string("config.kubernetes.io/v1"));
        map.set("kind", Node::string("ResourceList"));
        map.set("items", Node::sequence(numbered));
        map.set("functionConfig", config);
    }
    let mut text = String::new();
    write_kyaml(&list, SequenceIndent::Compact, &mut text);
    Ok(text)
}

/// A node as printed and read again: sorted, and quoted as needed.
fn printed(node: &Node) -> Result<Node, WriteError> {
    let mut text = String::new();
    write_sigs(node, &mut text)?;
    let read = read_first(text.as_bytes(), &ReadOptions::kyaml(FileId::NONE));
    Ok(read.ok().flatten().unwrap_or_else(|| node.clone()))
}

/// Sets an annotation, in single quotes.
fn annotate(node: &mut Node, key: &str, text: &str) {
    let metadata = node.get_mut("metadata").and_then(Node::as_mapping_mut);
    let annotations = metadata.map(|metadata| metadata.get_or_insert_with("annotations", Node::mapping));
    if let Some(annotations) = annotations.and_then(Node::as_mapping_mut) {
        let scalar = Scalar {
            style: Style::Single,
            ..Scalar::string(text)
        };
        annotations.set(key, Node::new(Value::Scalar(scalar)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The input of a function in the real kustomize v5.8.2, apart from annotations of its own on object and config.
    const REAL: &str = "apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  data:
    a: \"yes\"
  kind: ConfigMap
  metadata:
    annotations:
      k: v
      config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/index: '0'
      internal.config.kubernetes.io/annotations-migration-resource-id: '0'
      internal.config.kubernetes.io/id: '1'
      config.k8s.io/id: '1'
    name: p-a
functionConfig:
  apiVersion: x.io/v1
  kind: Fn
  metadata:
    annotations:
      f: x
      config.kubernetes.io/local-config: 'true'
    name: demo
  spec:
    b:
    - 1
    - \"2\"
";

    #[test]
    fn a_function_reads_what_the_real_one_gives_it() {
        let read = |text: &str| {
            let node = read_first(text.as_bytes(), &ReadOptions::kyaml(FileId::NONE));
            node.unwrap().unwrap()
        };
        let item =
            read("kind: ConfigMap\napiVersion: v1\nmetadata: {name: p-a, annotations: {k: v}}\ndata: {a: yes}\n");
        let config =
            read("apiVersion: x.io/v1\nkind: Fn\nmetadata: {name: demo, annotations: {f: x}}\nspec: {b: [1, '2']}\n");
        assert_eq!(resource_list(&[item], &config).unwrap(), REAL);
    }
}
