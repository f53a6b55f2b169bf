//! Finds the kustomization of a directory.

use super::KustomizationError;
use crate::tree::{LoadError, Loader, TreeError};

/// The text of a kustomization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KustomizationFile {
    /// Its name in its directory.
    pub name: &'static str,
    pub bytes: Vec<u8>,
}

/// The names of kustomizations, the one that counts first.
pub const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The kustomization of the loader's directory.
///
/// # Errors
///
/// The directory has no kustomization or several, or the file may not be read.
pub fn find(loader: &Loader<'_>) -> Result<KustomizationFile, KustomizationError> {
    let mut first = None;
    let mut refused = None;
    for name in NAMES {
        let bytes = match loader.load(name) {
            Ok(bytes) => bytes.into_owned(),
            Err(LoadError::Tree(TreeError::Missing(_) | TreeError::Directory(_))) => continue,
            Err(error) => {
                refused = Some(error);
                continue;
            }
        };
        if first.is_some() {
            return Err(KustomizationError::Several(loader.shown(".")));
        }
        first = Some(KustomizationFile { name, bytes });
    }
    match (first, refused) {
        (Some(first), _) => Ok(first),
        (None, Some(error)) => Err(error.into()),
        (None, None) => Err(KustomizationError::Missing(loader.shown("."))),
    }
}
