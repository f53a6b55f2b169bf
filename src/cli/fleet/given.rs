//! `--fleet` of `update` and `policy`: objects as clusters have them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::objects::{Collected, collect};
use super::open;
use super::outside::Network;
use super::outside::UserOutside;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::fetch_bounds::FetchBounds;
use bumpwright_api::Objects;
use bumpwright_budget::{self as budget, Memory};
use bumpwright_build::FolderTree;
use bumpwright_fleet::{
    self as fleet, Charts, Fleet, FleetVerifier, Identity, Memo, Repository, Settings, SourceFiles, Verification,
};
use bumpwright_git::{Fetched, ObjectId};
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_kustomize::tree::{Tree, path};
use bumpwright_schemas::Schemas;
use bumpwright_text::Excerpt;

/// How deep folders of clusters are.
const DEPTH: usize = 6;

/// Kustomizations that are named.
const FEW: usize = 3;

/// The time limit of another source.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A repository whose clusters are read.
pub(in crate::cli) struct Given {
    repository: Box<dyn Repository>,
    /// Its root on disk.
    root: Option<PathBuf>,
    /// The tree of a commit.
    tree: Option<ObjectId>,
    entries: Vec<String>,
    settings: Settings,
    outside: UserOutside,
    memo: Memo,
}

/// How the world outside of the repository may be used.
#[derive(Clone)]
pub(in crate::cli) struct Limits {
    pub(in crate::cli) bounds: FetchBounds,
    pub(in crate::cli) offline: bool,
    /// A folder with charts.
    pub(in crate::cli) charts: Option<PathBuf>,
}

impl Limits {
    fn outside(self, clone: Option<PathBuf>, identity: Identity) -> UserOutside {
        let network = Network::new(self.bounds, TIMEOUT, &identity);
        UserOutside::new(network, self.offline, clone, identity, self.charts)
    }
}

impl Given {
    /// The repository on disk that has `folder`, and paths on disk as entries.
    ///
    /// # Errors
    /// A folder that cannot be read, or an entry outside of the repository.
    pub(in crate::cli) fn on_disk(folder: &Path, entries: &[String], limits: Limits) -> Result<Self, CliError> {
        let real = fs::canonicalize(folder).at(folder.display())?;
        let root = open::root_above(&real).unwrap_or(real);
        let below = entries.iter().map(|entry| open::below(&root, entry));
        let below = below.collect::<Result<Vec<String>, CliError>>();
        let entries = below.map_err(|error| {
            let error = CliError::new(format!("--fleet {error}"));
            if entries.iter().any(|entry| entry.contains('*')) {
                error.hint("several clusters are --fleet A,B, or --fleet A --fleet B")
            } else {
                error
            }
        })?;
        let tree = FolderTree::new(&root)?;
        let identity = open::identity(&root);
        Ok(Self {
            settings: settings(identity.clone()),
            repository: Box::new(tree),
            tree: None,
            entries,
            outside: limits.outside(Some(root.clone()), identity),
            root: Some(root),
            memo: Memo::default(),
        })
    }

    /// The repository on disk that has the first of these entries, or the working folder without one.
    pub(in crate::cli) fn of_entries(entries: &[String], limits: Limits) -> Result<Self, CliError> {
        let first = entries.first().and_then(|entry| fs::canonicalize(entry).ok());
        let root = first.and_then(|first| open::root_above(&first));
        Self::on_disk(root.as_deref().unwrap_or(Path::new(".")), entries, limits)
    }

    /// A commit of a remote, and paths from its root as entries.
    ///
    /// # Errors
    /// Its files cannot be listed.
    pub(in crate::cli) fn in_commit(
        fetched: &Fetched,
        url: &str,
        entries: &[String],
        limits: Limits,
    ) -> Result<Self, CliError> {
        let tree = fetched.tip.tree;
        let identity = Identity {
            urls: vec![url.to_owned()],
        };
        Ok(Self {
            settings: settings(identity.clone()),
            repository: Box::new(SourceFiles::of_tree(&fetched.objects, tree)?),
            root: None,
            tree: Some(tree),
            entries: entries.iter().map(|entry| fleet::clean(entry)).collect(),
            outside: limits.outside(None, identity),
            memo: Memo::default(),
        })
    }

    /// The root of the repository as a path from the folder in which one types: empty if that is the root, or the root
    /// is not on disk.
    pub(super) fn root_from_here(&self) -> PathBuf {
        let here = std::env::current_dir().and_then(fs::canonicalize);
        let (Some(root), Ok(here)) = (&self.root, here) else {
            return PathBuf::new();
        };
        let shared = root
            .components()
            .zip(here.components())
            .take_while(|(one, other)| one == other)
            .count();
        let up = here.components().skip(shared).map(|_| "..");
        up.map(PathBuf::from)
            .chain(
                root.components()
                    .skip(shared)
                    .map(|part| PathBuf::from(part.as_os_str())),
            )
            .collect()
    }

    /// The clusters that the repository itself names, as far as they are found until the deadline: folders with a
    /// Kustomization that reconciles them, or else those below a folder `clusters` that come out of their own build.
    pub(super) fn own_fleets(mut self, deadline: Instant) -> Vec<Fleet> {
        self.settings.deadline = Some(deadline);
        // For a note, other servers are not waited for.
        self.outside.offline = true;
        let tree = self.repository.tree();
        let fleets = self.reconciled(&fleet::entries(&*tree));
        if fleets.is_empty() {
            self.reconciled(&overlays(&*tree))
        } else {
            fleets
        }
    }

