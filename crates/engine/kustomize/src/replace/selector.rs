//! Selects objects: by regular expressions for type, name and namespace, and by labels and annotations.

use super::error::SelectorError;
use super::label_selector::LabelSelector;
use crate::Gvk;
use crate::fields::{ConfigError, Fields, read_gvk};
use crate::transform::{Id, IsClusterScoped, Object};
use bumpwright_re2::{Budget, Regexp};
use bumpwright_text::Parts;
use bumpwright_yaml::Node;
use compact_str::CompactString;

/// A selector as written. Empty parts match anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// Type, name and namespace, each a regular expression for the whole text.
    pub id: Id,
    /// A label selector applied to the annotations.
    pub annotations: CompactString,
    pub labels: CompactString,
}

/// A selector with its expressions compiled, to be compared with many objects.
#[derive(Debug)]
pub struct SelectorMatcher {
    selector: Selector,
    group: TextMatcher,
    version: TextMatcher,
    kind: TextMatcher,
    name: TextMatcher,
    namespace: TextMatcher,
    /// An invalid label selector is an error only once the labels of an object are compared, as in kustomize.
    labels: Result<LabelSelector, SelectorError>,
    annotations: Result<LabelSelector, SelectorError>,
}

impl Selector {
    /// Parses a selector; `strict` rejects unknown fields.
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

    /// Compiles it.
    ///
    /// # Errors
    /// A part is not a regular expression.
    pub(crate) fn matcher(self) -> Result<SelectorMatcher, SelectorError> {
        Ok(SelectorMatcher {
            group: TextMatcher::new("group", &self.id.gvk.group)?,
            version: TextMatcher::new("version", &self.id.gvk.version)?,
            kind: TextMatcher::new("kind", &self.id.gvk.kind)?,
            name: TextMatcher::new("name", &self.id.name)?,
            namespace: TextMatcher::new("namespace", &self.id.namespace)?,
            labels: LabelSelector::new(&self.labels),
            annotations: LabelSelector::new(&self.annotations),
            selector: self,
        })
    }
}

/// Parses `group`, `version`, `kind`, `name` and `namespace`.
pub(super) fn read_id(fields: &mut Fields<'_>) -> Result<Id, ConfigError> {
    Ok(Id {
        gvk: read_gvk(fields)?,
        name: fields.string("name")?,
        namespace: fields.string("namespace")?,
    })
}

/// A matcher of a whole text.
#[derive(Debug)]
enum TextMatcher {
    /// Anything: the expression is empty.
    Any,
    /// This text: most expressions are plain names, and selectors are compared with each object.
    Text(CompactString),
    /// The matches of an expression, all of which begin with this text.
    Matched(CompactString, Regexp),
}

/// The plain text that all matches of an expression begin with; the whole expression if it has no operators.
fn beginning(pattern: &str) -> &str {
    let is_plain = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | ':' | '/');
    let Some((at, next)) = pattern.char_indices().find(|(_, char)| !is_plain(*char)) else {
        return pattern;
    };
    let beginning = pattern.part(..at);
    match next {
        _ if pattern.contains('|') => "",
        // The last character is optional.
        '*' | '?' | '{' => {
            let mut chars = beginning.chars();
            chars.next_back();
            chars.as_str()
        }
        _ => beginning,
    }
}

impl TextMatcher {
    fn new(field: &'static str, pattern: &CompactString) -> Result<Self, SelectorError> {
        if pattern.is_empty() {
            return Ok(Self::Any);
        }
        let beginning = beginning(pattern);
        if beginning.len() == pattern.len() {
            return Ok(Self::Text(pattern.clone()));
        }
        let regexp = Regexp::new(format!("^(?:{pattern})$"));
        regexp
            .map(|regexp| Self::Matched(beginning.into(), regexp))
            .map_err(|error| SelectorError::Pattern {
                field,
                pattern: pattern.to_string(),
                reason: error.to_string(),
            })
    }

    fn is_match(&self, text: &str) -> Result<bool, SelectorError> {
        let regexp = match self {
            Self::Any => return Ok(true),
            Self::Text(wanted) => return Ok(wanted == text),
            Self::Matched(beginning, _) if !text.starts_with(beginning.as_str()) => return Ok(false),
            Self::Matched(_, regexp) => regexp,
        };
        let outcome = regexp.is_match(text.as_bytes(), &mut Budget::default());
        outcome.map_err(|_| SelectorError::Exhausted {
            pattern: String::from_utf8_lossy(regexp.pattern()).into_owned(),
        })
    }
}

