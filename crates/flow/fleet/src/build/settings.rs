//! How a fleet is built, and its bounds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use bumpwright_api::ObjectName;
use bumpwright_budget::Share;
use bumpwright_schemas::Schemas;
use bumpwright_sops::KeyService;

use crate::source::meant::Identity;
use crate::source::repository::Repository;

/// Default bound on the Kustomizations of a fleet.
pub const KUSTOMIZATIONS: usize = 10_000;

/// Default bound on the objects of a fleet.
pub const OBJECTS: usize = 500_000;

/// How a fleet is built, and its bounds.
#[derive(Clone)]
pub struct Settings {
    /// The memory of all builds.
    pub memory: Share,
    /// Undefined variables are errors (gate `StrictPostBuildSubstitutions`).
    pub strict_substitute: bool,
    /// Keys for encrypted values; those that they do not open become `**SOPS**`.
    pub keys: Option<Arc<dyn KeyService + Send + Sync>>,
    /// How the repository is recognised among the sources.
    pub identity: Identity,
    /// Files that the user gives for sources, by `Kind/namespace/name`.
    pub sources: BTreeMap<String, GivenSource>,
    pub kustomizations: usize,
    pub objects: usize,
    pub threads: usize,
    /// How HelmReleases are rendered; none where they are not.
    pub charts: Option<Charts>,
    /// When the walk ends: what is not built by then is a problem of its node.
    pub deadline: Option<Instant>,
}

/// How HelmReleases are rendered.
#[derive(Clone, Debug)]
pub struct Charts {
    /// The version of Kubernetes that charts see; empty for the newest one that is known.
    pub kube_version: String,
    /// The kinds of Kubernetes.
    pub schemas: Schemas,
    pub releases: RenderedReleases,
    /// Whether charts and values are a tenant's: charts do not see the texts of Secrets, so that no error and no image
    /// can have them, and charts and renders are on the account of [`Settings::memory`].
    pub is_tenant: bool,
}

impl Charts {
    /// All HelmReleases are rendered, with the values that they have.
    #[must_use]
    pub fn new(kube_version: String, schemas: Schemas) -> Self {
        Self {
            kube_version,
            schemas,
            releases: RenderedReleases::All,
            is_tenant: false,
        }
    }
}

/// The HelmReleases of a fleet that are rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderedReleases {
    All,
    Only(Arc<BTreeSet<ObjectName>>),
    /// None: only what they would be rendered from is noted.
    None,
    /// None: what they would be rendered from is noted with their charts, for [`differing`](crate::differing).
    Compared,
    AllBut(Arc<LeftOutReleases>),
}

/// Releases that are known to install the same in two states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOutReleases {
    pub(crate) names: BTreeSet<ObjectName>,
    /// What the definitions in their charts and in those of others serve: it counts for those that are rendered.
    pub(crate) served: BTreeSet<String>,
}

/// The files of a source, as the user gives them.
#[derive(Clone)]
pub enum GivenSource {
    /// A folder of the repository, without a leading slash; empty for all of it.
    Folder(String),
    Files(Arc<dyn Repository>),
}

impl Settings {
    /// Defaults, with this memory.
    #[must_use]
    pub fn new(memory: Share) -> Self {
        Self {
            memory,
            strict_substitute: true,
            keys: None,
            identity: Identity::default(),
            sources: BTreeMap::new(),
            kustomizations: KUSTOMIZATIONS,
            objects: OBJECTS,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            charts: None,
            deadline: None,
        }
    }

    /// Whether the time is over.
    pub(crate) fn is_late(&self) -> bool {
        is_over(self.deadline)
    }
}

/// Whether a time has come; never without one.
pub(crate) fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// Does not print keys.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Settings")
    }
}
