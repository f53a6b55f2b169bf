//! Scans of many repositories and choices of many policies, each repository once.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::choose::{Asked, Chosen, NoImage, choose};
use super::error::ScanError;
use super::scanner::{Scanner, Tags};
use bumpwright_api::{ImagePolicy, ImageRepository, ObjectName, Objects};
use bumpwright_gostd::Time;
use bumpwright_registry::Origin;

/// Number of registries asked concurrently.
const WORKERS: usize = 16;

/// Callback after each scanned repository: how many of how many.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// A scan, and the repository as it was then: another repository may have the same name elsewhere.
type Scanned = (Arc<ImageRepository>, Result<Arc<Tags>, ScanError>);

/// Scans of a run.
#[derive(Debug)]
pub struct Batch {
    scanner: Scanner,
    objects: Objects,
    now: Time,
    scanned: Mutex<BTreeMap<ObjectName, Vec<Scanned>>>,
}

impl Batch {
    /// An empty batch. `objects` has the Secrets and service accounts, `now` is the time against
    /// which ages are measured.
    #[must_use]
    pub fn new(scanner: Scanner, objects: Objects, now: Time) -> Self {
        Self {
            scanner,
            objects,
            now,
            scanned: Mutex::default(),
        }
    }

    /// Scans the repositories that were not scanned yet, several at a time.
    pub fn scan(&self, repositories: &[Arc<ImageRepository>], progress: Progress<'_>) {
        let mut new: Vec<&Arc<ImageRepository>> = Vec::new();
        let mut by_name: HashMap<ObjectName, Vec<&Arc<ImageRepository>>> = HashMap::new();
        for repository in repositories.iter().filter(|repository| self.tags(repository).is_none()) {
            let namesakes = by_name.entry(repository.name()).or_default();
            if !namesakes.contains(&repository) {
                namesakes.push(repository);
                new.push(repository);
            }
        }
        let done = AtomicUsize::new(0);
        each(&new, |repository| {
            let tags = self.scanner.tags(repository, &self.objects).map(Arc::new);
            let mut scanned = self.scanned.lock();
            let namesakes = scanned.entry(repository.name()).or_default();
            namesakes.push((Arc::clone(repository), tags));
            drop(scanned);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, new.len());
        });
    }

    /// Where a tag's image was built from, for a policy.
    pub fn origin(&self, policy: &ImagePolicy, repository: &ImageRepository, tag: &str) -> Result<Origin, ScanError> {
        self.scanner.origin(policy, repository, &self.objects, tag)
    }

    /// The scan of a repository; none when it was not scanned with its current spec.
    #[must_use]
    pub fn tags(&self, repository: &ImageRepository) -> Option<Result<Arc<Tags>, ScanError>> {
        let scanned = self.scanned.lock();
        let mut namesakes = scanned.get(&repository.name())?.iter();
        let (_, tags) = namesakes.find(|(known, _)| **known == *repository)?;
        Some(tags.clone())
    }

    /// Successful scans, by the names of the repositories.
    #[must_use]
    pub fn scans(&self) -> Vec<Arc<Tags>> {
        let scanned = self.scanned.lock();
        scanned
            .values()
            .flatten()
            .filter_map(|(_, tags)| tags.as_ref().ok().cloned())
            .collect()
    }

    /// The image of each policy, in their order, from scanned repositories. Digests and ages are requested
    /// several at a time.
    ///
    /// # Errors
    /// In each place: why the policy has no image.
    pub fn choose(&self, policies: &[Asked<'_>]) -> Vec<Result<Chosen, NoImage>> {
        each(policies, |asked| choose(&self.scanner, asked, &self.objects, &self.now))
    }
}

/// Runs the work for all items on several threads; results are in the order of the items.
fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(place) else { return };
                    let result = work(item);
                    results.lock().push((place, result));
                }
            });
        }
    });
    let mut results = results.into_inner();
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}
