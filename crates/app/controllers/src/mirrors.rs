//! Mirrors of remotes in the storage folder, one for each identity at a remote (`git/src/identity.rs`), shared by all
//! objects with that identity.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;

use super::mirror_uses::{MirrorUses, Owner};
use super::request_metrics::{CountedTransport, GitCounters};
use bumpwright_api::ObjectName;
use bumpwright_budget::Budgets;
use bumpwright_git::{
    Connection, GitError, IdentityKey, Mirror, MirrorAtRest, MirrorOptions, Objects, Protocol, Remote, Service,
    Transport, TransportError, discard, mirrors_in, open, private_folder, size_on_disk,
};
use bumpwright_http::Deadline;
use bumpwright_runtime::{blocking, clock};
use bumpwright_update::{Index, Lanes, Place};

/// Number of open mirrors; beyond it unused ones are closed, and stay on disk. An open mirror takes a tenth of a
/// megabyte and its index; opening it is quick.
const MOST: usize = 8;

#[derive(Debug)]
pub(crate) struct Mirrors {
    folder: PathBuf,
    options: MirrorOptions,
    counters: GitCounters,
    fetches: Budgets,
    /// Limit on disk space, in bytes.
    most: u64,
    key: OnceLock<IdentityKey>,
    open: Mutex<HashMap<String, Arc<Slot>>>,
    uses: Mutex<MirrorUses>,
}

/// An open mirror, or one being opened; opening does not block other mirrors.
type Slot = Mutex<Option<Opened>>;

#[derive(Clone)]
struct Opened {
    mirror: MirrorAtRest,
    index: Arc<Index>,
    lanes: Arc<Lanes>,
}

impl Opened {
    /// Returns whether it is in use: opening the folder a second time meanwhile would fetch twice.
    fn is_used(&self) -> bool {
        self.mirror.is_used() || Arc::strong_count(&self.index) > 1
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opened")
    }
}

/// Returns whether it is unused.
fn is_idle(slot: &Arc<Slot>) -> bool {
    Arc::strong_count(slot) == 1 && !slot.lock().as_ref().is_some_and(Opened::is_used)
}

/// Why a remote has no mirror.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MirrorError {
    /// The settings of the connection are invalid.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The folder of mirrors cannot be used.
    #[error("{}: {cause}", .folder.display())]
    Folder { folder: PathBuf, cause: io::Error },
    /// The mirror cannot be opened.
    #[error(transparent)]
    Mirror(#[from] GitError),
}

impl Mirrors {
    /// Mirrors below the storage folder, with counted requests; `shallow` ones fetch tips without history. All together
    /// may take `most` bytes on disk.
    pub(crate) fn new(storage: &Path, shallow: bool, counters: GitCounters, fetches: Budgets, most: u64) -> Self {
        Self {
            folder: storage.join("mirrors"),
            options: MirrorOptions { shallow },
            counters,
            fetches,
            most,
            key: OnceLock::new(),
            open: Mutex::default(),
            uses: Mutex::default(),
        }
    }

    /// The mirror of a remote, for reading only.
    pub(crate) fn mirror(&self, remote: &Remote, owner: &Owner) -> Result<Arc<Mirror>, MirrorError> {
        self.place(remote, owner).map(|place| place.mirror)
    }

    /// The mirror of a remote with its connection settings, within the budget of the owner's namespace. Each run has a
    /// transport of its own, and the mirror is used only once the server has accepted its credentials.
    pub(crate) fn place(&self, remote: &Remote, owner: &Owner) -> Result<Place, MirrorError> {
        let transport = Arc::new(CountedTransport {
            inner: open(remote)?,
            counters: self.counters.clone(),
        });
        let name = remote.mirror_name(self.key()?);
        // Recorded before it is opened, so that it is not removed meanwhile.
        self.uses.lock().used(owner, &name, Instant::now());
        let opened = self.opened(&name)?;
        let mirror = opened.mirror.with_transport(transport);
        Ok(Place {
            mirror: Arc::new(mirror.within(self.fetches.of(&owner.name.namespace))),
            index: opened.index,
            lanes: opened.lanes,
            now: || clock::now().unix_seconds(),
        })
    }

