//! Which objects are meant: by regular expressions over type, name and namespace, and by labels and annotations.

use super::error::SelectorError;
use super::label_selector::LabelSelector;
use crate::Gvk;
use crate::fields::{ConfigError, Fields, read_gvk};
use crate::transform::{Id, IsClusterScoped, Object};
use bumpwright_re2::{Budget, Regexp};
use bumpwright_yaml::Node;
use compact_str::CompactString;

/// What objects must be to be meant, as written. Empty parts stand for any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// Type, name and namespace, each a regular expression for the whole text.
    pub id: Id,
    /// A label selector over the annotations.
    pub annotations: CompactString,
    /// A label selector.
    pub labels: CompactString,
}

/// A selector that is ready to be asked.
#[derive(Debug)]
pub struct SelectorMatcher {
    selector: Selector,
    group: Option<Regexp>,
    version: Option<Regexp>,
    kind: Option<Regexp>,
    name: Option<Regexp>,
    namespace: Option<Regexp>,
    /// A wrong label selector is an error only where an object gets to be asked for its labels, as in kustomize.
    labels: Result<LabelSelector, SelectorError>,
    annotations: Result<LabelSelector, SelectorError>,
}

impl Selector {
    /// Reads a selector; `strict` refuses unknown fields.
    ///
    /// # Errors
    /// A field is of the wrong type or, where `strict`, unknown.
    pub fn read(node: &Node, strict: bool) -> Result<Self, ConfigError> {
        let mut fields = Fields::of(node, "selector")?.exact(strict);
        let selector = Self {
            id: read_id(&mut fields)?,
            annotations: fields.string("annotationSelector")?,
            labels: fields.string("labelSelector")?,
        };
        if strict {
            fields.finish()?;
        }
        Ok(selector)
    }

    /// Makes it ready to be asked.
    ///
    /// # Errors
    /// A part is no regular expression.
    pub fn matcher(self) -> Result<SelectorMatcher, SelectorError> {
        Ok(SelectorMatcher {
            group: whole("group", &self.id.gvk.group)?,
            version: whole("version", &self.id.gvk.version)?,
            kind: whole("kind", &self.id.gvk.kind)?,
            name: whole("name", &self.id.name)?,
            namespace: whole("namespace", &self.id.namespace)?,
            labels: LabelSelector::new(&self.labels),
            annotations: LabelSelector::new(&self.annotations),
            selector: self,
        })
    }
}

/// Reads `group`, `version`, `kind`, `name` and `namespace`.
pub(super) fn read_id(fields: &mut Fields<'_>) -> Result<Id, ConfigError> {
    Ok(Id {
        gvk: read_gvk(fields)?,
        name: fields.string("name")?,
        namespace: fields.string("namespace")?,
    })
}

/// An expression for the whole of a text; nothing for an empty one.
fn whole(field: &'static str, pattern: &str) -> Result<Option<Regexp>, SelectorError> {
    if pattern.is_empty() {
        return Ok(None);
    }
    let regexp = Regexp::new(format!("^(?:{pattern})$"));
    regexp.map(Some).map_err(|error| SelectorError::Pattern {
        field,
        pattern: pattern.to_owned(),
        reason: error.to_string(),
    })
}

fn is_match(regexp: Option<&Regexp>, text: &str) -> Result<bool, SelectorError> {
    let Some(regexp) = regexp else { return Ok(true) };
    let outcome = regexp.is_match(text.as_bytes(), &mut Budget::default());
    outcome.map_err(|_| SelectorError::Exhausted {
        pattern: String::from_utf8_lossy(regexp.pattern()).into_owned(),
    })
}

impl SelectorMatcher {
    /// The selector as written.
    #[must_use]
    pub const fn selector(&self) -> &Selector {
        &self.selector
    }

    /// Whether a type is meant.
    ///
    /// # Errors
    /// An expression is too costly.
    pub fn picks_type(&self, gvk: &Gvk) -> Result<bool, SelectorError> {
        Ok(is_match(self.group.as_ref(), &gvk.group)?
            && is_match(self.version.as_ref(), &gvk.version)?
            && is_match(self.kind.as_ref(), &gvk.kind)?)
    }

    /// Whether an id is meant, its namespace taken as it is.
    ///
    /// # Errors
    /// An expression is too costly.
    pub fn picks_id(&self, id: &Id) -> Result<bool, SelectorError> {
        Ok(self.picks_type(&id.gvk)?
            && is_match(self.name.as_ref(), &id.name)?
            && is_match(self.namespace.as_ref(), &id.namespace)?)
    }

    /// Whether the annotations and labels of an object are meant.
    ///
    /// # Errors
    /// The label selector is none.
    pub fn picks_metadata(&self, object: &Node) -> Result<bool, SelectorError> {
        let annotations = self.annotations.as_ref().map_err(Clone::clone)?;
        let labels = self.labels.as_ref().map_err(Clone::clone)?;
        Ok(annotations.matches(object, "annotations") && labels.matches(object, "labels"))
    }

    /// Whether an object is meant as the target of a patch: namespace and name may be the first ones it had or the
    /// present ones, the type is the present one.
    ///
    /// # Errors
    /// An expression is too costly, or the label selector is none.
    pub fn picks(&self, object: &dyn Object, is_cluster_scoped: IsClusterScoped<'_>) -> Result<bool, SelectorError> {
        let present = object.id();
        if !self.picks_type(&present.gvk)? {
            return Ok(false);
        }
        let first = object.original_id();
        let namespace = |id: &Id| is_match(self.namespace.as_ref(), &id.effective_namespace(is_cluster_scoped));
        let name = |id: &Id| is_match(self.name.as_ref(), &id.name);
        Ok((namespace(&first)? || namespace(&present)?)
            && (name(&first)? || name(&present)?)
            && self.picks_metadata(object.node())?)
    }
}
