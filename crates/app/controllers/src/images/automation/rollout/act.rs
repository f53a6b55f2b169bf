//! What is done about failures: they are reported, their images are held, fields are reverted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::announce::{Announcer, PutBackAnnouncer};
use super::aside::{TakesPlace, aside};
use super::outcome::Outcome;
use super::{Following, Ran, hold, look, told};
use crate::images::automation::fetch::{self, Fetched};
use crate::request_metrics;
use bumpwright_api::OnFailure;
use bumpwright_git::ObjectId;
use bumpwright_message::Era;
use bumpwright_policy::{Closed, PolicyName};
use bumpwright_rollout::{Blame, Failing, Failure, Handled, PutBack as Noted, Record, Retry, Step, failing_workloads};
use bumpwright_runtime::blocking::Interrupted;
use bumpwright_runtime::{ReconcileRequest, blocking, clock};
use bumpwright_text::Excerpt;
use bumpwright_update::settings::SettingsError;
use bumpwright_update::{Announce, CommitMessage, PutBack, RemoteJob, Start, full_branch, run_remote, settings};
use url::Url;

/// The message of a commit that puts images back, unless the automation has one.
const MESSAGE: &str = "Put back images that failed\n\n{{ range $change := .Changed.Changes -}}\n- {{ $change.OldValue }} -> {{ $change.NewValue }}\n{{ end -}}";

/// Why nothing was done yet.
struct Delay {
    why: String,
    /// When it may be done, for one that did not go wrong.
    opens: Option<i64>,
}

impl From<String> for Delay {
    fn from(why: String) -> Self {
        Self { why, opens: None }
    }
}

impl From<Interrupted> for Delay {
    fn from(error: Interrupted) -> Self {
        error.to_string().into()
    }
}

impl From<hold::NotHeld> for Delay {
    fn from(error: hold::NotHeld) -> Self {
        error.to_string().into()
    }
}