    /// What the mirrors have that an object has used, for a look at it: nothing is fetched, and what
    /// is missing stays missing.
    pub(crate) fn look(&self, owner: &Owner, until: Deadline) -> Vec<Objects> {
        let used = self.uses.lock().of(owner);
        let budget = self.fetches.of(&owner.name.namespace);
        let existing = used.iter().filter(|name| self.folder.join(name).is_dir());
        let looked = existing.filter_map(|name| {
            let opened = self.opened(name).ok()?;
            opened.mirror.look(&budget, until).ok()?
        });
        looked.collect()
    }

    /// The mirror of this name, opened unless it is open.
    fn opened(&self, name: &str) -> Result<Opened, MirrorError> {
        let slot = self.slot(name);
        let mut opened = slot.lock();
        if let Some(opened) = opened.as_ref() {
            return Ok(opened.clone());
        }
        let mirror = Mirror::open(&self.folder, name, Arc::new(Offline), self.options);
        let fresh = Opened {
            mirror: mirror?.at_rest(),
            index: Arc::new(Index::open(&self.folder.join(format!("{name}.index")))),
            lanes: Arc::default(),
        };
        *opened = Some(fresh.clone());
        Ok(fresh)
    }

    /// Returns whether an object uses any mirror.
    fn knows(&self, owner: &Owner) -> bool {
        !self.uses.lock().of(owner).is_empty()
    }

    /// Updates the sizes of an object's mirrors.
    fn settled(&self, owner: &Owner) {
        let used = self.uses.lock().of(owner);
        for name in used {
            let size = size_on_disk(&self.folder, &name);
            self.uses.lock().sized(&name, size);
        }
        let going = self.uses.lock().too_many(self.most);
        self.remove(going);
    }

    /// Removes a deleted object, and mirrors that only it has used.
    fn left(&self, owner: &Owner) {
        let used = self.uses.lock().of(owner);
        self.uses.lock().left(owner);
        let going = self.uses.lock().unused(&used.into_iter().collect(), Instant::now());
        self.remove(going);
    }

    /// Updates the sizes of mirrors after a reconciliation.
    pub(crate) async fn measure(self: &Arc<Self>, kind: &'static str, name: &ObjectName) {
        let (mirrors, owner) = (Arc::clone(self), Owner::new(kind, name.clone()));
        if mirrors.knows(&owner) {
            let _ = blocking::run(move || mirrors.settled(&owner)).await;
        }
    }

    /// Removes the mirrors of a deleted object.
    pub(crate) async fn forget(self: &Arc<Self>, kind: &'static str, name: &ObjectName) {
        let (mirrors, owner) = (Arc::clone(self), Owner::new(kind, name.clone()));
        if mirrors.knows(&owner) {
            // Failures are retried by the next cleanup.
            let _ = blocking::run(move || mirrors.left(&owner)).await;
        }
    }

    /// Removes unused mirrors, including those of earlier processes.
    pub(crate) fn tidy(&self) {
        let on_disk: BTreeSet<String> = mirrors_in(&self.folder).into_iter().collect();
        let going = self.uses.lock().unused(&on_disk, Instant::now());
        self.remove(going);
    }

    /// Mirrors in use are kept until the next cleanup.
    fn remove(&self, names: Vec<String>) {
        for name in names {
            let mut open = self.open.lock();
            if open.get(&name).is_some_and(|slot| !is_idle(slot)) {
                continue;
            }
            open.remove(&name);
            if discard(&self.folder, &name) {
                self.uses.lock().removed(&name);
            }
        }
    }

    fn slot(&self, name: &str) -> Arc<Slot> {
        let mut open = self.open.lock();
        if open.len() >= MOST && !open.contains_key(name) {
            open.retain(|_, slot| !is_idle(slot));
        }
        Arc::clone(open.entry(name.to_owned()).or_default())
    }

