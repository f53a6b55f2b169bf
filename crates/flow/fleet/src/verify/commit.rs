//! The verification of a commit against a fleet: what it changes when it is applied, and
//! whether everything still builds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::attempt::{Attempt, Clusters, FleetVerifier, Known, Verification, memo_name, refused};
use super::dead;
use super::impact::{Pair, impact, pairs};
use super::search::Search;
use super::server::DryRuns;
use crate::build::memo::Memo;
use crate::build::settings::{RenderedReleases, Settings};
use crate::build::view::{Fleet, Node, Problem};
use crate::build::walk::{ClusterObjects, NoEntry, Walked, view, view_cluster, walked, walked_cluster};
use crate::release;
use crate::source::files::SourceFiles;
use crate::source::repository::{Changed, Outside, Repository};
use bumpwright_api::ObjectName;
use bumpwright_build::FolderTree;
use bumpwright_git::ObjectId;
use bumpwright_update::{Base, FileChange, Impact, Proposal, Verify, VerifyError};

/// The most builds of a fleet in the search of the fields that break it.
const BUILDS: usize = 16;

/// Does not print keys.
impl std::fmt::Debug for FleetVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.clusters {
            Clusters::Entries(entries) => write!(f, "FleetVerifier({entries:?})"),
            Clusters::Objects(cluster) => write!(f, "FleetVerifier({})", cluster.source),
        }
    }
}

impl FleetVerifier {
    /// A verifier of these entries. `root` is the root of the repository on disk, for runs in a folder below it.
    #[must_use]
    pub fn new(
        entries: Vec<String>,
        root: Option<PathBuf>,
        outside: Box<dyn Outside + Send>,
        settings: Settings,
        verification: Verification,
    ) -> Self {
        Self {
            clusters: Clusters::Entries(entries),
            root,
            outside,
            settings,
            verification,
            server: None,
            known: Mutex::default(),
        }
    }

    /// A verifier of the Kustomizations of a cluster.
    #[must_use]
    pub fn of_cluster(
        cluster: ClusterObjects,
        outside: Box<dyn Outside + Send>,
        settings: Settings,
        verification: Verification,
    ) -> Self {
        Self {
            clusters: Clusters::Objects(cluster),
            ..Self::new(Vec::new(), None, outside, settings, verification)
        }
    }

    /// Asks API servers as well about the objects that a commit changes.
    #[must_use]
    pub fn with_server(self, server: Box<dyn DryRuns>) -> Self {
        Self {
            server: Some(server),
            ..self
        }
    }

    /// Begins with builds that are known: those of this tree, or of the files on disk.
    #[must_use]
    pub fn with_memo(self, base: Option<ObjectId>, memo: Memo) -> Self {
        *self.known.lock() = Known { base, memo };
        self
    }

    fn take_memo(&self, base: Option<ObjectId>) -> Memo {
        let mut cached = self.known.lock();
        if cached.base == base {
            std::mem::take(&mut cached.memo)
        } else {
            Memo::default()
        }
    }

    fn put_memo(&self, base: Option<ObjectId>, memo: Memo) {
        *self.known.lock() = Known { base, memo };
    }

    fn in_folder(&self, root: &Path, proposal: &Proposal<'_>, ahead: &[(&Path, &[u8])]) -> Result<Impact, VerifyError> {
        let own = self.root.as_deref().unwrap_or(root);
        let Some(folder) = below(own, root) else {
            return Err(refused(format!(
                "{}: not below {}, which the fleet is read from",
                root.display(),
                own.display()
            )));
        };
        let tree = FolderTree::new(own).map_err(refused)?;
        let earlier = ahead
            .iter()
            .filter_map(|(path, bytes)| Some((below(own, path)?, bytes.to_vec())));
        let files: BTreeMap<String, Vec<u8>> = earlier.collect();
        // Earlier runs may have written these.
        let memo = self.take_memo(None).after(&files.keys().cloned().collect::<Vec<_>>());
        let base = Changed {
            repository: &tree,
            files,
        };
        let attempt = self.attempt(&base, &memo, proposal, &folder);
        let outcome = attempt.run();
        let changed = attempt.paths();
        self.put_memo(None, memo.after(&changed));
        outcome
    }

