//! Generates ConfigMaps and Secrets.

use super::data::{Data, DataError, base64_lines, collect};
use super::{GeneratorArgs, GeneratorOptions};
use crate::fields::new_string;
use crate::resource::{Behavior, Resource};
use crate::schema::SchemaChoice;
use crate::tree::Loader;
use bumpwright_yaml::{Entry, Mapping, Node, Scalar, Style, Tag, Value};

/// A ConfigMap or Secret that cannot be generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// It has no name.
    #[error("the {0} must have a name")]
    NoName(&'static str),
    /// Its data cannot be read.
    #[error("{kind} {name:?}: {error}")]
    Data {
        kind: &'static str,
        name: String,
        error: DataError,
    },
}

/// The ConfigMap of an entry.
///
/// # Errors
///
/// It has no name, or its data cannot be read.
pub fn config_map(args: &GeneratorArgs, loader: &Loader<'_>, schema: &SchemaChoice) -> Result<Resource, GenerateError> {
    let (mut object, data) = begin("ConfigMap", args, loader)?;
    for (key, bytes) in data {
        let (field, value) = match String::from_utf8(bytes) {
            Ok(text) => ("data", new_string(&text)),
            Err(error) => ("binaryData", new_string(&base64_lines(error.as_bytes()))),
        };
        let map = object.get_or_insert_with(field, Node::mapping);
        push(map, key, value.at(args.place));
    }
    Ok(finish(object, args, schema))
}

/// The Secret of an entry.
///
/// # Errors
///
/// It has no name, or its data cannot be read.
pub fn secret(args: &GeneratorArgs, loader: &Loader<'_>, schema: &SchemaChoice) -> Result<Resource, GenerateError> {
    let (mut object, data) = begin("Secret", args, loader)?;
    let kind = if args.secret_type.is_empty() {
        "Opaque"
    } else {
        &args.secret_type
    };
    object.set("type", Node::string(kind));
    let map = object.get_or_insert_with("data", Node::mapping);
    for (key, bytes) in data {
        push(map, key, new_string(&base64_lines(&bytes)).at(args.place));
    }
    Ok(finish(object, args, schema))
}

/// Appends an entry without a search: [`collect`] rejects duplicate keys, and there may be thousands.
fn push(map: &mut Node, key: String, value: Node) {
    let Some(map) = map.as_mapping_mut() else { return };
    map.entries.push(Entry {
        key: Scalar::string(key),
        place: value.place,
        value,
    });
}

/// The object without its data, and its data.
fn begin(kind: &'static str, args: &GeneratorArgs, loader: &Loader<'_>) -> Result<(Mapping, Data), GenerateError> {
    if args.name.is_empty() {
        return Err(GenerateError::NoName(kind));
    }
    let error = |error| GenerateError::Data {
        kind,
        name: args.name.to_string(),
        error,
    };
    let data = collect(loader, &args.envs, &args.literals, &args.files).map_err(error)?;
    let mut object = Mapping::default();
    object.set("apiVersion", Node::string("v1").at(args.place));
    object.set("kind", Node::string(kind).at(args.place));
    let metadata = object.get_or_insert_with("metadata", Node::mapping);
    if let Some(metadata) = metadata.as_mapping_mut() {
        metadata.set("name", Node::string(args.name.clone()).at(args.place));
        if !args.namespace.is_empty() {
            metadata.set("namespace", Node::string(args.namespace.clone()).at(args.place));
        }
    }
    Ok((object, data))
}

fn finish(mut object: Mapping, args: &GeneratorArgs, schema: &SchemaChoice) -> Resource {
    let none = GeneratorOptions::default();
    let options = args.options.as_ref().unwrap_or(&none);
    if let Some(metadata) = object.get_mut("metadata").and_then(Node::as_mapping_mut) {
        for (field, pairs) in [("labels", &options.labels), ("annotations", &options.annotations)] {
            if pairs.is_empty() {
                continue;
            }
            let map = metadata.get_or_insert_with(field, Node::mapping);
            if let Some(map) = map.as_mapping_mut() {
                pairs.iter().for_each(|(key, value)| map.set(key, value.clone()));
            }
        }
    }
    if options.immutable {
        object.set("immutable", boolean(true));
    }
    let node = Node::new(Value::Mapping(object)).at(args.place);
    let mut resource = Resource::new(node, schema);
    resource.behavior = Behavior::parse(&args.behavior);
    resource.needs_hash = !options.disable_name_suffix_hash;
    resource
}

fn boolean(value: bool) -> Node {
    Node::new(Value::Scalar(Scalar {
        text: if value { "true" } else { "false" }.into(),
        tag: Tag::Bool,
        style: Style::Plain,
    }))
}
