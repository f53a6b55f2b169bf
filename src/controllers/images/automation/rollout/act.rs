//! What is done about failures: they are told, their images are held, fields are put back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::announce::{Announcer, PutBackAnnouncer};
use super::aside::aside;
use super::{Following, Ran, hold, look, told};
use crate::controllers::request_metrics;
use bumpwright_api::OnFailure;
use bumpwright_git::ObjectId;
use bumpwright_message::Era;
use bumpwright_policy::{Closed, PolicyName};
use bumpwright_rollout::{Blame, Failing, Failure, Handled, Record, Retry, Step, failing_workloads};
use bumpwright_runtime::{ReconcileRequest, blocking, clock};
use bumpwright_update::{Announce, CommitMessage, PutBack, RemoteJob, Start, run_remote, settings};

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
    pub(super) async fn act(
        &self,
        request: &ReconcileRequest<'_>,
        record: &mut Record,
        step: &Step,
        ran: &Ran,
    ) {
        let mut handled = false;
        for failure in &step.failures {
            let name = failure.kustomization.as_str();
            match self.one(record, failure, ran).await {
                Ok(()) => handled = true,
                Err(delay) => {
                    request.log.error(&delay.why, "unable to act upon a failed rollout");
                    let retry = delay.retry(request, record.tries(name));
                    record.delayed(name, &delay.why, retry);
                }
            }
        }
        if handled {
            told::failed(request, record);
        }
    }

    async fn one(&self, record: &mut Record, failure: &Failure, ran: &Ran) -> Result<(), Delay> {
        let name = failure.kustomization.as_str();
        let wanted = self.follow.on_failure;
        let reported = match (wanted, &failure.not_ours) {
            (OnFailure::Report, _) => Some(""),
            (_, why) => why.as_deref(),
        };
        if let Some(why) = reported {
            record.handled(name, Handled::Reported, why);
            return Ok(());
        }
        let Some(failing) = record.failing().get(name).map(|failing| (*failing).clone()) else {
            return Ok(());
        };
        let blamed = self.blamed(record, name);
        let images: BTreeMap<String, String> = record
            .images()
            .into_iter()
            .filter(|(policy, _)| is_blamed(&blamed, policy))
            .map(|(policy, image)| (policy.to_owned(), image.to_owned()))
            .collect();
        let own = self.automation.metadata.namespace_or_default();
        hold::hold(&self.context, own, &images, (name, &failing), record).await?;
        let because = match wanted {
            OnFailure::Hold => Err(String::new()),
            _ => self.may_be_put_back(record, failure, &failing, &blamed, &images, ran),
        };
        let job = match because {
            Ok(Some(job)) => job,
            Ok(None) => {
                record.handled(name, Handled::PutBack, "");
                return Ok(());
            }
            Err(why) => {
                record.handled(name, Handled::Held, &why);
                return Ok(());
            }
        };
        match self.put_back(record, job, &images, ran).await? {
            true => {
                if let Some(put_back) = &mut record.put_back {
                    put_back.pushed = true;
                }
                let all = images.iter().map(|(policy, image)| (policy.as_str(), image.as_str()));
                record.remember_reverted(all);
                record.handled(name, Handled::PutBack, "");
            }
            false => record.handled(name, Handled::Held, "no field on the branch has these images any more"),
        }
        Ok(())
    }

    /// The run that puts images back; none if a commit of this rollout has done so.
    ///
    /// # Errors
    /// Why they are only held.
    fn may_be_put_back(
        &self,
        record: &Record,
        failure: &Failure,
        failing: &Failing,
        blamed: &Blame,
        images: &BTreeMap<String, String>,
        ran: &Ran,
    ) -> Result<Option<RemoteJob>, String> {
        if let Some(put_back) = record.put_back.as_ref().filter(|put_back| put_back.pushed)
            && images
                .iter()
                .all(|(policy, image)| put_back.images.get(policy) == Some(image))
        {
            return Ok(None);
        }
        if let Some((policy, image)) = images.iter().find(|(policy, image)| record.was_reverted(policy, image)) {
            return Err(format!("{image} of ImagePolicy {policy} was put back before"));
        }
        self.job(record, failure, failing, blamed, ran).map(Some)
    }

    fn blamed(&self, record: &Record, kustomization: &str) -> Blame {
        match self.follow.bisect {
            true => record.blamed(kustomization),
            false => Blame::All,
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
    ) -> Result<RemoteJob, String> {
        let (start, branch) =
            settings::start(self.source.spec.reference.as_ref()).map_err(|error| error.to_string())?;
        let is_branch = match &start {
            Start::Branch(_) | Start::Default => true,
            Start::Name(name) => name.starts_with("refs/heads/"),
            _ => false,
        };
        if !is_branch {
            return Err("its source does not follow a branch".to_owned());
        }
        let good = ObjectId::from_hex(failure.good.as_bytes()).map_err(|error| error.to_string())?;
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
        aside(&mut job, &start)?;
        (job.start, job.branch) = (start, branch);
        job.edits.verify = None;
        job.edits.respect_reverts = None;
        job.edits.put_back = Some(Arc::new(PutBack {
            commits: look::commits(record),
            good,
            only,
            trailers: self.trailers(record, failure, failing),
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
        let message = failing.message.lines().next().unwrap_or_default();
        lines.push(line("Failure", message));
        lines
    }

    /// Puts fields back. One that is interrupted before the record says so finds nothing left to do the next time. Returns whether there
    /// was something to put back.
    async fn put_back(
        &self,
        record: &mut Record,
        mut job: RemoteJob,
        images: &BTreeMap<String, String>,
        ran: &Ran,
    ) -> Result<bool, Delay> {
        let announcer = PutBackAnnouncer {
            announcer: Announcer::new(&self.context, &self.automation, &self.keeper, record.clone(), None),
            images: images.clone(),
        };
        let announcer = Arc::new(announcer);
        job.edits.announce = Some(Arc::clone(&announcer) as Arc<dyn Announce>);
        let place = ran.place.clone();
        let run = blocking::run(move || run_remote(&job, &place)).await?;
        if let Some(announced) = announcer.announcer.announced() {
            *record = announced;
        }
        request_metrics::run(&self.context.shared.metrics, &run);
        match (run.error, run.outside) {
            (Some(error), _) => Err(error.into()),
            (None, Some(closed)) => Err(closed.into()),
            (None, None) => Ok(!run.changes.is_empty()),
        }
    }
}

fn is_blamed(blamed: &Blame, policy: &str) -> bool {
    match blamed {
        Blame::All => true,
        Blame::Policies(policies) => policies.contains(policy),
    }
}
