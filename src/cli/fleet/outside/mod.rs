//! What a fleet needs from elsewhere, with the user's own credentials.

mod buckets;
mod charts;
mod images;
mod network;
mod repositories;

use std::collections::HashMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;

use crate::cli::error::{Attempt as _, CliError};
use crate::cli::process::progress::Line;
use crate::cli::render::building;
use bumpwright_fleet::{
    ChartError, Identity, MissingSource, Outside, Repository, RepositoryChart, SourceError, SourceFiles, SourceObject,
};
use bumpwright_helm::Chart;
use bumpwright_kustomize::tree::{Sealed, World};
use bumpwright_source::{Reference, Unresolved};
use bumpwright_update::git_without_fetches;
use charts::Charts;
pub(super) use images::UserRegistries;
pub(super) use network::Network;
use repositories::Indexes;

/// A source that was fetched, or is being fetched.
type Shared = Arc<OnceLock<Result<Arc<dyn Repository>, Arc<SourceError>>>>;
type SharedChart = Arc<OnceLock<Result<Arc<Chart>, ChartError>>>;
type SharedImage = Arc<OnceLock<Option<Result<Arc<Chart>, ChartError>>>>;

/// The user's network, or none, and the local clone.
pub(super) struct UserOutside {
    pub(super) network: Network,
    pub(super) offline: bool,
    /// The clone, and the addresses of its remotes.
    pub(super) clone: Option<PathBuf>,
    pub(super) identity: Identity,
    charts: Charts,
    /// By what the files depend on: clusters and revisions share them.
    fetched: Mutex<HashMap<String, Shared>>,
    /// The same for charts.
    pulled: Mutex<HashMap<String, SharedChart>>,
    /// The same for OCIRepositories; none where the files of one are read.
    images: Mutex<HashMap<String, SharedImage>>,
}

impl UserOutside {
    pub(super) fn new(
        network: Network,
        offline: bool,
        clone: Option<PathBuf>,
        identity: Identity,
        charts: Option<PathBuf>,
    ) -> Self {
        let charts = Charts {
            given: charts,
            offline,
            timeout: network.timeout,
            indexes: Indexes::default(),
        };
        Self {
            charts,
            network,
            offline,
            clone,
            identity,
            fetched: Mutex::default(),
            pulled: Mutex::default(),
            images: Mutex::default(),
        }
    }

    fn fetch(&self, source: &SourceObject, objects: &[serde_json::Value]) -> Result<Arc<dyn Repository>, SourceError> {
        let shown = source.shown();
        let object = source.object.as_ref();
        let object = object.ok_or_else(|| MissingSource::Absent(shown.clone()))?;
        if let Some(files) = self.of_clone(source) {
            return Ok(Arc::new(files.at(shown).map_err(failed)?));
        }
        if self.offline && source.kind != "OCIRepository" {
            return Err(failed(format_args!("{shown} is unknown (offline)")));
        }
        let _line = Line::spinner(Some(format!("fetching {shown} …")).filter(|_| !self.offline));
        let files = match source.kind.as_str() {
            "GitRepository" => self.network.git(object, objects),
            "OCIRepository" => match self.network.oci(object, objects, self.offline) {
                Err(Unresolved::Absent(error)) => return Err(SourceError::Absent(format!("{shown}: {error}"))),
                files => files.map_err(CliError::from),
            },
            "Bucket" => self.network.bucket(object, objects),
            _ => Err(CliError::new(format!(
                "the files of this kind are not fetched; give them with --source {shown}=DIR"
            ))),
        };
        Ok(Arc::new(files.at(shown).map_err(failed)?))
    }

    /// A chart of `--charts`, which sources share.
    fn given(&self, source: &SourceObject) -> Option<Result<Arc<Chart>, ChartError>> {
        let path = self.charts.given(&charts::image_of(source)?)?;
        let slot = {
            let mut pulled = self.pulled.lock();
            Arc::clone(pulled.entry(path.display().to_string()).or_default())
        };
        Some(slot.get_or_init(|| charts::read_given(&path).map(Arc::new)).clone())
    }

