//! Puts one value into fields of many objects.

use super::error::TransformError;
use super::namespace::Namespace;
use super::object::{IsClusterScoped, Object};
use crate::fields::{ConfigError, Fault, FieldError, FieldSpecs, Fields, set_scalar, split_path};
use crate::replace::{Selector, SelectorMatcher, lookup_or_create};
use bumpwright_yaml::{Node, Place};
use compact_str::CompactString;

/// Puts a value into fields (`ValueAddTransformer`).
#[derive(Debug)]
pub struct ValueAdd {
    pub value: CompactString,
    pub targets: Vec<AddTarget>,
    /// A file with more targets; the caller reads it and adds them by [`Self::read_targets`].
    pub target_file: CompactString,
}

/// A field of some objects.
#[derive(Debug)]
pub struct AddTarget {
    /// The objects; all of them if empty.
    pub selector: Option<SelectorMatcher>,
    /// The path of the field, separated by slashes.
    pub path: CompactString,
    /// The position, counted from 1, that the value takes among the elements of the file path in the field; 0 replaces
    /// the field.
    pub position: usize,
}

impl ValueAdd {
    /// Parses the config of a `ValueAddTransformer`. `default` is the value where none is given: the last element of
    /// the path of the directory that is built.
    ///
    /// # Errors
    /// A field is of the wrong type, or a selector is not a regular expression.
    pub fn read(config: &Node, default: &str) -> Result<Self, TransformError> {
        let mut fields = Fields::of(config, "ValueAddTransformer")?;
        let value = fields.string("value")?;
        let value = value.trim();
        Ok(Self {
            value: if value.is_empty() { default } else { value }.into(),
            target_file: fields.string("targetFilePath")?,
            targets: Self::read_targets(config)?,
        })
    }

    /// Reads the `targets` of a config or of a file of targets.
    ///
    /// # Errors
    /// As [`Self::read`]; or a target has no path, or a negative position.
    pub fn read_targets(document: &Node) -> Result<Vec<AddTarget>, TransformError> {
        let mut fields = Fields::of(document, "ValueAddTransformer")?;
        fields.list("targets")?.iter().map(AddTarget::read).collect()
    }

    /// Checks that there is a target, once all are read.
    ///
    /// # Errors
    /// No target was read.
    pub fn check(&self, place: Place) -> Result<(), ConfigError> {
        if self.targets.is_empty() {
            return Err(wrong(place, "must specify at least one target"));
        }
        Ok(())
    }

    /// Puts the value into all `objects` that match, target by target.
    ///
    /// # Errors
    /// A field is not a scalar, or its path leads through one.
    pub fn apply(
        &self,
        objects: &mut [&mut dyn Object],
        is_cluster_scoped: IsClusterScoped<'_>,
    ) -> Result<(), TransformError> {
        for target in &self.targets {
            for object in objects.iter_mut() {
                let selected = match &target.selector {
                    Some(selector) => selector.matches(&**object, is_cluster_scoped)?,
                    None => true,
                };
                if selected {
                    let (node, shared) = object.tree();
                    self.put(target, node, is_cluster_scoped)?;
                    shared.settle(node);
                }
            }
        }
        Ok(())
    }

    fn put(
        &self,
        target: &AddTarget,
        object: &mut Node,
        is_cluster_scoped: IsClusterScoped<'_>,
    ) -> Result<(), TransformError> {
        if target.path == "metadata/namespace" {
            let namespace = Namespace {
                namespace: self.value.clone(),
                fields: FieldSpecs::default(),
                unset_only: false,
                subjects: super::Subjects::default(),
                place: Place::NONE,
            };
            return namespace.apply_to_node(object, is_cluster_scoped);
        }
        let outcome = self.set(target, object);
        let wrap = TransformError::of("ValueAddTransformer");
        outcome.map_err(|fault| wrap(FieldError::new(&target.path, object, fault)))
    }

    fn set(&self, target: &AddTarget, object: &mut Node) -> Result<(), Fault> {
        // Unlike in field specs, a leading slash is an empty part, which the search skips.
        let path = split_path(&target.path, '/');
        let Some(field) = lookup_or_create(object, &path)? else {
            return Ok(());
        };
        let old = field
            .as_scalar()
            .ok_or_else(|| Fault::wrong_kind(field, "ScalarNode"))?;
        let new = match target.position.checked_sub(1) {
            Some(position) => insert_path_part(&old.text, position, &self.value),
            None => self.value.to_string(),
        };
        set_scalar(field, &new, None)
    }
}

impl AddTarget {
    fn read(item: &Node) -> Result<Self, TransformError> {
        let mut fields = Fields::of(item, "target")?;
        let selector = fields
            .get("selector")
            .map(|selector| Selector::read(selector, false))
            .transpose()?;
        let path = fields.string("fieldPath")?;
        if path.is_empty() {
            return Err(wrong(item.place, "fieldPath cannot be empty").into());
        }
        let position = fields.integer("filePathPosition")?;
        let Ok(position) = usize::try_from(position) else {
            let problem = format!("value of FilePathPosition ({position}) cannot be negative");
            return Err(wrong(item.place, &problem).into());
        };
        Ok(Self {
            selector: selector.map(|selector| selector.matcher()).transpose()?,
            path,
            position,
        })
    }
}

fn wrong(place: Place, problem: &str) -> ConfigError {
    ConfigError::Field {
        place,
        what: "ValueAddTransformer".to_owned(),
        problem: problem.to_owned(),
    }
}

/// Inserts `part` into a file path at `position`, which counts from 0; at the end where the path is shorter. An
/// absolute path stays absolute. The result has no `.`, `..` or empty elements.
#[must_use]
fn insert_path_part(path: &str, position: usize, part: &str) -> String {
    if part.is_empty() {
        return path.to_owned();
    }
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = path.split('/').collect();
    if is_absolute || path.is_empty() {
        parts.remove(0);
    }
    if is_absolute && parts == [""] {
        parts.clear();
    }
    parts.insert(position.min(parts.len()), part);
    let root = if is_absolute { "/" } else { "" };
    format!("{root}{}", clean(&parts.join("/")))
}

/// The shortest equivalent path, as Go's `filepath.Clean` returns it, except that the empty path stays empty.
fn clean(path: &str) -> String {
    let root = if path.starts_with('/') { "/" } else { "" };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if !root.is_empty() => {}
            part => parts.push(part),
        }
    }
    match (root, parts.as_slice()) {
        ("", []) if !path.is_empty() => ".".to_owned(),
        _ => format!("{root}{}", parts.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::insert_path_part;

    #[test]
    fn a_part_goes_into_a_file_path() {
        let insert = |path, position| insert_path_part(path, position, "PEACH");
        assert_eq!(insert("", 0), "PEACH");
        assert_eq!(insert("/", 3), "/PEACH");
        assert_eq!(insert("pie", 0), "PEACH/pie");
        assert_eq!(insert("/pie", 0), "/PEACH/pie");
        assert_eq!(insert("raw", 1), "raw/PEACH");
        assert_eq!(insert("/raw", 9999), "/raw/PEACH");
        assert_eq!(insert("a/nice/warm/pie", 3), "a/nice/warm/PEACH/pie");
        assert_eq!(insert("/a/nice/warm/pie", 3), "/a/nice/warm/PEACH/pie");
        assert_eq!(insert("a/../b", 3), "b/PEACH");
    }
}
