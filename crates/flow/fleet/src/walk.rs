//! From an entry to all Kustomizations that a cluster would have: each is built, and those among its objects go on.
//!
//! A Kustomization whose variables come from objects that are not known yet waits until nothing else is left to build: another
//! one may give them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::build::{References, build};
use super::entry::{self, clean};
use super::memo::Memo;
use super::repository::{Outside, Reads, Repository};
use super::settings::Settings;
use super::source::{Source, SourceObject};
use super::view::{Fleet, FleetObject, MissingReference, Node, Problem, Product};
use bumpwright_api::{Kustomization, ObjectName};
use bumpwright_kustomize::tree::{ResolvedPath, Tree};

pub(super) const SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";

/// Reads the fleet of an entry, a folder or file of the repository. Nothing fails as a whole but for an entry that does not exist: what
/// cannot be built is a [`Problem`] of its node.
///
/// # Errors
/// The repository does not have the entry; for users.
pub fn view(
    repository: &dyn Repository,
    entry: &str,
    outside: &dyn Outside,
    settings: &Settings,
    memo: &Memo,
) -> Result<Fleet, String> {
    let entry = clean(entry);
    let tree = repository.tree();
    let ResolvedPath { directory, .. } = tree
        .canonical(&format!("/{entry}"))
        .map_err(|error| error.to_string())?;
    let mut walk = Walk::new(repository, &entry, outside, settings, memo);
    match directory {
        true => walk.folder(&entry),
        false => walk.file(&*tree, &entry),
    }
    Ok(walk.finish())
}

/// The Kustomizations of a cluster that sync a repository, as the API server has them.
#[derive(Clone, Debug)]
pub struct ClusterObjects {
    /// The GitRepository of the repository.
    pub source: ObjectName,
    /// The Kustomizations, and the objects that they take variables from.
    pub objects: Vec<FleetObject>,
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
    let mut walk = Walk::new(repository, "", outside, settings, memo);
    walk.push(None, None, "", None);
    walk.own = Some(cluster.source.clone());
    if let Some(root) = walk.fleet.nodes.first_mut() {
        root.product = Ok(Arc::new(product_of(cluster.objects.clone())));
    }
    walk.finish()
}

struct Walk<'a> {
    repository: &'a dyn Repository,
    outside: &'a dyn Outside,
    settings: &'a Settings,
    memo: &'a Memo,
    /// The source that reconciles the entry.
    own: Option<ObjectName>,
    fleet: Fleet,
    /// The Kustomizations that were found.
    names: BTreeSet<ObjectName>,
    /// Fetched sources, by what was shown of them.
    sources: BTreeMap<String, Result<Arc<dyn Repository>, String>>,
    /// Objects so far.
    count: usize,
}

/// A Kustomization to build.
struct Job {
    node: usize,
    kustomization: Kustomization,
    source: Source,
    files: Option<Arc<dyn Repository>>,
    references: References,
}

/// The outcome of a job.
struct Done {
    node: usize,
    product: Result<Arc<Product>, Problem>,
    took: Duration,
}

/// A node that is not built yet.
const WAITING: &str = "not built";

impl<'a> Walk<'a> {
    fn new(
        repository: &'a dyn Repository,
        entry: &str,
        outside: &'a dyn Outside,
        settings: &'a Settings,
        memo: &'a Memo,
    ) -> Self {
        Self {
            repository,
            outside,
            settings,
            memo,
            own: None,
            fleet: Fleet::new(entry),
            names: BTreeSet::new(),
            sources: BTreeMap::new(),
            count: 0,
        }
    }

    /// Builds everything that comes out of the entry.
    fn finish(mut self) -> Fleet {
        self.run();
        if self.fleet.is_late() {
            let problem = "the time limit was reached: not all Kustomizations were looked at";
            self.fleet.problems.push(problem.to_owned());
        }
        self.fleet
    }

    /// Begins with a folder: builds it as it is, and again as the Kustomization among its objects that reconciles it.
    fn folder(&mut self, folder: &str) {
        self.push(None, None, folder, None);
        let plain = entry::plain(folder);
        self.build(vec![self.job(0, plain, Vec::new())]);
        let objects = self.fleet.nodes.first().map_or(&[][..], Node::objects);
        let Some((kustomization, object)) = entry::own(objects, folder) else {
            return;
        };
        let origin = object.origin.clone();
        let name = kustomization.metadata.object_name();
        self.own = Some(kustomization.source());
        self.names.insert(name);
        if let Some(root) = self.fleet.nodes.first_mut() {
            root.kustomization = Some(kustomization);
            root.origin = origin;
        }
        // Its variables may come from its own objects.
        self.fleet.index(0);
        let job = self.prepared(0).0;
        self.fleet.forget_index();
        self.build(vec![job]);
    }

