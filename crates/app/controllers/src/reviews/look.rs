//! The review of one change: both commits are fetched, the Kustomizations of the cluster built with either, and the
//! two compared.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::OWNER;
use super::known::{Pair, Pushed};
use crate::fleet_view::{KUSTOMIZATIONS, OBJECTS};
use crate::mirror_uses::Owner;
use crate::mirrors::{MirrorError, Mirrors};
use bumpwright_api::{GitRepository, ObjectName};
use bumpwright_budget::Share;
use bumpwright_fleet::{
    ChartError, Charts, CheckSettings, ClusterChange, ClusterObjects, Identity, ImageRegistries, Outside, Repository,
    Review, Settings, SourceError, SourceFiles, SourceObject, review_cluster,
};
use bumpwright_git::{Checkout, GitError, Mirror, Remote};
use bumpwright_helm::Chart;
use bumpwright_http::{Deadline, Job};
use bumpwright_kustomize::tree::{Sealed, World};
use bumpwright_schemas::Schemas;
use bumpwright_source::{ArchiveError, of_commit};
use bumpwright_text::Excerpt;

/// The longest title of a push, in characters.
const TITLE: usize = 200;

/// The time for the builds and the rules of a review.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// Why a change is not reviewed.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookError {
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// A commit cannot be fetched or read.
    #[error("commit {commit}: {cause}")]
    Commit { commit: String, cause: Box<CommitError> },
}

