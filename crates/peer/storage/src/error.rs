//! Why the storage could not do what it was asked.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::layout::NameError;
use crate::write::FillError;
use bumpwright_artifact::{Digest, DigestError};

/// The storage could not do what it was asked.
#[derive(Debug, Error)]
pub enum StorageError {
    /// Its folder cannot be used; nothing can be served.
    #[error("cannot keep artifacts in {path}: {cause}; give another folder with --storage-path")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A name cannot be one of an artifact.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The system refused a step with a file.
    #[error("cannot {attempt} {path}: {cause}{}", way_out(.cause))]
    File {
        /// `write`, `rename`, …
        attempt: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// What is to be in an artifact could not be had; the storage itself is well.
    #[error("cannot fill the artifact {path}: {cause}")]
    Fill {
        /// Where it was to be.
        path: PathBuf,
        /// Why.
        cause: FillError,
    },
    /// An artifact has more bytes than one may have.
    #[error(
        "the artifact {path} would have more than {most} bytes; leave files out with spec.ignore or .sourceignore, or raise \
         --max-artifact-size"
    )]
    TooLarge {
        /// Where it was to be.
        path: PathBuf,
        /// The limit, in bytes.
        most: u64,
    },
    /// There is no room for another artifact.
    #[error(
        "no room for the artifact {path}: {whose} would take more than {most} bytes; leave files out with spec.ignore or \
         .sourceignore, or raise --artifacts-size"
    )]
    Full {
        /// Where it was to be.
        path: PathBuf,
        /// Of whom there would be too much.
        whose: String,
        /// The limit, in bytes.
        most: u64,
    },
    /// An artifact has no digest, or none that can be checked.
    #[error("cannot check the artifact {path}: {cause}")]
    Digest {
        /// Where it is.
        path: PathBuf,
        /// Why.
        cause: DigestError,
    },
    /// A file is not what was written. It was removed, so that the source makes it anew.
    #[error("the artifact {path} is damaged: its digest is {found}, it was written as {expected}; it was removed")]
    Damaged {
        /// Where it was.
        path: PathBuf,
        /// Of what was written.
        expected: Digest,
        /// Of what is there.
        found: Digest,
    },
    /// A file is another one than was asked for, and may well be right: it stays.
    #[error(
        "the file {path} is not the artifact that was asked for: its digest is {found}, not {wanted}; the source may have \
         written it anew, so look at its status again"
    )]
    Replaced {
        /// Where it is.
        path: PathBuf,
        /// Of what was asked for.
        wanted: Digest,
        /// Of what is there.
        found: Digest,
    },
}

impl StorageError {
    pub(crate) fn file(attempt: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::File { attempt, path, cause }
    }

    /// Whether the file that it is about is not there.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        match self {
            Self::File { cause, .. } => {
                matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
            _ => false,
        }
    }
}

fn way_out(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room on the volume, or keep fewer artifacts"
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "; let this process write to the volume, or give another folder with --storage-path"
        }
        _ => "",
    }
}
