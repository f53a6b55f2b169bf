//! The bare repository that stands for one remote.
//!
//! A transfer is written in this order: pack, `shallow`, `packed-refs`. A reference promises that its commit, the
//! commit's tree and all history up to the boundaries are present, so an interruption leaves unreachable objects, never
//! a broken promise. Two file locks: `lease.lock` is held shared by readers of objects and exclusively by those that
//! drop some; `update.lock` is held while `shallow` and `packed-refs` are changed. After damage (anything missing or
//! unreadable) the next access starts with an empty folder.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gix::hash::Kind as Hash;
use gix::odb::Store;
use gix::odb::store::init::{Options as StoreOptions, Slots};
use parking_lot::Mutex;

use super::layout::{Identity, Layout, make_folder};
use super::lock::FileLock;
use crate::pack::store::PackStore;
use crate::wire::conversation::KnownServer;
use crate::wire::send::KnownReceiver;
use crate::{GitError, Objects, Pack, Transport};
use bumpwright_budget::{Budget, Gate, Job};
use bumpwright_http::Deadline;

/// Slots for packs in the object store, which cost memory in each mirror; consolidation keeps far below.
const PACK_SLOTS: u16 = 1024;

/// Options of a mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MirrorOptions {
    /// Fetch tips without their history (gate `GitShallowClone`).
    pub shallow: bool,
}

impl Default for MirrorOptions {
    fn default() -> Self {
        Self { shallow: true }
    }
}

/// Why a mirror cannot be opened, as the store of the mirrors says.
pub type OpenError = Box<dyn std::error::Error + Send + Sync>;

/// A bare repository in a storage folder, for one remote. One value serves several threads; several processes may use
/// the same folder. It is a cache: when it is damaged it is rebuilt from the remote.
pub struct Mirror {
    pub(crate) state: Arc<MirrorState>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) budget: Budget,
    /// The shared budget of its fetches, when they are parts of one job.
    job: Option<Arc<Job>>,
    until: Option<Deadline>,
}

/// State that the mirrors of one folder share in this process.
pub(crate) struct MirrorState {
    pub(crate) layout: Layout,
    pub(crate) options: MirrorOptions,
    pub(crate) known: KnownServer,
    pub(crate) receiver: KnownReceiver,
    /// Only one thread transfers at a time: the others find its objects.
    pub(crate) transferring: Gate,
    /// With this repository's history [`crate::wire::transfer::Depth::Missing`] transfers too much.
    pub(crate) tips_only: AtomicBool,
    /// Packs were added since they were last counted.
    pub(crate) grown: AtomicBool,
    opened: Mutex<Option<OpenPacks>>,
}

/// The packs of one creation of the folder.
#[derive(Clone)]
struct OpenPacks {
    store: Arc<Store>,
    identity: Identity,
    /// Something in it is missing or unreadable. Belongs to this creation: a reader of an older one cannot cause the
    /// removal of a fresh mirror.
    damaged: Arc<AtomicBool>,
}

/// A mirror without a transport: it keeps its state, and no connection with its buffers and credentials.
#[derive(Clone)]
pub struct MirrorAtRest(Arc<MirrorState>);

impl MirrorAtRest {
    /// The mirror, with this transport.
    #[must_use]
    pub fn with_transport(&self, transport: Arc<dyn Transport>) -> Mirror {
        Mirror {
            state: Arc::clone(&self.0),
            transport,
            budget: Budget::default(),
            job: None,
            until: None,
        }
    }

    /// The objects that the mirror has, for a look at them: nothing is fetched, and a missing one is not damage. None
    /// before the first fetch.
    ///
    /// # Errors
    /// [`GitError::Storage`]
    pub fn look(&self, budget: &Budget, until: Deadline) -> Result<Option<Objects>, GitError> {
        let Some(found) = self.0.layout.identity() else {
            return Ok(None);
        };
        let objects = self.0.objects(found.hash)?;
        Ok(Some(objects.looked_at().within(budget, Some(until))))
    }

    /// Whether there is a mirror with a transport, or another one at rest.
    #[must_use]
    pub fn is_used(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl std::fmt::Debug for MirrorAtRest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MirrorAtRest").field(&self.0.layout.root()).finish()
    }
}

impl std::fmt::Debug for Mirror {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mirror")
            .field("path", &self.state.layout.root())
            .finish_non_exhaustive()
    }
}

impl Mirror {
    /// Opens or creates the mirror `key` (a plain file name) below `storage`.
    ///
    /// # Errors
    /// [`GitError::Storage`] when the folder cannot be used; [`GitError::Invalid`] for a key that is not a file name.
    pub fn open(
        storage: &Path,
        key: &str,
        transport: Arc<dyn Transport>,
        options: MirrorOptions,
    ) -> Result<Self, GitError> {
        if key.is_empty() || key.starts_with('.') || key.contains(['/', '\\', '\0']) {
            return Err(GitError::Invalid(format!(
                "\"{key}\" cannot name a mirror: it has to be a plain file name"
            )));
        }
        let layout = Layout::new(storage.join(key));
        make_folder(layout.root())?;
        // Housekeeping: leftovers do no harm.
        let _ = layout.tidy();
        let server = KnownServer::load(layout.root().join("server"));
        let state = MirrorState {
            options,
            known: server,
            receiver: KnownReceiver::default(),
            transferring: Gate::default(),
            tips_only: AtomicBool::new(layout.tips_only()),
            grown: AtomicBool::new(true),
            opened: Mutex::new(None),
            layout,
        };
        Ok(Self {
            state: Arc::new(state),
            transport,
            budget: Budget::default(),
            job: None,
            until: None,
        })
    }

