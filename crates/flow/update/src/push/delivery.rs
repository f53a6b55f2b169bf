//! Delivery of a commit to the references of a run: compare-and-swap at plain references, changes at review servers.

use super::agit::{self, Standing};
use super::change::Seen;
use crate::commit::create::{Made, Wanted};
use crate::commit::review::{Answer, Variant, address, links, search};
use crate::commit::trailer::{change_id_in, is_change_id};
use crate::error::RunError;
use crate::job::destination::{Destinations, Target, Value, is_review};
use crate::job::remote_job::RemoteJob;
use crate::remote::place::Place;
use crate::report::run::{PushReport, PushStatus};
use bumpwright_git::{self as git, Fetched, GitError, ObjectId, Push, RefUpdate};

/// The result of a run's pushes.
pub(crate) struct Delivered {
    /// The references that were updated, even if others failed.
    pub(crate) pushes: Vec<PushReport>,
    /// Messages of the servers.
    pub(crate) notes: Vec<String>,
    /// The request or change that somebody has closed.
    pub(crate) declined: Option<String>,
    /// The variant of the commit to create instead, when a review server requires one.
    pub(crate) outcome: Result<Option<Variant>, RunError>,
}

/// The pushes of one run and their results so far.
struct Delivery<'a> {
    job: &'a RemoteJob,
    place: &'a Place,
    fetched: &'a Fetched,
    made: &'a Made,
    change: Option<&'a Seen>,
    variant: Variant,
    pushes: Vec<PushReport>,
    notes: Vec<String>,
    declined: Option<String>,
}

/// The branch first, then the refspecs in a push of their own (IUA-082), and changes one by one, since Gerrit takes
/// one in each push. `change` is the one with the commit's Change-Id, where Gerrit has said so.
pub(crate) fn deliver(wanted: &Wanted<'_>, made: &Made, change: Option<&Seen>) -> Delivered {
    let mut delivery = Delivery {
        job: wanted.job,
        place: wanted.place,
        fetched: &wanted.base.fetched,
        made,
        change,
        variant: wanted.variant,
        pushes: Vec::new(),
        notes: Vec::new(),
        declined: None,
    };
    let outcome = delivery.run(&wanted.base.destinations);
    Delivered {
        pushes: delivery.pushes,
        notes: delivery.notes,
        declined: delivery.declined,
        outcome,
    }
}

