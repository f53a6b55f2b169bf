//! Field specs, and tables of them.

use super::error::ConfigError;
use super::split::split_path;
use crate::Gvk;
use compact_str::CompactString;
use std::fmt;
use std::sync::Arc;

/// A field of the objects of some types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSpec {
    /// The types; empty parts match any.
    pub gvk: Gvk,
    /// The path as written, separated by slashes; `\/` is a slash in a name, `[]` after a name says that a list is
    /// expected.
    pub path: CompactString,
    /// Whether to create what is missing on the path.
    pub create: bool,
    /// The parts of `path`.
    parts: Arc<[CompactString]>,
}

impl FieldSpec {
    /// The field at `path` of objects that `gvk` selects.
    pub fn new(gvk: Gvk, path: impl Into<CompactString>, create: bool) -> Self {
        let path = path.into();
        let parts = split_path(&path, '/').into();
        Self {
            gvk,
            path,
            create,
            parts,
        }
    }

    /// The field at `path` of every object.
    pub fn of_any(path: impl Into<CompactString>, create: bool) -> Self {
        Self::new(Gvk::default(), path, create)
    }

    /// The same field of every object, where it exists.
    #[must_use]
    pub(crate) fn found_in_any(&self) -> Self {
        Self {
            gvk: Gvk::default(),
            create: false,
            ..self.clone()
        }
    }

    /// The parts of the path.
    #[must_use]
    pub fn parts(&self) -> &[CompactString] {
        &self.parts
    }

    /// Whether `self` replaces `other` in a table: it has the same path, and `other` selects its type.
    fn covers(&self, other: &Self) -> bool {
        self.gvk.is_selected(&other.gvk) && self.path == other.path
    }
}

/// `Deployment.[noVer].apps:true:spec/replicas`, as kustomize shows it.
impl fmt::Display for FieldSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.gvk, self.create, self.path)
    }
}

/// A table of field specs. Copies share their content until one is changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSpecs(Arc<Vec<FieldSpec>>);

impl FieldSpecs {
    /// The specs, in their order.
    #[must_use]
    pub fn as_slice(&self) -> &[FieldSpec] {
        &self.0
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds `spec`, unless an equivalent one exists.
    ///
    /// # Errors
    /// An equivalent one exists, but disagrees on `create`.
    pub fn add(&mut self, spec: FieldSpec) -> Result<(), ConfigError> {
        match self.0.iter().find(|ours| ours.covers(&spec)) {
            Some(ours) if ours.create != spec.create => Err(ConfigError::Conflict {
                spec: spec.to_string(),
                ours: ours.to_string(),
            }),
            Some(_) => Ok(()),
            None => {
                Arc::make_mut(&mut self.0).push(spec);
                Ok(())
            }
        }
    }

    /// Adds all of `other`.
    pub fn add_all(&mut self, other: &Self) -> Result<(), ConfigError> {
        other.as_slice().iter().try_for_each(|spec| self.add(spec.clone()))
    }

    /// Sorts by the type, as kustomize keeps its tables.
    pub fn sort(&mut self) {
        let sorted = self.0.is_sorted_by(|a, b| a.gvk.legacy_cmp(&b.gvk).is_le());
        if !sorted {
            Arc::make_mut(&mut self.0).sort_by(|a, b| a.gvk.legacy_cmp(&b.gvk));
        }
    }
}

impl FromIterator<FieldSpec> for FieldSpecs {
    fn from_iter<I: IntoIterator<Item = FieldSpec>>(specs: I) -> Self {
        Self(Arc::new(specs.into_iter().collect()))
    }
}

impl From<Vec<FieldSpec>> for FieldSpecs {
    fn from(specs: Vec<FieldSpec>) -> Self {
        Self(Arc::new(specs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: &str, path: &str, create: bool) -> FieldSpec {
        FieldSpec::new(Gvk::of_kind(kind), path, create)
    }

    #[test]
    fn a_spec_is_added_once() {
        let mut specs = FieldSpecs::default();
        specs.add(spec("Deployment", "a/b", true)).unwrap();
        specs.add(spec("Deployment", "a/b", true)).unwrap();
        specs.add(spec("", "a/b", true)).unwrap();
        assert_eq!(
            specs.as_slice().len(),
            1,
            "a spec of any kind selects the kind of the one that is there"
        );
        specs.add(spec("Service", "a/b", true)).unwrap();
        assert_eq!(specs.as_slice().len(), 2);
    }

    #[test]
    fn specs_that_disagree_on_creation_are_refused() {
        let mut specs = FieldSpecs::from(vec![spec("Deployment", "a", true)]);
        let error = specs.add(spec("Deployment", "a", false)).unwrap_err().to_string();
        assert!(error.contains("Deployment.[noVer].[noGrp]:false:a"), "{error}");
    }
}
