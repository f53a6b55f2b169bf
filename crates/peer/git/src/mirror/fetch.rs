//! A fetch: list, resolve, transfer what is missing, remember.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::layout::{Refs, bound};
use super::repository::Mirror;
use super::resolve::{Resolved, commit_of, prefixes};
use crate::pack::store::{PackStore, StoreError, StoredPack};
use crate::pack::unpack::UnpackError;
use crate::wire::conversation::{Conversation, ServerProtocol};
use crate::wire::listing::Listing;
use crate::wire::transfer::{Answer, Depth, Request, transfer};
use crate::{Also, Checkout, Fetched, GitError, ObjectId, Objects, RemoteRef, Tip, TransportError};
use bumpwright_budget::GateGuard;
use bumpwright_http::Deadline;
use bumpwright_text::Parts;

/// A transfer of fewer objects is never out of proportion.
const SMALL: u64 = 5_000;

/// How many ancestors of each tip are offered as common ground.
const ANCESTORS: usize = 16;

/// How many commits are offered at most.
const MAX_HAVES: usize = 256;

/// Interval at which a run that waits for another transfer checks whether its job is cancelled.
const STEP: Duration = Duration::from_secs(1);

/// Folder of the references to commits that no other reference leads to.
pub(crate) const PINS: &str = "refs/pins/";

impl Mirror {
    /// Resolves `checkout` and `also` at the remote, and fetches missing objects. One round trip when none are missing.
    ///
    /// # Errors
    /// [`GitError::RefNotFound`], [`GitError::NoTagMatches`], [`GitError::CommitNotFound`],
    /// [`GitError::EmptyRepository`], [`GitError::Transport`], [`GitError::Protocol`], [`GitError::Storage`].
    pub fn fetch(&self, checkout: &Checkout<'_>, also: &[Also]) -> Result<Fetched, GitError> {
        match self.fetch_once(checkout, also) {
            Err(GitError::Damaged(_)) => {
                self.state.mark_damaged();
                self.fetch_once(checkout, also)
            }
            other => other,
        }
    }

    fn fetch_once(&self, checkout: &Checkout<'_>, also: &[Also]) -> Result<Fetched, GitError> {
        let prefixes = prefixes(checkout, also)?;
        let deadline = self.until().unwrap_or_else(|| Deadline::after(self.timeout()));
        self.state.consolidate_if_due(&self.budget);
        let mut talk = Conversation::start(self.transport.as_ref(), &self.state.known, &prefixes)?;
        let listing = talk.list()?;
        let resolved = match checkout.resolve(&listing) {
            Err(GitError::RefNotFound { .. }) if talk.is_empty()? => Err(GitError::EmptyRepository),
            other => other,
        }?;
        let objects = self.state.objects(talk.hash())?.within(&self.budget, self.until());
        let wanted = WantedRefs::new(&resolved, &listing, also, &objects);
        let transferred = self.obtain(&mut talk, &objects, &wanted, deadline)?;
        talk.finish();
        let commit = objects.peel(resolved.object)?;
        let tree = objects.commit(commit)?.tree;
        objects.tree(tree)?;
        let also = also.iter().map(|other| {
            let listed = listing.find(&other.reference);
            RemoteRef {
                reference: other.reference.clone(),
                commit: listed.and_then(commit_of),
                object: listed.and_then(|listed| listed.id),
            }
        });
        let also = also.collect();
        Ok(Fetched {
            tip: Tip {
                reference: resolved.reference,
                commit,
                tree,
            },
            also,
            objects,
            transferred,
        })
    }

