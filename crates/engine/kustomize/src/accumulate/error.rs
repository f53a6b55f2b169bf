//! Errors of a build.

use super::order::OrderError;
use crate::fields::ConfigError;
use crate::generate::{DataError, GenerateError, HelmError};
use crate::jsonpatch::PatchError as JsonPatchError;
use crate::kustomization::KustomizationError;
use crate::merge::MergeError;
use crate::plugins::PluginError;
use crate::reference::{ReferenceError, VarsError};
use crate::replace::{ReplaceError, SelectorError, VarError};
use crate::resource::{IdError, ReadError};
use crate::schema::SchemaError;
use crate::transform::TransformError;
use crate::tree::{LoadError, WorldError};
use bumpwright_budget::Exceeded;
use bumpwright_yaml::{FileId, Files, Place, WriteError};
use std::collections::HashSet;
use std::fmt;

/// An invalid entry of patches.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// Neither field is given.
    #[error("must specify one of patch and path")]
    Nothing,
    #[error("patch and path can't be set at the same time")]
    Both,
    /// It is neither kind of patch.
    #[error("unable to parse SM or JSON patch: {0}")]
    Neither(String),
    /// The patch is empty.
    #[error("patch appears to be empty")]
    Empty,
    /// A target with several patches.
    #[error("Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` field")]
    Several,
    /// A JSON patch without a target.
    #[error("must specify a target for a JSON patch")]
    NoTarget,
    /// A JSON patch of the older field without a name.
    #[error("must specify the target name")]
    NoName,
}

/// An error of a build: place, object, cause, and the kustomizations that led to it.
#[derive(Debug)]
pub struct BuildError {
    place: Place,
    /// The place, as `path:line:column` or a path.
    pub shown: Option<Box<str>>,
    pub object: Option<Box<str>>,
    pub cause: Box<Cause>,
    /// The fields that led there, innermost first, as `path:line:column`.
    pub chain: Box<[String]>,
    /// Other errors of the same run that do not follow from this one.
    pub more: Vec<Self>,
    /// The place of each field of the chain.
    steps: Vec<Place>,
}

/// The cause of an error.
#[derive(Debug, thiserror::Error)]
// each says itself what it is
pub enum Cause {
    #[error(transparent)]
    Memory(#[from] Exceeded),
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
    #[error("more than {0} kustomizations, each counted as often as it is included")]
    Number(usize),
    #[error("a validator may not change resources, but this one did: {0}")]
    Validator(String),
}

impl Cause {
    pub(super) fn place(&self) -> Place {
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

impl Cause {
    /// Whether it is something that the world of the build does not have, such as a network.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        matches!(self.of_world(), Some(WorldError::Sealed(_)))
    }

    /// Whether kustomizations include each other in a circle.
    #[must_use]
    pub fn is_cycle(&self) -> bool {
        matches!(
            self.of_load(),
            Some(LoadError::Cycle { .. } | LoadError::RepositoryCycle { .. })
        )
    }

    fn of_world(&self) -> Option<&WorldError> {
        match self {
            Self::Helm(HelmError::Run { error, .. } | HelmError::Pull { error, .. })
            | Self::Plugin(PluginError::Run { error, .. }) => Some(error),
            _ => match self.of_load()? {
                LoadError::World { error, .. } => Some(error),
                _ => None,
            },
        }
    }

    fn of_load(&self) -> Option<&LoadError> {
        match self {
            Self::Load(error)
            | Self::Kustomization(KustomizationError::Load(error))
            | Self::Helm(HelmError::Load(error))
            | Self::Plugin(PluginError::ArgumentFile { error, .. })
            | Self::Generate(GenerateError::Data {
                error: DataError::Load(error),
                ..
            }) => Some(error),
            _ => None,
        }
    }
}

impl<E: Into<Cause>> From<E> for BuildError {
    fn from(error: E) -> Self {
        match error.into() {
            Cause::Config(ConfigError::Several(errors)) => Self::of_several(errors, Cause::Config),
            Cause::Kustomization(KustomizationError::Field(ConfigError::Several(errors))) => {
                Self::of_several(errors, |error| Cause::Kustomization(KustomizationError::Field(error)))
            }
            cause => Self::of_cause(cause),
        }
    }
}

impl BuildError {
    fn of_cause(cause: Cause) -> Self {
        Self {
            place: cause.place(),
            shown: None,
            object: None,
            cause: Box::new(cause),
            chain: Box::default(),
            more: Vec::new(),
            steps: Vec::new(),
        }
    }