impl SelectorMatcher {
    /// The selector as written.
    #[must_use]
    pub const fn selector(&self) -> &Selector {
        &self.selector
    }

    /// The only name that it matches, if it is not a pattern.
    #[must_use]
    pub(crate) fn only_name(&self) -> Option<&str> {
        match &self.name {
            TextMatcher::Text(name) => Some(name),
            TextMatcher::Any | TextMatcher::Matched(..) => None,
        }
    }

    /// Whether a type matches.
    ///
    /// # Errors
    /// An expression is too costly.
    fn matches_type(&self, gvk: &Gvk) -> Result<bool, SelectorError> {
        Ok(
            self.group.is_match(&gvk.group)?
                && self.version.is_match(&gvk.version)?
                && self.kind.is_match(&gvk.kind)?,
        )
    }

    /// Whether an id matches, its namespace taken as it is.
    ///
    /// # Errors
    /// An expression is too costly.
    pub(crate) fn matches_id(&self, id: &Id) -> Result<bool, SelectorError> {
        Ok(self.matches_type(&id.gvk)? && self.name.is_match(&id.name)? && self.namespace.is_match(&id.namespace)?)
    }

    /// Whether the annotations and labels of an object match.
    ///
    /// # Errors
    /// The label selector is invalid.
    pub(crate) fn matches_metadata(&self, object: &Node) -> Result<bool, SelectorError> {
        let annotations = self.annotations.as_ref().map_err(Clone::clone)?;
        let labels = self.labels.as_ref().map_err(Clone::clone)?;
        Ok(annotations.matches(object, "annotations") && labels.matches(object, "labels"))
    }

    /// Whether an object matches as the target of a patch: namespace and name may be the original or the current ones,
    /// the type is the current one.
    ///
    /// # Errors
    /// An expression is too costly, or the label selector is invalid.
    pub fn matches(&self, object: &dyn Object, is_cluster_scoped: IsClusterScoped<'_>) -> Result<bool, SelectorError> {
        let (first, present) = (object.original_id(), object.id());
        let [before, now] = [&first, &present].map(|id| id.effective_namespace(is_cluster_scoped));
        Ok(
            self.matches_parts(&present.gvk, [&first.name, &present.name], [&before, &now])?
                && self.matches_metadata(object.node())?,
        )
    }

    /// Whether a type matches, and one each of the original and current names and effective namespaces: this copies
    /// nothing, and most objects do not match.
    ///
    /// # Errors
    /// An expression is too costly.
    pub(crate) fn matches_parts(
        &self,
        gvk: &Gvk,
        names: [&str; 2],
        namespaces: [&str; 2],
    ) -> Result<bool, SelectorError> {
        let either =
            |whole: &TextMatcher, [first, present]: [&str; 2]| Ok(whole.is_match(first)? || whole.is_match(present)?);
        Ok(self.matches_type(gvk)? && either(&self.name, names)? && either(&self.namespace, namespaces)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_without_its_plain_beginning_is_not_tried() {
        for (pattern, wanted) in [
            ("web", "web"),
            ("web-.*", "web-"),
            ("webs?", "web"),
            ("webs+", "webs"),
            ("a{0}", ""),
            ("web|api", ""),
            ("(?i)web", ""),
            ("é*", ""),
            ("^web", ""),
        ] {
            assert_eq!(beginning(pattern), wanted, "{pattern}");
        }
    }

    #[test]
    fn a_name_is_held_against_the_whole_text() {
        let matches = |pattern: &str, text: &str| {
            let whole = TextMatcher::new("name", &pattern.into()).unwrap();
            whole.is_match(text).unwrap()
        };
        assert!(matches("web", "web") && !matches("web", "web-1") && !matches("web", "my-web"));
        assert!(matches("web-.*", "web-1") && !matches("web-.*", "my-web-1"));
        assert!(matches("webs?", "web") && matches("web|api", "api") && matches("", "x"));
        assert!(TextMatcher::new("name", &"(".into()).is_err());
    }
}