    /// Transfers missing objects, and sets the mirror's references to the remote's values.
    fn obtain(
        &self,
        talk: &mut Conversation<'_>,
        objects: &Objects,
        wanted: &WantedRefs,
        deadline: Deadline,
    ) -> Result<bool, GitError> {
        let layout = &self.state.layout;
        let refs = layout.refs(objects.hash());
        if wanted.missing(&refs).is_empty() {
            if wanted.differs(&refs) {
                self.remember(objects, wanted, &[], &[])?;
            }
            return Ok(false);
        }
        let _one = self.transfer_alone(deadline)?;
        // Another thread may just have fetched it.
        let refs = layout.refs(objects.hash());
        let missing = wanted.missing(&refs);
        if missing.is_empty() {
            self.remember(objects, wanted, &[], &[])?;
            return Ok(false);
        }
        let answer = self.transfer_missing(talk, objects, &refs, missing);
        let (stored, shallow, unshallow) = match (answer, &wanted.bare) {
            (Err(error), Some(bare)) if is_refusal(&error) => {
                self.transfer_branch(talk, objects, &refs, bare, error)?
            }
            (answer, _) => answer?,
        };
        if let Some(id) = wanted.fetch.values().find(|id| !objects.contains(**id)) {
            return Err(GitError::protocol(format!(
                "the server did not send {id}, which it was asked for"
            )));
        }
        self.remember(objects, wanted, &shallow, &unshallow)?;
        stored.release()?;
        Ok(true)
    }

