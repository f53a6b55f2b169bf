//! Errors of a kustomization file.

use crate::fields::ConfigError;
use crate::tree::LoadError;
use bumpwright_yaml::{Place, ReadError};

/// Why a kustomization file is invalid.
#[derive(Debug, Clone, thiserror::Error)]
pub enum KustomizationError {
    /// The directory has none.
    #[error("unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '{0}'")]
    Missing(String),
    /// The directory has several.
    #[error("found multiple kustomization files under {0}; keep one")]
    Several(String),
    /// It cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It is not YAML.
    #[error("invalid Kustomization: {0}")]
    Malformed(#[from] ReadError),
    /// A field is unknown or has a wrong value.
    #[error(transparent)]
    Field(#[from] ConfigError),
    #[error("kustomization.yaml is empty")]
    Empty,
    /// `kind` has another value.
    #[error("kind should be Kustomization or Component, not {0:?}")]
    Kind(String),
    /// `apiVersion` does not fit with `kind`.
    #[error("apiVersion for {kind} should be {wanted}, not {found:?}")]
    ApiVersion {
        kind: String,
        /// The apiVersion of that kind.
        wanted: &'static str,
        found: String,
    },
}

impl KustomizationError {
    /// The place of the error.
    #[must_use]
    pub fn place(&self) -> Place {
        match self {
            Self::Malformed(error) => error.place,
            Self::Field(error) => error.place(),
            _ => Place::NONE,
        }
    }
}
