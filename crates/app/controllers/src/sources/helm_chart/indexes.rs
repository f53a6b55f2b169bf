//! The indexes of HelmRepositories, each read once for all charts of it.

use std::io::BufReader;
use std::sync::Arc;

use crate::artifact_trees::{ArtifactTrees, FetchError, Requester};
use bumpwright_api::Artifact;
use bumpwright_budget::Budget;
use bumpwright_helm::Index;
use bumpwright_storage::{Shared, SharedError};

/// Cache limit in bytes: the index of ten thousand charts takes 15 MB. Larger ones are kept only while in use.
const KEPT: u64 = 48 << 20;

/// Indexes by the artifacts that have them.
pub(in crate::sources) struct Indexes(Shared<String, Index, FetchError>);

impl std::fmt::Debug for Indexes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Indexes").finish_non_exhaustive()
    }
}

impl Default for Indexes {
    fn default() -> Self {
        Self(Shared::new(KEPT, Index::weight))
    }
}

impl Indexes {
    /// The index in an artifact. Reading it is on the account of who does, for as long as it takes.
    pub(in crate::sources) fn get(
        &self,
        trees: &ArtifactTrees,
        artifact: &Artifact,
        requester: &Requester,
        budget: &Budget,
    ) -> Result<Arc<Index>, FetchError> {
        // An address may be a tenant's choice: what was sent for it is for his namespace alone.
        let key = format!("{} {} {}", artifact.digest, artifact.url, requester.namespace);
        let open = || trees.bytes(artifact, requester);
        let got = self.0.get(&key, open, |reader| {
            let mut held = budget.memory.nothing();
            let index = Index::read_stored(BufReader::with_capacity(64 << 10, reader), &mut held);
            index.map_err(|error| FetchError::Failed(format!("failed to load index: {error}")))
        });
        got.map_err(|error| match &*error {
            SharedError::Caller(error) => error.clone(),
            error @ SharedError::Read { .. } => FetchError::Failed(error.to_string()),
        })
    }
}
