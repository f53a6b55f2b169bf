//! The repository and the entries of a command.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::args::Reading;
use super::outside::Network;
use super::outside::UserOutside;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::key_files;
use crate::cli::own_servers::remotes;
use crate::cli::process::progress::Line;
use crate::cli::render::building;
use crate::cli::words;
use bumpwright_build::FolderTree;
use bumpwright_fleet::{
    self as fleet, Charts, CheckSettings, Fleet, GivenSource, Identity, Memo, RenderedReleases, Repository, Settings,
    SourceFiles, Walked, shown_folder,
};
use bumpwright_kustomize::tree::{RepoUrl, TreeError, path, public_url};
use bumpwright_nearest::nearest_name;
use bumpwright_sops::{KeyService, LocalKeys};
use bumpwright_source::Resolved;

/// The time limit for the repository itself.
const PATIENCE: Duration = Duration::from_secs(300);

/// The time limit for each of the sources.
const SOURCES: Duration = Duration::from_secs(60);

/// An opened repository, its entries, and how they are read.
pub(super) struct Opened {
    pub(super) repository: Arc<dyn Repository>,
    /// Paths from the root of the repository.
    pub(super) entries: Vec<String>,
    pub(super) settings: Settings,
    pub(super) outside: Arc<UserOutside>,
    /// The files of a revision.
    commit: Option<Arc<SourceFiles>>,
    place: Place,
}

/// Where a repository is.
#[derive(Clone)]
enum Place {
    /// On disk: its root.
    Disk(PathBuf),
    Remote(RepoUrl),
}

impl Opened {
    /// Opens what the arguments name.
    ///
    /// # Errors
    /// A folder, a file, a revision or a key that cannot be read; for users.
    pub(super) fn new(reading: &Reading) -> Result<Self, CliError> {
        let opened = Self::at(reading, reading.revision.as_deref())?;
        if opened.entries.is_empty() {
            Err(opened.no_entry())
        } else {
            Ok(opened)
        }
    }

    /// That no folder is found which a cluster reconciles.
    pub(super) fn no_entry(&self) -> CliError {
        let typed =
            |folders: Vec<String>| -> Vec<String> { folders.iter().map(|folder| self.place.typed(folder)).collect() };
        let folders = typed(fleet::kustomization_folders(&*self.repository.tree()));
        let hint = match folders.len() {
            0 => without_flux(&typed(fleet::overlays(&*self.repository.tree()))),
            1 => format!(
                "name the folder that the cluster reconciles: {} has Kustomizations",
                words::some(&folders)
            ),
            _ => format!(
                "name the folder that the cluster reconciles: {} have Kustomizations",
                words::some(&folders)
            ),
        };
        CliError::new("no folder here has a Kustomization that reconciles it")
            .at(self.place.shown())
            .hint(hint)
    }

    /// Opens a revision of the repository that the arguments name; its files on disk without one. It may have no entry.
    pub(super) fn at(reading: &Reading, revision: Option<&str>) -> Result<Self, CliError> {
        let place = place(reading)?;
        let (identity, clone) = match &place {
            Place::Disk(root) => (identity(root), Some(root.clone())),
            Place::Remote(url) => (
                Identity {
                    urls: vec![url.clone_url()],
                },
                None,
            ),
        };
        let network = Network::new(reading.bounds, limit(reading, SOURCES), &identity);
        let outside = UserOutside::new(network, reading.offline, clone, identity, reading.charts.clone());
        Self::in_place(reading, place, revision, Arc::new(outside))
    }

    /// Opens another revision of the same repository, or its files on disk. What was fetched is shared.
    pub(super) fn other(&self, reading: &Reading, revision: Option<&str>) -> Result<Self, CliError> {
        Self::in_place(reading, self.place.clone(), revision, Arc::clone(&self.outside))
    }

