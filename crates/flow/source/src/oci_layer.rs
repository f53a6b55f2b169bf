//! The layer of an image that has the files: which one, and what is in it.

use std::io::{self, Read, Write};

use super::include::{start, weight_of};
use super::tree::{Content, Directory, File, Node};
use bumpwright_api::OciLayerSelector;
use bumpwright_artifact::{Kind, Links, ReadError, archive};
use bumpwright_budget::{Budget, Held};
use bumpwright_registry::{Image, Layer};

/// The layer that is wanted: the first of its media type, or the first one.
///
/// # Errors
/// In source-controller's words (v1.9, `selectLayer`).
pub fn select_layer<'a>(image: &'a Image, selector: Option<&OciLayerSelector>) -> Result<&'a Layer, String> {
    let first = image.layers.first().ok_or("no layers found in artifact")?;
    let wanted = selector
        .map(|selector| selector.media_type.as_str())
        .unwrap_or_default();
    if wanted.is_empty() {
        return Ok(first);
    }
    let mut layers = image.layers.iter();
    layers
        .find(|layer| layer.media_type == wanted)
        .ok_or_else(|| format!("failed to find layer with media type '{wanted}' in artifact"))
}

/// Where the bytes of the files go, one after the other.
#[derive(Debug)]
pub struct Keeping<W> {
    /// What takes them.
    pub out: W,
    /// How many there are.
    pub written: u64,
}

impl<W: Write> Keeping<W> {
    /// Nothing is written yet.
    pub const fn new(out: W) -> Self {
        Self { out, written: 0 }
    }

    /// Takes what is there to be read.
    ///
    /// # Errors
    /// It cannot be read, or the bytes find no place.
    pub fn keep(&mut self, from: &mut impl Read) -> io::Result<Content> {
        let (offset, size) = (self.written, io::copy(from, &mut self.out)?);
        self.written += size;
        Ok(Content::Kept { offset, size })
    }
}

/// Unpacks a layer (`tar.Untar` with links left out): its folders and files, whose bytes go to `keeping`, and what of the budget the
/// names take while they are there. A hard link is an empty file, as upstream has it.
///
/// # Errors
/// [`ReadError`]. What was kept is of no use then.
pub fn unpack_layer(
    layer: impl Read,
    budget: &Budget,
    keeping: &mut Keeping<impl Write>,
) -> Result<(Directory, Held), ReadError> {
    let mut root = Directory::default();
    let mut held = start(budget)?;
    archive::unpack_within(layer, budget, Links::Skip, |entry| {
        held.grow(weight_of(&entry.path)).map_err(io::Error::other)?;
        let mut path: Vec<Vec<u8>> = entry.path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
        let file = match entry.kind.clone() {
            Kind::Directory => {
                return root
                    .make(&path)
                    .map(drop)
                    .ok_or_else(|| io::ErrorKind::NotADirectory.into());
            }
            Kind::File { executable, .. } => File {
                executable,
                content: keeping.keep(entry)?,
            },
            Kind::HardLink { .. } => File {
                executable: false,
                content: Content::Bytes(Vec::new()),
            },
        };
        let Some(name) = path.pop() else { return Ok(()) };
        let folder = root.make(&path).ok_or(io::ErrorKind::NotADirectory)?;
        folder.entries.insert(name, Node::File(file));
        Ok(())
    })?;
    keeping.out.flush().map_err(ReadError::Source)?;
    Ok((root, held))
}