    /// Waits until no other thread transfers.
    fn transfer_alone(&self, deadline: Deadline) -> Result<GateGuard<'_>, GitError> {
        loop {
            // In short steps, so that a cancelled job stops waiting.
            match self.state.transferring.enter(deadline.left().min(STEP)) {
                Some(inside) => return Ok(inside),
                None if deadline.passed() => {
                    return Err(GitError::Busy {
                        limit: deadline.limit(),
                    });
                }
                None => {}
            }
        }
    }

    /// One transfer, or two when the first turns out to be too large.
    fn transfer_missing(
        &self,
        talk: &mut Conversation<'_>,
        objects: &Objects,
        refs: &Refs,
        want: BTreeSet<ObjectId>,
    ) -> Result<Transferred, GitError> {
        let shallow = self.state.layout.shallow(objects.hash())?;
        let have = common_ground(refs, &shallow, objects)?;
        let mut request = Request {
            want,
            have,
            shallow,
            depth: Depth::Missing,
            object_limit: None,
        };
        if !self.state.options.shallow {
            if !request.shallow.is_empty() {
                request.depth = Depth::Everything;
            }
        } else if request.have.is_empty() || self.state.tips_only.load(Ordering::Relaxed) {
            request.depth = Depth::TipOnly;
        } else {
            request.object_limit = Some(SMALL.max(objects.count()?));
        }
        match self.transfer_once(talk, objects, &request)? {
            Answer::Pack {
                taken,
                shallow,
                unshallow,
            } => return Ok((taken, shallow, unshallow)),
            Answer::Unrelated => {}
            Answer::OutOfProportion => {
                self.state.tips_only.store(true, Ordering::Relaxed);
                self.state.layout.mark_tips_only()?;
                talk.reconnect()?;
            }
        }
        (request.depth, request.object_limit) = (Depth::TipOnly, None);
        self.insist(talk, objects, &request)
    }

    /// For a commit that the server does not send by its id: the whole history of the branch that should contain it.
    /// Version 2 sends every commit that it has, so there the refusal is final.
    fn transfer_branch(
        &self,
        talk: &mut Conversation<'_>,
        objects: &Objects,
        refs: &Refs,
        bare: &BareCommit,
        refusal: GitError,
    ) -> Result<Transferred, GitError> {
        let not_found = || GitError::CommitNotFound {
            id: bare.id.to_string(),
            detail: refusal.to_string(),
        };
        let (ServerProtocol::V0(..), Some((_, tip))) = (talk.speaks(), &bare.branch) else {
            return Err(not_found());
        };
        talk.reconnect()?;
        let shallow = self.state.layout.shallow(objects.hash())?;
        let have = common_ground(refs, &shallow, objects)?;
        let want = BTreeSet::from([*tip]);
        let depth = if shallow.is_empty() {
            Depth::Missing
        } else {
            Depth::Everything
        };
        let fetched = self.insist(
            talk,
            objects,
            &Request {
                want,
                have,
                shallow,
                depth,
                object_limit: None,
            },
        )?;
        if objects.contains(bare.id) {
            Ok(fetched)
        } else {
            Err(not_found())
        }
    }

    /// The commits whose parents the mirror does not have.
    pub(crate) fn edge(&self, hash: gix::hash::Kind) -> Result<BTreeSet<ObjectId>, GitError> {
        self.state.layout.shallow(hash)
    }

    /// Fetches the history of `tip`, which is there, up to `depth` commits on each line of it.
    pub(crate) fn deepen(&self, objects: &Objects, tip: ObjectId, depth: u32) -> Result<(), GitError> {
        let deadline = self.until().unwrap_or_else(|| Deadline::after(self.timeout()));
        let mut talk = Conversation::start(self.transport.as_ref(), &self.state.known, &[])?;
        let _one = self.transfer_alone(deadline)?;
        let refs = self.state.layout.refs(objects.hash());
        let shallow = self.state.layout.shallow(objects.hash())?;
        let request = Request {
            want: BTreeSet::from([tip]),
            have: common_ground(&refs, &shallow, objects)?,
            shallow,
            depth: Depth::Commits(depth),
            object_limit: None,
        };
        let (stored, shallow, unshallow) = self.insist(&mut talk, objects, &request)?;
        talk.finish();
        self.remember(objects, &WantedRefs::default(), &shallow, &unshallow)?;
        stored.release()
    }

    fn insist(
        &self,
        talk: &mut Conversation<'_>,
        objects: &Objects,
        request: &Request,
    ) -> Result<Transferred, GitError> {
        match self.transfer_once(talk, objects, request)? {
            Answer::Pack {
                taken,
                shallow,
                unshallow,
            } => Ok((taken, shallow, unshallow)),
            Answer::Unrelated | Answer::OutOfProportion => Err(GitError::protocol("the server sends no pack")),
        }
    }

    fn transfer_once(
        &self,
        talk: &mut Conversation<'_>,
        objects: &Objects,
        request: &Request,
    ) -> Result<Answer<StoredPack>, GitError> {
        self.state.grown.store(true, Ordering::Relaxed);
        let (folder, job) = (self.state.layout.packs(), self.job());
        let storing = PackStore {
            folder: &folder,
            bases: (!request.have.is_empty()).then_some(objects),
            hash: objects.hash(),
            job: &job,
            until: self.until(),
        };
        transfer(talk, request, |pack| {
            storing.store(pack).map_err(|error| self.blame(error, objects))
        })
    }

    /// Decides who is at fault when a pack cannot be stored: only a mirror without its promised objects is discarded.
    fn blame(&self, error: StoreError, objects: &Objects) -> GitError {
        let refs = self.state.layout.refs(objects.hash());
        match &error {
            StoreError::Pack(UnpackError::MissingBase(_)) if !objects.are_whole(refs.values()) => {
                GitError::damaged(error.to_string())
            }
            _ => error.into(),
        }
    }

    /// Writes boundaries, then references: the pack is in place already.
    fn remember(
        &self,
        objects: &Objects,
        wanted: &WantedRefs,
        shallow: &[ObjectId],
        unshallow: &[ObjectId],
    ) -> Result<(), GitError> {
        let layout = &self.state.layout;
        let _update = layout.lock_update()?;
        if !shallow.is_empty() || !unshallow.is_empty() {
            let mut boundary = layout.shallow(objects.hash())?;
            boundary.retain(|id| !unshallow.contains(id));
            boundary.extend(shallow);
            layout.write_shallow(&boundary)?;
        }
        let mut refs = layout.refs(objects.hash());
        wanted.apply(&mut refs);
        bound(&mut refs, |name| wanted.fetch.contains_key(name));
        layout.write_refs(&refs)
    }
}

