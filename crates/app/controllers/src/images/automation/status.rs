//! The status of an ImageUpdateAutomation (docs/behaviour/image-automation-controller.md, *Status*).

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::FinishedRun;
use super::rollout::Looked;
use super::skips;
use super::windows;
use bumpwright_api::{ConditionStatus, ImageUpdateAutomation, Reason};
use bumpwright_artifact::Revision;
use bumpwright_rollout::{Phase, Summary};
use bumpwright_runtime::{Outcome, ReconcileRequest, Status};
use bumpwright_text::between;
use bumpwright_update::{PullRequestReport, Run};

const READY: &str = "repository up-to-date";

/// The most notes of a verification in a message.
const NOTES: usize = 10;

/// Marks the beginning of a run at the time `now` (RFC 3339).
pub(super) fn begin(status: &mut Status, now: &str) {
    let fields = &mut status.fields;
    fields.insert("lastAutomationRunTime".to_owned(), json!(now));
}

/// Returns whether the status has the result of a run already: these policies (`observed`), at this revision.
fn is_unchanged(status: &Status, automation: &ImageUpdateAutomation, run: &Run, observed: &Value) -> bool {
    let none = Value::Object(Map::new());
    !is_switched(automation, run)
        && status.fields.get("observedPolicies").unwrap_or(&none) == observed
        && Revision::parse(status.text("observedSourceRevision")) == run.revision
}

/// Returns whether the push branch differs from the start branch: then only a full run sees its state.
fn is_switched(automation: &ImageUpdateAutomation, run: &Run) -> bool {
    let push = automation.spec.git.as_ref().and_then(|git| git.push.as_ref());
    push.is_some_and(|push| {
        let branch = push.branch.as_deref().filter(|branch| !branch.is_empty());
        let refspec = push.refspec.as_deref().filter(|refspec| !refspec.is_empty());
        let start = run.revision.as_ref().map(|revision| revision.name.as_str());
        refspec.is_some() || branch.is_some_and(|branch| start != Some(branch))
    })
}

/// Records the result of a run at the time `now`.
pub(super) fn ready(status: &mut Status, finished: FinishedRun, now: &str) -> Outcome {
    let before = status.message_before().to_owned();
    let (automation, run, observed) = (&finished.automation, &finished.run, finished.observed);
    let unchanged = is_unchanged(status, automation, run, &observed);
    let commit = run.commit.as_ref().filter(|_| run.has_pushed());
    let pushed = commit.and_then(|commit| commit.id.as_ref());
    let fields = &mut status.fields;
    if let Some(id) = pushed {
        fields.insert("lastPushCommit".to_owned(), json!(id));
        fields.insert("lastPushTime".to_owned(), json!(now));
    }
    let revision = run.revision_after().map(|revision| revision.to_string());
    fields.insert("observedSourceRevision".to_owned(), json!(revision.unwrap_or_default()));
    if observed.as_object().is_some_and(Map::is_empty) {
        fields.remove("observedPolicies")
    } else {
        fields.insert("observedPolicies".to_owned(), observed)
    };
    let push = automation.spec.git.as_ref().and_then(|git| git.push.as_ref());
    let refspec = push.and_then(|push| push.refspec.as_deref());
    let skipped = skips::summary(&run.skips);
    let request = run.pull_request.as_ref().and_then(PullRequestReport::told);
    let waits = windows::told(run);
    let with = |text: String| {
        let lines = [Some(text), request.clone(), waits.clone(), skipped.clone()]
            .into_iter()
            .flatten();
        lines.collect::<Vec<_>>().join("\n")
    };
    let trace = if unchanged {
        "no change since last reconciliation"
    } else {
        READY
    };
    Outcome::Ready {
        message: with(READY.to_owned()),
        news: match pushed {
            Some(_) => Some(with(noted(summary(run, refspec), run))),
            None => request_news(run, &before).or_else(|| windows::news(waits.as_deref(), &before)),
        },
        trace: match &request {
            Some(request) => format!("{trace}; {request}"),
            None => trace.to_owned(),
        },
        after: Some(match finished.again {
            Some(again) => automation.interval().min(again),
            None => automation.interval(),
        }),
    }
}

