//! Errors of the storage.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::layout::NameError;
use bumpwright_artifact::{Digest, DigestError};

/// Why the contents of an artifact could not be read.
pub type FillError = Box<dyn std::error::Error + Send + Sync>;

/// An operation of the storage failed.
#[derive(Debug, Error)]
pub enum StorageError {
    /// Its folder cannot be used; nothing can be served.
    #[error("cannot keep artifacts in {path}: {cause}; give another folder with --storage-path")]
    Folder { path: PathBuf, cause: io::Error },
    /// A name is not valid for an artifact.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The system refused a step with a file.
    #[error("cannot {attempt} {path}: {cause}{}", way_out(.cause))]
    File {
        /// `write`, `rename`, …
        attempt: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
    /// The contents of an artifact could not be read; the storage itself works.
    #[error("cannot fill the artifact {path}: {cause}")]
    Fill { path: PathBuf, cause: FillError },
    /// An artifact is too large.
    #[error(
        "the artifact {path} would have more than {most} bytes; leave files out with spec.ignore or .sourceignore, or raise \
         --max-artifact-size"
    )]
    TooLarge {
        path: PathBuf,
        /// The limit, in bytes.
        most: u64,
    },
    /// The quota does not allow another artifact.
    #[error(
        "no room for the artifact {path}: {whose} would take more than {most} bytes; leave files out with spec.ignore or \
         .sourceignore, or raise --artifacts-size"
    )]
    Full {
        path: PathBuf,
        /// Whose quota is exceeded.
        whose: String,
        /// The limit, in bytes.
        most: u64,
    },
    /// An artifact has no digest, or an unsupported one.
    #[error("cannot check the artifact {path}: {cause}")]
    Digest { path: PathBuf, cause: DigestError },
    /// A file differs from what was written. It was removed, so that the source writes it again.
    #[error(
        "the artifact {path} is not what was written: its digest is {found}, it was written as {expected}; it was removed, and is made \
         again. Another controller with the same storage packs a revision in other bytes"
    )]
    Damaged {
        path: PathBuf,
        /// The digest of the written bytes.
        expected: Digest,
        /// The digest of the file.
        found: Digest,
    },
    /// A file is not the requested one, but may be valid: it stays.
    #[error(
        "the file {path} is not the artifact that was asked for: its digest is {found}, not {wanted}; the source may have \
         written it again, so look at its status again"
    )]
    Replaced {
        path: PathBuf,
        wanted: Digest,
        /// The digest of the file.
        found: Digest,
    },
}

impl StorageError {
    pub(crate) fn file(attempt: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::File { attempt, path, cause }
    }

    /// Whether the file does not exist.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        match self {
            Self::File { cause, .. } => {
                matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
            _ => false,
        }
    }

    /// Whether the volume is full.
    pub(crate) fn is_out_of_space(&self) -> bool {
        matches!(self, Self::File { cause, .. } if is_full(cause))
    }
}

/// Whether the volume is full.
fn is_full(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn way_out(cause: &io::Error) -> &'static str {
    match cause.kind() {
        _ if is_full(cause) => "; make room on the volume, or keep fewer artifacts",
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "; let this process write to the volume, or give another folder with --storage-path"
        }
        _ => "",
    }
}
