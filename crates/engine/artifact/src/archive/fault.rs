//! Why an archive could not be read.

use bumpwright_budget::Exceeded;
use bumpwright_gostd::quote_bytes;
use std::fmt;
use std::io;
use thiserror::Error;

/// An archive that is damaged, too large, or that must not be unpacked. Names are quoted and as they are in the archive.
#[derive(Debug, Error)]
pub enum ReadError {
    /// Not gzip at all.
    #[error("unpack the archive: it is not compressed with gzip")]
    NotGzip,
    /// The compressed data is broken, or its checksum is wrong.
    #[error("unpack the archive: its compressed data is damaged: {reason}; get it once more")]
    Damaged {
        /// In the decompressor's words.
        reason: String,
    },
    /// The archive ends before its end.
    #[error("unpack the archive: it is cut off; get it once more")]
    Truncated,
    /// A header that is none, or has numbers or PAX records that are none.
    #[error("unpack the archive: the header after {after} is not a valid tar header")]
    Header {
        /// The entry before it.
        after: String,
    },
    /// More than the limits allow.
    #[error("unpack the archive: {what} at {name}; the limit is {limit}")]
    TooMuch {
        /// Which limit.
        what: TooMuch,
        /// The entry.
        name: String,
        /// The limit.
        limit: u64,
    },
    /// More than the budget of the job that unpacks it allows.
    #[error("unpack the archive: at {name}: {cause}")]
    Exceeded {
        /// The entry.
        name: String,
        /// Which bound.
        cause: Exceeded,
    },
    /// A name that leads out of the root, or that upstream refuses.
    #[error("unpack the archive: the name {name} {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A symbolic link, where none may be.
    #[error(
        "unpack the archive: {name} is a symbolic link, which is not allowed here; put the file itself in its place"
    )]
    Symlink {
        /// The name.
        name: String,
    },
    /// A hard link that leads nowhere.
    #[error("unpack the archive: the hard link {name} to {target} {reason}")]
    HardLink {
        /// The name.
        name: String,
        /// Where it leads.
        target: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A device, a FIFO or a socket.
    #[error("unpack the archive: {name} is a {kind}, which an artifact must not have")]
    Special {
        /// The name.
        name: String,
        /// What it is.
        kind: &'static str,
    },
    /// A file with holes.
    #[error("unpack the archive: {name} is a sparse file; pack it without --sparse")]
    Sparse {
        /// The name.
        name: String,
    },
    /// One name for two things, of which one would have to be a directory.
    #[error("unpack the archive: {name} {reason}")]
    Conflict {
        /// The name.
        name: String,
        /// With what.
        reason: &'static str,
    },
    /// The source of the archive failed.
    #[error("unpack the archive: read it: {0}")]
    Source(io::Error),
    /// What took an entry failed.
    #[error("unpack the archive: take {name}: {source}")]
    Visitor {
        /// The entry.
        name: String,
        /// Why.
        source: io::Error,
    },
}

impl ReadError {
    /// The bound of a budget that was reached, be it by reading or by what took an entry.
    #[must_use]
    pub fn exceeded(&self) -> Option<&Exceeded> {
        match self {
            Self::Exceeded { cause, .. } => Some(cause),
            Self::Visitor { source, .. } => source.get_ref()?.downcast_ref(),
            _ => None,
        }
    }
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooMuch {
    /// `Limits::unpacked`
    Unpacked,
    /// `Limits::entries`
    Entries,
    /// `Limits::names`
    Names,
    /// `Limits::path`
    Path,
    /// `Limits::component`
    Component,
    /// `Limits::depth`
    Depth,
    /// `Limits::ratio`
    Ratio,
    /// `Limits::extension` and `Limits::extensions`
    Extension,
}

impl fmt::Display for TooMuch {
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

/// A name for an error, not longer than a line.
pub(super) fn shown(name: &[u8]) -> String {
    const LONGEST: usize = 256;
    match name.get(..LONGEST) {
        Some(head) if name.len() > LONGEST => format!("{}…", quote_bytes(head)),
        _ => quote_bytes(name),
    }
}
