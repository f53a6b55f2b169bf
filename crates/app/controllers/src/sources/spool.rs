//! Temporary files for what is fetched, until it is archived.

use std::fs::File;
use std::path::Path;

use super::error::ArtifactError;

/// An unnamed file in `folder`, which leaves nothing behind.
pub(crate) fn temporary_file(folder: &Path) -> Result<File, ArtifactError> {
    tempfile::tempfile_in(folder).map_err(|error| ArtifactError::DirectoryCreationFailed {
        folder: folder.to_owned(),
        error,
    })
}