    /// The key of the folder, which exists by now.
    fn key(&self) -> Result<&IdentityKey, MirrorError> {
        let failed = |cause| MirrorError::Folder {
            folder: self.folder.clone(),
            cause,
        };
        private_folder(&self.folder).map_err(failed)?;
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = IdentityKey::of_tenants(&self.folder).map_err(failed)?;
        Ok(self.key.get_or_init(|| key))
    }
}

/// For mirrors at rest.
struct Offline;

impl Transport for Offline {
    fn connect(&self, service: Service, _: Protocol) -> Result<Box<dyn Connection>, TransportError> {
        Err(TransportError::Connect {
            url: String::new(),
            detail: format!("{} is asked with the transport of a run alone", service.name()),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_api::ObjectName;
    use bumpwright_budget::Memory;
    use bumpwright_git::RemoteUrl;

    fn remote(number: usize) -> Remote {
        Remote::new(RemoteUrl::parse(&format!("https://git.example.com/fleet-{number}.git")).unwrap())
    }

    fn owner(number: usize) -> Owner {
        Owner::new("GitRepository", ObjectName::new("apps", format!("fleet-{number}")))
    }

    fn mirrors(storage: &Path) -> Mirrors {
        let budgets = Budgets::new(Memory::single(1 << 20, "--fetch-memory"), 10, 10);
        let counters = GitCounters::of(&bumpwright_runtime::Metrics::new());
        Mirrors::new(storage, true, counters, budgets, u64::MAX)
    }

    fn is_open(mirrors: &Mirrors, number: usize) -> bool {
        let name = remote(number).mirror_name(mirrors.key().unwrap());
        mirrors.open.lock().contains_key(&name)
    }

    #[test]
    fn few_stay_open_besides_those_that_somebody_uses() {
        let storage = tempfile::tempdir().unwrap();
        let mirrors = mirrors(storage.path());
        let read = mirrors.mirror(&remote(0), &owner(0)).unwrap();
        let run = mirrors.place(&remote(1), &owner(1)).unwrap();
        for number in 2..10 * MOST {
            mirrors.place(&remote(number), &owner(number)).unwrap();
        }
        assert!(is_open(&mirrors, 0), "its objects are read");
        assert!(is_open(&mirrors, 1), "a run is at it");
        assert!(mirrors.open.lock().len() <= MOST);
        drop((read, run));
        for number in 2..=MOST {
            mirrors.place(&remote(number), &owner(number)).unwrap();
        }
        assert!(!is_open(&mirrors, 0) && !is_open(&mirrors, 1));
    }

    #[test]
    fn a_look_finds_what_was_fetched_and_makes_nothing() {
        let storage = tempfile::tempdir().unwrap();
        let mirrors = mirrors(storage.path());
        let look = |number| mirrors.look(&owner(number), Deadline::after(std::time::Duration::from_secs(9)));
        assert!(look(0).is_empty());
        assert!(!storage.path().join("mirrors").exists());
        // Its mirror has nothing before the first fetch.
        drop(mirrors.place(&remote(0), &owner(0)).unwrap());
        assert!(look(0).is_empty());
        assert!(look(1).is_empty());
    }

    #[test]
    fn what_no_object_uses_goes_from_the_disk() {
        let storage = tempfile::tempdir().unwrap();
        let folder = storage.path().join("mirrors");
        {
            let earlier = mirrors(storage.path());
            drop(earlier.place(&remote(0), &owner(0)).unwrap());
            drop(earlier.place(&remote(1), &owner(1)).unwrap());
        }
        assert_eq!(mirrors_in(&folder).len(), 2);
        let mirrors = mirrors(storage.path());
        let run = mirrors.place(&remote(1), &owner(1)).unwrap();
        mirrors.tidy();
        assert_eq!(mirrors_in(&folder), [remote(1).mirror_name(mirrors.key().unwrap())]);
        // Not while it is in use.
        mirrors.left(&owner(1));
        assert_eq!(mirrors_in(&folder).len(), 1);
        drop(run);
        mirrors.tidy();
        assert_eq!(mirrors_in(&folder), Vec::<String>::new());
    }
}