    fn of_several(errors: Vec<ConfigError>, cause: impl Fn(ConfigError) -> Cause) -> Self {
        let mut errors = errors.into_iter().map(|error| Self::of_cause(cause(error)));
        let none = || Self::of_cause(cause(ConfigError::Several(Vec::new())));
        let mut first = errors.next().unwrap_or_else(none);
        first.more = errors.collect();
        first
    }

    /// Success, or all errors as one.
    pub(super) fn all(errors: Vec<Self>) -> Result<(), Self> {
        let mut errors = errors.into_iter();
        errors.next().map_or(Ok(()), |first| Err(first.and(errors.collect())))
    }

    /// This error and others; of very many some are dropped.
    #[must_use]
    pub(super) fn and(mut self, others: Vec<Self>) -> Self {
        for mut other in others {
            let inner = std::mem::take(&mut other.more);
            self.more.push(other);
            self.more.extend(inner);
        }
        self.more.truncate(MAX_KEPT);
        self
    }

    /// Changes this error and those beside it.
    fn for_each(mut self, change: impl Fn(&mut Self)) -> Self {
        change(&mut self);
        self.more.iter_mut().for_each(change);
        self
    }

    /// Sets the place, unless it has one. A place in a text that is not a file, such as a patch in a kustomization, is
    /// ignored.
    #[must_use]
    pub(super) fn at(self, place: Place) -> Self {
        self.for_each(|error| {
            if error.place.file == FileId::NONE {
                error.place = place;
            }
        })
    }

    /// Sets the object, unless it has one.
    #[must_use]
    pub(super) fn of(mut self, object: impl fmt::Display) -> Self {
        self.object.get_or_insert_with(|| object.to_string().into());
        self
    }

    /// Adds the field that led there.
    #[must_use]
    pub(super) fn through(self, place: Place) -> Self {
        self.for_each(|error| error.steps.push(place))
    }

    /// Resolves the file names of places.
    #[must_use]
    pub(super) fn resolved(self, files: &Files) -> Self {
        let mut errors = self.for_each(|error| {
            error.shown = files.show(error.place).map(Into::into);
            // A field of the error's own file does not help to find it.
            let file = files.in_file(error.place).file;
            let steps = error.steps.iter().filter(|step| files.in_file(**step).file != file);
            let mut chain: Vec<String> = steps.filter_map(|place| files.show(*place)).collect();
            chain.dedup();
            error.chain = chain.into();
        });
        // A base that is included twice reports the same twice.
        let mut reported = HashSet::from([errors.first_line()]);
        errors.more.retain(|error| reported.insert(error.first_line()));
        errors
    }

    /// `place: object: cause`.
    fn first_line(&self) -> String {
        let mut line = String::new();
        if let Some(place) = &self.shown {
            line.extend([place.as_ref(), ": "]);
        }
        let mut cause = self.cause.to_string();
        if self.shown.is_some() {
            // Errors of YAML contain their place.
            cause = cause.replacen(&format!("{}:{}: ", self.place.line, self.place.column), "", 1);
        }
        if let Some(object) = self.object.as_ref().filter(|object| !cause.contains(object.as_ref())) {
            line.extend([object.as_ref(), ": "]);
        }
        line.push_str(cause.trim_end());
        line
    }
}

/// Maximum number of errors kept of one run.
const MAX_KEPT: usize = 100;
/// Maximum number of errors shown of one run.
const MAX_TOLD: usize = 10;

/// Maximum number of fields shown of a chain.
const SHOWN: usize = 3;

impl BuildError {
    /// The texts of this error and of those beside it, which are the lines of its message, each with its cause. Of many
    /// errors the last text has the number of the others.
    #[must_use]
    pub fn texts(&self) -> Vec<(String, Option<&Cause>)> {
        let errors = [self].into_iter().chain(&self.more).take(MAX_TOLD);
        let mut texts: Vec<_> = errors.map(|error| (error.alone(), Some(&*error.cause))).collect();
        match (self.more.len() + 1).checked_sub(MAX_TOLD) {
            None | Some(0) => {}
            Some(more) => texts.push((format!("and {more} more errors"), None)),
        }
        texts
    }

    /// `place: object: cause`, then the fields that led there; five lines at most.
    fn alone(&self) -> String {
        let mut text = self.first_line();
        for step in self.chain.iter().take(SHOWN) {
            text.extend(["\n  included by ", step]);
        }
        match self.chain.len().checked_sub(SHOWN) {
            None | Some(0) => {}
            Some(more) => text.push_str(&format!("\n  and {more} more above")),
        }
        text
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.texts().into_iter().map(|(text, _)| text).collect();
        f.write_str(&texts.join("\n"))
    }
}

impl std::error::Error for BuildError {}
