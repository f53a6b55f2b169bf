//! How a commit gets to the references of a run: compare-and-swap at plain ones, changes at review servers.

use super::commit::Wanted;
use super::destination::{Destinations, Target, Value, is_review};
use super::error::RunError;
use super::job::RemoteJob;
use super::remote::Place;
use super::report::{PushReport, PushStatus};
use super::review::{Answer, Variant, links};
use bumpwright_git::{self as git, Fetched, GitError, ObjectId, Pack, Push, RefUpdate};

/// The commit to push, new or found at the remote.
pub(super) struct Made {
    pub(super) id: ObjectId,
    /// The objects to send; none when the remote has the commit already.
    pub(super) pack: Option<Pack>,
    /// Whether it carries a signature.
    pub(super) signed: bool,
    /// Its message: of a commit that was found, not the one that would be written now.
    pub(super) message: Vec<u8>,
}

/// What came of a run's pushes.
pub(super) struct Delivered {
    /// What has landed, also when the rest has not.
    pub(super) pushes: Vec<PushReport>,
    /// What servers said of it.
    pub(super) notes: Vec<String>,
    /// The variant of the commit that has to be made instead, when a review server wants one.
    pub(super) outcome: Result<Option<Variant>, RunError>,
}

/// One run's pushes, and what came of them so far.
struct Delivery<'a> {
    job: &'a RemoteJob,
    place: &'a Place,
    fetched: &'a Fetched,
    made: &'a Made,
    variant: Variant,
    pushes: Vec<PushReport>,
    notes: Vec<String>,
}

/// The branch first, then the refspecs in a push of their own (IUA-082), and changes one by one, since Gerrit takes one in
/// each push.
pub(super) fn deliver(wanted: &Wanted<'_>, made: &Made) -> Delivered {
    let mut delivery = Delivery {
        job: wanted.job,
        place: wanted.place,
        fetched: &wanted.base.fetched,
        made,
        variant: wanted.variant,
        pushes: Vec::new(),
        notes: Vec::new(),
    };
    let outcome = delivery.run(&wanted.base.destinations);
    Delivered {
        pushes: delivery.pushes,
        notes: delivery.notes,
        outcome,
    }
}

