//! From an entry to all Kustomizations that a cluster would have: each is built, and those among its objects go on.
//!
//! A Kustomization whose variables come from objects that are not known yet waits until nothing else is left to build:
//! another one may give them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::memo::{BuildInput, Memo};
use super::one::build;
use super::reads::{BuildFiles, OpenedBytes};
use super::references::References;
use super::settings::{RenderedReleases, Settings};
use super::view::{Fleet, FleetObject, MissingReference, Node, Problem, Product};
use super::{entry, instance};
use crate::beside::beside;
use crate::release::Releases;
use crate::release::inputs::differing;
use crate::source::fetched::{Plan, SOURCE_GROUP, SourceTree, Sources};
use crate::source::files::clean;
use crate::source::meant::{Source, SourceObject};
use crate::source::repository::{Outside, Repository};
use bumpwright_api::{Kustomization, ObjectName};
use bumpwright_kustomize::tree::{ResolvedPath, Tree, TreeError, World};

/// A repository does not have an entry. Paths of trees begin with a slash, and look as if they were of the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.to_string().trim_start_matches('/'))]
pub struct NoEntry(#[from] TreeError);

/// Reads the fleet of an entry, a folder or file of the repository. Nothing fails as a whole but for an entry that does
/// not exist: what cannot be built is a [`Problem`] of its node.
pub fn view(
    repository: &dyn Repository,
    entry: &str,
    outside: &dyn Outside,
    settings: &Settings,
    memo: &Memo,
) -> Result<Fleet, NoEntry> {
    walked(repository, entry, outside, settings, memo).map(|Walked(walk)| walk.finish())
}

/// A fleet all of whose Kustomizations are built, and whose releases are not
/// rendered yet ([`RenderedReleases::Compared`], [`RenderedReleases::None`]).
pub struct Walked<'a>(Walk<'a>);

impl Walked<'_> {
    /// What is known so far.
    pub(crate) fn fleet(&self) -> &Fleet {
        &self.0.fleet
    }

    /// The fleet without its releases.
    pub(crate) fn finish(self) -> Fleet {
        self.0.finish()
    }

    /// The fleet with these releases; none if what reconciles the entry comes out of one of them, so that everything
    /// has to be seen again.
    pub(crate) fn rendered(self, releases: RenderedReleases) -> Option<Fleet> {
        let mut walk = self.0;
        walk.render(releases);
        walk.instance().is_none().then(|| walk.finish())
    }
}

/// As [`view`], to go on with by [`both`].
pub fn walked<'a>(
    repository: &'a dyn Repository,
    entry: &str,
    outside: &'a dyn Outside,
    settings: &'a Settings,
    memo: &'a Memo,
) -> Result<Walked<'a>, NoEntry> {
    let entry = clean(entry);
    let tree = repository.tree();
    let ResolvedPath { directory, .. } = tree.canonical(&format!("/{entry}"))?;
    let begin = |own: Option<Own>| {
        let mut walk = Walk::new(repository, &entry, outside, settings, memo);
        if directory {
            walk.folder(&entry, own)
        } else {
            walk.file(&*tree, &entry)
        }
        walk.run();
        walk
    };
    let walk = begin(None);
    // An operator may be given what reconciles the entry by an object that comes out late.
    match walk.instance() {
        Some(own) if directory => Ok(Walked(begin(Some(own)))),
        _ => Ok(Walked(walk)),
    }
}

/// Renders the releases of two states that are not made of the same. None if what reconciles the entry comes out of one
/// of them, so that everything has to be seen again.
#[must_use]
pub fn both(before: Walked<'_>, after: Walked<'_>) -> Option<(Fleet, Fleet)> {
    let [old, new] = differing(before.fleet(), after.fleet());
    before.rendered(old).zip(after.rendered(new))
}

/// The Kustomizations of a cluster that sync a repository, as the API server has them.
#[derive(Clone, Debug)]
pub struct ClusterObjects {
    /// The GitRepository of the repository.
    pub source: ObjectName,
    /// The Kustomizations, and the objects that they take variables from.
    pub objects: Vec<FleetObject>,
    /// The Kustomizations that are not looked at, also where one of the others applies them.
    pub others: BTreeSet<ObjectName>,
}

/// Reads the fleet of a cluster: what its Kustomizations would have with these files.
#[must_use]
pub fn view_cluster(
    repository: &dyn Repository,
    cluster: &ClusterObjects,
    outside: &dyn Outside,
    settings: &Settings,
    memo: &Memo,
) -> Fleet {
    walked_cluster(repository, cluster, outside, settings, memo).finish()
}

