//! Fields whose names say what they are: `images` of kustomizations, and `repository` and `tag` in the values of charts.

use bumpwright_edit::{Part, Value};

/// A field that holds a part of an image.
pub(crate) struct Field {
    /// Its number among the scalars of the file.
    pub(crate) number: usize,
    pub(crate) part: Part,
    /// The image, without tag.
    pub(crate) image: String,
}

/// The names of keys beside each other that hold the parts of an image.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub(crate) registry: String,
    pub(crate) repository: String,
    pub(crate) tag: String,
    pub(crate) digest: String,
}

impl Default for Keys {
    fn default() -> Self {
        let [registry, repository, tag, digest] = ["registry", "repository", "tag", "digest"].map(str::to_owned);
        Self {
            registry,
            repository,
            tag,
            digest,
        }
    }
}

/// The fields of the entries of `images` of a kustomization. An entry is of the image that it results in: of `newName` if it has one.
pub(crate) fn of_images(document: &Value, found: &mut Vec<Field>) {
    let Some(Value::List(entries)) = document.get("images") else {
        return;
    };
    for entry in entries {
        let scalar = |key: &str| entry.get(key).and_then(Value::scalar);
        let Some((image, _)) = scalar("newName").or_else(|| scalar("name")) else {
            continue;
        };
        for (key, part) in [("newName", Part::Name), ("newTag", Part::Tag), ("digest", Part::Digest)] {
            found.extend(scalar(key).map(|(_, number)| Field {
                number,
                part,
                image: image.to_owned(),
            }));
        }
    }
}

/// The fields of all mappings that have a repository and a tag.
pub(crate) fn of_values(value: &Value, keys: &Keys, found: &mut Vec<Field>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| of_values(item, keys, found)),
        Value::Map(entries) => {
            of_mapping(value, keys, found);
            entries.iter().for_each(|(_, value)| of_values(value, keys, found));
        }
        Value::Scalar { .. } | Value::Other => {}
    }
}

fn of_mapping(mapping: &Value, keys: &Keys, found: &mut Vec<Field>) {
    let scalar = |key: &str| mapping.get(key).and_then(Value::scalar);
    let (Some((repository, number)), Some((_, tag))) = (scalar(&keys.repository), scalar(&keys.tag)) else {
        return;
    };
    let registry = scalar(&keys.registry).map(|(registry, _)| registry);
    let image = match registry {
        Some(registry) => format!("{registry}/{repository}"),
        None => repository.to_owned(),
    };
    let mut add = |number, part| {
        found.push(Field {
            number,
            part,
            image: image.clone(),
        });
    };
    if registry.is_none() {
        add(number, Part::Name);
    }
    add(tag, Part::Tag);
    if let Some((_, digest)) = scalar(&keys.digest) {
        add(digest, Part::Digest);
    }
}
