//! Atomic replacement of a set of files, in the face of full disks, editors and Ctrl-C.

use std::fs;
use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::RunError;
use crate::interrupt;
use bumpwright_text::Parts;

/// A file of a folder with its bytes before and after the run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileChange {
    /// Path from the repository's root, as bytes since Git's names are.
    pub path: Vec<u8>,
    pub old: Vec<u8>,
    pub new: Vec<u8>,
}

/// A file whose new content is written beside it.
struct Staged<'a> {
    temporary: tempfile::NamedTempFile,
    path: PathBuf,
    change: &'a FileChange,
}

/// Replaces files: all new contents are on disk before the first file is replaced, each by a rename.
///
/// They are not synced: like a checkout, this can be repeated.
///
/// # Errors
///
/// When a file cannot be written, has changed since it was read, or the user interrupts: none is changed then.
pub(crate) fn replace_all(root: &Path, files: &[FileChange]) -> Result<(), RunError> {
    let mut staged = Vec::with_capacity(files.len());
    for change in files {
        if interrupt::wanted() {
            return Err(RunError::Interrupted);
        }
        let path = root.join(native(&change.path));
        let temporary = stage(&path, &change.new).map_err(|e| unwritable(&path, e))?;
        staged.push(Staged {
            temporary,
            path,
            change,
        });
    }
    for file in &staged {
        if fs::read(&file.path).map_err(|e| unwritable(&file.path, e))? != file.change.old {
            let path = file.path.display().to_string();
            return Err(RunError::Changed { path });
        }
    }
    for (n, file) in staged.into_iter().enumerate() {
        if let Err(error) = file.temporary.persist(&file.path) {
            put_back(root, files.part(..n))?;
            return Err(unwritable(&file.path, error.error));
        }
    }
    Ok(())
}

/// Replaces files outside of a run in the same way; paths are relative to the working directory of the process.
pub fn replace_files(files: &[FileChange]) -> Result<(), RunError> {
    interrupt::held(|| replace_all(Path::new("."), files))
}

/// Restores the old content of files, whatever they hold now.
///
/// # Errors
///
/// When one cannot be written.
pub(crate) fn put_back(root: &Path, files: &[FileChange]) -> Result<(), RunError> {
    for file in files {
        let path = root.join(native(&file.path));
        let temporary = stage(&path, &file.old).map_err(|e| unwritable(&path, e))?;
        temporary.persist(&path).map_err(|e| unwritable(&path, e.error))?;
    }
    Ok(())
}

fn unwritable(path: &Path, source: Error) -> RunError {
    RunError::File {
        action: "write",
        path: path.display().to_string(),
        source,
    }
}

/// Writes the new content beside the file, with its permissions and its owner.
fn stage(path: &Path, content: &[u8]) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let meta = fs::symlink_metadata(path)?;
    if !meta.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no longer a file"));
    }
    let mut temporary = tempfile::Builder::new().prefix(".bumpwright-").tempfile_in(folder)?;
    temporary.write_all(content)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = temporary.as_file().metadata()?;
        if (own.uid(), own.gid()) != (meta.uid(), meta.gid()) {
            // A run as root in a container must not take files from their owner. Without the right to change the owner,
            // the new file belongs to the user, as with any editor.
            let _ = fchown(temporary.as_file(), Some(meta.uid()), Some(meta.gid()));
        }
    }
    temporary.as_file().set_permissions(meta.permissions())?;
    Ok(temporary)
}

/// A repository path in this system's spelling.
pub(crate) fn native(path: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        PathBuf::from(std::ffi::OsStr::from_bytes(path))
    }
    #[cfg(not(unix))]
    {
        PathBuf::from(String::from_utf8_lossy(path).into_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]
mod tests {
    use super::*;

    fn change(path: &str, old: &str, new: &str) -> FileChange {
        FileChange {
            path: path.into(),
            old: old.into(),
            new: new.into(),
        }
    }

    fn content(root: &Path) -> Vec<(String, String)> {
        let mut all: Vec<_> = fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                (
                    path.file_name().unwrap().to_str().unwrap().to_owned(),
                    fs::read_to_string(&path).unwrap(),
                )
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn a_file_that_somebody_else_changed_is_kept_and_so_are_all_others() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "1").unwrap();
        fs::write(root.path().join("b"), "edited").unwrap();
        let before = content(root.path());
        let files = [change("a", "1", "2"), change("b", "1", "2")];
        let error = replace_all(root.path(), &files).expect_err("b differs").to_string();
        assert!(error.contains("/b has changed in the meantime"), "{error}");
        assert_eq!(content(root.path()), before, "nothing is left behind either");
        replace_all(root.path(), &[change("b", "edited", "2")]).unwrap();
        put_back(root.path(), &[change("b", "edited", "2")]).unwrap();
        assert_eq!(content(root.path()), before);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_took_the_place_of_a_file_is_not_replaced() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "1").unwrap();
        std::os::unix::fs::symlink("a", root.path().join("b")).unwrap();
        assert!(replace_all(root.path(), &[change("b", "1", "2")]).is_err());
        assert!(root.path().join("b").is_symlink());
    }
}
