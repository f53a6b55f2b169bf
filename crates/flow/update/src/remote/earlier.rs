//! Previews of a queue one after the other: each starts from what the earlier ones would have pushed, as
//! the real runs do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::base::{Base, short};
use crate::error::RunError;
use crate::folder::rewrite::FileChange;
use crate::job::destination::{Target, Value, is_review};
use crate::job::remote_job::{RemoteJob, Start};
use crate::report::run::Run;
use bumpwright_git::{Also, Fetched, GitError, Mirror, NewObjects, ObjectId, RemoteRef, Tip};

/// The results of the earlier previews of a queue.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// The run at hand, by its place among the jobs.
    run: usize,
    /// The references that the remote would have.
    references: BTreeMap<String, Moved>,
    /// The trees and files of those runs.
    objects: Option<NewObjects>,
    /// The runs with a change for review, which stands by itself.
    in_review: BTreeSet<usize>,
    /// The runs whose files no reference would hold at the end.
    superseded: BTreeSet<usize>,
    /// What there is to say about runs.
    notes: Vec<(usize, String)>,
    /// The latest fetch: previews of one queue mostly ask for the same.
    fetched: Option<Latest>,
}

/// A reference that earlier runs would have moved.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Moved {
    /// The commit of the remote below theirs.
    base: ObjectId,
    /// The tree of the last commit.
    tree: ObjectId,
    /// The runs whose commits are in it.
    runs: Vec<usize>,
}

/// A fetch and what it was for.
#[derive(Debug)]
struct Latest {
    mirror: Arc<Mirror>,
    start: (Start, Option<String>),
    also: Vec<Also>,
    fetched: Fetched,
}

impl Earlier {
    /// Begins another run. A real one has changed the remote: previews after it start from there.
    pub(crate) fn begin(&mut self, run: usize, is_preview: bool) {
        self.run = run;
        if !is_preview {
            self.references.clear();
            self.objects = None;
            self.fetched = None;
        }
    }

    /// The latest fetch again, if it was the same.
    pub(crate) fn same_fetch(&self, job: &RemoteJob, mirror: &Arc<Mirror>, also: &[Also]) -> Option<Fetched> {
        let latest = self.fetched.as_ref()?;
        let is_same = Arc::ptr_eq(&latest.mirror, mirror)
            && latest.start.0 == job.start
            && latest.start.1 == job.branch
            && latest.also == also;
        is_same.then(|| latest.fetched.clone())
    }

    /// Remembers a fetch of a preview.
    pub(crate) fn keep_fetch(&mut self, job: &RemoteJob, mirror: &Arc<Mirror>, also: &[Also], fetched: &Fetched) {
        self.fetched = job.edits.dry_run.then(|| Latest {
            mirror: Arc::clone(mirror),
            start: (job.start.clone(), job.branch.clone()),
            also: also.to_vec(),
            fetched: fetched.clone(),
        });
    }

    /// The start of a run from a branch that only exists because an earlier run would have created it.
    pub(crate) fn unborn(&self, job: &RemoteJob, mirror: &Arc<Mirror>, also: &[Also]) -> Option<Fetched> {
        let latest = self
            .fetched
            .as_ref()
            .filter(|latest| Arc::ptr_eq(&latest.mirror, mirror))?;
        let (tip, _) = self.tip(&job.start_branch().filter(|_| job.starts_at_tip())?)?;
        let listed = |also: &Also| {
            let known = latest
                .fetched
                .also
                .iter()
                .find(|known| known.reference == also.reference);
            known.cloned().unwrap_or_else(|| RemoteRef {
                reference: also.reference.clone(),
                commit: None,
                object: None,
            })
        };
        Some(Fetched {
            tip,
            also: also.iter().map(listed).collect(),
            ..latest.fetched.clone()
        })
    }

    /// Forgets the fetch, which may be the cause of a failure.
    pub(crate) fn forget_fetch(&mut self) {
        self.fetched = None;
    }