    /// The same mirror, with a budget for its fetches.
    #[must_use]
    pub fn within(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// The same mirror for a part of a job: its fetches share the budget and deadline of the other parts.
    #[must_use]
    pub fn part_of(&self, job: &Arc<Job>, until: Option<Deadline>) -> Self {
        Self {
            state: Arc::clone(&self.state),
            transport: Arc::clone(&self.transport),
            budget: self.budget.clone(),
            job: Some(Arc::clone(job)),
            until,
        }
    }

    /// The budget of its fetches.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The job that a fetch counts towards.
    pub(crate) fn job(&self) -> Arc<Job> {
        let own = || Arc::new(self.budget.job());
        self.job.clone().unwrap_or_else(own)
    }

    /// The deadline of its fetches.
    pub(crate) fn until(&self) -> Option<Deadline> {
        self.until
    }

    /// The same mirror with other credentials. Facts about the server are shared.
    #[must_use]
    pub fn with_transport(&self, transport: Arc<dyn Transport>) -> Self {
        self.at_rest().with_transport(transport)
    }

    /// The objects that the mirror has, without a request; none before the first fetch.
    ///
    /// # Errors
    /// [`GitError::Storage`]
    pub fn objects(&self) -> Result<Option<Objects>, GitError> {
        let Some(found) = self.state.layout.identity() else {
            return Ok(None);
        };
        Ok(Some(self.state.objects(found.hash)?.within(&self.budget, self.until())))
    }

    /// The time limit of one conversation.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.transport.timeout()
    }

    /// The same mirror without its transport, for the next conversation.
    #[must_use]
    pub fn at_rest(&self) -> MirrorAtRest {
        MirrorAtRest(Arc::clone(&self.state))
    }

    /// Adds a pack of new objects to the mirror, for later runs and fetches. `objects` are those of the fetch on which
    /// they are built.
    ///
    /// # Errors
    /// [`GitError::Storage`], [`GitError::Damaged`].
    pub fn store(&self, objects: &Objects, pack: &Pack) -> Result<(), GitError> {
        self.state.grown.store(true, Ordering::Relaxed);
        let storing = PackStore {
            folder: &self.state.layout.packs(),
            bases: None,
            hash: objects.hash(),
            job: &self.budget.job(),
            until: None,
        };
        storing.store(&mut pack.bytes()).map_err(GitError::from)?.release()
    }
}

impl MirrorState {
    /// Access to the objects; the folder is created, or recreated when it is damaged or not a mirror of this format.
    pub(crate) fn objects(&self, hash: Hash) -> Result<Objects, GitError> {
        let root = self.layout.root();
        // The storage is a cache: it may have been emptied.
        make_folder(root)?;
        let lease = FileLock::shared(&self.layout.lease())?;
        let opened = self.open(hash)?;
        Ok(Objects::new(
            &opened.store,
            Some(lease),
            opened.damaged,
            self.layout.packs(),
        ))
    }

    /// As [`MirrorState::objects`], for holders of the exclusive lease.
    pub(crate) fn unlocked_objects(&self, hash: Hash) -> Result<Objects, GitError> {
        let opened = self.open(hash)?;
        Ok(Objects::new(&opened.store, None, opened.damaged, self.layout.packs()))
    }

    fn open(&self, hash: Hash) -> Result<OpenPacks, GitError> {
        let mut slot = self.opened.lock();
        let damaged = slot.as_ref().filter(|opened| opened.damaged.load(Ordering::Relaxed));
        let damaged = damaged.map(|opened| opened.identity.clone());
        let usable = |found: &Identity| found.hash == hash && damaged.as_ref() != Some(found);
        let found = self.layout.identity().filter(usable);
        if let (Some(opened), Some(found)) = (slot.as_ref(), &found)
            && opened.identity == *found
        {
            return Ok(opened.clone());
        }
        let identity = match found {
            Some(found) if self.layout.packs_are_whole(hash)? => found,
            _ => self.make(hash, usable)?,
        };
        let options = StoreOptions {
            slots: Slots::Given(PACK_SLOTS),
            use_multi_pack_index: false,
            ..Default::default()
        };
        let objects = self.layout.objects();
        let store = Store::at_opts(objects.clone(), hash, &mut std::iter::empty(), options);
        let store = Arc::new(store.map_err(GitError::storage("open", &objects))?);
        let opened = OpenPacks {
            store,
            identity,
            damaged: Arc::default(),
        };
        *slot = Some(opened.clone());
        Ok(opened)
    }

    /// Creates the folder, unless another process has just done so.
    fn make(&self, hash: Hash, usable: impl Fn(&Identity) -> bool) -> Result<Identity, GitError> {
        let _update = self.layout.lock_update()?;
        if let Some(found) = self.layout.identity().filter(usable)
            && self.layout.packs_are_whole(hash)?
        {
            return Ok(found);
        }
        self.layout.reset(hash)?;
        let root = self.layout.root();
        let vanished = || GitError::storage("use", root)(ErrorKind::NotFound.into());
        self.layout.identity().ok_or_else(vanished)
    }

    /// Discards the files; the next access starts with an empty mirror.
    pub(crate) fn mark_damaged(&self) {
        if let Some(opened) = self.opened.lock().as_ref() {
            opened.damaged.store(true, Ordering::Relaxed);
        }
    }

    /// Reopens the packs at the next access, after some were replaced.
    pub(crate) fn forget_store(&self) {
        *self.opened.lock() = None;
    }
}
