//! Folders that only their owner may read: repositories are private on the machine.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

/// The bits of group and others in a mode.
const OTHERS: u32 = 0o077;

/// Creates a folder that only its owner may read, with missing parents, and removes the rights of others from the
/// content of an existing one. A folder that is private already is assumed to have private content.
///
/// # Errors
/// The folder cannot be created. A foreign folder, such as a mounted volume, keeps its mode; its content does not.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    close(folder)
}

fn close(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        // Removed concurrently.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let mode = metadata.permissions().mode();
    if mode & OTHERS == 0 || metadata.is_symlink() {
        return Ok(());
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            close(&entry?.path())?;
        }
    }
    // The folder comes last, so that the next call restarts after an interruption.
    match fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 & !OTHERS)) {
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_exists_already_becomes_private_and_what_it_leads_to_stays() {
        let outside = tempfile::tempdir().unwrap();
        let theirs = outside.path().join("theirs");
        fs::write(&theirs, b"").unwrap();
        fs::set_permissions(&theirs, Permissions::from_mode(0o644)).unwrap();
        let folder = outside.path().join("cache/bumpwright");
        let inner = folder.join("mirrors/a");
        fs::create_dir_all(&inner).unwrap();
        for path in [&folder, &folder.join("mirrors"), &inner] {
            fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(inner.join("pack"), b"").unwrap();
        fs::set_permissions(inner.join("pack"), Permissions::from_mode(0o444)).unwrap();
        std::os::unix::fs::symlink(&theirs, inner.join("link")).unwrap();
        private_folder(&folder).unwrap();
        for path in [&folder, &folder.join("mirrors"), &inner] {
            assert_eq!(mode(path), 0o700, "{}", path.display());
        }
        assert_eq!((mode(&inner.join("pack")), mode(&theirs)), (0o400, 0o644));
        private_folder(&folder.join("new/deeper")).unwrap();
        assert_eq!(
            (mode(&folder.join("new")), mode(&folder.join("new/deeper"))),
            (0o700, 0o700)
        );
    }
}