    /// Puts the results of earlier runs over a fetch. Returns the runs that its tip has then.
    pub(crate) fn put_over(&self, job: &RemoteJob, fetched: &mut Fetched) -> Result<Vec<usize>, GitError> {
        let Some(objects) = &self.objects else {
            return Ok(Vec::new());
        };
        fetched.objects = fetched.objects.with(objects)?;
        for also in &mut fetched.also {
            if let Some(moved) = self.references.get(&also.reference) {
                also.commit = Some(moved.base);
                also.object = Some(moved.base);
            }
        }
        if !job.starts_at_tip() {
            return Ok(Vec::new());
        }
        Ok(match self.tip(&fetched.tip.reference) {
            Some((tip, runs)) => {
                fetched.tip = tip;
                runs
            }
            None => Vec::new(),
        })
    }

    /// The tip of a reference that earlier runs would have moved, and the runs that it has.
    pub(crate) fn tip(&self, reference: &str) -> Option<(Tip, Vec<usize>)> {
        let moved = self.references.get(reference)?;
        let tip = Tip {
            reference: reference.to_owned(),
            commit: moved.base,
            tree: moved.tree,
        };
        Some((tip, moved.runs.clone()))
    }

    /// Moves the references as the push of this run would.
    pub(crate) fn land(&mut self, job: &RemoteJob, base: &Base, files: &[FileChange]) -> Result<(), RunError> {
        let contents = files.iter().map(|file| (file.path.clone(), file.new.clone())).collect();
        let Fetched { tip, objects, .. } = &base.fetched;
        let (tree, new) = objects
            .write_edits(tip.tree, &contents)
            .map_err(|source| job.read_failed(source))?;
        match &mut self.objects {
            Some(objects) => objects.append(new),
            None => self.objects = Some(new),
        }
        let made = Moved {
            base: tip.commit,
            tree,
            runs: base.earlier.iter().copied().chain([self.run]).collect(),
        };
        let checked_out = Moved {
            base: tip.commit,
            tree: tip.tree,
            runs: base.earlier.clone(),
        };
        for target in base.destinations.branch.iter().chain(&base.destinations.specs) {
            if is_review(&target.reference) && base.listed(&target.reference).is_none() {
                self.in_review.insert(self.run);
                continue;
            }
            let moved = match target.value {
                Value::New => &made,
                Value::Tip => &checked_out,
            };
            self.push(job, target, moved.clone());
        }
        self.supersede([self.run]);
        Ok(())
    }

    /// Moves one reference, unless the server would refuse.
    fn push(&mut self, job: &RemoteJob, target: &Target, moved: Moved) {
        let Some(old) = self.references.get(&target.reference).cloned() else {
            self.references.insert(target.reference.clone(), moved);
            return;
        };
        let name = short(&target.reference);
        if old.runs.iter().all(|run| moved.runs.contains(run)) {
            self.references.insert(target.reference.clone(), moved);
        } else if is_same_commit(&old, &moved) {
            // The run finds the commit of the earlier one, and pushes nothing (C30).
        } else if target.force {
            let own = job.edits.automation.as_deref().unwrap_or("a later run");
            let note = format!(
                "{own} would replace this commit on {name}, since it does not start from there: give each a push branch of its own"
            );
            self.references.insert(target.reference.clone(), moved);
            let gone = self.supersede(old.runs);
            self.notes.extend(gone.into_iter().map(|run| (run, note.clone())));
        } else {
            let note = format!(
                "{name} would not take this commit after that of an earlier automation (non-fast-forward update): give each a \
                 destination of its own"
            );
            self.notes.push((self.run, note));
        }
    }

    /// Those of `runs` whose commits no reference holds any more.
    fn supersede(&mut self, runs: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let held: BTreeSet<usize> = self
            .references
            .values()
            .flat_map(|moved| &moved.runs)
            .copied()
            .collect();
        let is_gone = |run: &usize| !held.contains(run) && !self.in_review.contains(run);
        let gone: Vec<usize> = runs.into_iter().filter(is_gone).collect();
        self.superseded.extend(&gone);
        gone
    }

    /// Completes the report of a run, after the last one of the queue.
    pub(crate) fn complete(&self, n: usize, run: &mut Run) {
        run.superseded = self.superseded.contains(&n);
        let own = self.notes.iter().filter(|(of, _)| *of == n);
        run.notes.extend(own.map(|(_, note)| note.clone()));
    }
}

/// Whether two runs make commits with the same parent and tree, of which the second is not made.
fn is_same_commit(old: &Moved, new: &Moved) -> bool {
    old.base == new.base && old.tree == new.tree && old.runs.len() == 1 && new.runs.len() == 1
}