/// As [`view_cluster`], to go on with.
pub(crate) fn walked_cluster<'a>(
    repository: &'a dyn Repository,
    cluster: &ClusterObjects,
    outside: &'a dyn Outside,
    settings: &'a Settings,
    memo: &'a Memo,
) -> Walked<'a> {
    let mut walk = Walk::new(repository, "", outside, settings, memo);
    walk.push(None, None, "", None);
    walk.fleet.is_of_server = true;
    walk.sources.own = Some(("GitRepository".to_owned(), cluster.source.clone()));
    walk.names.clone_from(&cluster.others);
    if let Some(root) = walk.fleet.nodes.first_mut() {
        root.product = Ok(Arc::new(Product::of(cluster.objects.clone())));
    }
    walk.run();
    Walked(walk)
}

/// The Kustomization that reconciles the entry, with its place.
struct Own {
    kustomization: Kustomization,
    origin: Option<Box<str>>,
    /// Its source, if that is not among the objects of the entry.
    source: Option<FleetObject>,
    /// The objects of it that no Kustomization builds.
    applied: Vec<FleetObject>,
}

struct Walk<'a> {
    outside: &'a dyn Outside,
    settings: &'a Settings,
    memo: &'a Memo,
    sources: Sources<'a>,
    fleet: Fleet,
    /// The Kustomizations that were found.
    names: BTreeSet<ObjectName>,
    /// The instances that an operator has made something of.
    operated: BTreeSet<String>,
    releases: Releases,
    count: usize,
}

/// A Kustomization to build.
#[derive(Clone)]
struct Job<'a> {
    node: usize,
    kustomization: Kustomization,
    source: Source,
    plan: Plan,
    /// The key of the plan.
    key: String,
    files: Option<SourceTree<'a>>,
    references: References,
    missing: Vec<MissingReference>,
}

impl Job<'_> {
    /// How early it is built, the least first: what is missing may come from another one.
    fn rank(&self) -> u8 {
        if self.plan.is_missing() {
            return 4;
        }
        let needs = self.missing.iter().any(|one| !one.optional) || self.plan.lacks_secret();
        match (needs, self.missing.is_empty(), self.plan.is_fetched()) {
            (true, ..) => 3,
            (false, false, _) => 2,
            // Nothing waits for a server that others do not need.
            (false, true, true) => 1,
            (false, true, false) => 0,
        }
    }
}

/// What a thread builds with.
struct Thread<'t> {
    /// The trees by what their files depend on.
    trees: BTreeMap<&'t str, Box<dyn Tree + 't>>,
    world: Box<dyn World + 't>,
    bytes: Option<OpenedBytes<'t>>,
}

/// The outcome of a job.
struct Done {
    node: usize,
    product: Result<Arc<Product>, Problem>,
    took: Duration,
}

impl<'a> Walk<'a> {
    fn new(
        repository: &'a dyn Repository,
        entry: &str,
        outside: &'a dyn Outside,
        settings: &'a Settings,
        memo: &'a Memo,
    ) -> Self {
        Self {
            outside,
            settings,
            memo,
            sources: Sources::new(repository, outside, settings),
            fleet: Fleet::new(entry),
            names: BTreeSet::new(),
            operated: BTreeSet::new(),
            releases: Releases::default(),
            count: 0,
        }
    }

    fn finish(mut self) -> Fleet {
        if self.fleet.is_late() {
            let problem = "the time limit was reached: not all Kustomizations were looked at";
            self.fleet.problems.push(problem.to_owned());
        }
        // The entry is built first: what it takes variables from may be among the objects of the others.
        let mut missing = self
            .fleet
            .nodes
            .first()
            .map_or_else(Vec::new, |root| root.missing.clone());
        missing.retain(|one| self.fleet.object("", &one.kind, &one.name).is_none());
        if let Some(root) = self.fleet.nodes.first_mut() {
            root.missing = missing;
        }
        self.fleet
    }

