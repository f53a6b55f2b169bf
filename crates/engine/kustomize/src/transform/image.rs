//! Sets names, tags and digests of container images.

use super::error::TransformError;
use super::image_name::ImageName;
use crate::fields::{ConfigError, Fault, FieldError, FieldSpecs, Fields, read_specs, set_scalar, walk_all};
use bumpwright_re2::{Budget, Regexp};
use bumpwright_yaml::{Node, Place, Value};
use compact_str::CompactString;
use std::cell::Cell;

/// What may follow the name of an image: a tag, a digest.
const TAG_AND_DIGEST: &str = "(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?$";

/// An entry of `images:`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageChange {
    /// The name of the images to change; kustomize puts it into a regular expression as it is.
    pub name: CompactString,
    /// The new name; empty to keep the old one.
    pub new_name: CompactString,
    /// The new tag. An existing digest is removed, unless one is given.
    pub new_tag: CompactString,
    /// The new digest. An existing tag is removed, unless one is given.
    pub digest: CompactString,
    /// A suffix for the existing tag; only without `new_tag` and `digest`.
    pub tag_suffix: CompactString,
    /// The place of the entry.
    pub place: Place,
}

/// Changes images (`images`). Built once for many objects: the name is compiled here.
#[derive(Debug)]
pub struct ImageTag {
    change: ImageChange,
    pattern: Option<Regexp>,
    fields: FieldSpecs,
    /// Whether an image matched the name.
    matched: Cell<bool>,
}

impl ImageChange {
    /// Parses an entry of `images:`; `strict` rejects unknown fields.
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
            place: entry.place,
        };
        if strict {
            fields.finish()?;
        }
        Ok(change)
    }

    /// The reference that replaces `reference`, which matches the name.
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

/// Whether a reference may begin with a match of an expression: false only if the expression is a plain name and it
/// does not. Each image of a build is compared with each entry, so most comparisons should cost nothing.
fn may_be(name: &str, reference: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/' | b':' | b'.');
    if !(name.bytes().all(is_plain) && reference.is_ascii()) {
        return true;
    }
    let any = |(wanted, ours)| wanted == b'.' || wanted == ours;
    name.len() <= reference.len() && name.bytes().zip(reference.bytes()).all(any)
}

/// Calls `visit` with each image of an object and its text.
fn each_image(
    fields: &FieldSpecs,
    object: &mut Node,
    visit: &mut dyn FnMut(&mut Node, CompactString) -> Result<(), Fault>,
) -> Result<(), TransformError> {
    if object.get("kind").and_then(Node::as_str) == Some("CustomResourceDefinition") {
        return Ok(());
    }
    let wrap = TransformError::of("images");
    let mut visit = |image: &mut Node| {
        let wrong = || Fault::wrong_kind(image, "ScalarNode");
        let text = image.as_scalar().ok_or_else(wrong)?.text.clone();
        visit(image, text)
    };
    if let Err(fault) = in_containers(object, &mut visit) {
        return Err(wrap(FieldError::new("containers", object, fault)));
    }
    walk_all(fields.as_slice(), object, None, &mut visit).map_err(wrap)
}

fn images_of(fields: &FieldSpecs, object: &mut Node) -> Result<Vec<CompactString>, TransformError> {
    let mut images = Vec::new();
    each_image(fields, object, &mut |_, text| {
        if !images.contains(&text) {
            images.push(text);
        }
        Ok(())
    })?;
    Ok(images)
}

type VisitImage<'a> = &'a mut dyn FnMut(&mut Node) -> Result<(), Fault>;

fn in_containers(node: &mut Node, visit: VisitImage<'_>) -> Result<(), Fault> {
    match &mut node.value {
        Value::Scalar(_) => Ok(()),
        Value::Sequence(sequence) => sequence
            .items
            .iter_mut()
            .try_for_each(|item| in_containers(item, visit)),
        Value::Mapping(mapping) => mapping.entries.iter_mut().try_for_each(|entry| {
            in_containers(&mut entry.value, visit)?;
            match entry.key.text.as_str() {
                "containers" | "initContainers" => in_list(&mut entry.value, visit),
                _ => Ok(()),
            }
        }),
    }
}

