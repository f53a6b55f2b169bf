//! The file that says what a directory builds: found, read, checked, its older fields made new ones.
//!
//! - [`find`]: the kustomization of a directory, as text.
//! - [`Kustomization::read`]: its fields; unknown ones are an error.
//! - [`crd_config`]: what `crds:` says about fields that hold names.

mod crds;
mod error;
mod fields;
mod file;
mod read;

pub use crds::crd_config;
pub use error::KustomizationError;
pub use fields::{Kustomization, LabelEntry, Patch, SortOptions, Text};
pub use file::{KustomizationFile, find};