    fn in_place(
        reading: &Reading,
        place: Place,
        revision: Option<&str>,
        outside: Arc<UserOutside>,
    ) -> Result<Self, CliError> {
        let limit = limit(reading, PATIENCE);
        let commit = commit(&place, revision, &outside.network, limit)?;
        let repository: Arc<dyn Repository> = match (&commit, &place) {
            (Some(files), _) => Arc::clone(files) as Arc<dyn Repository>,
            (None, Place::Disk(root)) => Arc::new(FolderTree::new(root)?),
            (None, Place::Remote(url)) => return Err(CliError::new("its files are not on disk").at(url.clone_url())),
        };
        let mut entries = match &place {
            Place::Disk(root) => {
                let entries = reading.entries.iter();
                entries
                    .map(|entry| below(root, entry))
                    .collect::<Result<Vec<String>, CliError>>()?
            }
            Place::Remote(_) => {
                let urls = reading.entries.iter().filter_map(|entry| RepoUrl::parse(entry).ok());
                urls.map(|url| url.directory)
                    .filter(|folder| !folder.is_empty())
                    .collect()
            }
        };
        if entries.is_empty() {
            entries = fleet::entries(&*repository.tree());
        }
        let mut settings = Settings::new(reading.memory());
        settings.strict_substitute = reading.strict_substitute;
        settings.keys = keys(reading)?;
        if reading.helm {
            let version = reading.kubernetes_version.clone().unwrap_or_default();
            settings.charts = Some(Charts::new(version, reading.schemas()?));
        }
        settings.identity = outside.identity.clone();
        settings.sources = reading
            .sources
            .iter()
            .map(|text| given(text, &place))
            .collect::<Result<_, CliError>>()?;
        Ok(Self {
            repository,
            entries,
            settings,
            outside,
            commit,
            place,
        })
    }

    /// How the fleets are checked. Their builds leave undefined variables empty, so that all of them are found.
    ///
    /// # Errors
    /// A version of Kubernetes that has no schemas.
    pub(super) fn check_settings(&mut self, reading: &Reading) -> Result<CheckSettings, CliError> {
        Ok(CheckSettings {
            registries: None,
            schemas: reading.schemas()?,
            identity: self.settings.identity.clone(),
            threads: self.settings.threads,
            deadline: None,
            strict_substitute: std::mem::take(&mut self.settings.strict_substitute),
        })
    }

    /// The fleets of the entries.
    ///
    /// # Errors
    /// An entry does not exist.
    pub(super) fn fleets(&self) -> Result<Vec<Fleet>, CliError> {
        self.fleets_with(&Memo::default())
    }

    /// The same, with builds that are known.
    pub(super) fn fleets_with(&self, memo: &Memo) -> Result<Vec<Fleet>, CliError> {
        let view = |entry: &String| {
            let fleet = fleet::view(&*self.repository, entry, &*self.outside, &self.settings, memo);
            fleet.map_err(|error| self.with_near(entry, error.into()))
        };
        self.entries.iter().map(view).collect()
    }

    /// The error of an entry; of one that does not exist with the reconciled folder that may be meant.
    fn with_near(&self, entry: &str, error: CliError) -> CliError {
        if self.has(entry) {
            return error;
        }
        let entries = fleet::entries(&*self.repository.tree());
        error.meant(nearest_name(entry, &entries))
    }

    /// Whether the files have an entry.
    pub(super) fn has(&self, entry: &str) -> bool {
        self.repository.tree().canonical(&format!("/{entry}")).is_ok()
    }

    /// The same for a comparison: an entry that does not exist has nothing. `releases` says which of
    /// an entry are rendered.
    ///
    /// # Errors
    /// An entry cannot be read.
    pub(super) fn fleets_or_none(
        &self,
        memo: &Memo,
        releases: &dyn Fn(&str) -> RenderedReleases,
    ) -> Result<Vec<Fleet>, CliError> {
        let tree = self.repository.tree();
        let view = |entry: &String| match tree.canonical(&format!("/{entry}")) {
            Err(TreeError::Missing(_) | TreeError::File(_)) => {
                let mut fleet = Fleet::default();
                fleet.entry.clone_from(entry);
                Ok(fleet)
            }
            _ => {
                let mut settings = self.settings.clone();
                if let Some(charts) = &mut settings.charts {
                    charts.releases = releases(entry);
                }
                fleet::view(&*self.repository, entry, &*self.outside, &settings, memo)
            }
        };
        Ok(self.entries.iter().map(view).collect::<Result<_, _>>()?)
    }

    /// The same with the Kustomizations built and the releases compared only; none if an entry does not exist.
    ///
    /// # Errors
    /// An entry cannot be read.
    pub(super) fn walked<'w>(
        &'w self,
        memo: &'w Memo,
        settings: &'w Settings,
    ) -> Result<Option<Vec<Walked<'w>>>, CliError> {
        if !self.entries.iter().all(|entry| self.has(entry)) {
            return Ok(None);
        }
        let walk = |entry: &String| fleet::walked(&*self.repository, entry, &*self.outside, settings, memo);
        Ok(Some(self.entries.iter().map(walk).collect::<Result<_, _>>()?))
    }

    /// The builds of this state that may be those of another one, too.
    pub(super) fn known_for(&self, builds: &Memo, other: &Self) -> Memo {
        match self.changed_files(other) {
            Some(changed) => builds.after(&changed),
            // Git's own comparison with the files on disk sees them through filters, and leaves out what it was told
            // not to look at.
            None => builds.after_state(Arc::clone(&self.repository)),
        }
    }

    /// The files that both have and whose content may differ; none where one of the two is on disk.
    pub(super) fn changed_files(&self, other: &Self) -> Option<Vec<String>> {
        Some(self.commit.as_ref()?.changed(other.commit.as_ref()?))
    }
}

