//! Reads text into nodes: documents, with anchors and merge keys resolved, and duplicates found.

use super::compose::Composer;
use super::encoding::text_of;
use super::error::ReadError;
use crate::node::Node;
use crate::place::FileId;

/// Which of Go's libraries to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// go.yaml.in/yaml/v2 through sigs.k8s.io/yaml: kustomization files, plugin configurations, JSON patches. `yes` and
    /// `on` are booleans, dates are strings, keys become strings.
    V2,
    /// go.yaml.in/yaml/v3 through kyaml: resources and patches. `yes` is a string, dates are timestamps.
    V3,
}

/// The treatment of duplicate keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// An error, in the words of the library.
    Refuse,
    /// The last one counts.
    Last,
    /// Both are kept.
    Keep,
}

/// Options for reading.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    /// The library.
    pub dialect: Dialect,
    /// The treatment of duplicate keys.
    pub duplicates: Duplicates,
    /// Maximum depth of collections, aliases replaced.
    pub max_depth: usize,
    /// The file in the places of the nodes.
    pub file: FileId,
}

/// The default maximum depth: a hundred times that of real documents, and low enough for
/// programs that walk trees by recursion.
pub const MAX_DEPTH: usize = 1000;

/// Strict, and without places.
pub(crate) const FIRST_OF_V2: ReadOptions = ReadOptions::sigs(FileId::NONE);

impl ReadOptions {
    /// As kyaml reads resources and patches.
    #[must_use]
    pub const fn kyaml(file: FileId) -> Self {
        Self {
            dialect: Dialect::V3,
            duplicates: Duplicates::Refuse,
            max_depth: MAX_DEPTH,
            file,
        }
    }

    /// As `yaml.Unmarshal` of sigs.k8s.io/yaml reads: the last of duplicate keys counts.
    #[must_use]
    pub const fn sigs(file: FileId) -> Self {
        Self {
            dialect: Dialect::V2,
            duplicates: Duplicates::Last,
            max_depth: MAX_DEPTH,
            file,
        }
    }

    /// As `yaml.UnmarshalStrict` of sigs.k8s.io/yaml reads: duplicate keys are an error.
    #[must_use]
    pub const fn sigs_strict(file: FileId) -> Self {
        Self {
            duplicates: Duplicates::Refuse,
            ..Self::sigs(file)
        }
    }
}

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
///
/// # Errors
/// As [`read`].
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