fn in_list(containers: &mut Node, visit: VisitImage<'_>) -> Result<(), Fault> {
    let Some(items) = containers.as_items_mut() else {
        return Ok(());
    };
    items
        .iter_mut()
        .filter(|item| !item.is_null())
        .try_for_each(|container| {
            let wrong = Fault::wrong_kind(container, "MappingNode");
            let mapping = container.as_mapping_mut().ok_or(wrong)?;
            mapping.get_mut("image").map_or(Ok(()), &mut *visit)
        })
}

impl ImageTag {
    /// The transformer of `change` at `fields`. A name that is not a regular expression matches nothing.
    #[must_use]
    pub fn new(change: ImageChange, fields: FieldSpecs) -> Self {
        let pattern = Regexp::new(format!("^{}{TAG_AND_DIGEST}", change.name));
        Self {
            change,
            pattern: pattern.ok(),
            fields,
            matched: Cell::new(false),
        }
    }

    /// The warning if no object so far has such an image.
    #[must_use]
    pub fn unmatched(&self) -> Option<String> {
        let text = || format!("images: no object has the image {:?}", self.change.name);
        (!self.matched.get()).then(text)
    }

    /// The place of the setting.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.change.place
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

    /// Changes the images of one object: first those of every list called `containers` or `initContainers`, at any
    /// depth, then those of the field specs. CustomResourceDefinitions are left alone.
    ///
    /// An image found by both is changed twice, as in kustomize, which shows with `tagSuffix`.
    ///
    /// # Errors
    /// An image is not a scalar, a container is not a mapping, or a path leads through a scalar.
    pub fn apply(&self, object: &mut Node) -> Result<(), TransformError> {
        each_image(&self.fields, object, &mut |image, text| {
            if !self.matches(&text) {
                return Ok(());
            }
            self.matched.set(true);
            set_scalar(image, &self.change.renamed(&text), None)
        })
    }

    /// Applies several changes to the same fields, one after the other. The images of the object are looked up once,
    /// and again after each change that applies to one of them: most entries of `images:` do not.
    pub(crate) fn apply_all(all: &[Self], object: &mut Node) -> Result<(), TransformError> {
        let mut images: Option<Vec<CompactString>> = None;
        for change in all {
            if images.is_none() {
                images = Some(images_of(&change.fields, object)?);
            }
            if images.iter().flatten().any(|image| change.matches(image)) {
                change.apply(object)?;
                images = None;
            }
        }
        Ok(())
    }

    fn matches(&self, reference: &str) -> bool {
        let Some(pattern) = &self.pattern else { return false };
        if !may_be(&self.change.name, reference) {
            return false;
        }
        // Such patterns are tiny; one that needs more steps than this matches nothing.
        let mut budget = Budget::default();
        pattern.is_match(reference.as_bytes(), &mut budget).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::FieldSpec;
    use crate::testing::{json, node};

    fn changes(names: &[(&str, &str)]) -> Vec<ImageTag> {
        let change = |(name, new_name): &(&str, &str)| ImageChange {
            name: (*name).into(),
            new_name: (*new_name).into(),
            ..ImageChange::default()
        };
        let fields = FieldSpecs::from(vec![FieldSpec::of_any("spec/image", false)]);
        names
            .iter()
            .map(|names| ImageTag::new(change(names), fields.clone()))
            .collect()
    }

    #[test]
    fn changes_together_are_changes_one_by_one() {
        let object = r#"{"kind":"K","spec":{"image":"a:1","containers":[{"image":"b"},{"image":"axb"}]}}"#;
        for names in [
            &[("a", "b"), ("b", "c"), ("c", "d")][..],
            &[("b", "a"), ("a", "b")],
            &[("a.b", "x"), ("(a|b)", "y")],
            &[("none", "x"), ("[", "x")],
        ] {
            let changes = changes(names);
            let (mut together, mut single) = (node(object), node(object));
            ImageTag::apply_all(&changes, &mut together).unwrap();
            changes.iter().for_each(|change| change.apply(&mut single).unwrap());
            assert_eq!(json(&together), json(&single), "{names:?}");
        }
        let mut wrong = node(r#"{"kind":"K","spec":{"containers":[{"image":[]}]}}"#);
        assert!(ImageTag::apply_all(&changes(&[("none", "x")]), &mut wrong).is_err());
    }
}