    /// The fleets of those entries that a Kustomization of their own reconciles.
    fn reconciled(&self, entries: &[String]) -> Vec<Fleet> {
        let fleet =
            |entry: &String| fleet::view(&*self.repository, entry, &self.outside, &self.settings, &self.memo).ok();
        let is_own = |fleet: &Fleet| fleet.nodes.first().is_some_and(|root| root.kustomization.is_some());
        entries.iter().filter_map(fleet).filter(is_own).collect()
    }

    /// The clusters.
    ///
    /// # Errors
    /// An entry does not exist.
    fn fleets(&self) -> Result<Vec<Fleet>, CliError> {
        let view = |entry: &String| {
            let fleet = fleet::view(&*self.repository, entry, &self.outside, &self.settings, &self.memo);
            fleet.map_err(|error| match error.to_string().strip_prefix(entry.as_str()) {
                Some(rest) if rest.starts_with(": ") => CliError::new(format!("--fleet {error}")),
                _ => CliError::from(error).at(format_args!("--fleet {entry}")),
            })
        };
        self.entries.iter().map(view).collect()
    }

    /// The objects of our kinds that the clusters have, besides those that are `given` by hand, and what is
    /// not known of them.
    ///
    /// # Errors
    /// An entry does not exist, or two clusters differ in an object.
    pub(in crate::cli) fn objects(&self, given: &Objects) -> Result<Known, CliError> {
        let fleets = self.fleets()?;
        let collected = collect(&fleets, given, &self.settings.identity)?;
        let Collected {
            objects,
            mut notes,
            unusable,
        } = collected;
        let problems = fleets.iter().flat_map(|fleet| &fleet.problems);
        notes.extend(problems.cloned());
        Ok(Known {
            unbuilt: unbuilt(&fleets),
            objects,
            notes,
            unusable,
        })
    }

    /// Verifies edits of the repository against the clusters; with `helm` what HelmReleases install, on
    /// this version of Kubernetes.
    ///
    /// # Errors
    /// A version of Kubernetes whose kinds are not known.
    pub(in crate::cli) fn verifier(
        mut self,
        verification: Verification,
        helm: bool,
        kubernetes: Option<&str>,
    ) -> Result<FleetVerifier, CliError> {
        if helm {
            let schemas = Schemas::bundled(kubernetes).at("--kubernetes-version")?;
            self.settings.charts = Some(Charts::new(kubernetes.unwrap_or_default().to_owned(), schemas));
        }
        let verifier = FleetVerifier::new(
            self.entries,
            self.root,
            Box::new(self.outside),
            self.settings,
            verification,
        );
        Ok(verifier.with_memo(self.tree, self.memo))
    }
}

/// What is known of clusters.
pub(in crate::cli) struct Known {
    pub(in crate::cli) objects: Objects,
    pub(in crate::cli) notes: Vec<String>,
    /// Automations that are left out, and why.
    pub(in crate::cli) unusable: Vec<String>,
    /// The Kustomizations that could not be built, with the reason of the first: objects that are not
    /// known may be theirs.
    pub(in crate::cli) unbuilt: Option<String>,
}

/// The Kustomizations that could not be built: the first of them with its reason, and a few names.
fn unbuilt(fleets: &[Fleet]) -> Option<String> {
    let nodes = fleets
        .iter()
        .flat_map(|fleet| fleet.nodes.iter().map(move |node| (fleet, node)));
    let failed = nodes.filter_map(|(fleet, node)| {
        let entry = if fleets.len() > 1 {
            format!(" of {}", fleet.entry)
        } else {
            String::new()
        };
        let problem = node.product.as_ref().err()?;
        Some((format!("Kustomization {}{entry}", node.shown()), problem.to_string()))
    });
    let failed: Vec<(String, String)> = failed.collect();
    let (_, reason) = failed.first()?;
    let reason = reason.first_line().trim_end_matches('.');
    let names: Vec<&str> = failed.iter().take(FEW).map(|(name, _)| name.as_str()).collect();
    let more = match failed.len().saturating_sub(FEW) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{}{more} could not be built: {reason}", names.join(", ")))
}

/// The folders with a kustomization below folders named `clusters`.
fn overlays(tree: &dyn Tree) -> Vec<String> {
    let mut folders = Vec::new();
    let mut waiting = vec![("/".to_owned(), false)];
    while let Some((folder, is_below)) = waiting.pop() {
        let Ok(names) = tree.list(&folder) else { continue };
        if is_below && names.iter().any(|name| NAMES.contains(&name.as_str())) {
            folders.push(fleet::clean(&folder));
        }
        let depth = folder.matches('/').count();
        for name in names.iter().filter(|_| depth < DEPTH) {
            let path = path::join(&folder, name);
            if tree.canonical(&path).is_ok_and(|at| at.directory && at.path == path) {
                waiting.push((path, is_below || name.starts_with("cluster")));
            }
        }
    }
    folders.sort();
    folders
}

fn settings(identity: Identity) -> Settings {
    let mut settings = Settings::new(Memory::single(budget::SINGLE, budget::BUILD_MEMORY).of(""));
    settings.identity = identity;
    settings
}
