//! Builds that are known already: of another cluster with the same Kustomization, or of the same one before a change.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::reads::{Answers, BuildFiles, OpenedBytes, Reads, SameBytes};
use super::references::References;
use super::view::{Problem, Product};
use crate::release::kept_inputs::Digest;
use crate::source::meant::Source;
use crate::source::repository::Repository;
use bumpwright_api::{Kustomization, ObjectName};

/// Builds by what they depend on: the Kustomization, its source, its variables, and the files.
#[derive(Debug, Default)]
pub struct Memo {
    known: Mutex<Builds>,
    /// Renders of HelmReleases, by digests of everything that they are made from: they are good in every
    /// state of the files.
    rendered: Arc<Mutex<HashMap<Digest, Rendered>>>,
    /// Those of an earlier state of the files: each is good if its files give the same answers now.
    earlier: Option<Earlier>,
}

type Builds = HashMap<ObjectName, Vec<Arc<Known>>>;

type Rendered = Result<Arc<Product>, Problem>;

#[derive(Debug)]
struct Earlier {
    builds: Builds,
    bytes: SameBytes,
}

#[derive(Debug)]
struct Known {
    kustomization: Kustomization,
    source: Source,
    /// What the files depend on.
    files: String,
    references: References,
    product: Result<Arc<Product>, Problem>,
    /// What the files have answered; none for those that have nothing of the repository.
    answers: Option<Answers>,
    /// The paths that a failing build has read.
    failed_reads: Reads,
}

impl Known {
    fn reads(&self) -> &Reads {
        match &self.product {
            Ok(product) => &product.reads,
            Err(_) => &self.failed_reads,
        }
    }
}

/// What a build depends on besides the content of its files.
#[derive(Clone, Copy)]
pub(crate) struct BuildInput<'i> {
    pub(crate) kustomization: &'i Kustomization,
    pub(crate) source: &'i Source,
    /// What the files depend on.
    pub(crate) key: &'i str,
    pub(crate) references: &'i References,
    /// Whether the files have something of the repository.
    pub(crate) is_of_repository: bool,
}

impl BuildInput<'_> {
    fn is_that_of(&self, known: &Known) -> bool {
        known.kustomization == *self.kustomization
            && known.source == *self.source
            && known.files == self.key
            && known.references == *self.references
    }
}

impl Memo {
    /// The builds for a state of the repository in which these files may have other bytes: paths from its root, without
    /// a leading slash. Which files there are need not be the same either.
    #[must_use]
    pub fn after(&self, changed: &[String]) -> Self {
        let changed = changed.iter().map(|path| format!("/{}", path.trim_start_matches('/')));
        self.in_state(SameBytes::AllBut(changed.collect()))
    }

    /// The builds for another state of the repository: files that a build has read are compared with those
    /// of this `earlier` state.
    #[must_use]
    pub fn after_state(&self, earlier: Arc<dyn Repository>) -> Self {
        self.in_state(SameBytes::AsIn(earlier))
    }

    fn in_state(&self, bytes: SameBytes) -> Self {
        let builds = self.known.lock().clone();
        Self {
            known: Mutex::default(),
            rendered: Arc::clone(&self.rendered),
            earlier: Some(Earlier { builds, bytes }),
        }
    }

    /// Whether builds of a Kustomization, those that fail included, look at one of these files.
    #[must_use]
    pub(crate) fn looks_at(&self, name: &ObjectName, files: &[String]) -> bool {
        let memo = self.known.lock();
        let mut builds = memo.get(name).into_iter().flatten();
        builds.any(|memo| files.iter().any(|path| memo.reads().contains(path)))
    }

    /// The bytes of the earlier state, for one thread.
    pub(crate) fn earlier_bytes(&self) -> Option<OpenedBytes<'_>> {
        Some(self.earlier.as_ref()?.bytes.opened())
    }

    /// The render of these inputs, made if it is not known.
    pub(crate) fn rendered(&self, inputs: Digest, render: impl FnOnce() -> Rendered) -> Rendered {
        let cache = || self.rendered.lock();
        let cached = cache().get(&inputs).cloned();
        cached.unwrap_or_else(|| {
            let release = render();
            cache().insert(inputs, release.clone());
            release
        })
    }

    /// A build of the same input and the same files.
    pub(crate) fn get(
        &self,
        input: BuildInput<'_>,
        files: BuildFiles<'_>,
        bytes: Option<&OpenedBytes<'_>>,
    ) -> Option<Result<Arc<Product>, Problem>> {
        let name = input.kustomization.metadata.object_name();
        let here = |builds: &Builds| builds.get(&name)?.iter().find(|one| input.is_that_of(one)).cloned();
        let newest = here(&self.known.lock());
        if let Some(newest) = newest {
            return Some(newest.product.clone());
        }
        let (earlier, bytes) = (self.earlier.as_ref()?, bytes?);
        let mut candidates = earlier.builds.get(&name)?.iter().filter(|one| input.is_that_of(one));
        let holds = |newest: &&Arc<Known>| {
            let answers = newest.answers.as_ref();
            answers.is_none_or(|answers| answers.hold(files, bytes))
        };
        let build = candidates.find(holds)?;
        self.add(name, Arc::clone(build));
        Some(build.product.clone())
    }

    pub(crate) fn put(
        &self,
        input: BuildInput<'_>,
        files: BuildFiles<'_>,
        product: &Result<Arc<Product>, Problem>,
        answers: Answers,
    ) {
        let build = Known {
            kustomization: input.kustomization.clone(),
            source: input.source.clone(),
            files: input.key.to_owned(),
            references: input.references.clone(),
            product: product.clone(),
            failed_reads: match product {
                Ok(_) => Reads::default(),
                Err(_) => answers.reads(files.source),
            },
            answers: input.is_of_repository.then_some(answers),
        };
        self.add(input.kustomization.metadata.object_name(), Arc::new(build));
    }

    fn add(&self, name: ObjectName, known: Arc<Known>) {
        let mut builds = self.known.lock();
        builds.entry(name).or_default().push(known);
    }
}
