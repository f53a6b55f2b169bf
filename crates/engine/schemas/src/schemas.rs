//! The schemas of one cluster: Kubernetes' own kinds in a minor version, and those of CustomResourceDefinitions.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::check::{self, Violation};
use super::crd::{self, Crd, CrdError};
use super::flux::DEFINITIONS;
use super::known::{self, Known};
use super::shape::{Id, Shapes};
use super::table::{self, Table};

/// The schemas of a cluster. Cheap to clone; bundled ones are read once for the process.
#[derive(Clone, Debug)]
pub struct Schemas {
    minor: &'static str,
    table: &'static Table,
    /// By kind: those of all groups.
    crds: HashMap<String, Vec<Arc<Crd>>>,
}

/// A minor version of Kubernetes without schemas here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are no schemas of Kubernetes {wanted:?}; there are {}; the nearest is {nearest}", .known.join(", "))]
pub struct UnknownMinor {
    /// The version as it was asked for.
    pub wanted: String,
    /// The minor versions that there are, oldest first.
    pub known: Vec<&'static str>,
    /// The one of them that is nearest.
    pub nearest: &'static str,
}

/// The type of a kind.
pub(crate) struct Of<'s> {
    pub(crate) shapes: &'s Shapes,
    pub(crate) of: Id,
    /// What is checked of the status.
    pub(crate) status: check::Extent,
}

impl Schemas {
    /// The schemas of a minor version (`1.34`, `v1.34.2`), the newest without one.
    ///
    /// # Errors
    /// There are none of this version.
    pub fn bundled(minor: Option<&str>) -> Result<Self, UnknownMinor> {
        let known: Vec<&'static str> = table::minors().collect();
        let newest = known.last().copied().unwrap_or_default();
        let wanted = minor.unwrap_or(newest);
        let at = known.iter().position(|minor| parts(minor) == parts(wanted));
        let found = at.and_then(|at| Some((*known.get(at)?, table::table(at)?)));
        let Some((minor, table)) = found else {
            let far = |minor: &&&'static str| distance(parts(minor), parts(wanted));
            return Err(UnknownMinor {
                nearest: known.iter().rev().min_by_key(far).map_or(newest, |minor| minor),
                wanted: wanted.to_owned(),
                known,
            });
        };
        Ok(Self {
            minor,
            table,
            crds: HashMap::new(),
        })
    }

    /// The minor version of these schemas: `1.34`.
    #[must_use]
    pub fn minor(&self) -> &'static str {
        self.minor
    }

    /// The minor versions that are bundled, oldest first.
    #[must_use]
    pub fn minors(&self) -> Vec<&'static str> {
        table::minors().collect()
    }

    /// Whether an object is a CustomResourceDefinition, for [`Schemas::add_crd`].
    #[must_use]
    pub fn is_crd(object: &Value) -> bool {
        crd::is_definition(object)
    }

    /// Adds the kind of a CustomResourceDefinition; an earlier one of the same kind is replaced.
    ///
    /// # Errors
    /// It is not a definition, has no group or kind, or its schemas are too large.
    pub fn add_crd(&mut self, definition: &Value) -> Result<(), CrdError> {
        let crd = Arc::new(Crd::read(definition)?);
        let kinds = self.crds.entry(crd.kind.clone()).or_default();
        kinds.retain(|other| other.group != crd.group);
        kinds.push(crd);
        Ok(())
    }

    /// Group and kind of Flux's definitions.
    pub fn flux_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
        DEFINITIONS
            .iter()
            .map(|definition| (definition.group.as_str(), definition.kind.as_str()))
    }

    /// Adds the kinds of Flux that are wanted, by group and kind, and that no definition has brought.
    pub fn add_flux(&mut self, is_wanted: impl Fn(&str, &str) -> bool) {
        for definition in DEFINITIONS.iter() {
            let (group, kind) = (definition.group.as_str(), definition.kind.as_str());
            if is_wanted(group, kind) && self.crd(group, kind).is_none() {
                let kinds = self.crds.entry(kind.to_owned()).or_default();
                kinds.push(Arc::clone(definition));
            }
        }
    }

    /// Whether a kind is served in a version of its group; the core group is empty. Versions that a server has switched
    /// off unless told otherwise (alpha and beta) count as served.
    #[must_use]
    pub fn knows(&self, group: &str, version: &str, kind: &str) -> Known {
        match self.crd(group, kind) {
            Some(crd) => known::custom(crd, version),
            None => known::builtin(self.table, &api_version(group, version), kind),
        }
    }

    /// Why a server refuses the version of a kind, and what to write instead. None if it serves it, and if nothing is
    /// known of the kind in a group that is not Kubernetes' own.
    #[must_use]
    pub fn unserved(&self, group: &str, version: &str, kind: &str) -> Option<String> {
        let knowledge = self.knows(group, version, kind);
        known::fault(&knowledge, self.table, &api_version(group, version), kind)
    }

    /// Whether objects of a kind are namespaced, in whatever version; none if the kind is not known.
    #[must_use]
    pub fn is_namespaced(&self, group: &str, kind: &str) -> Option<bool> {
        if let Some(crd) = self.crd(group, kind) {
            return Some(crd.namespaced);
        }
        let kinds = self.table.kinds_named(kind).iter();
        let mut of_group = kinds.filter(|one| table::group_of(one.api_version) == group);
        of_group.next().map(|one| one.namespaced)
    }

    /// All that an API server would find wrong with an object, by its schema. Lists are looked into. An object of a
    /// kind or version that is not served has no violations: [`Schemas::unserved`].
    #[must_use]
    pub fn check(&self, object: &Value) -> Vec<Violation> {
        check::check(self, object)
    }

    fn crd(&self, group: &str, kind: &str) -> Option<&Crd> {
        let kinds = self.crds.get(kind)?;
        kinds.iter().find(|crd| crd.group == group).map(Arc::as_ref)
    }

    /// The type of a kind that is served.
    pub(crate) fn of(&self, api_version: &str, kind: &str) -> Option<Of<'_>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if let Some(crd) = self.crd(group, kind) {
            let version = crd.versions.iter().find(|one| one.served && one.name == version)?;
            let status = if version.has_status {
                check::Extent::Names
            } else {
                check::Extent::All
            };
            return Some(Of {
                shapes: &crd.shapes,
                of: version.of,
                status,
            });
        }
        let mut kinds = self.table.kinds_named(kind).iter();
        let version = kinds.find(|one| one.api_version == api_version && one.is_served_by(self.table.minor))?;
        Some(Of {
            shapes: &self.table.shapes,
            of: version.of,
            status: check::Extent::Types,
        })
    }

    /// The type of the metadata of every object.
    pub(crate) fn object_meta(&self) -> (&'static Shapes, Id) {
        (&self.table.shapes, self.table.object_meta)
    }
}

fn api_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

/// `1.34`, `v1.34.2`, `1.34+`: the first two numbers.
fn parts(version: &str) -> Option<(u32, u32)> {
    let (major, rest) = version.trim().trim_start_matches('v').split_once('.')?;
    let end = rest.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(rest.len());
    let minor = rest.get(..end)?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn distance(one: Option<(u32, u32)>, other: Option<(u32, u32)>) -> (u32, u32) {
    match (one, other) {
        (Some((major, minor)), Some((other, of))) => (major.abs_diff(other), minor.abs_diff(of)),
        _ => (0, 0),
    }
}
