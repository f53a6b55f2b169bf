//! The files of a source other than the repository: those of the artifact that the cluster has of it.

use bumpwright_fleet::{Repository, SourceError};
use bumpwright_kustomize::tree::Tree;

use crate::artifact_trees::Unpacked;

pub(super) struct ArtifactFiles(pub(super) Unpacked);

impl Repository for ArtifactFiles {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Repository::tree(self.0.tree())
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        Repository::ignoring(self.0.tree(), ignore)
    }
}
