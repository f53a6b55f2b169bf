//! All tables of field specs together: kustomize's transformer configuration.

use super::builtin::BUILTIN;
use super::error::ConfigError;
use super::read::Fields;
use super::spec::{FieldSpec, FieldSpecs};
use crate::Gvk;
use bumpwright_yaml::Node;

/// The fields of each built-in transformer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
// each is named as its field in a file of `configurations:`
pub struct FieldConfig {
    pub name_prefix: FieldSpecs,
    pub name_suffix: FieldSpecs,
    pub namespace: FieldSpecs,
    pub common_labels: FieldSpecs,
    pub labels: FieldSpecs,
    pub template_labels: FieldSpecs,
    pub volume_claim_template_labels: FieldSpecs,
    pub common_annotations: FieldSpecs,
    pub var_reference: FieldSpecs,
    pub images: FieldSpecs,
    pub replicas: FieldSpecs,
    /// The fields that refer to objects of a type by name.
    pub name_reference: Vec<NameReferences>,
}

/// The fields that refer to objects of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameReferences {
    pub gvk: Gvk,
    /// The fields that refer to it.
    pub referrers: FieldSpecs,
}

impl FieldConfig {
    #[must_use]
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// The tables except `nameReference`, by the names of their fields.
    pub fn tables(&self) -> impl Iterator<Item = (&'static str, &FieldSpecs)> {
        [
            ("namePrefix", &self.name_prefix),
            ("nameSuffix", &self.name_suffix),
            ("namespace", &self.namespace),
            ("commonAnnotations", &self.common_annotations),
            ("commonLabels", &self.common_labels),
            ("labels", &self.labels),
            ("templateLabels", &self.template_labels),
            ("volumeClaimTemplateLabels", &self.volume_claim_template_labels),
            ("varReference", &self.var_reference),
            ("images", &self.images),
            ("replicas", &self.replicas),
        ]
        .into_iter()
    }

    /// The table of this name, mutable.
    pub(super) fn table_mut(&mut self, name: &str) -> Option<&mut FieldSpecs> {
        Some(match name {
            "namePrefix" => &mut self.name_prefix,
            "nameSuffix" => &mut self.name_suffix,
            "namespace" => &mut self.namespace,
            "commonAnnotations" => &mut self.common_annotations,
            "commonLabels" => &mut self.common_labels,
            "labels" => &mut self.labels,
            "templateLabels" => &mut self.template_labels,
            "volumeClaimTemplateLabels" => &mut self.volume_claim_template_labels,
            "varReference" => &mut self.var_reference,
            "images" => &mut self.images,
            "replicas" => &mut self.replicas,
            _ => return None,
        })
    }

    /// Parses a document of `configurations:`. Unknown fields are rejected.
    ///
    /// # Errors
    /// A field is unknown or of the wrong type.
    pub fn read(document: &Node) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(document, "transformer configuration")?;
        let mut config = Self::default();
        for (name, _) in Self::default().tables() {
            let specs = read_specs(&mut fields, name, true)?;
            if let Some(table) = config.table_mut(name) {
                *table = specs;
                table.sort();
            }
        }
        for item in fields.list("nameReference")? {
            config.name_reference.push(NameReferences::read(item)?);
        }
        fields.finish()?;
        config.sort_names();
        Ok(config)
    }

    /// Adds the tables of `other`, and sorts.
    ///
    /// # Errors
    /// Two specs of the same field disagree on `create`.
    pub fn merge(&mut self, other: &Self) -> Result<(), ConfigError> {
        for (name, specs) in other.tables() {
            if let Some(table) = self.table_mut(name) {
                table.add_all(specs)?;
                table.sort();
            }
        }
        for names in &other.name_reference {
            self.add_names(names)?;
        }
        self.sort_names();
        Ok(())
    }

    /// Adds fields that refer to a type by name: to its entry, or as an entry of its own.
    pub(crate) fn add_names(&mut self, names: &NameReferences) -> Result<(), ConfigError> {
        let mut is_merged = false;
        for ours in self.name_reference.iter_mut().filter(|ours| ours.gvk == names.gvk) {
            ours.referrers.add_all(&names.referrers)?;
            is_merged = true;
        }
        if !is_merged {
            self.name_reference.push(names.clone());
        }
        Ok(())
    }

    fn sort_names(&mut self) {
        self.name_reference.sort_by(|a, b| a.gvk.legacy_cmp(&b.gvk));
    }
}

