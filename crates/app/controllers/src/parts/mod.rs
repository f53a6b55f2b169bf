//! The parts of a process, from which kinds build their contexts, and what a kind registers. The table of kinds is
//! above all of them (`kinds.rs`).

pub(crate) mod context;
pub(crate) mod registered;
pub(crate) mod remotes;
pub(crate) mod watching;

use std::sync::Arc;

use crate::artifact_trees::ArtifactTrees;
use crate::images::fields::FieldBook;
use crate::images::known_origins::KnownOrigins;
use crate::mirrors::Mirrors;
use crate::reviews::book::RequestBook;
use bumpwright_scan::{Scanner, TagStore};
use bumpwright_storage::Storage;
use context::Context;
use watching::Caches;

/// Parts of a process; each kind takes what it needs.
pub(crate) struct Parts {
    pub(crate) shared: Arc<Context>,
    pub(crate) caches: Caches,
    pub(crate) scanner: Arc<Scanner>,
    pub(crate) tags: Arc<TagStore>,
    pub(crate) mirrors: Arc<Mirrors>,
    /// What is known of the sources of images, for release notes.
    pub(crate) origins: Arc<KnownOrigins>,
    /// The files of artifacts, for builds of all kinds.
    pub(crate) trees: Arc<ArtifactTrees>,
    /// Where marked fields were; none if pages are not served.
    pub(crate) fields: Option<Arc<FieldBook>>,
    /// The requests that are reviewed; none if pages are not served, or reviews are off.
    pub(crate) requests: Option<Arc<RequestBook>>,
    /// Storage of artifacts; none when no source is reconciled.
    pub(crate) storage: Option<Storage>,
}