impl Delivery<'_> {
    fn run(&mut self, destinations: &Destinations) -> Result<Option<Variant>, RunError> {
        // On a plain server `refs/for/…` is a reference like any other, once it is there.
        let is_magic = |target: &&Target| is_review(&target.reference) && self.present(&target.reference).is_none();
        let (magic, plain): (Vec<&Target>, Vec<&Target>) = destinations.specs.iter().partition(is_magic);
        self.push(&destinations.branch.iter().collect::<Vec<_>>())?;
        self.push(&plain)?;
        for target in magic {
            if let Some(next) = self.propose(target)? {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    /// One push: those of `targets` that do not hold their commit yet.
    fn push(&mut self, targets: &[&Target]) -> Result<(), RunError> {
        let planned: Vec<_> = targets.iter().map(|target| self.plan(target)).collect();
        let is_due = |report: &PushReport| report.status != PushStatus::UpToDate;
        let updates: Vec<RefUpdate> = (planned.iter().filter(|(_, report)| is_due(report)))
            .map(|(update, _)| update.clone())
            .collect();
        let statuses = if updates.is_empty() {
            Vec::new()
        } else {
            self.send(updates, Vec::new()).map_err(|source| self.failed(source))?
        };
        let mut refused = None;
        let mut statuses = statuses.into_iter();
        for (_, push) in planned {
            let status = if is_due(&push) { statuses.next() } else { None };
            match status.and_then(|status| status.refused) {
                None => self.pushes.push(push),
                Some(source) => refused = refused.or(Some(source)),
            }
        }
        refused.map_or(Ok(()), |source| Err(self.failed(source)))
    }

    /// What one reference is to hold, and what that will be called.
    fn plan(&self, target: &Target) -> (RefUpdate, PushReport) {
        let new = self.value(target);
        let old = self.present(&target.reference);
        let forward = old == Some(self.fetched.tip.commit) && target.value == Value::New;
        let status = match old {
            Some(old) if old == new => PushStatus::UpToDate,
            None => PushStatus::Created,
            Some(_) if target.force && !forward => PushStatus::Forced,
            Some(_) => PushStatus::Updated,
        };
        let update = RefUpdate {
            reference: target.reference.clone(),
            expect: old,
            new: Some(new),
            force: target.force,
        };
        (update, self.report(target, old, status))
    }

    /// Pushes a change.
    ///
    /// AGit makes a pull request of a topic, and what a run pushes replaces what an earlier one has pushed, as at a push
    /// branch (C30). It would open a new one for a commit that somebody has closed the request of: what a request holds is
    /// not pushed again.
    fn propose(&mut self, target: &Target) -> Result<Option<Variant>, RunError> {
        if self.is_requested(target)? {
            self.pushes.push(self.report(target, None, PushStatus::UpToDate));
            return Ok(None);
        }
        let Some(Refusal { source, known }) = self.insist(target)? else {
            return Ok(None);
        };
        let next = match answer(&source) {
            Answer::NothingNew | Answer::Current => {
                self.pushes.push(self.report(target, None, PushStatus::UpToDate));
                return Ok(None);
            }
            // Somebody has abandoned just this commit. A newer base or image will be a change again.
            Answer::Closed if known => {
                self.pushes.push(self.report(target, None, PushStatus::UpToDate));
                self.notes.push(format!(
                    "{}: {}; restore it there to have this commit reviewed after all",
                    target.reference,
                    reason(&source)
                ));
                return Ok(None);
            }
            Answer::Closed if self.job.push.review.is_some() => self.variant.next_change(),
            Answer::Older => self.variant.next_commit(),
            Answer::Closed | Answer::AsksForForce | Answer::Refused => None,
        };
        next.map_or_else(|| Err(self.failed(source)), |next| Ok(Some(next)))
    }

    /// Offers a change with the push options that answers ask for. Gerrit takes the same commit once, and says so with the words
    /// that it also has for a commit that is only on a branch, or in a change that is closed: which of them it is shows when the
    /// base is named (`base`, *Selecting Merge Base*).
    fn insist(&mut self, target: &Target) -> Result<Option<Refusal>, RunError> {
        let Some(mut source) = self.offer(target, Vec::new())? else {
            return Ok(None);
        };
        let names_base = self.job.push.options.iter().any(|(key, _)| key == "base");
        let known = answer(&source) == Answer::NothingNew && !names_base;
        if known {
            let base = ("base".to_owned(), self.fetched.tip.commit.to_string());
            source = match self.offer(target, vec![base])? {
                None => return Ok(None),
                Some(source) => source,
            };
        }
        if answer(&source) == Answer::AsksForForce {
            let force = ("force-push".to_owned(), "true".to_owned());
            source = match self.offer(target, vec![force])? {
                None => return Ok(None),
                Some(source) => source,
            };
        }
        Ok(Some(Refusal { source, known }))
    }

    /// Whether a pull request holds the commit already, open or closed. Gerrit has no such references, and changes of its
    /// short form have their own ways.
    fn is_requested(&self, target: &Target) -> Result<bool, RunError> {
        if self.job.push.review.is_some() {
            return Ok(false);
        }
        let holders = self.place.mirror.holders("refs/pull/", self.value(target));
        holders
            .map(|names| !names.is_empty())
            .map_err(|source| self.failed(source))
    }

    /// Pushes a change with further push options. Gives the refusal, if there is one.
    fn offer(&mut self, target: &Target, options: Vec<(String, String)>) -> Result<Option<GitError>, RunError> {
        let update = RefUpdate {
            reference: target.reference.clone(),
            expect: None,
            new: Some(self.value(target)),
            force: false,
        };
        let statuses = self.send(vec![update], options).map_err(|source| self.failed(source))?;
        for status in statuses {
            if status.refused.is_some() {
                return Ok(status.refused);
            }
            let lines: Vec<&str> = links(&status.said).collect();
            let amended = !lines.is_empty() && !lines.iter().any(|line| line.contains("[NEW"));
            let created = status.became.as_ref().and_then(|became| became.created);
            let outcome = if created.unwrap_or(!amended) {
                PushStatus::Created
            } else if status.became.as_ref().is_some_and(|became| became.forced) {
                PushStatus::Forced
            } else {
                PushStatus::Updated
            };
            self.pushes.push(self.report(target, None, outcome));
            if let Some(reference) = status
                .became
                .and_then(|became| became.reference)
                .filter(|_| lines.is_empty())
            {
                self.notes.push(format!("{} became {reference}", target.reference));
            }
            self.notes.extend(lines.into_iter().map(str::to_owned));
        }
        Ok(None)
    }

    fn send(
        &self,
        updates: Vec<RefUpdate>,
        more_options: Vec<(String, String)>,
    ) -> Result<Vec<git::PushStatus>, GitError> {
        let mut options = self.job.push.options.clone();
        options.extend(more_options);
        let push = Push {
            updates,
            options,
            allow_dropped_push_options: self.job.push.drop_options,
        };
        self.place.mirror.push_each(&push, self.made.pack.as_ref())
    }

    fn report(&self, target: &Target, old: Option<ObjectId>, status: PushStatus) -> PushReport {
        PushReport {
            reference: target.reference.clone(),
            old: old.map(|id| id.to_string()),
            new: self.value(target).to_string(),
            status,
        }
    }

    fn value(&self, target: &Target) -> ObjectId {
        match target.value {
            Value::New => self.made.id,
            Value::Tip => self.fetched.tip.commit,
        }
    }

    /// What the remote has at `reference`, as far as it was listed.
    fn present(&self, reference: &str) -> Option<ObjectId> {
        let tip = &self.fetched.tip;
        if tip.reference == reference && self.job.starts_at_tip() {
            return Some(tip.commit);
        }
        let mut also = self.fetched.also.iter();
        also.find(|also| also.reference == reference)?.object
    }

    fn failed(&self, source: GitError) -> RunError {
        self.job.push_failed(source)
    }
}

/// A change that was not taken.
struct Refusal {
    source: GitError,
    /// Whether the server has said `no new changes` until the base was named.
    known: bool,
}

fn reason(source: &GitError) -> &str {
    match source {
        GitError::Rejected { reason, .. } => reason,
        _ => "",
    }
}

fn answer(source: &GitError) -> Answer {
    Answer::of(reason(source))
}