/// What is wrong with a commit.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommitError {
    #[error(transparent)]
    Git(#[from] GitError),
    /// Its rules of what to leave out.
    #[error(transparent)]
    Ignore(#[from] ArchiveError),
}

impl LookError {
    /// Whether the repository does not have a commit any more: no later try finds it.
    pub(super) fn is_gone(&self) -> bool {
        let Self::Commit { cause, .. } = self else {
            return false;
        };
        matches!(&**cause, CommitError::Git(GitError::CommitNotFound { .. }))
    }
}

/// What a review is made from.
pub(super) struct Look {
    pub(super) name: ObjectName,
    pub(super) repository: GitRepository,
    pub(super) remote: Remote,
    pub(super) mirrors: Arc<Mirrors>,
    /// The branch that has the earlier commit; none if that is not known.
    pub(super) branch: Option<String>,
    /// Whether the later one is on it, too.
    pub(super) is_on_branch: bool,
    pub(super) pair: Pair,
    pub(super) cluster: ClusterObjects,
    pub(super) outside: Box<dyn Outside + Send>,
    pub(super) schemas: Schemas,
    /// Whether an undefined variable is an error.
    pub(super) strict: bool,
    /// The memory for the builds.
    pub(super) memory: Share,
    /// Whom to ask whether new images exist; nobody unless that is wanted.
    pub(super) registries: Option<Arc<dyn ImageRegistries>>,
}

impl Look {
    /// Reviews. Blocks. None when the time was over before everything was built and checked.
    pub(super) fn review(self) -> Result<Option<Review>, LookError> {
        let (before, after) = self.files()?;
        let mut settings = Settings::new(self.memory.clone());
        (settings.kustomizations, settings.objects, settings.threads) = (KUSTOMIZATIONS, OBJECTS, 1);
        // All undefined variables are found, each at its place.
        settings.strict_substitute = false;
        settings.charts = Some(Charts {
            is_tenant: true,
            ..Charts::new(String::new(), self.schemas.clone())
        });
        settings.identity = Identity {
            urls: vec![self.repository.spec.url.clone()],
        };
        settings.deadline = Some(Instant::now() + LIMIT);
        let check = CheckSettings {
            registries: self.registries,
            schemas: self.schemas,
            identity: settings.identity.clone(),
            threads: 1,
            deadline: settings.deadline,
            strict_substitute: self.strict,
        };
        let change = ClusterChange {
            title: &format!("GitRepository {}", self.name),
            cluster: &self.cluster,
            before: &before,
            after: &after,
        };
        let review = || review_cluster(change, &*self.outside, &settings, &check, env!("CARGO_PKG_VERSION"));
        Ok(Job::within(LIMIT, review))
    }

    /// The files of both commits, as the source has them.
    fn files(&self) -> Result<(SourceFiles, SourceFiles), LookError> {
        // Everything that is fetched is one job with one time limit.
        let until = Deadline::after(self.remote.timeout.saturating_mul(2));
        let owner = Owner::new(OWNER, self.name.clone());
        let mirror = self.mirrors.mirror(&self.remote, &owner)?;
        let mirror = mirror.part_of(&Arc::new(mirror.budget().job()), Some(until));
        let branch = self.branch.as_deref();
        let before = self.files_of(&mirror, &self.pair.base, branch)?;
        let after = self.files_of(&mirror, &self.pair.head, branch.filter(|_| self.is_on_branch))?;
        Ok((before, after))
    }

    fn files_of(&self, mirror: &Mirror, commit: &str, branch: Option<&str>) -> Result<SourceFiles, LookError> {
        let failed = |cause: CommitError| LookError::Commit {
            commit: commit.to_owned(),
            cause: Box::new(cause),
        };
        let checkout = Checkout::Commit {
            id: commit.to_owned(),
            branch: branch.map(str::to_owned),
        };
        let fetched = mirror.fetch(&checkout, &[]).map_err(|error| failed(error.into()))?;
        let spec = &self.repository.spec;
        let files = of_commit(&fetched.objects, fetched.tip.tree, &spec.sparse_checkout);
        let files = files.map_err(|error| failed(error.into()))?;
        SourceFiles::new(files, spec.ignore.as_deref(), None).map_err(|error| failed(error.into()))
    }
}

/// A commit that an automation pushed to a branch.
pub(super) struct PushedCommit {
    pub(super) remote: Remote,
    pub(super) mirrors: Arc<Mirrors>,
    /// The GitRepository.
    pub(super) name: ObjectName,
    pub(super) commit: String,
    pub(super) branch: String,
}

impl PushedCommit {
    /// What it is. Blocks.
    pub(super) fn read(self) -> Result<Pushed, LookError> {
        let owner = Owner::new(OWNER, self.name);
        let mirror = self.mirrors.mirror(&self.remote, &owner)?;
        let checkout = Checkout::Commit {
            id: self.commit.clone(),
            branch: Some(self.branch),
        };
        let fetched = mirror.fetch(&checkout, &[]);
        let info = fetched.and_then(|fetched| fetched.objects.commit(fetched.tip.commit));
        let info = info.map_err(|error| LookError::Commit {
            commit: self.commit,
            cause: Box::new(error.into()),
        });
        let info = match info {
            Err(error) if error.is_gone() => return Ok(Pushed::Gone(error.to_string())),
            other => other?,
        };
        let message = String::from_utf8_lossy(&info.message);
        let line = message.trim_start().first_line();
        Ok(Pushed::Found {
            parent: info.parents.first().map(ToString::to_string),
            title: line.cut_to(TITLE).unwrap_or(line).to_owned(),
        })
    }
}

/// What a fork has: the files of its commit. Nothing that it says reaches a server.
pub(super) struct Nothing;

impl Outside for Nothing {
    fn world(&self) -> Box<dyn World + '_> {
        Box::new(Sealed)
    }

    fn source(&self, source: &SourceObject, _: &[Value]) -> Result<Arc<dyn Repository>, Arc<SourceError>> {
        Err(Arc::new(SourceError::Fork(source.shown())))
    }

    fn image(&self, source: &SourceObject, _: &[Value], _: Option<Instant>) -> Option<Result<Arc<Chart>, ChartError>> {
        let text = format!("{}: nothing is fetched for a fork", source.shown());
        Some(Err(ChartError::Unavailable(text)))
    }
}