/// What to name in a repository without Kustomizations of Flux.
fn without_flux(overlays: &[String]) -> String {
    match overlays {
        [] => "name the folder that the cluster reconciles, if Flux's Kustomizations apply these files; markers in other files are for \
               `bumpwright markers list` and `bumpwright update --dry-run`"
            .to_owned(),
        some => format!(
            "without Flux, name the folders that are applied with `kubectl apply -k`: {}",
            words::some(some)
        ),
    }
}

impl Place {
    fn shown(&self) -> String {
        match self {
            Self::Disk(root) => root.display().to_string(),
            Self::Remote(url) => public_url(&url.clone_url()).into_owned(),
        }
    }

    /// A folder of it as one types it in the working folder.
    fn typed(&self, folder: &str) -> String {
        let folder = shown_folder(folder);
        let here = std::env::current_dir().and_then(fs::canonicalize);
        match (self, here) {
            (Self::Disk(root), Ok(here)) if here != *root => root.join(folder).display().to_string(),
            _ => folder.to_owned(),
        }
    }
}

/// The root of the repository of the arguments, if it is on disk.
pub(super) fn disk(reading: &Reading) -> Result<Option<String>, CliError> {
    match place(reading)? {
        Place::Disk(root) => Ok(root.to_str().map(str::to_owned)),
        Place::Remote(_) => Ok(None),
    }
}

/// The address of the repository of the arguments: that of the entries, or of the first remote of the clone.
///
/// # Errors
/// As [`Opened::new`]
pub(super) fn address(reading: &Reading) -> Result<Option<String>, CliError> {
    Ok(match place(reading)? {
        Place::Disk(root) => remotes(&root).into_iter().next(),
        Place::Remote(url) => Some(url.clone_url()),
    })
}

/// The repository of the arguments: behind a URL, or the folder with `.git` above the first entry.
fn place(reading: &Reading) -> Result<Place, CliError> {
    let url = |entry: &String| RepoUrl::parse(entry).ok().filter(|_| !Path::new(entry).exists());
    let urls: Vec<Option<RepoUrl>> = reading.entries.iter().map(url).collect();
    let entries = || reading.entries.iter().zip(&urls);
    let Some(Some(first)) = urls.first() else {
        return match entries().find(|(_, url)| url.is_some()) {
            None => root(reading).map(Place::Disk),
            Some((entry, _)) => Err(not_one(entry)),
        };
    };
    let is_same = |url: &RepoUrl| url.clone_url() == first.clone_url() && url.reference == first.reference;
    match entries().find(|(_, url)| !url.as_ref().is_some_and(is_same)) {
        None => Ok(Place::Remote(first.clone())),
        Some((entry, _)) => Err(not_one(entry)),
    }
}

fn not_one(entry: &str) -> CliError {
    CliError::new("not of the same repository and revision as the entries before")
        .at(public_url(entry))
        .hint("run the command for each")
}

/// The typed time limit, or another one.
fn limit(reading: &Reading, usual: Duration) -> Duration {
    reading.timeout.map_or(usual, |typed| typed.as_std())
}

/// The files of a revision; none for those on disk.
fn commit(
    place: &Place,
    revision: Option<&str>,
    network: &Network,
    limit: Duration,
) -> Result<Option<Arc<SourceFiles>>, CliError> {
    let (url, folder) = match (place, revision) {
        (Place::Disk(_), None) => return Ok(None),
        (Place::Disk(root), Some(revision)) => {
            let root = root.to_str();
            let root = root.ok_or_else(|| CliError::new("its name is not UTF-8").at(place.shown()))?;
            let url = building::of_folder(root, revision)?;
            // The root may be a folder of the repository.
            (url.clone(), url.directory)
        }
        (Place::Remote(url), Some(revision)) => (building::of_remote(url.clone(), revision)?, String::new()),
        (Place::Remote(url), None) => (url.clone(), String::new()),
    };
    let address = url.clone_url();
    let shown = public_url(&address);
    let wait = matches!(place, Place::Remote(_)).then(|| format!("fetching {shown} …"));
    let line = Line::spinner(wait);
    let files = network.files_at(&address, &url.reference, limit);
    drop(line);
    let mut files = files.map_err(|error| {
        if error.to_string().starts_with(&*shown) {
            error
        } else {
            error.at(shown)
        }
    })?;
    if !folder.is_empty() {
        let names: Vec<Vec<u8>> = folder.split('/').map(|name| name.as_bytes().to_vec()).collect();
        files.root = match files.root.at(&names) {
            Some(Resolved::Directory(below)) => below.clone(),
            _ => {
                return Err(CliError::new(format!(
                    "{}: {} has no such folder",
                    place.shown(),
                    url.reference
                )));
            }
        };
    }
    let files = SourceFiles::new(files, None, None)?;
    Ok(Some(Arc::new(files)))
}

