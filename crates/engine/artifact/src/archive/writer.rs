//! Writes the tar.gz of an artifact in the layout of source-controller's `Storage.Archive`.
//!
//! An entry `.` for the root, then directories (mode 0750, names without a `/` at the end) and files (0600, executable
//! ones 0700) in the order of Go's `filepath.Walk`. No owners, no times, no links. The tar inside is upstream's byte
//! for byte; the compression is not, so digests differ from upstream's but are the same wherever bumpwright runs.

use super::block::{BLOCK, DIRECTORY, HeaderFields, REGULAR, header_blocks};
use super::compress::Compressor;
use crate::digest::{Algorithm, Digest};
use bumpwright_gostd::quote_bytes;
use bumpwright_text::Parts;
use std::io::{self, Read, Write};
use thiserror::Error;

const DIRECTORY_MODE: u32 = 0o750;
const FILE_MODE: u32 = 0o600;
const EXECUTABLE_MODE: u32 = 0o700;

/// Longer names do not fit into a PAX header that Go reads (1 MiB).
const LONGEST_NAME: usize = (1 << 20) - 1024;

/// Digest and counts of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The digest of the tar.gz.
    pub digest: Digest,
    /// Bytes of the tar.gz.
    pub size: u64,
    pub files: u64,
    /// Directories in it, without the root.
    pub directories: u64,
    /// Bytes in its files, unpacked.
    pub content: u64,
}

/// Writes an archive; entries must come in order, so that equal files make equal bytes.
///
/// The order is that of the components of names by their bytes: `a`, `a/b`, `a.txt`. A directory may be missing (ignore
/// rules may exclude it), but must precede its content if it is present.
///
/// ```
/// use bumpwright_artifact::Writer;
/// let mut writer = Writer::new(Vec::new())?;
/// writer.directory(b"apps")?;
/// writer.file(b"apps/web.yaml", false, 8, &b"kind: X\n"[..])?;
/// let (written, bytes) = writer.finish()?;
/// assert_eq!(written.size, bytes.len() as u64);
/// assert!(written.digest.is_of(&bytes));
/// # Ok::<(), bumpwright_artifact::WriteError>(())
/// ```
#[derive(Debug)]
pub struct Writer<W: Write> {
    output: Compressor<W>,
    last: Vec<u8>,
    last_is_file: bool,
    files: u64,
    directories: u64,
    content: u64,
}

impl<W: Write> Writer<W> {
    /// Begins an archive with a SHA-256 digest.
    ///
    /// # Errors
    /// When `inner` fails.
    pub fn new(inner: W) -> Result<Self, WriteError> {
        Self::with_algorithm(inner, Algorithm::default())
    }

    /// Begins an archive with a digest of another algorithm (`--artifact-digest-algo`).
    ///
    /// # Errors
    /// When `inner` fails.
    pub fn with_algorithm(inner: W, algorithm: Algorithm) -> Result<Self, WriteError> {
        let mut writer = Self {
            output: Compressor::new(inner, algorithm),
            last: Vec::new(),
            last_is_file: false,
            files: 0,
            directories: 0,
            content: 0,
        };
        writer.header(b".", DIRECTORY, DIRECTORY_MODE, 0)?;
        Ok(writer)
    }

    /// Adds a directory, by its path from the root with `/` between components.
    ///
    /// # Errors
    /// When the path is not a clean relative path or is out of order, or the output fails.
    pub fn directory(&mut self, path: &[u8]) -> Result<(), WriteError> {
        self.take_path(path, false)?;
        self.directories += 1;
        self.header(path, DIRECTORY, DIRECTORY_MODE, 0)
    }

    /// Adds a file of `size` bytes.
    ///
    /// # Errors
    /// When the path is not a clean relative path or is out of order, the content does not have the given size or
    /// cannot be read, or the output fails. The archive is unusable then.
    pub fn file(&mut self, path: &[u8], executable: bool, size: u64, content: impl Read) -> Result<(), WriteError> {
        self.take_path(path, true)?;
        self.files += 1;
        self.content += size;
        let mode = if executable { EXECUTABLE_MODE } else { FILE_MODE };
        self.header(path, REGULAR, mode, size)?;
        self.copy(path, size, content)?;
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        let zeros = [0; BLOCK];
        self.put(path, zeros.part(..padding as usize))
    }

