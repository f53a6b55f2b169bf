//! Adds prefixes and suffixes to names.

use super::error::TransformError;
use super::object::Object;
use crate::Gvk;
use crate::fields::{ConfigError, FieldSpec, FieldSpecs, Fields, NewNode, read_specs, set_scalar, walk};
use bumpwright_yaml::{Node, Tag};
use compact_str::{CompactString, format_compact};

/// The end of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Prefix,
    Suffix,
}

/// Adds a text before or after names (`namePrefix`, `nameSuffix`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affix {
    pub end: End,
    pub text: CompactString,
    /// The fields that hold names.
    pub fields: FieldSpecs,
}

impl Affix {
    /// Reads the config of a `PrefixTransformer` or `SuffixTransformer`.
    ///
    /// # Errors
    /// A field is of the wrong type, or `fieldSpecs` is missing.
    pub fn read(config: &Node, end: End) -> Result<Self, ConfigError> {
        let (what, field) = match end {
            End::Prefix => ("PrefixTransformer", "prefix"),
            End::Suffix => ("SuffixTransformer", "suffix"),
        };
        let mut fields = Fields::of(config, what)?;
        let text = fields.string(field)?;
        if fields.get("fieldSpecs").is_none() {
            return Err(ConfigError::Field {
                place: config.place,
                what: what.to_owned(),
                problem: "fieldSpecs is not expected to be nil; say which fields hold names".to_owned(),
            });
        }
        let specs = read_specs(&mut fields, "fieldSpecs", false)?;
        Ok(Self {
            end,
            text,
            fields: specs,
        })
    }

    /// Changes the names of one object. Types with fixed names are left alone.
    ///
    /// # Errors
    /// A field is not a scalar, or its path leads through one.
    pub fn apply(&self, object: &mut dyn Object) -> Result<(), TransformError> {
        let original = object.original_id().gvk;
        if is_fixed(&original) {
            return Ok(());
        }
        let specs = self.fields.as_slice().iter();
        for spec in specs.filter(|spec| original.is_selected(&spec.gvk)) {
            if spec.path == "metadata/name" && !self.text.is_empty() {
                object.note_affix(self.end, &self.text);
                object.remember_id();
            }
            self.change(spec, object.node_mut())?;
        }
        Ok(())
    }

    fn change(&self, spec: &FieldSpec, object: &mut Node) -> Result<(), TransformError> {
        let new = NewNode::Scalar(Tag::Str);
        let outcome = walk(spec, object, Some(&new), &mut |field| {
            let name = field.written();
            let name = match self.end {
                End::Prefix => format_compact!("{}{name}", self.text),
                End::Suffix => format_compact!("{name}{}", self.text),
            };
            set_scalar(field, &name, None)
        });
        outcome.map_err(TransformError::of(match self.end {
            End::Prefix => "name prefix",
            End::Suffix => "name suffix",
        }))
    }
}

/// Whether names of this type have a meaning, and so must stay.
fn is_fixed(gvk: &Gvk) -> bool {
    match gvk.kind.as_str() {
        "CustomResourceDefinition" | "Namespace" => true,
        "APIService" => gvk.group == "apiregistration.k8s.io",
        _ => false,
    }
}
