//! Sets the number of replicas.

use super::error::TransformError;
use super::object::Object;
use crate::fields::{ConfigError, FieldSpecs, Fields, NewNode, read_specs, set_scalar, walk};
use bumpwright_yaml::{Node, Place, Tag};
use compact_str::{CompactString, ToCompactString};

/// Sets the number of replicas of the objects with a name (`replicas`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaCount {
    /// The name, current or former.
    pub name: CompactString,
    pub count: i64,
    /// The fields that hold the number.
    pub fields: FieldSpecs,
    /// The place of the setting.
    pub place: Place,
}

impl ReplicaCount {
    /// Parses an entry of `replicas:`; `strict` rejects unknown fields.
    ///
    /// # Errors
    /// A field is of the wrong type.
    pub fn read_entry(entry: &Node, specs: FieldSpecs, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(entry, "replica")?.exact(strict);
        let replicas = Self {
            name: fields.string("name")?,
            count: fields.integer("count")?,
            fields: specs,
            place: entry.place,
        };
        if strict {
            fields.finish()?;
        }
        Ok(replicas)
    }

    /// Parses the config of a `ReplicaCountTransformer`.
    ///
    /// # Errors
    /// A field is of the wrong type.
    pub fn read(config: &Node) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(config, "ReplicaCountTransformer")?;
        let specs = read_specs(&mut fields, "fieldSpecs", false)?;
        match fields.get("replica") {
            Some(entry) => Self::read_entry(entry, specs, false),
            None => Self::read_entry(&Node::mapping().at(config.place), specs, false),
        }
    }

    /// Sets the number in all objects with the current or former name that are of a type of the field specs.
    ///
    /// # Errors
    /// No object matches, a field is not a scalar, or its path leads through one.
    pub fn apply<'a>(
        &self,
        objects: impl IntoIterator<Item = &'a mut (dyn Object + 'a)>,
    ) -> Result<(), TransformError> {
        let mut has_match = false;
        for object in objects {
            has_match |= self.apply_to(object)?;
        }
        if has_match { Ok(()) } else { Err(self.nothing_found()) }
    }

    /// Sets the number in one object; returns whether it matches.
    ///
    /// # Errors
    /// A field is not a scalar, or its path leads through one.
    pub fn apply_to(&self, object: &mut dyn Object) -> Result<bool, TransformError> {
        let mut ids = object.former_ids();
        ids.push(object.id());
        ids.retain(|id| id.name == self.name);
        let mut has_match = false;
        for spec in self.fields.as_slice() {
            if ids.iter().any(|id| id.gvk.is_selected(&spec.gvk)) {
                has_match = true;
                self.set(spec, object.node_mut())?;
            }
        }
        Ok(has_match)
    }

    fn set(&self, spec: &crate::fields::FieldSpec, object: &mut Node) -> Result<(), TransformError> {
        let new = NewNode::Scalar(Tag::Int);
        let count = self.count.to_compact_string();
        let outcome = walk(spec, object, Some(&new), &mut |field| {
            set_scalar(field, &count, Some(Tag::Int))?;
            field.place = self.place;
            Ok(())
        });
        outcome.map_err(TransformError::of("replicas"))
    }

    /// The error where no object matches.
    #[must_use]
    pub(crate) fn nothing_found(&self) -> TransformError {
        let types: Vec<_> = self.fields.as_slice().iter().map(|spec| spec.gvk.to_string()).collect();
        TransformError::NoReplicas {
            name: self.name.to_string(),
            types: types.join(" "),
            place: self.place,
        }
    }
}