    /// Begins with a folder: builds it as it is, and again as the Kustomization that reconciles it, which is among its
    /// objects unless it is known.
    fn folder(&mut self, folder: &str, known: Option<Own>) {
        self.push(None, None, folder, None);
        let plain = entry::plain(folder);
        self.build(vec![self.job(0, plain, Vec::new())]);
        let Some(own) = known.or_else(|| self.own(folder)) else {
            return;
        };
        self.names.insert(own.kustomization.metadata.object_name());
        let source = SourceObject::of(&own.kustomization);
        self.sources.own = Some((source.kind, source.name));
        self.sources.own_object = own.source.map(|source| source.value);
        self.fleet.applied = own.applied;
        if let Some(root) = self.fleet.nodes.first_mut() {
            root.kustomization = Some(own.kustomization);
            root.origin = own.origin;
        }
        self.build_own();
        // In the cluster it is what it makes of itself: its own variables and patches are in it.
        let root = self.fleet.nodes.first();
        let own = entry::own(root.map_or(&[][..], Node::objects), folder, &self.settings.sources);
        let Some(made) = own.map(|(kustomization, _)| kustomization) else {
            return;
        };
        let is_other =
            |own: &Kustomization| own.metadata.object_name() == made.metadata.object_name() && own.spec != made.spec;
        let before = root.and_then(|root| root.kustomization.as_ref());
        if before.is_some_and(is_other) {
            if let Some(root) = self.fleet.nodes.first_mut() {
                root.kustomization = Some(made);
            }
            self.build_own();
        }
    }

    /// Builds the entry as its Kustomization, whose source and variables may come from the entry's own objects.
    fn build_own(&mut self) {
        self.fleet.index(0);
        let job = self.prepared(0);
        self.fleet.forget_index();
        if let Some(root) = self.fleet.nodes.first_mut() {
            root.missing.clone_from(&job.missing);
        }
        // Its objects take the place of those of the build before.
        self.count = 0;
        self.build(vec![job]);
    }

    /// The Kustomization that reconciles the folder, among its objects or made by an operator of one of them.
    fn own(&self, folder: &str) -> Option<Own> {
        let objects = self.fleet.nodes.first().map_or(&[][..], Node::objects);
        if let Some((kustomization, object)) = entry::own(objects, folder, &self.settings.sources) {
            return Some(Own {
                kustomization,
                origin: object.origin.clone(),
                source: None,
                applied: Vec::new(),
            });
        }
        let instance = objects.iter().find_map(|object| self.of_instance(object, folder));
        instance.or_else(|| {
            let tree = self.sources.repository.tree();
            let (kustomization, object, source) = entry::own_in_files(&*tree, folder, &self.settings.sources)?;
            Some(Own {
                kustomization,
                origin: object.origin.clone(),
                applied: source.iter().cloned().chain([object]).collect(),
                source,
            })
        })
    }

    fn of_instance(&self, object: &FleetObject, folder: &str) -> Option<Own> {
        let instance = instance::of(object, &self.fleet)?;
        let objects = instance::objects(&instance, self.settings);
        let (kustomization, object) = instance::own(&objects, folder)?;
        Some(Own {
            kustomization,
            origin: object.origin,
            source: objects
                .into_iter()
                .find(|object| !entry::is_kustomization(&object.value)),
            applied: Vec::new(),
        })
    }

    /// The Kustomization that an operator makes for the entry, when it was not known from the beginning.
    fn instance(&self) -> Option<Own> {
        if self.sources.own.is_some() {
            return None;
        }
        let mut objects = self.fleet.objects().filter(|(node, _)| !node.is_elsewhere());
        objects.find_map(|(_, object)| self.of_instance(object, &self.fleet.entry))
    }

    /// Begins with the objects of a file.
    fn file(&mut self, tree: &dyn Tree, file: &str) {
        self.push(None, None, file, None);
        let product = entry::of_file(tree, file).map(|objects| Arc::new(Product::of(objects)));
        if let Some(root) = self.fleet.nodes.first_mut() {
            root.product = product.map_err(|error| Problem::Build(error.failure()));
        }
    }

    fn push(
        &mut self,
        kustomization: Option<Kustomization>,
        parent: Option<usize>,
        path: &str,
        origin: Option<Box<str>>,
    ) {
        self.fleet.nodes.push(Node {
            kustomization,
            origin,
            ..Node::waiting(parent, path)
        });
    }

    /// Builds until nothing is left: all Kustomizations, then the releases among their objects, and what these give.
    fn run(&mut self) {
        self.fleet.index(0);
        let waiting = self.discovered(0);
        self.go_on(waiting);
    }

    /// Renders these releases, which were compared before.
    fn render(&mut self, releases: RenderedReleases) {
        self.releases.again(releases);
        self.go_on(Vec::new());
    }

