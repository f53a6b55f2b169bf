//! What stops a build.

use super::order::OrderError;
use super::patch::PatchError;
use crate::fields::ConfigError;
use crate::generate::{GenerateError, HelmError};
use crate::jsonpatch::PatchError as JsonPatchError;
use crate::kustomization::KustomizationError;
use crate::merge::MergeError;
use crate::plugins::PluginError;
use crate::reference::{ReferenceError, VarsError};
use crate::replace::{ReplaceError, SelectorError, VarError};
use crate::resource::{IdError, ReadError};
use crate::schema::SchemaError;
use crate::transform::TransformError;
use crate::tree::LoadError;
use bumpwright_yaml::{Files, Place, WriteError};
use std::fmt;

/// What stops a build: where, in which object, why, and by which kustomizations it was reached.
#[derive(Debug)]
pub struct BuildError {
    place: Place,
    /// Where it stands, as `path:line:column` or a path.
    pub shown: Option<String>,
    /// The object that is concerned.
    pub object: Option<String>,
    /// Why.
    pub cause: Box<Cause>,
    /// The fields that led there, innermost first, as `path:line:column`.
    pub chain: Vec<String>,
    /// Where each field of the chain stands.
    steps: Vec<Place>,
}

/// Why a build stops.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each says itself what it is
pub enum Cause {
    #[error(transparent)]
    Kustomization(#[from] KustomizationError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Yaml(#[from] bumpwright_yaml::ReadError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Id(#[from] IdError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Transform(#[from] TransformError),
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error(transparent)]
    JsonPatch(#[from] JsonPatchError),
    #[error(transparent)]
    Patch(#[from] PatchError),
    #[error(transparent)]
    Replace(#[from] ReplaceError),
    #[error(transparent)]
    Selector(#[from] SelectorError),
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error(transparent)]
    Var(#[from] VarError),
    #[error(transparent)]
    Vars(#[from] VarsError),
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error(transparent)]
    Generate(#[from] GenerateError),
    #[error(transparent)]
    Helm(#[from] HelmError),
    #[error(transparent)]
    Plugin(#[from] PluginError),
    #[error(transparent)]
    Order(#[from] OrderError),
    #[error("expected a component (kind: Component), but {0} is a Kustomization; name it under resources")]
    NoComponent(String),
    #[error("{0} is a component; name it under components, not under resources")]
    Component(String),
    #[error("kustomizations include each other more than {0} deep")]
    Depth(usize),
    #[error("a validator may not change resources, but this one did: {0}")]
    Validator(String),
}

impl Cause {
    fn place(&self) -> Place {
        match self {
            Self::Kustomization(error) => error.place(),
            Self::Read(error) => error.place(),
            Self::Yaml(error) => error.place,
            Self::Write(error) => error.place,
            Self::Config(error) => error.place(),
            Self::Transform(error) => error.place(),
            Self::Merge(error) => error.place(),
            Self::JsonPatch(error) => error.place(),
            Self::Replace(error) => error.place(),
            Self::Reference(error) => error.place(),
            Self::Var(error) => error.place(),
            Self::Vars(error) => error.place(),
            Self::Schema(error) => error.place(),
            _ => Place::NONE,
        }
    }
}

impl<E: Into<Cause>> From<E> for BuildError {
    fn from(error: E) -> Self {
        let cause = error.into();
        Self {
            place: cause.place(),
            shown: None,
            object: None,
            cause: Box::new(cause),
            chain: Vec::new(),
            steps: Vec::new(),
        }
    }
}

impl BuildError {
    /// Says where it is, if it does not know yet.
    #[must_use]
    pub(super) fn at(mut self, place: Place) -> Self {
        if self.place == Place::NONE {
            self.place = place;
        }
        self
    }

    /// Says which object is concerned, if it does not know yet.
    #[must_use]
    pub(super) fn of(mut self, object: impl fmt::Display) -> Self {
        self.object.get_or_insert_with(|| object.to_string());
        self
    }

    /// Adds the field that led there.
    #[must_use]
    pub(super) fn through(mut self, place: Place) -> Self {
        self.steps.push(place);
        self
    }

    /// Gives places the names of their files.
    #[must_use]
    pub(super) fn resolved(mut self, files: &Files) -> Self {
        self.shown = files.show(self.place);
        self.chain = self.steps.iter().filter_map(|place| files.show(*place)).collect();
        self.chain.retain(|step| Some(step) != self.shown.as_ref());
        self
    }
}

/// How many fields of the chain are shown at most.
const SHOWN: usize = 3;

/// `place: object: cause`, then the fields that led there; five lines at most.
impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.shown {
            write!(f, "{place}: ")?;
        }
        let cause = self.cause.to_string();
        if let Some(object) = self.object.as_ref().filter(|object| !cause.contains(object.as_str())) {
            write!(f, "{object}: ")?;
        }
        f.write_str(cause.trim_end())?;
        for step in self.chain.iter().take(SHOWN) {
            write!(f, "\n  included by {step}")?;
        }
        match self.chain.len().checked_sub(SHOWN) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, "\n  and {more} more above"),
        }
    }
}

impl std::error::Error for BuildError {}
