//! Variables: names for fields of objects.

use super::error::VarError;
use super::expand::VarValue;
use super::lookup::lookup;
use crate::Gvk;
use crate::fields::{ConfigError, Fields, read_gvk, split_path_smart};
use crate::transform::{Id, IsClusterScoped};
use bumpwright_gostd::{atoi, parse_float};
use bumpwright_yaml::{Node, Place, Tag, Value};
use compact_str::CompactString;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// An entry of `vars:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Var {
    pub name: CompactString,
    /// The object, by a current or former id. An empty namespace matches any.
    pub object: Id,
    /// The path of the field.
    pub path: CompactString,
    /// The place of the entry.
    pub place: Place,
}

impl Var {
    /// Parses an entry of `vars:`; `strict` rejects unknown fields.
    ///
    /// # Errors
    /// A field is of the wrong type or, where `strict`, unknown.
    pub fn read(entry: &Node, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(entry, "var")?.exact(strict);
        let empty = Node::mapping();
        let object = fields.get("objref").unwrap_or(&empty);
        let field = fields.get("fieldref").unwrap_or(&empty);
        let mut field_fields = Fields::of(field, "fieldref")?.exact(strict);
        let path = field_fields.string("fieldPath")?;
        let var = Self {
            name: fields.string("name")?,
            object: read_object(object, strict)?,
            path: if path.is_empty() { "metadata.name".into() } else { path },
            place: entry.place,
        };
        if strict {
            field_fields.finish()?;
            fields.finish()?;
        }
        Ok(var)
    }

    /// Whether a current or former id is that of the variable's object.
    #[must_use]
    pub fn matches(&self, id: &Id, is_cluster_scoped: IsClusterScoped<'_>) -> bool {
        let namespace = |id: &Id| id.effective_namespace(is_cluster_scoped);
        let any_namespace = self.object.namespace.is_empty() && !is_cluster_scoped(&self.object.gvk);
        self.object.gvk == id.gvk
            && self.object.name == id.name
            && (any_namespace || namespace(&self.object) == namespace(id))
    }
}

fn read_object(node: &Node, strict: bool) -> Result<Id, ConfigError> {
    let mut fields = Fields::of(node, "objref")?.exact(strict);
    let api_version = fields.string("apiVersion")?;
    let mut gvk = read_gvk(&mut fields)?;
    let parts: Vec<_> = api_version.split('/').collect();
    match parts.as_slice() {
        [group, version] => gvk = Gvk::new(*group, *version, gvk.kind),
        [version] if !version.is_empty() => gvk.version = (*version).into(),
        _ => {}
    }
    let object = Id {
        gvk,
        name: fields.string("name")?,
        namespace: fields.string("namespace")?,
    };
    if strict {
        fields.finish()?;
    }
    Ok(object)
}

/// The variables of a build so far; no two have the same name.
#[derive(Debug, Clone, Default)]
pub struct VarSet(BTreeMap<CompactString, Var>);

impl VarSet {
    /// Adds variables.
    ///
    /// # Errors
    /// Two have the same name.
    pub fn add(&mut self, vars: impl IntoIterator<Item = Var>) -> Result<(), VarError> {
        for var in vars {
            match self.0.entry(var.name.clone()) {
                Entry::Vacant(free) => free.insert(var),
                Entry::Occupied(_) => {
                    return Err(VarError::Twice {
                        name: var.name.into(),
                        place: var.place,
                    });
                }
            };
        }
        Ok(())
    }

    /// The variables, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Var> {
        self.0.values()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoIterator for VarSet {
    type Item = Var;
    type IntoIter = std::collections::btree_map::IntoValues<CompactString, Var>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_values()
    }
}

/// The value of a variable in its object.
///
/// # Errors
/// The field is missing, or is a number that Go cannot parse.
pub fn var_value(var: &Var, object: &Node) -> Result<VarValue, VarError> {
    let missing = || VarError::NoField {
        name: var.name.to_string(),
        path: var.path.to_string(),
        object: Id::of(object).to_string(),
        place: var.place,
    };
    let path: Vec<_> = split_path_smart(&var.path, '.')
        .into_iter()
        .flat_map(split_position)
        .collect();
    let field = lookup(object, &path).ok().flatten().ok_or_else(missing)?;
    let Value::Scalar(scalar) = &field.value else {
        return Ok(VarValue::Collection);
    };
    let text = scalar.text.as_str();
    match scalar.tag {
        Tag::Int => atoi(text).map(VarValue::Integer).map_err(|_| missing()),
        Tag::Float => parse_float(text, 64).map(VarValue::Float).map_err(|_| missing()),
        Tag::Bool => match text {
            "true" | "True" | "TRUE" => Ok(VarValue::Boolean(true)),
            "false" | "False" | "FALSE" => Ok(VarValue::Boolean(false)),
            _ => Err(missing()),
        },
        _ => Ok(VarValue::Text(scalar.text.clone())),
    }
}

/// Splits `ports[0]` into `ports` and `0`.
fn split_position(part: CompactString) -> Vec<CompactString> {
    let position = part.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    match position {
        Some((name, at)) if !at.is_empty() && at.bytes().all(|byte| byte.is_ascii_digit()) => {
            let parts = [name, at].into_iter().filter(|part| !part.is_empty());
            parts.map(CompactString::from).collect()
        }
        _ => vec![part],
    }
}