impl Delivery<'_> {
    fn run(&mut self, destinations: &Destinations) -> Result<Option<Variant>, RunError> {
        // On a plain server `refs/for/…` is an ordinary reference once it exists.
        let is_magic = |target: &&Target| is_review(&target.reference) && self.present(&target.reference).is_none();
        let (magic, plain): (Vec<&Target>, Vec<&Target>) = destinations.specs.iter().partition(is_magic);
        self.push(&destinations.branch.iter().collect::<Vec<_>>())?;
        let replaced: Vec<String> = self.pushes.iter().filter_map(|push| self.replaced(push)).collect();
        self.notes.extend(replaced);
        self.push(&plain)?;
        for target in magic {
            if let Some(next) = self.propose(target)? {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    /// One push to those of `targets` that do not hold their commit yet.
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

    /// That a branch which was replaced ended with a commit of somebody else. A run makes one commit on its base, so a
    /// branch whose last commit is of this author has no others.
    fn replaced(&self, push: &PushReport) -> Option<String> {
        let branch = push.reference.strip_prefix("refs/heads/")?;
        let old = self
            .present(&push.reference)
            .filter(|_| push.status == PushStatus::Forced)?;
        let tip = self.fetched.tip.commit;
        let last = self.fetched.objects.commit(old).ok()?;
        let is_kept = || self.place.mirror.is_ancestor(old, tip).unwrap_or(true);
        if last.is_by(&self.job.author.name, &self.job.author.email) || is_kept() {
            return None;
        }
        let (name, email) = last.author();
        Some(format!(
            "the branch {branch} was replaced; it ended with commit {old} by {name} <{email}>, which is not on it any more"
        ))
    }

    /// The commit that a reference is to hold, and how the update is reported.
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
    /// AGit opens a pull request for a base and a topic; a push replaces what an earlier run pushed, as on a
    /// push branch (C30). It would open a new request for a commit whose request was closed, so such a commit
    /// is not pushed again.
    fn propose(&mut self, target: &Target) -> Result<Option<Variant>, RunError> {
        if let Some(url) = self.seen(target).and_then(Seen::abandoned).map(str::to_owned) {
            self.leave_closed(target, &format!("change {url} closed"));
            return Ok(None);
        }
        let open = match self.standing(target)? {
            Standing::Push(open) => open,
            Standing::Held { note, declined } => {
                self.notes.push(note);
                self.declined = declined;
                self.pushes.push(self.report(target, None, PushStatus::UpToDate));
                return Ok(None);
            }
        };
        let Some(RefusedChange { source, known }) = self.insist(target)? else {
            return Ok(None);
        };
        let next = match answer(&source) {
            Answer::NothingNew | Answer::Current => {
                let stale = open.and_then(|open| agit::stale_title(&self.job.push, self.made, &open));
                self.notes.extend(stale);
                let url = self.address_of_change(target, &source);
                self.notes
                    .extend(url.as_ref().map(|url| format!("{url} has this commit already")));
                self.notes.extend(self.unread_options(target, &source));
                self.pushes.push(PushReport {
                    url,
                    ..self.report(target, None, PushStatus::UpToDate)
                });
                return Ok(None);
            }
            // Somebody abandoned exactly this commit. A newer base or image makes another change, but not of
            // what is put back.
            Answer::Closed if known || self.job.edits.put_back.is_some() => {
                self.leave_closed(target, reason(&source));
                return Ok(None);
            }
            Answer::Closed if self.job.push.review.is_some() => self.variant.next_change(),
            Answer::Older => self.variant.next_commit(),
            Answer::Closed | Answer::AsksForForce | Answer::Refused => None,
        };
        next.map_or_else(|| Err(self.failed(source)), |next| Ok(Some(next)))
    }

    /// The address of the change that has the commit. Gerrit names it only for a commit that is new to it; other
    /// servers say that they have one in other words.
    fn address_of_change(&self, target: &Target, source: &GitError) -> Option<String> {
        let is_gerrit = ["no new changes", "(as current patchset)"]
            .iter()
            .any(|words| reason(source).contains(words));
        let id = change_id_in(&self.made.message).filter(|id| is_gerrit && is_change_id(id.as_bytes()))?;
        let url = self.seen(target).map(|seen| seen.url.as_str());
        let page = url.filter(|url| url.contains("://")).map(str::to_owned);
        page.or_else(|| search(&self.job.url, &id))
    }

    /// The change at Gerrit for a target.
    fn seen(&self, target: &Target) -> Option<&Seen> {
        self.change.filter(|change| change.reference == target.reference)
    }

    /// Records that a change is left closed, as `closed` says: `change … closed`.
    fn leave_closed(&mut self, target: &Target, closed: &str) {
        self.declined = Some(closed.trim_end_matches(" closed").to_owned());
        self.pushes.push(self.report(target, None, PushStatus::UpToDate));
        let advice = self.advice_on_closed(target);
        self.notes.push(format!("{}: {closed}; {advice}", target.reference));
    }

    /// The way out where exactly this commit was closed.
    fn advice_on_closed(&self, target: &Target) -> String {
        match self.seen(target).and_then(|seen| seen.by.as_ref()) {
            Some(by) => {
                format!("its newest patch set is of {by}: restored, the change has that one and not this commit")
            }
            None => "restore it there to have this commit reviewed after all".to_owned(),
        }
    }

    /// Gerrit reads no options with a commit that a change holds already. Automations have the same ones each time.
    fn unread_options(&self, target: &Target, source: &GitError) -> Option<String> {
        let (options, push) = (&self.job.push.options, &self.job.push);
        let is_typed = push.review.is_some() || self.job.edits.automation.is_none();
        let is_gerrit = !push.is_agit() || answer(source) == Answer::NothingNew;
        (is_typed && is_gerrit && !options.is_empty()).then(|| {
            let options: Vec<String> = options.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!(
                "{}: the change has this commit already, so Gerrit did not look at the push options ({}): what they should set \
                 is set at the change itself",
                target.reference,
                options.join(", ")
            )
        })
    }

    /// Pushes a change with the push options that the answers call for. Gerrit accepts a commit once and answers with
    /// the same words for a commit that is only on a branch, or in a closed change; it distinguishes them when the base
    /// is named (`base`, *Selecting Merge Base*).
    fn insist(&mut self, target: &Target) -> Result<Option<RefusedChange>, RunError> {
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
        Ok(Some(RefusedChange { source, known }))
    }

    /// Looks for pull requests, open or closed, that hold the commit already. Gerrit has no such references, and
    /// changes of its short form are handled elsewhere.
    fn standing(&self, target: &Target) -> Result<Standing, RunError> {
        if self.job.push.review.is_some() {
            return Ok(Standing::Push(None));
        }
        let holders = |id| {
            let holders = self.place.mirror.holders(agit::REQUESTS, id);
            holders.map_err(|source| self.failed(source))
        };
        let value = self.value(target);
        let mut holders_now = holders(value)?;
        // What is put back has another commit on a newer base, and is still what somebody may have declined.
        let earlier = self.job.edits.put_back.as_ref().and_then(|put_back| put_back.earlier);
        if let Some(earlier) = earlier.filter(|earlier| *earlier != value && holders_now.is_empty()) {
            holders_now = holders(earlier)?;
        }
        Ok(agit::standing(self.job, &target.reference, &holders_now))
    }

    /// Pushes a change with further push options. Returns the refusal, if there is one.
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
            // A reference whose old value is not reported did not exist, as Gitea says it.
            let is_elsewhere = (status.became.as_ref()).is_some_and(|became| became.reference.is_some());
            let outcome = if created.unwrap_or(is_elsewhere || !amended) {
                PushStatus::Created
            } else if status.became.as_ref().is_some_and(|became| became.forced) {
                PushStatus::Forced
            } else {
                PushStatus::Updated
            };
            self.pushes.push(PushReport {
                url: address(&lines).map(str::to_owned),
                ..self.report(target, None, outcome)
            });
            let became = status.became.and_then(|became| became.reference);
            if let Some(reference) = became.as_ref().filter(|_| lines.is_empty()) {
                self.notes.push(format!("{} became {reference}", target.reference));
            }
            self.notes.extend(lines.into_iter().map(str::to_owned));
            if let Some(reference) = became.filter(|_| outcome != PushStatus::Created) {
                let request = agit::request_at(self.job, &reference);
                let stale = request.and_then(|request| agit::stale_title(&self.job.push, self.made, &request));
                self.notes.extend(stale);
            }
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
            url: None,
        }
    }

    fn value(&self, target: &Target) -> ObjectId {
        match target.value {
            Value::New => self.made.id,
            Value::Tip => self.fetched.tip.commit,
        }
    }

    /// The listed value of `reference` at the remote.
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

/// A change that was refused.
struct RefusedChange {
    source: GitError,
    /// Whether the server answers `no new changes` unless the base is named.
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