    /// The files of another revision of the repository, if the local clone has it.
    fn of_clone(&self, source: &SourceObject) -> Option<Result<SourceFiles, CliError>> {
        let clone = self.clone.as_deref()?;
        if source.kind != "GitRepository" || !source.url().is_some_and(|url| self.identity.has(url)) {
            return None;
        }
        let reference = source.reference();
        let revisions = revisions(clone, &Reference::of(reference.as_ref()));
        let folder = clone.to_str()?;
        let mut urls = revisions
            .iter()
            .filter_map(|revision| building::of_folder(folder, revision).ok());
        let url = urls.next()?;
        let ignore = source
            .object
            .as_ref()
            .and_then(|object| object.pointer("/spec/ignore")?.as_str());
        let files = self.network.files_at(&url.clone_url(), &url.reference, url.timeout);
        Some(files.and_then(|files| Ok(SourceFiles::new(files, ignore, None)?)))
    }
}

fn failed(error: impl Display) -> SourceError {
    SourceError::Fetch(error.to_string().into())
}

/// The names by which a clone may have a reference of its remote.
fn revisions(clone: &Path, reference: &Reference) -> Vec<String> {
    match reference {
        Reference::Commit { id, .. } => vec![id.clone()],
        Reference::Name(name) => {
            let mut names = Vec::new();
            if let Some(branch) = name.strip_prefix("refs/heads/") {
                names.extend(
                    remotes(clone)
                        .iter()
                        .map(|remote| format!("refs/remotes/{remote}/{branch}")),
                );
            }
            names.push(name.clone());
            names
        }
        Reference::Tag(tag) => vec![format!("refs/tags/{tag}")],
        Reference::Branch(branch) => {
            let remotes = remotes(clone);
            let remotes = remotes.iter().map(|remote| format!("refs/remotes/{remote}/{branch}"));
            remotes.chain([format!("refs/heads/{branch}")]).collect()
        }
        // Tags that a clone does not have could be newer.
        Reference::Semver(_) => Vec::new(),
    }
}

fn remotes(clone: &Path) -> Vec<String> {
    // Git is not needed: without it, the clone has its own branches only.
    let Ok(output) = git_without_fetches(clone).arg("remote").output() else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(str::to_owned).collect()
}

impl Outside for UserOutside {
    fn world(&self) -> Box<dyn World + '_> {
        if self.offline {
            Box::new(Sealed)
        } else {
            Box::new(self.network.world())
        }
    }

    fn source(
        &self,
        source: &SourceObject,
        objects: &[serde_json::Value],
    ) -> Result<Arc<dyn Repository>, Arc<SourceError>> {
        let key = format!("{} {:?} {objects:?}", source.shown(), source.object);
        let slot = {
            let mut fetched = self.fetched.lock();
            Arc::clone(fetched.entry(key).or_default())
        };
        let fetch = || self.fetch(source, objects).map_err(Arc::new);
        slot.get_or_init(fetch).clone()
    }

    fn chart(
        &self,
        chart: &RepositoryChart,
        objects: &[serde_json::Value],
        _until: Option<Instant>,
    ) -> Result<Arc<Chart>, ChartError> {
        let repository = &chart.repository;
        if repository.object.is_none() {
            let shown = repository.shown();
            return Err(ChartError::Unavailable(format!("{shown} is not in the fleet")));
        }
        let slot = {
            let mut pulled = self.pulled.lock();
            Arc::clone(pulled.entry(format!("{chart:?} {objects:?}")).or_default())
        };
        let pull = || {
            let what = format!("fetching chart {} of {} …", chart.name, repository.shown());
            let _line = Line::spinner(Some(what).filter(|_| !self.offline));
            self.charts.chart(chart, objects, &self.network).map(Arc::new)
        };
        slot.get_or_init(pull).clone()
    }

    /// A chart of `--charts`, or a version that is kept; the others are read from the files of their source.
    fn image(
        &self,
        source: &SourceObject,
        objects: &[serde_json::Value],
        _until: Option<Instant>,
    ) -> Option<Result<Arc<Chart>, ChartError>> {
        if let Some(given) = self.given(source) {
            return Some(given);
        }
        let slot = {
            let mut images = self.images.lock();
            Arc::clone(images.entry(format!("{source:?} {objects:?}")).or_default())
        };
        let pull = || {
            let _line = Line::spinner(Some(format!("fetching {} …", source.shown())).filter(|_| !self.offline));
            let chart = self.charts.of_image(source, objects, &self.network)?;
            Some(chart.map(Arc::new))
        };
        slot.get_or_init(pull).clone()
    }
}