    /// Ends the archive. Returns the flushed output.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(mut self) -> Result<(Written, W), WriteError> {
        self.put(b".", &[0; 2 * BLOCK])?;
        let finished = self.output.finish();
        let (inner, digest, size) = finished.map_err(|source| WriteError::output(b".", source))?;
        let written = Written {
            digest,
            size,
            files: self.files,
            directories: self.directories,
            content: self.content,
        };
        Ok((written, inner))
    }

    fn header(&mut self, name: &[u8], kind: u8, mode: u32, size: u64) -> Result<(), WriteError> {
        let blocks = header_blocks(HeaderFields { name, mode, size, kind });
        self.put(name, &blocks)
    }

    fn copy(&mut self, path: &[u8], size: u64, content: impl Read) -> Result<(), WriteError> {
        // One byte more shows that a file is longer than its size.
        let mut content = content.take(size.saturating_add(1));
        let mut buffer = [0; 16 * 1024];
        let mut copied = 0;
        loop {
            let count = match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(WriteError::content(path, source)),
            };
            copied += count as u64;
            if copied > size {
                break;
            }
            self.put(path, buffer.part(..count))?;
        }
        if copied == size {
            return Ok(());
        }
        let path = quote_bytes(path);
        Err(WriteError::Size { path, size, copied })
    }

    fn put(&mut self, path: &[u8], bytes: &[u8]) -> Result<(), WriteError> {
        let written = self.output.write_all(bytes);
        written.map_err(|source| WriteError::output(path, source))
    }

    /// Checks a path and keeps it for the next comparison.
    fn take_path(&mut self, path: &[u8], is_file: bool) -> Result<(), WriteError> {
        let is_clean = components(path).all(|name| !matches!(name, b"" | b"." | b".."));
        if !is_clean || path.contains(&0) || path.len() > LONGEST_NAME {
            let path = quote_bytes(path);
            return Err(WriteError::Path { path });
        }
        let is_below_file = self.last_is_file && is_below(path, &self.last);
        if is_below_file || (!self.last.is_empty() && components(&self.last).cmp(components(path)).is_ge()) {
            let (path, last) = (quote_bytes(path), quote_bytes(&self.last));
            return Err(WriteError::Order { path, last });
        }
        self.last.clear();
        self.last.extend_from_slice(path);
        self.last_is_file = is_file;
        Ok(())
    }
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}

fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with(b"/"))
}

/// An archive that could not be written. Paths are quoted.
#[derive(Debug, Error)]
pub enum WriteError {
    /// Absolute, empty, or with components that are empty, `.` or `..`; with a NUL; or far too long.
    #[error("add {path} to the archive: it must be a clean relative path without NUL, of less than 1 MiB")]
    Path { path: String },
    #[error(
        "add {path} to the archive after {last}: entries must be added once each, by the bytes of their components, and no file has \
         entries below it"
    )]
    Order {
        path: String,
        /// The path before it.
        last: String,
    },
    /// A file of another size.
    #[error("add {path} to the archive: it has {} bytes, and was said to have {size}", count(*copied, *size))]
    Size {
        path: String,
        /// The given size in bytes.
        size: u64,
        /// The bytes that were read, at most one more than the given size.
        copied: u64,
    },
    /// A file's content could not be read.
    #[error("add {path} to the archive: read its content: {source}")]
    Content { path: String, source: io::Error },
    #[error("add {path} to the archive: write the archive: {source}")]
    Output { path: String, source: io::Error },
}

impl WriteError {
    fn content(path: &[u8], source: io::Error) -> Self {
        let path = quote_bytes(path);
        Self::Content { path, source }
    }

    fn output(path: &[u8], source: io::Error) -> Self {
        let path = quote_bytes(path);
        Self::Output { path, source }
    }
}

fn count(copied: u64, size: u64) -> String {
    if copied > size {
        "more".to_owned()
    } else {
        format!("only {copied}")
    }
}
