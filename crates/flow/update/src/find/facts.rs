//! What is known of the files and folders of a tree, from this run or an earlier one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use bumpwright_edit::{self as edit, FileKind, Formats, Scan};
use bumpwright_git::ObjectId;
use bumpwright_rules::Rules;

/// An object id as stored on disk: SHA-1 or SHA-256.
pub(crate) type Key = Vec<u8>;

/// The facts about a file's content.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BlobFacts {
    /// Its markers; none when there is nothing to report.
    pub scan: Option<Arc<Scan>>,
    /// True when it may hold manifests of image policies.
    pub manifests: bool,
}

impl BlobFacts {
    /// Returns whether a run ever needs this file again.
    pub(crate) fn matters(&self) -> bool {
        self.scan.is_some() || self.manifests
    }

    /// Memory used by these facts, in bytes.
    pub(crate) fn cost(&self) -> u64 {
        let Some(scan) = &self.scan else { return FACT };
        let sites = scan.sites.iter().map(|site| site.value.len() + site.text.len() + ITEM);
        let skips = scan.skips.iter().map(|skip| skip.message.len() + ITEM);
        let neighbours = scan
            .neighbours
            .iter()
            .map(|other| other.value.len() + other.key.len() + ITEM);
        FACT + sites.chain(skips).chain(neighbours).sum::<usize>() as u64
    }

    /// Memory that a run needs for its results on a file with these facts, at a path of this many bytes: one
    /// entry for each marker.
    pub(crate) fn cost_at(&self, path: usize) -> u64 {
        let scan = self.scan.as_deref();
        let items = scan.map_or(0, |scan| scan.sites.len() + scan.skips.len());
        FACT + (path + items * (path + 2 * ITEM)) as u64
    }
}

/// Fixed memory of an entry, in bytes.
pub(crate) const FACT: u64 = 160;

/// Fixed memory of a marker, in bytes.
pub(crate) const ITEM: usize = 400;

/// A relevant child of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub name: Vec<u8>,
    pub id: ObjectId,
    /// A folder, or a file to be read in this way.
    pub file: Option<FileKind>,
}

impl Child {
    /// Memory used, in bytes.
    pub(crate) fn cost(&self) -> u64 {
        self.name.len() as u64 + FACT
    }
}

/// A folder and the formats that are read: they decide which of its files matter.
pub(crate) type Folder = (ObjectId, Formats);

/// One fact, as stored on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Fact {
    /// A file's content, read as this kind.
    Blob(Key, FileKind, BlobFacts),
    /// A folder, where these formats are read: name, id and kind of its relevant children.
    Tree(Key, Formats, Vec<(Vec<u8>, Key, Option<FileKind>)>),
}

impl Fact {
    pub(crate) fn tree((id, formats): Folder, children: &[Child]) -> Self {
        let kept = |child: &Child| (child.name.clone(), child.id.as_bytes().to_vec(), child.file);
        Self::Tree(id.as_bytes().to_vec(), formats, children.iter().map(kept).collect())
    }
}

/// Limit on folder nesting: each level costs stack.
pub(crate) const MAX_DEPTH: usize = 256;

/// A file with markers or policies.
#[derive(Clone, Debug)]
pub struct Marked<Place = ObjectId> {
    /// Path from the repository's root.
    pub path: Vec<u8>,
    /// Its content: a blob of a tree, or a path of a folder.
    pub place: Place,
    /// How it is read.
    pub kind: FileKind,
    /// Facts about its content.
    pub facts: BlobFacts,
    /// The rules of the run, if one of them is for this file.
    pub rules: Option<Rules>,
}

/// The most bytes of a file that are read (docs/cli.md, *Output*).
#[must_use]
pub(crate) fn size_limit(kind: FileKind) -> u64 {
    let limit = match kind {
        FileKind::Yaml | FileKind::YamlTemplate | FileKind::RuleFile => edit::YAML_LIMIT,
        FileKind::Text(_) | FileKind::Other | FileKind::Prose => edit::OTHER_LIMIT,
    };
    u64::try_from(limit).unwrap_or(u64::MAX)
}

/// A scan with results.
pub(crate) fn kept(scan: Scan) -> Option<Arc<Scan>> {
    (!scan.sites.is_empty() || !scan.skips.is_empty()).then(|| Arc::new(scan))
}