    /// Begins with the objects of a file.
    fn file(&mut self, tree: &dyn Tree, file: &str) {
        self.push(None, None, file, None);
        let product = entry::of_file(tree, file).map(|objects| Arc::new(product_of(objects)));
        if let Some(root) = self.fleet.nodes.first_mut() {
            root.product = product.map_err(Problem::Build);
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
            parent,
            origin,
            source: Source::This,
            path: path.to_owned(),
            missing: Vec::new(),
            product: Err(Problem::Build(WAITING.to_owned())),
            took: Duration::ZERO,
        });
    }

    /// Builds until nothing is left.
    fn run(&mut self) {
        let mut waiting: Vec<usize> = Vec::new();
        self.fleet.index(0);
        waiting.extend(self.discovered(0));
        while !waiting.is_empty() {
            let mut ready = Vec::new();
            let mut later = Vec::new();
            for node in std::mem::take(&mut waiting) {
                let (job, missing) = self.prepared(node);
                match missing.is_empty() {
                    true => ready.push(job),
                    false => later.push((job, missing)),
                }
            }
            // Nothing else can give what is missing: those that do without go first.
            if ready.is_empty() {
                let needs = |missing: &[MissingReference]| missing.iter().any(|one| !one.optional);
                let has_optional = later.iter().any(|(_, missing)| !needs(missing));
                for (job, missing) in std::mem::take(&mut later) {
                    if has_optional && needs(&missing) {
                        later.push((job, missing));
                        continue;
                    }
                    if let Some(node) = self.fleet.nodes.get_mut(job.node) {
                        node.missing = missing;
                    }
                    ready.push(job);
                }
            }
            waiting.extend(later.into_iter().map(|(job, _)| job.node));
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
        let mut found = Vec::new();
        let Some(node) = self.fleet.nodes.get(parent).filter(|node| !node.is_elsewhere()) else {
            return found;
        };
        let objects = node
            .objects()
            .iter()
            .filter(|object| entry::is_kustomization(&object.value));
        let objects: Vec<FleetObject> = objects.cloned().collect();
        for object in objects {
            let (kustomization, problem) = match entry::parse(&object.value) {
                Ok(kustomization) => (kustomization, None),
                Err(error) => (unreadable(&object), Some(error)),
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
                return found;
            }
            let path = clean(&kustomization.spec.path);
            self.push(Some(kustomization), Some(parent), &path, object.origin);
            let at = self.fleet.nodes.len() - 1;
            match (problem, self.fleet.nodes.last_mut()) {
                (Some(problem), Some(node)) => node.product = Err(Problem::Invalid(problem)),
                _ => found.push(at),
            }
        }
        found
    }

    fn job(&self, node: usize, kustomization: Kustomization, references: References) -> Job {
        Job {
            node,
            kustomization,
            source: Source::This,
            files: None,
            references,
        }
    }

    /// The job of a node with the variables that are known, and the references that are not.
    fn prepared(&self, at: usize) -> (Job, Vec<MissingReference>) {
        let kustomization = self.fleet.nodes.get(at).and_then(|node| node.kustomization.clone());
        let kustomization = kustomization.unwrap_or_else(|| entry::plain(""));
        let namespace = kustomization.metadata.namespace_or_default().to_owned();
        let mut missing = Vec::new();
        let mut references = References::new();
        let post_build = kustomization.spec.post_build.as_ref();
        for reference in post_build.map_or(&[][..], |post_build| &post_build.substitute_from) {
            let name = ObjectName::new(namespace.as_str(), reference.name.as_str());
            let found = self.fleet.object("", &reference.kind, &name);
            if found.is_none() {
                missing.push(MissingReference {
                    kind: reference.kind.clone(),
                    name,
                    optional: reference.optional,
                });
            }
            references.push(found.map(|object| Arc::new(object.value.clone())));
        }
        (self.job(at, kustomization, references), missing)
    }

    /// Finds the files of a job: those of the repository, or of another source.
    fn locate(&mut self, job: &mut Job) -> Result<(), Problem> {
        let mut source = SourceObject::of(&job.kustomization);
        if source.kind.is_empty() {
            return Ok(());
        }
        let group = SOURCE_GROUP;
        source.object = self
            .fleet
            .object(group, &source.kind, &source.name)
            .map(|object| object.value.clone());
        if self.is_this(&source) {
            return Ok(());
        }
        let key = format!("{} {:?}", source.shown(), source.object);
        let outside = self.outside;
        let fetched = self.sources.entry(key).or_insert_with(|| match &source.object {
            Some(_) => outside.source(&source),
            None => Err(format!("{} is not in the fleet", source.shown())),
        });
        match fetched {
            Ok(files) => {
                job.files = Some(Arc::clone(files));
                job.source = Source::Other(source);
                Ok(())
            }
            Err(error) => {
                let error = error.clone();
                job.source = Source::Unknown(source, error.clone());
                Err(Problem::Source(error))
            }
        }
    }

    /// Whether a source is the repository itself: the one that reconciles the entry, or one with the same address and reference.
    /// Without a Kustomization that reconciles the entry, it is a GitRepository that is not among the objects: something else made it.
    fn is_this(&self, source: &SourceObject) -> bool {
        if source.kind != "GitRepository" {
            return false;
        }
        if self.own.as_ref() == Some(&source.name) {
            return true;
        }
        let own = self
            .own
            .as_ref()
            .and_then(|own| self.fleet.object(SOURCE_GROUP, "GitRepository", own));
        match (&source.object, own) {
            (None, _) => self.own.is_none(),
            (Some(_), Some(own)) => {
                let own = SourceObject {
                    object: Some(own.value.clone()),
                    ..source.clone()
                };
                let is_same_url = match (source.url(), own.url()) {
                    (Some(one), Some(other)) => super::source::is_same(one, other),
                    _ => false,
                };
                is_same_url && source.reference() == own.reference()
            }
            (Some(_), None) => source.url().is_some_and(|url| self.settings.identity.has(url)),
        }
    }

    /// Builds jobs beside each other, and keeps what they give.
    fn build(&mut self, jobs: Vec<Job>) {
        let mut located = Vec::new();
        for mut job in jobs {
            let found = self.locate(&mut job);
            if let Some(node) = self.fleet.nodes.get_mut(job.node) {
                node.source = job.source.clone();
                match found {
                    Ok(()) => located.push(job),
                    Err(problem) => node.product = Err(problem),
                }
            }
        }
        for done in self.done(&located) {
            let objects = done.product.as_ref().map_or(0, |product| product.objects.len());
            self.count += objects;
            let Some(node) = self.fleet.nodes.get_mut(done.node) else {
                continue;
            };
            node.took = done.took;
            node.product = match self.count > self.settings.objects {
                false => done.product,
                true => {
                    self.count -= objects;
                    let most = self.settings.objects;
                    Err(Problem::Build(format!(
                        "the fleet has more than {most} objects with these {objects}"
                    )))
                }
            };
        }
    }

    /// Runs jobs on as many threads as there are.
    fn done(&self, jobs: &[Job]) -> Vec<Done> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(jobs.len()));
        let work = || {
            let own = self.repository.tree();
            let world = self.outside.world();
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let one = self.one(job, &*own, &*world);
                done.lock().unwrap_or_else(PoisonError::into_inner).push(one);
            }
        };
        match self.settings.threads.min(jobs.len()) {
            0 => {}
            1 => work(),
            threads => std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(work);
                }
            }),
        }
        done.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn one(&self, job: &Job, own: &dyn Tree, world: &dyn bumpwright_kustomize::tree::World) -> Done {
        let begun = Instant::now();
        if let Some(product) = self.memo.get(&job.kustomization, &job.source, &job.references) {
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
        let other = job.files.as_ref().map(|files| files.tree());
        let tree = other.as_deref().unwrap_or(own);
        let (product, reads) = build(&job.kustomization, &job.references, tree, world, self.settings);
        let product = product.map(Arc::new);
        self.memo
            .put(&job.kustomization, &job.source, &job.references, &product, reads);
        Done {
            node: job.node,
            product,
            took: begun.elapsed(),
        }
    }
}

fn product_of(objects: Vec<FleetObject>) -> Product {
    Product {
        objects,
        warnings: Vec::new(),
        refused: Vec::new(),
        left_out: Vec::new(),
        hidden: bumpwright_overlay::Hidden::default(),
        reads: Reads::default(),
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
