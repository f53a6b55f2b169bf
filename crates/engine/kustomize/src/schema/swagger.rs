//! Custom schemas: the file of `openapi: {path: …}`, JSON or YAML, parsed into nodes.
//!
//! Only `definitions` and `paths` of the file are read: the first for types, the second for scopes (a path with
//! `namespaces/{namespace}` whose `get` names a kind).

use super::SchemaError;
use super::known::{Schema, Target, Type};
use bumpwright_text::pointer::unescaped;
use bumpwright_yaml::{Entry, Node};
use compact_str::CompactString;

const GVK: &str = "x-kubernetes-group-version-kind";
const STRATEGY: &str = "x-kubernetes-patch-strategy";
const MERGE_KEY: &str = "x-kubernetes-patch-merge-key";
const MAP_KEYS: &str = "x-kubernetes-list-map-keys";
const DEFINITIONS: &str = "#/definitions/";
const IN_NAMESPACE: &str = "namespaces/{namespace}";

/// Maximum depth of fields in one definition.
const MAX_DEPTH: usize = 200;

impl Schema {
    /// Adds the definitions and scopes of a swagger file, replacing existing ones.
    ///
    /// # Errors
    ///
    /// When the file does not have the form of a swagger file.
    pub(super) fn add_swagger(&mut self, file: &Node) -> Result<(), SchemaError> {
        for entry in children(file, "definitions")? {
            let of = self.schema(&entry.value, 0)?;
            let number = self.push(of);
            let name = self.name(&entry.key.text);
            self.define(name, number);
            for kind in kinds(&entry.value)? {
                self.set_kind(&kind.api_version, kind.kind, number);
            }
        }
        for entry in children(file, "paths")? {
            self.add_scope(&entry.key.text, &entry.value)?;
        }
        Ok(())
    }

    fn add_scope(&mut self, url: &str, path: &Node) -> Result<(), SchemaError> {
        let gvk = child(path, "get")?.and_then(|get| get.get(GVK));
        let Some(gvk) = gvk.filter(|gvk| gvk.as_mapping().is_some()) else {
            return Ok(());
        };
        let TypeMeta { api_version, kind } = kind(gvk)?;
        let inside = url.contains(IN_NAMESPACE);
        if inside || self.namespaced(&api_version, kind).is_none() {
            self.set_namespaced(&api_version, kind, inside);
        }
        Ok(())
    }

    fn schema(&mut self, node: &Node, depth: usize) -> Result<Type, SchemaError> {
        if depth > MAX_DEPTH {
            return Err(SchemaError::Depth { place: node.place });
        }
        let mut of = Type::default();
        if let Some(reference) = text(node, "$ref")?.filter(|text| !text.is_empty()) {
            of.alias = Some(Target::Definition(self.reference(reference)));
            return Ok(of);
        }
        for entry in children(node, "properties")? {
            let target = self.inline(&entry.value, depth)?;
            of.fields.push((entry.key.text.clone(), target));
        }
        of.fields.sort_by(|(one, _), (other, _)| one.cmp(other));
        if let Some(rest) = child(node, "additionalProperties")?.filter(|rest| rest.as_mapping().is_some()) {
            of.rest = Some(self.inline(rest, depth)?);
        }
        let items = child(node, "items")?.filter(|items| items.as_mapping().is_some());
        if let Some(items) = items.filter(|_| is_list(node)) {
            of.items = Some(self.inline(items, depth)?);
        }
        of.merge = merge_keys(node)?;
        Ok(of)
    }

    fn inline(&mut self, node: &Node, depth: usize) -> Result<Target, SchemaError> {
        let of = self.schema(node, depth + 1)?;
        Ok(Target::Type(self.push(of)))
    }

    /// The number of the definition that a reference names. Any other reference is a name without a definition.
    fn reference(&mut self, reference: &str) -> u32 {
        let name = reference.strip_prefix(DEFINITIONS).unwrap_or(reference);
        self.name(&unescaped(name))
    }
}

/// Whether the schema is exactly `type: array`.
fn is_list(schema: &Node) -> bool {
    let is_array = |node: &Node| node.as_str() == Some("array");
    schema.get("type").is_some_and(|of| match of.as_items() {
        Some([one]) => is_array(one),
        Some(_) => false,
        None => is_array(of),
    })
}

/// The merge keys of a list whose strategy is a merge: `x-kubernetes-list-map-keys` before
/// `x-kubernetes-patch-merge-key`.
fn merge_keys(schema: &Node) -> Result<Option<Vec<CompactString>>, SchemaError> {
    let strategy = text(schema, STRATEGY)?.unwrap_or("");
    if !strategy.split(',').any(|word| word == "merge") {
        return Ok(None);
    }
    if let Some(list) = child(schema, MAP_KEYS)? {
        let items = list.as_items();
        let keys = items.and_then(|items| items.iter().map(Node::as_str).collect::<Option<Vec<_>>>());
        let keys = keys.ok_or_else(|| wrong(list, MAP_KEYS, "a list of strings"))?;
        return Ok(Some(keys.into_iter().map(CompactString::from).collect()));
    }
    let key = text(schema, MERGE_KEY)?;
    Ok(Some(key.map(CompactString::from).into_iter().collect()))
}

struct TypeMeta<'n> {
    api_version: String,
    kind: &'n str,
}

/// The kinds that a definition belongs to: none unless the extension is a list of mappings.
fn kinds(definition: &Node) -> Result<Vec<TypeMeta<'_>>, SchemaError> {
    let items = definition.get(GVK).and_then(Node::as_items).unwrap_or(&[]);
    let mappings = items.iter().filter(|item| item.as_mapping().is_some());
    mappings.map(kind).collect()
}

fn kind(gvk: &Node) -> Result<TypeMeta<'_>, SchemaError> {
    let field = |name| gvk.get(name).and_then(Node::as_str);
    let (Some(version), Some(kind)) = (field("version"), field("kind")) else {
        return Err(wrong(gvk, GVK, "`version` and `kind` as strings"));
    };
    let api_version = match field("group") {
        Some(group) if !group.is_empty() => format!("{group}/{version}"),
        _ => version.to_owned(),
    };
    Ok(TypeMeta { api_version, kind })
}

fn wrong(node: &Node, field: &str, expected: &'static str) -> SchemaError {
    SchemaError::Shape {
        place: node.place,
        field: field.to_owned(),
        expected,
    }
}

/// The value of a field that is not null.
fn child<'n>(node: &'n Node, name: &str) -> Result<Option<&'n Node>, SchemaError> {
    let Some(mapping) = node.as_mapping() else {
        return Err(wrong(node, name, "a mapping around it"));
    };
    Ok(mapping.get(name).filter(|value| !value.is_null()))
}

fn children<'n>(node: &'n Node, name: &str) -> Result<&'n [Entry], SchemaError> {
    let Some(value) = child(node, name)? else {
        return Ok(&[]);
    };
    match value.as_mapping() {
        Some(mapping) => Ok(&mapping.entries),
        None => Err(wrong(value, name, "a mapping")),
    }
}

fn text<'n>(node: &'n Node, name: &str) -> Result<Option<&'n str>, SchemaError> {
    match child(node, name)? {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text)),
            None => Err(wrong(value, name, "a string")),
        },
    }
}
