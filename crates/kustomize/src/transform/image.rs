//! Names, tags and digests of container images.

use super::error::TransformError;
use super::image_name::ImageName;
use crate::fields::{ConfigError, Fault, FieldError, FieldSpecs, Fields, read_specs, set_scalar, walk_all};
use bumpwright_re2::{Budget, Regexp};
use bumpwright_yaml::{Node, Value};
use compact_str::CompactString;

/// What may follow the name of an image: a tag, a digest.
const TAG_AND_DIGEST: &str = "(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?$";

/// An entry of `images:`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageChange {
    /// The name of the images to change; kustomize puts it into a regular expression as it is.
    pub name: CompactString,
    /// The name to give them; empty to keep theirs.
    pub new_name: CompactString,
    /// The tag to give them. A digest that they have goes, unless one is given.
    pub new_tag: CompactString,
    /// The digest to give them. A tag that they have goes, unless one is given.
    pub digest: CompactString,
    /// What to put after the tag that they have; only without `new_tag` and `digest`.
    pub tag_suffix: CompactString,
}

/// Changes images (`images`). Made once for many objects: the name is compiled here.
#[derive(Debug)]
pub struct ImageTag {
    change: ImageChange,
    pattern: Option<Regexp>,
    fields: FieldSpecs,
}

impl ImageChange {
    /// Reads an entry of `images:`; `strict` refuses unknown fields.
    ///
    /// # Errors
    /// A field is of the wrong type.
    pub fn read(entry: &Node, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(entry, "image")?.exact(strict);
        let change = Self {
            name: fields.string("name")?,
            new_name: fields.string("newName")?,
            new_tag: fields.string("newTag")?,
            digest: fields.string("digest")?,
            tag_suffix: fields.string("tagSuffix")?,
        };
        if strict {
            fields.finish()?;
        }
        Ok(change)
    }

    /// The reference that takes the place of `reference`, which has the name to change.
    #[must_use]
    pub fn renamed(&self, reference: &str) -> String {
        let old = ImageName::of(reference);
        let name = if self.new_name.is_empty() {
            old.name
        } else {
            &self.new_name
        };
        let (tag, suffix, digest) = match (self.new_tag.as_str(), self.digest.as_str(), self.tag_suffix.as_str()) {
            ("", "", "") => (old.tag, "", old.digest),
            ("", "", suffix) => (old.tag, suffix, ""),
            (tag, digest, _) => (tag, "", digest),
        };
        let mut new = name.to_owned();
        if !(tag.is_empty() && suffix.is_empty()) {
            new.extend([":", tag, suffix]);
        }
        if !digest.is_empty() {
            new.extend(["@", digest]);
        }
        new
    }
}

impl ImageTag {
    /// The transformer of `change` at `fields`. A name that is no regular expression matches nothing.
    #[must_use]
    pub fn new(change: ImageChange, fields: FieldSpecs) -> Self {
        let pattern = Regexp::new(format!("^{}{TAG_AND_DIGEST}", change.name));
        Self {
            change,
            pattern: pattern.ok(),
            fields,
        }
    }

    /// Reads the config of an `ImageTagTransformer`.
    ///
    /// # Errors
    /// A field is of the wrong type.
    pub fn read(config: &Node) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(config, "ImageTagTransformer")?;
        let change = fields
            .get("imageTag")
            .map(|entry| ImageChange::read(entry, false))
            .transpose()?;
        let specs = read_specs(&mut fields, "fieldSpecs", false)?;
        Ok(Self::new(change.unwrap_or_default(), specs))
    }

    /// Changes the images of one object: first those of every list called `containers` or `initContainers`, wherever
    /// it stands, then those of the field specs. Definitions of custom resources are let be.
    ///
    /// An image that both find is changed twice, as in kustomize, which shows with `tagSuffix`.
    ///
    /// # Errors
    /// An image is no scalar, a container no mapping, or a path leads through a scalar.
    pub fn apply(&self, object: &mut Node) -> Result<(), TransformError> {
        if object.get("kind").and_then(Node::as_str) == Some("CustomResourceDefinition") {
            return Ok(());
        }
        let wrap = TransformError::of("images");
        if let Err(fault) = self.containers(object) {
            return Err(wrap(FieldError::new("containers", object, fault)));
        }
        walk_all(self.fields.as_slice(), object, None, &mut |field| self.set(field)).map_err(wrap)
    }

    fn containers(&self, node: &mut Node) -> Result<(), Fault> {
        match &mut node.value {
            Value::Scalar(_) => Ok(()),
            Value::Sequence(sequence) => sequence.items.iter_mut().try_for_each(|item| self.containers(item)),
            Value::Mapping(mapping) => mapping.entries.iter_mut().try_for_each(|entry| {
                self.containers(&mut entry.value)?;
                match entry.key.text.as_str() {
                    "containers" | "initContainers" => self.listed(&mut entry.value),
                    _ => Ok(()),
                }
            }),
        }
    }

    fn listed(&self, containers: &mut Node) -> Result<(), Fault> {
        let Some(items) = containers.as_items_mut() else {
            return Ok(());
        };
        items
            .iter_mut()
            .filter(|item| !item.is_null())
            .try_for_each(|container| {
                let wrong = Fault::wrong_kind(container, "MappingNode");
                let mapping = container.as_mapping_mut().ok_or(wrong)?;
                mapping.get_mut("image").map_or(Ok(()), |image| self.set(image))
            })
    }

    fn set(&self, image: &mut Node) -> Result<(), Fault> {
        let scalar = image
            .as_scalar()
            .ok_or_else(|| Fault::wrong_kind(image, "ScalarNode"))?;
        if !self.matches(&scalar.text) {
            return Ok(());
        }
        let new = self.change.renamed(&scalar.text);
        set_scalar(image, &new, None)
    }

    fn matches(&self, reference: &str) -> bool {
        let Some(pattern) = &self.pattern else { return false };
        // Such patterns are tiny; one that needs more steps than this matches nothing.
        let mut budget = Budget::default();
        pattern.is_match(reference.as_bytes(), &mut budget).unwrap_or(false)
    }
}