    fn go_on(&mut self, mut waiting: Vec<usize>) {
        loop {
            self.build_all(waiting);
            let before = self.fleet.nodes.len();
            let releases = self.releases.render(
                &mut self.fleet,
                &mut self.sources,
                self.outside,
                (self.settings, self.memo),
            );
            waiting = Vec::new();
            for node in releases {
                self.limit(node);
                self.fleet.index(node);
                waiting.extend(self.discovered(node));
            }
            if self.fleet.nodes.len() == before {
                return;
            }
        }
    }

    /// Builds Kustomizations, and those that they give.
    fn build_all(&mut self, mut waiting: Vec<usize>) {
        while !waiting.is_empty() {
            let jobs = std::mem::take(&mut waiting).into_iter();
            let jobs: Vec<(u8, Job<'a>)> = jobs
                .map(|node| self.prepared(node))
                .map(|job| (job.rank(), job))
                .collect();
            // Nothing else can give what is missing when only such jobs are left.
            let least = jobs.iter().map(|(rank, _)| *rank).min();
            let (ready, later): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|(rank, _)| Some(*rank) == least);
            waiting.extend(later.into_iter().map(|(_, job)| job.node));
            let ready: Vec<Job<'a>> = ready.into_iter().map(|(_, job)| job).collect();
            for job in &ready {
                if let Some(node) = self.fleet.nodes.get_mut(job.node) {
                    node.missing.clone_from(&job.missing);
                }
            }
            let mut built: Vec<usize> = ready.iter().map(|job| job.node).collect();
            self.build(ready);
            built.sort_unstable();
            for node in built {
                self.fleet.index(node);
                waiting.extend(self.discovered(node));
            }
        }
    }

    /// The new Kustomizations among the objects of a node, as nodes.
    fn discovered(&mut self, parent: usize) -> Vec<usize> {
        let mut discovered = Vec::new();
        let Some(node) = self.fleet.nodes.get(parent).filter(|node| !node.is_elsewhere()) else {
            return discovered;
        };
        let ours = node.objects().iter().filter_map(|object| {
            if entry::is_kustomization(&object.value) {
                Some(object.clone())
            } else {
                instance::of(object, &self.fleet)
            }
        });
        let ours: Vec<FleetObject> = ours.collect();
        for object in ours {
            if !entry::is_kustomization(&object.value) {
                discovered.extend(self.operated(parent, &object));
                continue;
            }
            let (kustomization, problem) = match entry::parse(&object.value) {
                Ok(kustomization) => (kustomization, None),
                Err(error) => (unreadable(&object), Some(error.to_string())),
            };
            if !self.names.insert(kustomization.metadata.object_name()) {
                continue;
            }
            if self.fleet.nodes.len() >= self.settings.kustomizations {
                let most = self.settings.kustomizations;
                let problem = format!("more than {most} Kustomizations: the others are left out");
                if !self.fleet.problems.contains(&problem) {
                    self.fleet.problems.push(problem);
                }
                return discovered;
            }
            let path = clean(&kustomization.spec.path);
            self.push(Some(kustomization), Some(parent), &path, object.origin);
            let at = self.fleet.nodes.len() - 1;
            match (problem, self.fleet.nodes.last_mut()) {
                (Some(problem), Some(node)) => node.product = Err(Problem::Invalid(problem)),
                _ => discovered.push(at),
            }
        }
        discovered
    }

    /// Adds what an operator makes of a FluxInstance as a node. Returns the new Kustomizations of it.
    fn operated(&mut self, parent: usize, instance: &FleetObject) -> Vec<usize> {
        // A release and what its chart makes are one instance.
        if !self.operated.insert(instance::title(instance)) {
            return Vec::new();
        }
        let objects = instance::objects(instance, self.settings);
        self.push(None, Some(parent), &instance::title(instance), instance.origin.clone());
        let at = self.fleet.nodes.len() - 1;
        if let Some(node) = self.fleet.nodes.last_mut() {
            node.product = Ok(Arc::new(Product::of(objects)));
        }
        self.fleet.index(at);
        self.discovered(at)
    }

