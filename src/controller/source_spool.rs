//! Where files are kept from when they are fetched until they are archived: one temporary file, which has no name.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::artifacts::Refused;
use super::source_status::STORAGE_FAILED;
use crate::source::Keep;

/// A file without a name in `folder`: nothing is left of it, whatever happens.
///
/// # Errors
/// What refuses the turn.
pub(super) fn temporary(folder: &Path) -> Result<File, Refused> {
    tempfile::tempfile_in(folder).map_err(|error| Refused {
        condition: Some(STORAGE_FAILED),
        stalls: false,
        reason: "DirectoryCreationFailed",
        message: format!("failed to create temporary file in {}: {error}", folder.display()),
    })
}

/// The bytes of files, one after the other.
#[derive(Debug)]
pub(super) struct Spooled(pub(super) File);

impl Keep for Spooled {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }
}