/// A pack in place, new boundaries, obsolete boundaries.
type Transferred = (StoredPack, Vec<ObjectId>, Vec<ObjectId>);

/// A commit that the user named.
struct BareCommit {
    id: ObjectId,
    branch: Option<(String, ObjectId)>,
}

/// The values that the mirror's references should have after the fetch.
#[derive(Default)]
struct WantedRefs {
    /// Values to fetch, with their objects.
    fetch: BTreeMap<String, ObjectId>,
    /// References that the remote does not have.
    gone: Vec<String>,
    bare: Option<BareCommit>,
}

impl WantedRefs {
    fn new(resolved: &Resolved, listing: &Listing, also: &[Also], objects: &Objects) -> Self {
        let mut wanted = Self {
            fetch: BTreeMap::new(),
            gone: Vec::new(),
            bare: None,
        };
        if resolved.bare {
            wanted.bare = Some(BareCommit {
                id: resolved.object,
                branch: resolved.branch.clone(),
            });
            // Every pack contains a commit's whole tree, so a present commit is usable.
            if !objects.contains(resolved.object) {
                let pin = format!("{PINS}{}", resolved.object);
                wanted.fetch.insert(pin, resolved.object);
            }
        } else {
            wanted.fetch.insert(resolved.reference.clone(), resolved.object);
        }
        for other in also {
            match listing.find(&other.reference).and_then(|listed| listed.id) {
                Some(id) if other.fetch => {
                    wanted.fetch.insert(other.reference.clone(), id);
                }
                Some(_) => {}
                None => wanted.gone.push(other.reference.clone()),
            }
        }
        wanted
    }

    /// A value counts as present only when a reference of the mirror has it: then its boundaries are written too.
    fn missing(&self, refs: &Refs) -> BTreeSet<ObjectId> {
        let held = |id: &ObjectId| refs.values().any(|held| held == id);
        self.fetch.values().copied().filter(|id| !held(id)).collect()
    }

    fn differs(&self, refs: &Refs) -> bool {
        self.fetch.iter().any(|(name, id)| refs.get(name) != Some(id))
            || self.gone.iter().any(|name| refs.contains_key(name))
    }

    fn apply(&self, refs: &mut Refs) {
        for name in &self.gone {
            refs.remove(name);
        }
        refs.extend(self.fetch.iter().map(|(name, id)| (name.clone(), *id)));
    }
}

/// Commits that the mirror has with all history up to the boundaries: all tips, then their first parents,
/// generation by generation, so that a branch that was reset still has common ground.
fn common_ground(refs: &Refs, shallow: &BTreeSet<ObjectId>, objects: &Objects) -> Result<Vec<ObjectId>, GitError> {
    let tips: BTreeSet<ObjectId> = refs.values().map(|id| objects.peel(*id)).collect::<Result<_, _>>()?;
    let mut have: Vec<ObjectId> = tips.into_iter().collect();
    let mut commits: BTreeSet<ObjectId> = have.iter().copied().collect();
    let mut start = 0;
    for _ in 0..ANCESTORS {
        let generation: Vec<ObjectId> = have.tail(start).to_vec();
        start = have.len();
        for id in generation {
            let parent = if shallow.contains(&id) {
                None
            } else {
                objects.commit(id)?.parents.first().copied()
            };
            if let Some(parent) = parent.filter(|parent| have.len() < MAX_HAVES && commits.insert(*parent)) {
                have.push(parent);
            }
        }
    }
    Ok(have)
}

/// True when the server has no such object or does not send it by its id (git, JGit).
fn is_refusal(error: &GitError) -> bool {
    let (GitError::Protocol(words) | GitError::Transport(TransportError::Remote { detail: words, .. })) = error else {
        return false;
    };
    ["not our ref", "not valid", "unadvertised object"]
        .iter()
        .any(|part| words.contains(part))
}