    fn job(&self, node: usize, kustomization: Kustomization, references: References) -> Job<'a> {
        let plan = Plan::Here {
            folder: String::new(),
            ignore: None,
        };
        Job {
            node,
            kustomization,
            source: Source::This,
            key: plan.key(),
            plan,
            files: None,
            references,
            missing: Vec::new(),
        }
    }

    /// The job of a node with the variables and sources that are known, and the references that are not.
    fn prepared(&self, at: usize) -> Job<'a> {
        let kustomization = self.fleet.nodes.get(at).and_then(|node| node.kustomization.clone());
        let kustomization = kustomization.unwrap_or_else(|| entry::plain(""));
        let (references, missing) = self.fleet.references(&kustomization);
        let mut job = self.job(at, kustomization, references);
        job.missing = missing;
        let mut source = SourceObject::of(&job.kustomization);
        if !source.kind.is_empty() {
            let source_object = self.fleet.object(SOURCE_GROUP, &source.kind, &source.name);
            source.object = source_object.map(|object| object.value.clone());
            job.plan = self.sources.plan(&self.fleet, &source);
            job.key = job.plan.key();
            job.source = match &job.plan {
                Plan::Here { folder, .. } if folder.is_empty() => Source::This,
                _ => Source::Other(source),
            };
        }
        job
    }

    /// Builds jobs beside each other, and keeps what they give.
    fn build(&mut self, jobs: Vec<Job<'a>>) {
        self.sources.fetch(jobs.iter().map(|job| &job.plan));
        let mut located = Vec::new();
        for mut job in jobs {
            let files = self.sources.files(&job.plan);
            let Some(node) = self.fleet.nodes.get_mut(job.node) else {
                continue;
            };
            match files {
                Ok(files) => {
                    node.source = job.source.clone();
                    node.ignore = match &job.plan {
                        Plan::Here { ignore, .. } => ignore.clone(),
                        _ => None,
                    };
                    job.files = Some(files);
                    located.push(job);
                }
                Err(error) => {
                    let error = error.to_string();
                    node.source = match job.source {
                        Source::Other(source) => Source::Unknown(source, error.clone()),
                        other => other,
                    };
                    node.product = Err(Problem::Source(error));
                }
            }
        }
        for done in self.done(&located) {
            if let Some(node) = self.fleet.nodes.get_mut(done.node) {
                (node.took, node.product) = (done.took, done.product);
            }
            self.limit(done.node);
        }
    }

    /// Counts the objects of a node, which has none if there are too many.
    fn limit(&mut self, node: usize) {
        let Some(node) = self.fleet.nodes.get_mut(node) else {
            return;
        };
        let objects = node.objects().len();
        let most = self.settings.objects;
        if self.count + objects > most {
            node.product = Err(Problem::TooManyObjects { most, objects });
        } else {
            self.count += objects
        }
    }

    /// Runs jobs on as many threads as there are.
    fn done(&self, jobs: &[Job<'a>]) -> Vec<Done> {
        let begin = || Thread {
            trees: BTreeMap::new(),
            world: self.outside.world(),
            bytes: self.memo.earlier_bytes(),
        };
        let done = beside(self.settings.threads, jobs, begin, |thread, job| {
            let files = job.files.as_ref()?;
            let tree = thread.trees.entry(job.key.as_str()).or_insert_with(|| files.tree());
            let files = BuildFiles {
                tree: &**tree,
                source: (job.source != Source::This).then_some(&**files),
            };
            Some(self.one(job, files, thread.bytes.as_ref(), &*thread.world))
        });
        done.into_iter().flatten().collect()
    }

    fn one(&self, job: &Job<'a>, files: BuildFiles<'_>, bytes: Option<&OpenedBytes<'_>>, world: &dyn World) -> Done {
        let begun = Instant::now();
        let input = BuildInput {
            kustomization: &job.kustomization,
            source: &job.source,
            key: &job.key,
            references: &job.references,
            is_of_repository: job.plan.is_of_repository(),
        };
        if let Some(product) = self.memo.get(input, files, bytes) {
            return Done {
                node: job.node,
                product,
                took: Duration::ZERO,
            };
        }
        if self.settings.is_late() {
            return Done {
                node: job.node,
                product: Err(Problem::Late),
                took: Duration::ZERO,
            };
        }
        let (product, answers) = build(&job.kustomization, &job.references, files, world, self.settings);
        let product = product.map(Arc::new);
        self.memo.put(input, files, &product, answers);
        Done {
            node: job.node,
            product,
            took: begun.elapsed(),
        }
    }
}

/// A Kustomization that does not parse, with the name that it says.
fn unreadable(object: &FleetObject) -> Kustomization {
    let id = object.id();
    let mut plain = entry::plain("");
    plain.metadata.name = id.name.name;
    plain.metadata.namespace = Some(id.name.namespace).filter(|namespace| !namespace.is_empty());
    plain
}
