//! Text to nodes: documents, anchors and merge keys put in, duplicates found.

use super::compose::Composer;
use super::encoding::text_of;
use super::error::ReadError;
use super::node::Node;
use super::place::FileId;

/// Which of Go's libraries a text is read like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// go.yaml.in/yaml/v2 through sigs.k8s.io/yaml: kustomization files, plugin configurations, JSON patches. `yes` and `on` are
    /// booleans, dates are text, keys become text.
    V2,
    /// go.yaml.in/yaml/v3 through kyaml: resources and patches. `yes` is text, dates are moments.
    V3,
}

/// What to do with a key that a mapping has twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// An error, with the words of the library.
    Refuse,
    /// The last one counts.
    Last,
    /// Both stay.
    Keep,
}

/// How to read.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    /// The rules of which library.
    pub dialect: Dialect,
    /// What to do with keys that come twice.
    pub duplicates: Duplicates,
    /// Collections inside of collections, aliases put in: more are an error.
    pub max_depth: usize,
    /// What the places of the nodes name.
    pub file: FileId,
}

/// Nestings that are read where no other bound is given: a hundred times what people write, and few enough for
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

    /// As `yaml.Unmarshal` of sigs.k8s.io/yaml reads: the last of two equal keys counts.
    #[must_use]
    pub const fn sigs(file: FileId) -> Self {
        Self {
            dialect: Dialect::V2,
            duplicates: Duplicates::Last,
            max_depth: MAX_DEPTH,
            file,
        }
    }

    /// As `yaml.UnmarshalStrict` of sigs.k8s.io/yaml reads: two equal keys are an error.
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
/// For text that is not YAML, keys that are collections, aliases without end or measure.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Vec<Node>, ReadError> {
    let text = text_of(bytes, options.file)?;
    let mut composer = Composer::new(&text, options, 0);
    let mut documents = Vec::new();
    while let Some(document) = composer.document()? {
        documents.push(document);
    }
    Ok(documents)
}

/// The first document of a stream, as `Unmarshal` of Go's libraries reads it: what follows is not looked at.
///
/// # Errors
/// As [`read`].
pub fn read_first(bytes: &[u8], options: &ReadOptions) -> Result<Option<Node>, ReadError> {
    let text = text_of(bytes, options.file)?;
    Composer::new(&text, options, 0).document()
}

/// The documents of a file of resources, as kyaml's `ByteReader` reads it: parted at lines that begin with `---`
/// before anything else is looked at, each part read by itself, empty ones and nulls left out. Only the first document of
/// a part counts (`...` ends it). A key that a mapping has twice stays twice: the first one is found, and what writes the
/// mapping refuses it.
///
/// # Errors
/// As [`read`], and for `---` with more than a comment behind it.
pub fn read_resources(bytes: &[u8], file: FileId) -> Result<Vec<Node>, ReadError> {
    let options = ReadOptions {
        duplicates: Duplicates::Keep,
        ..ReadOptions::kyaml(file)
    };
    let text = text_of(bytes, file)?;
    let text = match text.contains("\r\n") {
        true => text.replace("\r\n", "\n").into(),
        false => text,
    };
    let mut documents = Vec::new();
    for part in super::split::parts(&text, file)? {
        // Where no file is named, lines are those of the document, as kyaml has them.
        let line = if file == FileId::NONE { 0 } else { part.line };
        let document = Composer::new(part.text, &options, line).document()?;
        documents.extend(document.filter(|document| !document.is_null()));
    }
    Ok(documents)
}
