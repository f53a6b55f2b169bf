//! Reads text into nodes: documents, with anchors and merge keys resolved, and duplicates found.

use super::compose::Composer;
use super::encoding::text_of;
use super::error::ReadError;
use super::options::{Duplicates, ReadOptions};
use crate::node::Node;
use crate::place::FileId;

/// All documents of a stream. An empty document is null; an empty stream has no documents.
///
/// # Errors
/// For text that is not YAML, keys that are collections, aliases in a cycle or beyond the limit.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Vec<Node>, ReadError> {
    let text = text_of(bytes, options.file)?;
    let mut composer = Composer::new(&text, options, 0);
    let mut documents = Vec::new();
    while let Some(document) = composer.document()? {
        documents.push(document);
    }
    Ok(documents)
}

/// The first document of a stream, as `Unmarshal` of Go's libraries reads it: the rest is ignored.
pub fn read_first(bytes: &[u8], options: &ReadOptions) -> Result<Option<Node>, ReadError> {
    let text = text_of(bytes, options.file)?;
    Composer::new(&text, options, 0).document()
}

/// The documents of a file of resources, as kyaml's `ByteReader` reads it: split at lines that begin with `---`
/// before anything else, each part read by itself, empty ones and nulls left out. Only the first document of
/// a part counts (`...` ends it). Duplicate keys are kept: lookups find the first one, and writing the
/// mapping is an error.
///
/// # Errors
/// As [`read`], and for `---` followed by more than a comment.
pub fn read_resources(bytes: &[u8], file: FileId) -> Result<Vec<Node>, ReadError> {
    let options = ReadOptions {
        duplicates: Duplicates::Keep,
        ..ReadOptions::kyaml(file)
    };
    let text = text_of(bytes, file)?;
    let text = if text.contains("\r\n") {
        text.replace("\r\n", "\n").into()
    } else {
        text
    };
    let mut documents = Vec::new();
    for part in super::split::parts(&text, file)? {
        // Without a file, lines are those of the document, as in kyaml.
        let line = if file == FileId::NONE { 0 } else { part.line };
        let document = Composer::new(part.text, &options, line).document()?;
        documents.extend(document.filter(|document| !document.is_null()));
    }
    Ok(documents)
}
