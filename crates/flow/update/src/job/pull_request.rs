//! The pull request that a run is to keep.

use std::sync::Arc;

use bumpwright_api::{ForgeKind, PullRequestSetup};
use bumpwright_forge::{Forge, ForgeApi};

/// The pull request settings of a run.
#[derive(Clone, Debug)]
pub struct PullRequest {
    /// The base branch, without `refs/heads/`; none for the branch that the run starts from.
    pub base: Option<String>,
    /// The forge and repository.
    pub forge: Arc<Forge>,
    /// Whether commits of others on its branch are overwritten.
    pub overwrite: bool,
    /// What it is given when it is opened.
    pub setup: PullRequestSetup,
}

/// The API of a forge, from the settings of objects.
#[must_use]
pub fn forge_kind(kind: ForgeKind) -> ForgeApi {
    match kind {
        ForgeKind::GitHub => ForgeApi::GitHub,
        ForgeKind::Gitea => ForgeApi::Gitea,
    }
}