/// `KIND/NAMESPACE/NAME=DIR`.
fn given(text: &str, place: &Place) -> Result<(String, GivenSource), CliError> {
    let parsed = text.split_once('=').filter(|(source, folder)| {
        let parts: Vec<&str> = source.split('/').collect();
        parts.len() == 3 && parts.iter().all(|part| !part.is_empty()) && !folder.is_empty()
    });
    let Some((source, folder)) = parsed else {
        return Err(CliError::new(format!(
            "--source {text:?}: expected KIND/NAMESPACE/NAME=DIR"
        )));
    };
    if let Place::Disk(root) = place {
        // Another revision may not have it on disk.
        if let Ok(folder) = below(root, folder) {
            return Ok((source.to_owned(), GivenSource::Folder(folder)));
        }
    }
    if !Path::new(folder).is_dir() {
        return match place {
            Place::Remote(_) => Ok((source.to_owned(), GivenSource::Folder(folder.to_owned()))),
            Place::Disk(_) => Err(CliError::new("no such folder").at(format_args!("--source {text}"))),
        };
    }
    let files = FolderTree::new(Path::new(folder)).at(format_args!("--source {text}"))?;
    Ok((source.to_owned(), GivenSource::Files(Arc::new(files))))
}

/// The root of the repository: `--path`, or the folder with `.git` above the first entry.
fn root(reading: &Reading) -> Result<PathBuf, CliError> {
    let real = |path: &Path| fs::canonicalize(path).at(path.display());
    if let Some(path) = &reading.path {
        return real(path);
    }
    let first = reading.entries.first().map_or(Path::new("."), |entry| Path::new(entry));
    let absolute = std::path::absolute(first).at(first.display())?;
    // An entry of another revision need not be on disk.
    let existing = match reading.revision {
        Some(_) => absolute.ancestors().find(|folder| folder.exists()).unwrap_or(&absolute),
        None => first,
    };
    let first = real(existing)?;
    root_above(&first).ok_or_else(|| {
        CliError::new("not in a Git repository")
            .at(first.display())
            .hint("--path names the root of the files")
    })
}

/// The folder with `.git` above a path.
pub(super) fn root_above(path: &Path) -> Option<PathBuf> {
    let has_git = |folder: &&Path| folder.join(".git").exists();
    path.ancestors().find(has_git).map(Path::to_owned)
}

/// An entry as a path from the root. The part of it that exists is resolved; a bare repository has no files, so paths
/// begin at its root.
pub(super) fn below(root: &Path, entry: &str) -> Result<String, CliError> {
    let is_bare = !root.join(".git").exists() && root.join("HEAD").is_file() && root.join("objects").is_dir();
    if is_bare {
        return Ok(fleet::clean(entry));
    }
    let real = match fs::canonicalize(entry) {
        Ok(real) => real,
        Err(error) => {
            let path = std::path::absolute(entry).at(entry)?;
            let existing = path
                .ancestors()
                .find_map(|folder| Some((folder, fs::canonicalize(folder).ok()?)));
            let (folder, real) = existing.ok_or_else(|| CliError::from(error).at(entry))?;
            real.join(path.strip_prefix(folder).unwrap_or(&path))
        }
    };
    let below = real
        .to_str()
        .ok_or_else(|| CliError::new("its name is not UTF-8").at(entry))?;
    let below = path::clean(below);
    let below = Path::new(&below)
        .strip_prefix(root)
        .map_err(|_| CliError::new(format!("not below {}", root.display())).at(entry))?;
    Ok(below.to_string_lossy().into_owned())
}

/// The addresses of a clone's remotes.
pub(super) fn identity(root: &Path) -> Identity {
    Identity { urls: remotes(root) }
}

fn keys(reading: &Reading) -> Result<Option<Arc<dyn KeyService + Send + Sync>>, CliError> {
    if reading.age_key_files.is_empty() && reading.pgp_key_files.is_empty() {
        return Ok(None);
    }
    let mut keys = LocalKeys::default();
    key_files::import(&reading.age_key_files, &reading.pgp_key_files, &mut keys)?;
    Ok(Some(Arc::new(keys)))
}
