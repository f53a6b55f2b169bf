//! The kustomization file: found, parsed, checked, its older fields converted.
//!
//! - [`find`]: the kustomization of a directory, as text.
//! - [`Kustomization::read`]: its fields; unknown ones are an error.
//! - [`crd_config`]: the fields that hold names, according to `crds:`.

mod crds;
mod error;
mod fields;
mod file;
mod read;

pub use crds::crd_config;
pub use error::KustomizationError;
pub use fields::{Kustomization, LabelEntry, Patch, SortOptions, Text};
pub use file::{KustomizationFile, NAMES, find};
