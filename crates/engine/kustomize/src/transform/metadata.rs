//! Adds labels and annotations.

use super::error::TransformError;
use crate::fields::{
    ConfigError, FieldConfig, FieldError, FieldSpec, FieldSpecs, Fields, NewNode, SharedEntries, Step, read_specs,
    set_entry, walk_traced,
};
use bumpwright_yaml::Node;
use compact_str::CompactString;

/// Adds entries to labels or annotations (`commonLabels`, `labels`, `commonAnnotations`).
#[derive(Debug, Clone)]
pub struct Metadata {
    /// Its name in messages.
    pub what: &'static str,
    /// The entries, sorted by key; values are strings with the place of the setting.
    pub pairs: Vec<(CompactString, Node)>,
    /// The mappings to add them to.
    pub fields: FieldSpecs,
}

impl Metadata {
    /// Reads the config of a `LabelTransformer`.
    ///
    /// # Errors
    /// A field is of the wrong type.
    pub fn read_labels(config: &Node) -> Result<Self, ConfigError> {
        Self::read(config, "LabelTransformer", "labels")
    }

    /// Reads the config of an `AnnotationsTransformer`.
    ///
    /// # Errors
    /// A field is of the wrong type.
    pub fn read_annotations(config: &Node) -> Result<Self, ConfigError> {
        Self::read(config, "AnnotationsTransformer", "annotations")
    }

    fn read(config: &Node, what: &'static str, field: &'static str) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(config, what)?;
        Ok(Self {
            what: field,
            pairs: fields.pairs(field)?,
            fields: read_specs(&mut fields, "fieldSpecs", false)?,
        })
    }

    /// Adds the entries to one object.
    ///
    /// # Errors
    /// A field is not a mapping, or its path leads through a scalar.
    pub fn apply(&self, object: &mut Node, shared: &mut SharedEntries) -> Result<(), TransformError> {
        for (key, value) in &self.pairs {
            let spots = self.add(object, key, value).map_err(TransformError::of(self.what))?;
            shared.settle(object);
            shared.add(value.text(), spots);
        }
        Ok(())
    }

    /// Adds one entry; returns the spots where it is new.
    fn add(&self, object: &mut Node, key: &CompactString, value: &Node) -> Result<Vec<Vec<Step>>, FieldError> {
        let mut spots = Vec::new();
        walk_traced(
            self.fields.as_slice(),
            object,
            Some(&NewNode::Mapping),
            &mut |field, way| {
                let is_new = field.as_mapping().is_some_and(|mapping| mapping.get(key).is_none());
                set_entry(field, key, value)?;
                if is_new {
                    spots.push([way, &[Step::Key(key.clone())]].concat());
                }
                Ok(())
            },
        )?;
        Ok(spots)
    }
}

/// The options of an entry of `labels:`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools)] // as in the kustomization
pub struct LabelOptions {
    /// `includeSelectors`: all fields of `commonLabels`.
    pub selectors: bool,
    /// `includeTemplates`: templates of pods too. Implied by `selectors`.
    pub templates: bool,
    /// `includeVolumeClaimTemplates`. Implied by `selectors`.
    pub volume_claim_templates: bool,
}

/// The fields of an entry of `labels:`: its own `fields`, and those that its options add.
///
/// # Errors
/// Two specs of the same field disagree on `create`.
pub fn label_specs(own: &FieldSpecs, options: LabelOptions, config: &FieldConfig) -> Result<FieldSpecs, ConfigError> {
    let mut specs = own.clone();
    specs.add_all(&config.labels)?;
    if options.selectors {
        specs.add_all(&config.common_labels)?;
        return Ok(specs);
    }
    if options.templates {
        specs.add_all(&config.template_labels)?;
    }
    if options.volume_claim_templates {
        specs.add_all(&config.volume_claim_template_labels)?;
    }
    specs.add(FieldSpec::of_any("metadata/labels", true))?;
    Ok(specs)
}
