//! Errors of reading an archive.

use bumpwright_budget::Exceeded;
use bumpwright_gostd::quote_bytes;
use std::fmt;
use std::io;
use thiserror::Error;

/// A damaged, too large or unsafe archive. Names are those of the archive, quoted.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Not gzip at all.
    #[error("unpack the archive: it is not compressed with gzip")]
    NotGzip,
    /// The compressed data or its checksum is not valid.
    #[error("unpack the archive: its compressed data is damaged: {reason}; get it once more")]
    Damaged {
        /// The message of the decompressor.
        reason: String,
    },
    /// The archive is truncated.
    #[error("unpack the archive: it is cut off; get it once more")]
    Truncated,
    /// An invalid header, or invalid numbers or PAX records in one.
    #[error("unpack the archive: the header after {after} is not a valid tar header")]
    Header {
        /// The entry before it.
        after: String,
    },
    /// A limit was exceeded.
    #[error("unpack the archive: {what} at {name}; the limit is {limit}")]
    LimitExceeded { what: Limit, name: String, limit: u64 },
    /// The budget of the job was exceeded.
    #[error("unpack the archive: at {name}: {cause}")]
    Exceeded { name: String, cause: Exceeded },
    /// A name that points outside of the root, or that upstream refuses.
    #[error("unpack the archive: the name {name} {reason}")]
    Name { name: String, reason: &'static str },
    /// A symbolic link where links are not allowed.
    #[error(
        "unpack the archive: {name} is a symbolic link, which is not allowed here; put the file itself in its place"
    )]
    Symlink { name: String },
    /// A hard link without a valid target.
    #[error("unpack the archive: the hard link {name} to {target} {reason}")]
    HardLink {
        name: String,
        target: String,
        reason: &'static str,
    },
    /// A device, a FIFO or a socket.
    #[error("unpack the archive: {name} is a {kind}, which an artifact must not have")]
    Special {
        name: String,
        /// The type of the entry.
        kind: &'static str,
    },
    #[error("unpack the archive: {name} is a sparse file; pack it without --sparse")]
    Sparse { name: String },
    /// Entries of different types with one name.
    #[error("unpack the archive: {name} {reason}")]
    Conflict { name: String, reason: &'static str },
    /// Reading the archive failed.
    #[error("unpack the archive: read it: {0}")]
    Source(io::Error),
    #[error("unpack the archive: take {name}: {source}")]
    Visitor { name: String, source: io::Error },
}

impl ReadError {
    /// The bound of a budget that was exceeded by the reader or the visitor.
    #[must_use]
    pub fn exceeded(&self) -> Option<&Exceeded> {
        match self {
            Self::Exceeded { cause, .. } => Some(cause),
            Self::Visitor { source, .. } => source.get_ref()?.downcast_ref(),
            _ => None,
        }
    }
}

/// A limit of [`super::Limits`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Unpacked,
    Entries,
    Names,
    Path,
    Component,
    Depth,
    Ratio,
    Extension,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unpacked => "it has too many bytes when unpacked",
            Self::Entries => "it has too many entries",
            Self::Names => "its names take too many bytes",
            Self::Path => "a path has too many bytes",
            Self::Component => "a file name has too many bytes",
            Self::Depth => "a path has too many components",
            Self::Ratio => "it grows too many times when unpacked",
            Self::Extension => "a header has too many bytes",
        })
    }
}

/// A name for an error, truncated to a line.
pub(super) fn shown(name: &[u8]) -> String {
    const LONGEST: usize = 256;
    match name.get(..LONGEST) {
        Some(head) if name.len() > LONGEST => format!("{}…", quote_bytes(head)),
        _ => quote_bytes(name),
    }
}