    fn attempt<'a>(
        &'a self,
        base: &'a dyn Repository,
        memo: &'a Memo,
        proposal: &'a Proposal<'a>,
        folder: &'a str,
    ) -> Attempt<'a> {
        let end = Instant::now() + self.verification.timeout.as_std();
        let mut settings = self.settings.clone();
        settings.deadline = Some(end);
        Attempt {
            verifier: self,
            base,
            memo,
            proposal,
            folder,
            end,
            settings,
        }
    }
}

impl Verify for FleetVerifier {
    fn verify(&self, proposal: &Proposal<'_>) -> Result<Impact, VerifyError> {
        match proposal.base {
            Base::Folder { root, ahead } => {
                let ahead: Vec<(&Path, &[u8])> = ahead.files().collect();
                self.in_folder(root, proposal, &ahead)
            }
            Base::Git { objects, tree, .. } => {
                let files = SourceFiles::of_tree(objects, tree).map_err(refused)?;
                let memo = self.take_memo(Some(tree));
                let outcome = self.attempt(&files, &memo, proposal, "").run();
                self.put_memo(Some(tree), memo);
                outcome
            }
        }
    }
}

/// A path below a folder on disk, with slashes.
fn below(root: &Path, path: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.to_str()?.to_owned())
}

impl Attempt<'_> {
    fn run(&self) -> Result<Impact, VerifyError> {
        let Verification {
            must_build,
            timeout,
            push_on_timeout,
        } = self.verifier.verification;
        let changed = self.paths();
        let unrendered = self.settings_with(RenderedReleases::None);
        let before = self.walks(self.base, self.memo, &unrendered).map_err(refused)?;
        // What the base has just been built from is known by now.
        let new_memo = self.memo.after(&changed);
        let files = self.changed(self.files(self.proposal.files));
        let after = self.walks(&files, &new_memo, &unrendered).map_err(refused)?;
        let late = before.iter().chain(&after).any(|walked| walked.fleet().is_late());
        // Only releases that the commit changes are rendered, before and after.
        let both = before.iter().zip(&after);
        let releases: Vec<_> = both
            .map(|(before, after)| {
                if late {
                    Arc::default()
                } else {
                    Arc::new(release::inputs::changed(before.fleet(), after.fleet(), &changed))
                }
            })
            .collect();
        let before = self
            .rendered(before, &releases, (self.base, self.memo))
            .map_err(refused)?;
        let after = self.rendered(after, &releases, (&files, &new_memo)).map_err(refused)?;
        let pairs = pairs(&before, &after);
        let mut impact = impact(&pairs);
        if late {
            let text = format!("not everything could be built within {}", timeout);
            if must_build && !push_on_timeout {
                return Err(refused(format!("{text}; verify-timeout gives it more time")));
            } else {
                impact.notes.push(format!("the impact is not complete: {text}"))
            }
        }
        let broken: Vec<Broken<'_>> = pairs.iter().filter_map(Broken::of).collect();
        if must_build && !broken.is_empty() {
            return Err(self.refusal(&broken, &new_memo));
        }
        if let Some(server) = self.verifier.server.as_deref().filter(|_| !late) {
            impact.notes.extend(self.ask(server, &pairs, &new_memo)?);
        }
        impact.notes.extend(broken.iter().map(Broken::shown));
        let unbuilt = pairs.iter().filter(|pair| self.is_unbuilt(pair, &new_memo));
        impact.notes.extend(unbuilt.filter_map(already_broken));
        impact.notes.extend(pairs.iter().filter_map(not_seen));
        impact.unknown = pairs.iter().filter(|pair| self.is_unknown(pair, &new_memo)).count();
        if !late {
            let dead = dead::markers(self, &pairs, &new_memo);
            impact.dead_markers = dead.markers;
            impact.notes.extend(dead.note);
        }
        Ok(impact)
    }

    fn settings_with(&self, releases: RenderedReleases) -> Settings {
        let mut settings = self.settings.clone();
        if let Some(charts) = &mut settings.charts {
            charts.releases = releases;
        }
        settings
    }

    /// The fleets whose releases are not rendered yet.
    fn walks<'w>(
        &'w self,
        files: &'w dyn Repository,
        memo: &'w Memo,
        settings: &'w Settings,
    ) -> Result<Vec<Walked<'w>>, NoEntry> {
        match &self.verifier.clusters {
            Clusters::Entries(entries) => {
                let walk = |entry: &String| walked(files, entry, self.outside(), settings, memo);
                entries.iter().map(walk).collect()
            }
            Clusters::Objects(cluster) => Ok(vec![walked_cluster(files, cluster, self.outside(), settings, memo)]),
        }
    }

    /// The same with these releases, in the order of the fleets.
    fn rendered(
        &self,
        walks: Vec<Walked<'_>>,
        releases: &[Arc<BTreeSet<ObjectName>>],
        (files, memo): (&dyn Repository, &Memo),
    ) -> Result<Vec<Fleet>, NoEntry> {
        let pairs = walks.into_iter().zip(releases);
        let fleet = |(walked, names): (Walked<'_>, &Arc<BTreeSet<ObjectName>>)| {
            if names.is_empty() {
                return Ok(walked.finish());
            }
            let entry = walked.fleet().entry.clone();
            let only = RenderedReleases::Only(Arc::clone(names));
            match walked.rendered(only.clone()) {
                Some(fleet) => Ok(fleet),
                None => self.fleet(files, &entry, memo, only),
            }
        };
        pairs.map(fleet).collect()
    }

    /// The fleet of an entry, or of the cluster.
    fn fleet(
        &self,
        files: &dyn Repository,
        entry: &str,
        memo: &Memo,
        releases: RenderedReleases,
    ) -> Result<Fleet, NoEntry> {
        let settings = self.settings_with(releases);
        match &self.verifier.clusters {
            Clusters::Entries(_) => view(files, entry, self.outside(), &settings, memo),
            Clusters::Objects(cluster) => Ok(view_cluster(files, cluster, self.outside(), &settings, memo)),
        }
    }

    pub(crate) fn outside(&self) -> &dyn Outside {
        &*self.verifier.outside
    }

    /// A path of the proposal from the root of the repository.
    pub(crate) fn path(&self, path: &str) -> String {
        match self.folder {
            "" => path.to_owned(),
            folder => format!("{folder}/{path}"),
        }
    }

    /// The files that change, from the root.
    fn paths(&self) -> Vec<String> {
        let paths = self.proposal.files.iter();
        paths
            .map(|file| self.path(&String::from_utf8_lossy(&file.path)))
            .collect()
    }

    fn files(&self, files: &[FileChange]) -> BTreeMap<String, Vec<u8>> {
        let files = files.iter();
        files
            .map(|file| (self.path(&String::from_utf8_lossy(&file.path)), file.new.clone()))
            .collect()
    }

    fn changed(&self, files: BTreeMap<String, Vec<u8>>) -> Changed<'_> {
        Changed {
            repository: self.base,
            files,
        }
    }

    /// The repository with only these fields changed.
    pub(crate) fn with_fields(&self, fields: &[usize]) -> Option<Changed<'_>> {
        let files = self.proposal.files_with(|n| fields.contains(&n)).ok()?;
        Some(self.changed(self.files(&files)))
    }

    /// Whether a Kustomization that reads a changed file fails before and after.
    fn is_unbuilt(&self, pair: &Pair<'_>, memo: &Memo) -> bool {
        let fails = |node: Option<&Node>| node.is_some_and(|node| failure(node).is_some());
        // Releases are compared only if the commit changes them.
        let looks_at = || pair.release.is_some() || memo.looks_at(&memo_name(pair), &self.paths());
        fails(pair.before) && fails(pair.after) && looks_at()
    }

    /// Whether the commit's changes in a Kustomization or release are not known, since it could not be built.
    fn is_unknown(&self, pair: &Pair<'_>, memo: &Memo) -> bool {
        let is_unbuilt = pair.after.is_some_and(|node| node.product.is_err());
        is_unbuilt && (Broken::of(pair).is_some() || self.is_unbuilt(pair, memo) || not_seen(pair).is_some())
    }

    /// The error for builds that fail with the commit only, and the fields that cause it.
    fn refusal(&self, broken: &[Broken<'_>], memo: &Memo) -> VerifyError {
        let message = broken.iter().map(Broken::shown).collect::<Vec<_>>().join("; ");
        let pairs: Vec<(&Pair<'_>, ())> = broken.iter().map(|broken| (broken.pair, ())).collect();
        let fields = self.causes(&pairs, memo, |pair, (), fleet| {
            let node = fleet.nodes.iter().find(|node| pair.is_of(node));
            let before = pair.before.and_then(refused_by);
            node.is_some_and(|node| failure(node).is_some() || refused_by(node) > before)
        });
        VerifyError { message, fields }
    }

    /// The fields that cause failures of Kustomizations: `fails` looks for the same one in a fleet with
    /// some of the fields.
    pub(crate) fn causes<T: Copy>(
        &self,
        failures: &[(&Pair<'_>, T)],
        memo: &Memo,
        fails: impl Fn(&Pair<'_>, T, &Fleet) -> bool,
    ) -> Vec<usize> {
        let mut fields = Vec::new();
        let half = (self.end.saturating_duration_since(Instant::now())) / 2;
        let mut search = Search::new(BUILDS, Instant::now() + half);
        for (pair, what) in failures {
            let name = memo_name(pair);
            let is_read = |n: &usize| {
                let change = self.proposal.changes.get(*n);
                change.is_some_and(|change| memo.looks_at(&name, &[self.path(&change.path)]))
            };
            let changes: Vec<usize> = (0..self.proposal.changes.len()).collect();
            // Values of a release may come from anywhere.
            let read: Vec<usize> = match pair.release {
                Some(_) => Vec::new(),
                None => changes.iter().copied().filter(is_read).collect(),
            };
            let candidates = if read.is_empty() { changes } else { read };
            let mut try_with = |fields: &[usize]| {
                let release = pair.release.clone();
                let releases = release.map(|name| RenderedReleases::Only(Arc::new(BTreeSet::from([name]))));
                let releases = releases.unwrap_or(RenderedReleases::None);
                let fleet = self.fleet_with(&pair.fleets.1.entry, fields, releases);
                fleet.is_some_and(|fleet| fails(pair, *what, &fleet))
            };
            fields.extend(search.cause(&candidates, &mut try_with));
        }
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    /// The fleet of an entry with only these fields changed, and these releases.
    pub(crate) fn fleet_with(&self, entry: &str, fields: &[usize], releases: RenderedReleases) -> Option<Fleet> {
        let files = self.with_fields(fields)?;
        let changed: Vec<String> = files.files.keys().cloned().collect();
        self.fleet(&files, entry, &self.memo.after(&changed), releases).ok()
    }

    /// Whether a commit is pushed that could not be verified.
    pub(crate) fn pushes_unverified(&self) -> bool {
        self.verifier.verification.push_on_timeout
    }
}

/// The failure of a node. A build that ran out of time, or a chart that is unavailable here, does not count as one.
fn failure(node: &Node) -> Option<&Problem> {
    let problem = node.product.as_ref().err();
    problem.filter(|problem| !matches!(problem, Problem::Late | Problem::ChartUnavailable(_)))
}

/// That a release is not rendered, which stops nothing.
fn not_seen(pair: &Pair<'_>) -> Option<String> {
    pair.release.as_ref()?;
    let mut nodes = [pair.after, pair.before].into_iter().flatten();
    let problem = nodes.find_map(|node| {
        let problem = node.product.as_ref().err();
        problem.filter(|_| failure(node).is_none())
    })?;
    Some(format!("{}: what it installs is not seen: {problem}", pair.title()))
}

/// The first object of a node that an API server would refuse.
fn refused_by(node: &Node) -> Option<String> {
    node.product.as_ref().ok()?.refusals().next()
}

/// A Kustomization that fails with the commit, and not without.
struct Broken<'p> {
    pair: &'p Pair<'p>,
    why: String,
}

impl<'p> Broken<'p> {
    fn of(pair: &'p Pair<'p>) -> Option<Self> {
        let after = pair.after?;
        let before = pair.before;
        let why = match (failure(after), before) {
            (Some(_), Some(before)) if before.product.is_err() => return None,
            (Some(problem), _) => problem.to_string(),
            (None, before) => {
                let new = refused_by(after)?;
                let was = before.is_some_and(|node| node.product.is_err() || refused_by(node).as_ref() == Some(&new));
                if was { return None } else { new }
            }
        };
        Some(Self { pair, why })
    }

    fn shown(&self) -> String {
        format!("{} would fail: {}", self.pair.title(), self.why)
    }
}

fn already_broken(pair: &Pair<'_>) -> Option<String> {
    let after = failure(pair.after?)?;
    // What it says of the state that is there: the other may have values of the change.
    let problem = pair.before.and_then(failure).unwrap_or(after);
    Some(format!("{} fails without the change as well: {problem}", pair.title()))
}