impl NameReferences {
    fn read(item: &Node) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(item, "nameReference")?;
        let names = Self {
            gvk: read_gvk(&mut fields)?,
            referrers: read_specs(&mut fields, "fieldSpecs", true)?,
        };
        fields.finish()?;
        Ok(names)
    }
}

/// Maximum number of parts of a path: each is a level of the object that is created.
const MAX_PARTS: usize = 500;

impl FieldSpec {
    /// Parses a mapping; `strict` rejects unknown fields.
    ///
    /// # Errors
    /// A field is of the wrong type or, where `strict`, unknown; or the path is too long.
    pub fn read(item: &Node, strict: bool) -> Result<Self, ConfigError> {
        Self::of(Fields::of(item, "field spec")?, strict)
    }

    /// Parses one in a kustomization.
    ///
    /// # Errors
    /// As [`Self::read`]; or a number or boolean stands for a string.
    pub fn read_entry(item: &Node) -> Result<Self, ConfigError> {
        Self::of(Fields::of(item, "field spec")?.exact(true), true)
    }

    fn of(mut fields: Fields<'_>, strict: bool) -> Result<Self, ConfigError> {
        let gvk = read_gvk(&mut fields)?;
        let path = fields.string("path")?;
        let spec = Self::new(gvk, path, fields.boolean("create")?);
        if spec.parts().len() > MAX_PARTS {
            return Err(ConfigError::Field {
                place: fields.place(),
                what: "field spec".to_owned(),
                problem: format!("the path has more than {MAX_PARTS} parts"),
            });
        }
        if strict {
            fields.finish()?;
        }
        Ok(spec)
    }
}

/// Parses a list of field specs.
///
/// # Errors
/// As [`FieldSpec::read`], or the value is not a list.
pub(crate) fn read_specs(fields: &mut Fields<'_>, name: &'static str, strict: bool) -> Result<FieldSpecs, ConfigError> {
    let items = fields.list(name)?.iter();
    items.map(|item| FieldSpec::read(item, strict)).collect()
}

/// Reads the fields `group`, `version` and `kind`.
///
/// # Errors
/// One is not a string.
pub(crate) fn read_gvk(fields: &mut Fields<'_>) -> Result<Gvk, ConfigError> {
    Ok(Gvk::new(
        fields.string("group")?,
        fields.string("version")?,
        fields.string("kind")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::node;

    #[test]
    fn a_configuration_adds_to_the_defaults() {
        let document = node(
            r#"{"commonLabels":[{"path":"spec/x","kind":"Thing","create":true},{"path":"metadata/labels","create":true}],
                "nameReference":[{"kind":"Deployment","fieldSpecs":[{"kind":"Thing","path":"spec/ref"}]}]}"#,
        );
        let mut config = FieldConfig::builtin();
        let before = config.common_labels.as_slice().len();
        config.merge(&FieldConfig::read(&document).unwrap()).unwrap();
        assert_eq!(config.common_labels.as_slice().len(), before + 1);
        let deployments: Vec<_> = config
            .name_reference
            .iter()
            .filter(|names| names.gvk.kind == "Deployment")
            .collect();
        assert_eq!(deployments.len(), 1);
        assert_eq!(deployments[0].referrers.as_slice().len(), 2);
        assert_ne!(FieldConfig::builtin(), config, "the defaults stay as they are");
    }

    #[test]
    fn a_configuration_may_not_contradict_the_defaults() {
        let document = node(r#"{"commonLabels":[{"path":"metadata/labels"}]}"#);
        let error = FieldConfig::builtin()
            .merge(&FieldConfig::read(&document).unwrap())
            .unwrap_err();
        assert!(error.to_string().contains("metadata/labels"), "{error}");
    }

    #[test]
    fn an_unknown_field_is_refused() {
        let error = FieldConfig::read(&node(r#"{"commonLabel":[]}"#)).unwrap_err();
        assert!(error.to_string().contains("unknown field \"commonLabel\""), "{error}");
    }
}