/// The condition of rollouts.
const ROLLED_OUT: &str = "RolledOut";

/// Takes note of a look at the rollouts: writes to the object, and the condition. Returns when to look again.
pub(super) fn looked(status: &mut Status, request: &ReconcileRequest<'_>, looked: Option<Looked>) -> Option<Duration> {
    let looked = looked?;
    if let Some(object) = looked.written {
        request.wrote(status, object);
    }
    rolled_out(status, looked.summary.as_ref());
    looked.again
}

fn rolled_out(status: &mut Status, summary: Option<&Summary>) {
    let Some(summary) = summary else {
        return status.conditions.remove(ROLLED_OUT);
    };
    let (conditions, message) = (&mut status.conditions, &summary.message);
    match summary.phase {
        Phase::Progressing => conditions.set(ROLLED_OUT, ConditionStatus::Unknown, Reason::Progressing, message),
        Phase::Succeeded => conditions.set(ROLLED_OUT, ConditionStatus::True, Reason::RolloutSucceeded, message),
        Phase::Failed => conditions.set(ROLLED_OUT, ConditionStatus::False, Reason::RolloutFailed, message),
        Phase::Overtaken => conditions.set(ROLLED_OUT, ConditionStatus::Unknown, Reason::RolloutOvertaken, message),
    }
}

/// News of a pull request without a push: it was opened or updated after all, or is left alone from now on.
fn request_news(run: &Run, before: &str) -> Option<String> {
    let request = run.pull_request.as_ref()?;
    let text = request.told()?;
    (request.has_changed() || !before.contains(&text)).then_some(text)
}

/// With what the verification of the commit has to say.
pub(super) fn noted(mut text: String, run: &Run) -> String {
    let of_impact = run.impact.iter().flat_map(|impact| &impact.notes).take(NOTES);
    for note in run.remarks.iter().chain(of_impact) {
        text = format!("{}\nnote: {note}", text.trim_end());
    }
    text
}

/// `pushed commit 'abcdef1' to branch 'main'` (image-automation-controller v1.2, `PushResult.Summary`).
fn summary(run: &Run, refspec: Option<&str>) -> String {
    let Some(commit) = &run.commit else {
        return String::new();
    };
    let id = commit.id.as_deref().unwrap_or_default();
    let short = id.get(..7).unwrap_or(id);
    let mut text = format!(
        "pushed commit '{short}' to branch '{}'",
        between("", commit.branch.as_deref(), "")
    );
    if let Some(refspec) = refspec.filter(|refspec| !refspec.is_empty()) {
        text.push_str(&format!(" and refspecs '{refspec}'"));
    }
    if !commit.message.is_empty() {
        text.push('\n');
        text.push_str(&commit.message);
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Branches are compared in full: one may have the name of another up to an `@`.
    #[test]
    fn an_automation_is_switched_when_it_pushes_to_another_branch() {
        let run = |branch: &str| Run {
            revision: Revision::parse(&format!("{branch}@sha1:{}", "0".repeat(40))),
            ..Run::default()
        };
        let pushes_to = |push: Value| -> ImageUpdateAutomation {
            let git = json!({"commit": {"author": {"email": "bot@example.com"}}, "push": push});
            serde_json::from_value(json!({
                "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageUpdateAutomation",
                "metadata": {"name": "all", "namespace": "fs"},
                "spec": {"interval": "1h", "sourceRef": {"kind": "GitRepository", "name": "fleet"}, "git": git},
            }))
            .unwrap()
        };
        let main = pushes_to(json!({"branch": "main"}));
        assert!(!is_switched(&main, &run("main")));
        assert!(is_switched(&main, &run("next")));
        assert!(is_switched(&main, &run("main@home")));
        assert!(is_switched(
            &pushes_to(json!({"refspec": "refs/heads/main:refs/heads/x"})),
            &run("main")
        ));
        assert!(!is_switched(&pushes_to(Value::Null), &run("main")));
    }
}
