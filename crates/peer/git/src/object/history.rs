//! The commits that a commit descends from, newest first, as far as a mirror or a working repository has them. Where a
//! mirror ends, it fetches more, in steps, so that what is found early costs little.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashSet};

use crate::{CommitInfo, GitError, Mirror, ObjectId, Objects, Walk};

/// Commits that are fetched beyond those seen so far, at the first step.
const FIRST: u32 = 64;

/// How much deeper each further step is.
const GROWTH: u32 = 4;

/// A walk over the history of one commit. All lines of history are visited, ordered by the times of the commits; a
/// commit comes after one that descends from it, unless clocks were wrong.
#[derive(Debug)]
pub struct History<'a> {
    objects: &'a Objects,
    mirror: Option<&'a Mirror>,
    tip: ObjectId,
    /// How many commits are read at most.
    limit: u32,
    /// How deep the mirror was made.
    depth: u32,
    /// The commits whose parents are not there.
    edge: BTreeSet<ObjectId>,
    queue: BinaryHeap<(i64, Reverse<u32>, ObjectId)>,
    seen: HashSet<ObjectId>,
    visited: u32,
    is_cut: bool,
    /// Only what the branch itself was, one commit after the other.
    is_line: bool,
    walk: Walk,
}

/// One commit of a history.
#[derive(Debug)]
pub struct Visited {
    pub id: ObjectId,
    pub commit: CommitInfo,
    /// Its parents; none where the history at hand ends.
    pub parents: Vec<ObjectId>,
    /// How many commits were visited before it.
    pub place: u32,
    /// Whether all that is still to be visited are its ancestors.
    pub is_alone: bool,
}

impl<'a> History<'a> {
    /// The history of `tip` in a mirror, at most `limit` commits. `objects` are those of a fetch.
    pub fn of_mirror(mirror: &'a Mirror, objects: &'a Objects, tip: ObjectId, limit: u32) -> Result<Self, GitError> {
        let edge = mirror.edge(tip.kind())?;
        Self::new(objects, Some(mirror), tip, (limit, edge))
    }

    /// The history of `tip` in a repository that is only read: it ends at the commits of `edge`.
    pub fn of_repository(
        objects: &'a Objects,
        tip: ObjectId,
        edge: BTreeSet<ObjectId>,
        limit: u32,
    ) -> Result<Self, GitError> {
        Self::new(objects, None, tip, (limit, edge))
    }

    fn new(
        objects: &'a Objects,
        mirror: Option<&'a Mirror>,
        tip: ObjectId,
        (limit, edge): (u32, BTreeSet<ObjectId>),
    ) -> Result<Self, GitError> {
        let mut history = Self {
            objects,
            mirror,
            tip,
            limit,
            depth: 0,
            edge,
            queue: BinaryHeap::new(),
            seen: HashSet::new(),
            visited: 0,
            is_cut: false,
            is_line: false,
            walk: Walk::new("the history of the branch", objects),
        };
        history.push(tip)?;
        Ok(history)
    }

    /// The same along first parents only: what the branch itself was, one commit after the other, as long as
    /// nobody moved it otherwise.
    #[must_use]
    pub fn of_branch(self) -> Self {
        Self { is_line: true, ..self }
    }

    /// The next commit; none at the end, or when there were as many as wanted.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when a commit cannot be read, [`GitError::Exceeded`], [`GitError::Late`], and
    /// those of a fetch.
    pub fn step(&mut self) -> Result<Option<Visited>, GitError> {
        let Some((_, _, id)) = self.queue.pop() else {
            return Ok(None);
        };
        let is_alone = self.queue.is_empty();
        while self.edge.contains(&id) && self.deepen()? {}
        let commit = self.objects.commit(id)?;
        let mut parents = commit.parents.clone();
        if self.edge.contains(&id) {
            self.is_cut |= !parents.is_empty();
            parents.clear();
        }
        if self.is_line {
            parents.truncate(1);
        }
        for parent in &parents {
            self.push(*parent)?;
        }
        let place = self.visited;
        self.visited += 1;
        Ok(Some(Visited {
            id,
            commit,
            parents,
            place,
            is_alone,
        }))
    }

    /// Whether the repository at hand ends before its history does, as a shallow clone.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The account of the walk, for what is read besides the commits.
    pub fn walk(&mut self) -> &mut Walk {
        &mut self.walk
    }

    fn push(&mut self, id: ObjectId) -> Result<(), GitError> {
        let count = u32::try_from(self.seen.len()).unwrap_or(u32::MAX);
        if count >= self.limit || !self.seen.insert(id) {
            return Ok(());
        }
        self.walk.step(ENTRY)?;
        self.walk.read(self.objects.size(id)?)?;
        let seconds = self.objects.commit(id)?.seconds;
        self.queue.push((seconds, Reverse(count), id));
        Ok(())
    }

    /// Fetches more history; false when there is nobody to ask, or enough was fetched.
    fn deepen(&mut self) -> Result<bool, GitError> {
        // The parents of the last commit are read, too.
        let goal = self.limit.saturating_add(1);
        let Some(mirror) = self.mirror.filter(|_| self.depth < goal) else {
            return Ok(false);
        };
        // No less than is there: the server would move the edge closer.
        let wanted = self
            .depth
            .saturating_mul(GROWTH)
            .max(self.visited.saturating_add(FIRST));
        self.depth = wanted.min(goal);
        mirror.deepen(self.objects, self.tip, self.depth)?;
        self.edge = mirror.edge(self.tip.kind())?;
        Ok(true)
    }
}

/// Memory of a commit that was seen, in bytes.
const ENTRY: u64 = 128;