/// Why images are held, and not reverted.
#[derive(Debug, thiserror::Error)]
enum OnlyHeld {
    #[error("{image} of ImagePolicy {policy} was put back before")]
    PutBackBefore { image: String, policy: String },
    /// The reference of the source is invalid.
    #[error(transparent)]
    Reference(#[from] SettingsError),
    #[error("its source does not follow a branch")]
    NoBranch,
    /// The record has no id of a commit; the text is that of gix.
    #[error("{0}")]
    Commit(String),
    #[error(transparent)]
    TakesPlace(#[from] TakesPlace),
}

impl From<Closed> for Delay {
    fn from(closed: Closed) -> Self {
        Self {
            why: format!("nothing is put back {closed}"),
            opens: Some(closed.opens.map_or(i64::MAX, |opens| opens.unix_seconds())),
        }
    }
}

impl Delay {
    /// When it is tried again, after so many tries before.
    fn retry(&self, request: &ReconcileRequest<'_>, tries: u32) -> Retry {
        let now = clock::now().unix_seconds();
        if let Some(opens) = self.opens {
            return Retry::after(now, opens.saturating_sub(now), tries);
        }
        let tries = tries.saturating_add(1);
        let pause = request.pause_after(tries).as_millis().div_ceil(1000);
        Retry::after(now, i64::try_from(pause).unwrap_or(i64::MAX), tries)
    }
}

impl Following {
    /// Does what is to be done about the failures of a step.
    pub(super) async fn act(&self, request: &ReconcileRequest<'_>, record: &mut Record, step: &Step, ran: &Ran) {
        let before = handled(record);
        for failure in &step.failures {
            let name = failure.kustomization.as_str();
            if let Err(delay) = self.one(request, record, failure, ran).await {
                request.log.error(&delay.why, "unable to act upon a failed rollout");
                let retry = delay.retry(request, record.tries(name));
                record.delayed(name, &delay.why, retry);
            }
        }
        let now = handled(record);
        if now != before && now.values().any(Option::is_some) {
            told::failed(request, record);
        }
    }

    async fn one(
        &self,
        request: &ReconcileRequest<'_>,
        record: &mut Record,
        failure: &Failure,
        ran: &Ran,
    ) -> Result<(), Delay> {
        let name = failure.kustomization.as_str();
        let wanted = self.follow.on_failure;
        let Some(failing) = record.failing().get(name).map(|failing| (*failing).clone()) else {
            return Ok(());
        };
        let reported = match (wanted, &failure.not_ours) {
            (OnFailure::Report, _) => Some(""),
            (_, why) => why.as_deref(),
        };
        // A proposal stays one.
        if let Some(why) = reported.filter(|_| !failing.is_proposed()) {
            record.handled(name, Handled::Reported, why);
            return Ok(());
        }
        let mut blamed = self.blamed(record, name);
        let mut images: BTreeMap<String, String> = record
            .images()
            .into_iter()
            .filter(|(policy, _)| is_blamed(&blamed, policy))
            .map(|(policy, image)| (policy.to_owned(), image.to_owned()))
            .collect();
        // They may be released while it is open.
        if !failing.is_proposed() {
            let own = self.automation.metadata.namespace_or_default();
            hold::hold(&self.context, own, &images, (name, &failing), record).await?;
        }
        if wanted != OnFailure::Revert {
            if !failing.is_proposed() {
                record.handled(name, Handled::Held, "");
            }
            return Ok(());
        }
        join(record, &mut blamed, &mut images);
        if is_made(record, name, &images, ran) {
            note(record, name);
            return Ok(());
        }
        let job = match self.may_be_put_back(record, failure, &failing, &blamed, &images, ran) {
            Ok(job) => job,
            Err(why) => {
                record.handled(name, Handled::Held, &why.to_string());
                return Ok(());
            }
        };
        let outcome = self.put_back(request, record, job, (name, &images), ran).await?;
        if outcome == Outcome::Nothing && !failing.is_proposed() {
            record.handled(name, Handled::Held, "no field on the branch has these images any more");
            return Ok(());
        }
        let put_back = record.put_back.get_or_insert_with(|| Noted {
            images: images.clone(),
            kustomization: name.to_owned(),
            ..Default::default()
        });
        match outcome {
            // Merged, where a look at the branch has not shown it: it has other images of the rollout.
            Outcome::Nothing | Outcome::Done => put_back.pushed = true,
            Outcome::Proposed(request) => {
                // A page is better than the words of a run that pushed nothing.
                if !is_page(&put_back.request) || is_page(&request) {
                    put_back.request = request;
                }
            }
            Outcome::Declined(request) => (put_back.request, put_back.declined) = (request, true),
        }
        note(record, name);
        Ok(())
    }

    /// The run that puts images back.
    fn may_be_put_back(
        &self,
        record: &Record,
        failure: &Failure,
        failing: &Failing,
        blamed: &Blame,
        images: &BTreeMap<String, String>,
        ran: &Ran,
    ) -> Result<RemoteJob, OnlyHeld> {
        if let Some((policy, image)) = images.iter().find(|(policy, image)| record.was_reverted(policy, image)) {
            let (image, policy) = (image.clone(), policy.clone());
            return Err(OnlyHeld::PutBackBefore { image, policy });
        }
        self.job(record, failure, failing, blamed, ran)
    }

    fn blamed(&self, record: &Record, kustomization: &str) -> Blame {
        if self.follow.bisect {
            record.blamed(kustomization)
        } else {
            Blame::All
        }
    }

    /// The run that puts fields back on the branch that is reconciled: by the same way as the automation's commits.
    fn job(
        &self,
        record: &Record,
        failure: &Failure,
        failing: &Failing,
        blamed: &Blame,
        ran: &Ran,
    ) -> Result<RemoteJob, OnlyHeld> {
        let (start, branch) = settings::start(self.source.spec.reference.as_ref())?;
        let is_branch = match &start {
            Start::Branch(_) => true,
            Start::Name(name) => name.starts_with("refs/heads/"),
            _ => false,
        };
        if !is_branch {
            return Err(OnlyHeld::NoBranch);
        }
        let good = ObjectId::from_hex(failure.good.as_bytes());
        let good = good.map_err(|error| OnlyHeld::Commit(error.to_string()))?;
        let only = match blamed {
            Blame::All => None,
            Blame::Policies(policies) => {
                let names = policies.iter().filter_map(|policy| policy.split_once('/'));
                Some(
                    names
                        .map(|(namespace, name)| PolicyName::new(namespace, name))
                        .collect::<BTreeSet<_>>(),
                )
            }
        };
        let mut job = ran.job.clone();
        aside(&mut job, &reconciled(&start))?;
        (job.start, job.branch) = (start, branch);
        job.edits.hooks.verify = None;
        job.edits.hooks.releases = None;
        job.edits.respect_reverts = None;
        job.edits.put_back = Some(Arc::new(PutBack {
            commits: look::commits(record),
            good,
            only,
            trailers: self.trailers(record, failure, failing),
            earlier: record
                .put_back
                .as_ref()
                .filter(|put_back| !put_back.pushed)
                .and_then(earlier),
        }));
        let template = self.follow.message.clone();
        job.message = CommitMessage {
            era: if template.is_some() {
                job.message.era
            } else {
                Era::default()
            },
            template: template.unwrap_or_else(|| MESSAGE.to_owned()),
            ..job.message
        };
        Ok(job)
    }

    fn trailers(&self, record: &Record, failure: &Failure, failing: &Failing) -> Vec<(String, String)> {
        let line = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let commits = record
            .commits
            .iter()
            .map(|pushed| line("Reverted-Commit", &pushed.commit));
        let mut lines: Vec<(String, String)> = commits.collect();
        lines.push(line("Failed-Kustomization", &failure.kustomization));
        if let Some(follower) = record.followers.get(&failure.kustomization) {
            lines.extend(failing_workloads(follower).map(|workload| line("Failed-Object", workload)));
        }
        let message = failing.message.first_line();
        lines.push(line("Failure", message));
        lines
    }

    /// Puts fields back. One that is interrupted before the record says so finds nothing left to do the next
    /// time, or its proposal.
    async fn put_back(
        &self,
        request: &ReconcileRequest<'_>,
        record: &mut Record,
        mut job: RemoteJob,
        (kustomization, images): (&str, &BTreeMap<String, String>),
        ran: &Ran,
    ) -> Result<Outcome, Delay> {
        let announcer = PutBackAnnouncer {
            announcer: Announcer::new(&self.context, &self.automation, &self.keeper, record.clone(), None),
            images: images.clone(),
            kustomization: kustomization.to_owned(),
        };
        let announcer = Arc::new(announcer);
        job.edits.hooks.announce = Some(Arc::clone(&announcer) as Arc<dyn Announce>);
        let (place, start) = (ran.place.clone(), reconciled(&job.start));
        let run = blocking::run(move || run_remote(&job, &place)).await?;
        if let Some(announced) = announcer.announcer.announced() {
            *record = announced;
        }
        request_metrics::run(&self.context.shared.metrics, &run);
        fetch::request(&self.context, request, &Fetched::of(&self.source), &run).await;
        match (&run.error, &run.outside) {
            (Some(error), _) => Err(error.clone().into()),
            (None, Some(closed)) => Err(closed.clone().into()),
            (None, None) => {
                let outcome = Outcome::of(&run, &start);
                let is_new = run.has_pushed() && matches!(outcome, Outcome::Proposed(_));
                if let Some(put_back) = record.put_back.as_mut().filter(|_| is_new) {
                    put_back.proposed.clone_from(&put_back.commit);
                }
                Ok(outcome)
            }
        }
    }
}

/// The commit that was proposed last; one of a process that ended before it noted that may have been.
fn earlier(put_back: &Noted) -> Option<ObjectId> {
    let commit = match put_back.proposed.as_str() {
        "" => put_back.commit.as_str(),
        proposed => proposed,
    };
    ObjectId::from_hex(commit.as_bytes()).ok()
}

/// What became of the failures, by Kustomization.
fn handled(record: &Record) -> BTreeMap<String, Option<Handled>> {
    let failing = record.failing().into_iter();
    failing
        .map(|(name, failing)| (name.to_owned(), failing.handled))
        .collect()
}

/// Adds the images whose reversal is proposed already, for another Kustomization too: one proposal takes the
/// place of the other.
fn join(record: &Record, blamed: &mut Blame, images: &mut BTreeMap<String, String>) {
    let is_open = |put_back: &&Noted| !put_back.pushed && !put_back.declined && !put_back.request.is_empty();
    let Some(open) = record.put_back.as_ref().filter(is_open) else {
        return;
    };
    images.extend(open.images.clone());
    if let Blame::Policies(policies) = blamed {
        policies.extend(open.images.keys().cloned());
    }
}

/// Whether these images are reverted already, and nothing has to be done any more: by a commit, or by a
/// proposal that was declined, is another Kustomization's, or could not be found again.
fn is_made(record: &Record, kustomization: &str, images: &BTreeMap<String, String>, ran: &Ran) -> bool {
    let can_be_found = ran.job.pull_request.is_some() || ran.job.push.is_for_review();
    record
        .put_back
        .as_ref()
        .filter(|put_back| put_back.covers(images))
        .is_some_and(|put_back| {
            let is_elsewhere = put_back.kustomization != kustomization || !can_be_found;
            put_back.pushed || put_back.declined || (!put_back.request.is_empty() && is_elsewhere)
        })
}

/// Notes the outcome of a failure whose images are reverted, or will be.
fn note(record: &mut Record, kustomization: &str) {
    let Some(put_back) = record.put_back.clone() else {
        return;
    };
    if put_back.declined {
        let why = format!("{} was closed, so it is not proposed again", put_back.request);
        record.handled(kustomization, Handled::Held, &why);
    } else if put_back.pushed {
        let images = put_back.images.iter();
        record.remember_reverted(images.map(|(policy, image)| (policy.as_str(), image.as_str())));
        record.handled(kustomization, Handled::PutBack, "");
    } else {
        record.proposed(kustomization, clock::now().unix_seconds());
    }
}

/// The full name of the branch that is reconciled.
fn reconciled(start: &Start) -> String {
    match start {
        Start::Branch(branch) | Start::Name(branch) => full_branch(branch),
        _ => String::new(),
    }
}

fn is_blamed(blamed: &Blame, policy: &str) -> bool {
    match blamed {
        Blame::All => true,
        Blame::Policies(policies) => policies.contains(policy),
    }
}

/// Whether the request of an outcome is the address of its page alone.
fn is_page(request: &str) -> bool {
    Url::parse(request).is_ok_and(|url| url.has_host())
}
