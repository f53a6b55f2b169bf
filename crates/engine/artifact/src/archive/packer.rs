//! Writes the tar.gz of a package: files alone, in the order in which they come, as other tools lay them out.
//!
//! The tar is Go's for entries without times; the compression is that of artifacts. Equal files make equal bytes.

use super::block::{BLOCK, HeaderFields, REGULAR, header_blocks};
use super::compress::Compressor;
use crate::digest::Algorithm;
use bumpwright_text::Parts;
use flate2::GzBuilder;
use std::io::{self, Write};

const FILE_MODE: u32 = 0o644;

/// What a gzip header has besides the content (RFC 1952, 2.3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    pub comment: &'static str,
    pub extra: &'static [u8],
}

/// Writes a package. Names have to be clean relative paths.
///
/// ```
/// use bumpwright_artifact::{Marks, Packer};
/// let mut packer = Packer::new(Vec::new(), Marks::default());
/// packer.file(b"web/Chart.yaml", b"name: web\n")?;
/// let bytes = packer.finish()?;
/// assert!(bytes.starts_with(b"\x1f\x8b"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Packer<W: Write> {
    output: Compressor<W>,
}

impl<W: Write> Packer<W> {
    pub fn new(inner: W, marks: Marks) -> Self {
        let header = GzBuilder::new().comment(marks.comment).extra(marks.extra);
        Self {
            output: Compressor::with_header(inner, Algorithm::default(), header),
        }
    }

    /// Adds a regular file, with mode 0644 and no time, so that equal files make equal bytes.
    ///
    /// # Errors
    /// When the output fails.
    pub fn file(&mut self, name: &[u8], content: &[u8]) -> io::Result<()> {
        let size = content.len() as u64;
        let kind = REGULAR;
        let header = header_blocks(HeaderFields {
            name,
            mode: FILE_MODE,
            size,
            kind,
        });
        self.output.write_all(&header)?;
        self.output.write_all(content)?;
        let padding = content.len().next_multiple_of(BLOCK) - content.len();
        self.output.write_all([0; BLOCK].part(..padding))
    }

    /// Ends the package. Returns the flushed output.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.output.write_all(&[0; 2 * BLOCK])?;
        let (inner, ..) = self.output.finish()?;
        Ok(inner)
    }
}
