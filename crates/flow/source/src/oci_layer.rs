//! The layer of an image with the files: selection and contents.

use std::io::{self, Read, Write};

use super::include::{start, weight_of};
use super::tree::{Content, Directory, File, Node};
use bumpwright_api::OciLayerSelector;
use bumpwright_artifact::{EntryKind, Links, ReadError, archive};
use bumpwright_budget::{Budget, Reservation};
use bumpwright_gostd::quote;
use bumpwright_registry::{Image, Layer};

/// Why an image has no layer to take, in source-controller's words (v1.9, `selectLayer`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    #[error("no layers found in artifact")]
    NoLayers,
    #[error("failed to find layer with media type '{0}' in artifact")]
    MediaType(String),
}

/// Selects a layer: the first of the media type, or the first one.
pub fn select_layer<'a>(image: &'a Image, selector: Option<&OciLayerSelector>) -> Result<&'a Layer, LayerError> {
    let first = image.layers.first().ok_or(LayerError::NoLayers)?;
    let wanted = selector.map_or("", |selector| &selector.media_type);
    if wanted.is_empty() {
        return Ok(first);
    }
    let mut layers = image.layers.iter();
    layers
        .find(|layer| layer.media_type == wanted)
        .ok_or_else(|| LayerError::MediaType(wanted.to_owned()))
}

/// Why a layer could not be unpacked; when it is not an archive at all, with the ways out.
#[must_use]
pub fn unpack_fault(error: &ReadError, layer: &Layer, image: &Image) -> String {
    let ReadError::NotGzip = error else {
        return error.to_string();
    };
    let shown = |layer: &Layer| quote(&layer.media_type.chars().take(200).collect::<String>());
    let mut kinds: Vec<String> = Vec::new();
    for other in &image.layers {
        let kind = shown(other);
        if other.media_type != layer.media_type && !kinds.contains(&kind) && kinds.len() < 5 {
            kinds.push(kind);
        }
    }
    let other = match kinds.as_slice() {
        [] => String::new(),
        kinds => format!(
            "set layerSelector.mediaType to take another one ({}), or ",
            kinds.join(", ")
        ),
    };
    format!(
        "{error}; the layer is of media type {}: {other}set layerSelector.operation to copy to take it as it is",
        shown(layer)
    )
}

/// The storage of file contents, one after the other.
#[derive(Debug)]
pub struct Keeping<W> {
    pub out: W,
    /// Bytes written.
    pub written: u64,
}

impl<W: Write> Keeping<W> {
    pub const fn new(out: W) -> Self {
        Self { out, written: 0 }
    }

    /// Appends everything from the reader.
    ///
    /// # Errors
    /// It cannot be read, or not be stored.
    pub fn keep(&mut self, from: &mut impl Read) -> io::Result<Content> {
        let (offset, size) = (self.written, io::copy(from, &mut self.out)?);
        self.written += size;
        Ok(Content::Kept { offset, size })
    }
}

/// Unpacks a layer (`tar.Untar`, links left out): its folders and files, with contents appended to `keeping`, and the
/// budget that the names hold. A hard link is an empty file, as upstream has it.
///
/// # Errors
/// [`ReadError`]. The stored contents are useless then.
pub fn unpack_layer(
    layer: impl Read,
    budget: &Budget,
    keeping: &mut Keeping<impl Write>,
) -> Result<(Directory, Reservation), ReadError> {
    let mut root = Directory::default();
    let mut held = start(budget)?;
    archive::unpack_within(layer, budget, Links::Skip, |entry| {
        held.grow(weight_of(&entry.path)).map_err(io::Error::other)?;
        let mut path: Vec<Vec<u8>> = entry.path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
        let file = match entry.kind.clone() {
            EntryKind::Directory => {
                return root
                    .make(&path)
                    .map(drop)
                    .ok_or_else(|| io::ErrorKind::NotADirectory.into());
            }
            EntryKind::File { executable, .. } => File {
                executable,
                content: keeping.keep(entry)?,
            },
            EntryKind::HardLink { .. } => File {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_that_is_no_archive_is_told_with_the_ways_out() {
        let layers = ["text/markdown", "application/vnd.a.tar+gzip", "text/markdown", "b\n"];
        let layers = layers.map(|kind| Layer {
            media_type: kind.to_owned(),
            ..Layer::default()
        });
        let image = |layers: &[Layer]| Image {
            layers: layers.to_vec(),
            ..Image::default()
        };
        let told = |layers: &[Layer]| {
            let image = image(layers);
            image
                .layers
                .first()
                .map(|layer| unpack_fault(&ReadError::NotGzip, layer, &image))
        };
        let begin = "unpack the archive: it is not compressed with gzip; the layer is of media type \"text/markdown\":";
        let copy = "set layerSelector.operation to copy to take it as it is";
        assert_eq!(told(&layers[..1]), Some(format!("{begin} {copy}")));
        let other = "set layerSelector.mediaType to take another one (\"application/vnd.a.tar+gzip\", \"b\\n\"), or";
        assert_eq!(told(&layers), Some(format!("{begin} {other} {copy}")));
        let image = image(&layers);
        assert_eq!(
            unpack_fault(&ReadError::Truncated, &Layer::default(), &image),
            "unpack the archive: it is cut off; get it once more"
        );
    }
}
