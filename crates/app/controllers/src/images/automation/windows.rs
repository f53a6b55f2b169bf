//! Windows (`bumpwright.dev/window`): a closed automation does nothing until its window opens, and one whose
//! fields wait for windows of policies runs again when the first of these opens. Only the clock on the wall
//! decides, at each run.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};

use super::FinishedRun;
use super::context::AutomationContext;
use super::rollout;
use super::validate::Valid;
use bumpwright_edit::Reason;
use bumpwright_policy::Closed;
use bumpwright_runtime::{Outcome, ReconcileRequest, Status, clock};
use bumpwright_update::Run;

/// How long a closed automation sleeps at most: if the clock is put forward, it is not late by more.
const SLEEP: Duration = Duration::from_secs(3600);

/// Number of policies or windows named in a message.
const NAMED: usize = 10;

/// What a closed automation says of policies that have chosen other images.
const CHANGED: &str = "changed since the last run: ";

/// The outcome of an automation outside of its windows: nothing is asked for or fetched. Dry runs push nothing anyway,
/// and those with an open rollout go on to look at it.
pub(super) fn closed(
    context: &AutomationContext,
    valid: &Valid,
    request: &ReconcileRequest<'_>,
    status: &Status,
) -> Option<Outcome> {
    let windows = valid
        .annotations
        .windows
        .as_ref()
        .filter(|_| !valid.annotations.dry_run && !rollout::is_open(request.object))?;
    let now = clock::now();
    let closed = windows.check(&now).err()?;
    let pause = closed.opens.as_ref().map_or(SLEEP, |opens| opens.since(&now).as_std());
    request.come_back(pause.min(SLEEP));
    let automation = &valid.automation;
    let namespace = automation.metadata.namespace_or_default();
    let (_, observed) = context
        .policy_book
        .of(namespace, automation.spec.policy_selector.as_ref());
    Some(outcome(&closed, &observed, status))
}

/// The outcome of an automation that is closed, or has closed before its push.
pub(super) fn outcome(closed: &Closed, observed: &Value, status: &Status) -> Outcome {
    ready(closed, &changed(status, observed), status.message_before())
}

/// Ready, as before, and an event when something begins to wait.
fn ready(closed: &Closed, changed: &[&str], before: &str) -> Outcome {
    let trace = format!("nothing is pushed {closed}");
    let message = if changed.is_empty() {
        trace.clone()
    } else {
        format!("{trace}\n{CHANGED}{}", listed(changed, ", "))
    };
    let is_news = !changed.is_empty() && !before.contains(CHANGED);
    Outcome::Ready {
        news: is_news.then(|| message.clone()),
        trace,
        message,
        after: None,
    }
}

/// The policies that have chosen another image than at the last run; none before the first one, since only
/// Git has the markers.
fn changed<'a>(status: &Status, observed: &'a Value) -> Vec<&'a str> {
    if status.text("observedSourceRevision").is_empty() {
        return Vec::new();
    }
    let none = Map::new();
    let previous = status
        .fields
        .get("observedPolicies")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let now = observed.as_object().into_iter().flatten();
    let changed = now.filter(|(name, image)| previous.get(*name) != Some(*image));
    changed.map(|(name, _)| name.as_str()).collect()
}

/// Has the automation run again when a window opens that it was outside of, or at the time that fields wait for:
/// another window opens, or a tag is proven (`soak`). An interval of half of that time or less comes first, with all of
/// its jitter, and looks again.
pub(super) fn come_back(request: &ReconcileRequest<'_>, finished: &FinishedRun) {
    let outside = finished.run.outside.as_ref().and_then(|closed| closed.opens.as_ref());
    let Some(due) = outside
        .into_iter()
        .chain(&finished.run.due)
        .min_by(|one, other| one.order(other))
    else {
        return;
    };
    let pause = due.since(&clock::now()).as_std();
    if pause < finished.automation.interval().saturating_mul(2) {
        request.come_back(pause);
    }
}

/// That a run found its automation closed, or that it would be.
pub(super) fn closed_line(run: &Run) -> Option<String> {
    run.outside.as_ref().map(|closed| format!("nothing is pushed {closed}"))
}

/// The windows that fields wait for, a line each.
pub(super) fn told(run: &Run) -> Option<String> {
    let waiting = run.skips.iter().filter(|skip| skip.reason == Reason::OutsideWindow);
    let windows: BTreeSet<&str> = waiting.map(|skip| skip.message.as_str()).collect();
    let windows: Vec<&str> = windows.into_iter().collect();
    (!windows.is_empty()).then(|| listed(&windows, "\n"))
}

/// The windows that fields wait for, unless the message before has them.
pub(super) fn news(told: Option<&str>, before: &str) -> Option<String> {
    told.filter(|told| !before.contains(told)).map(str::to_owned)
}

fn listed(texts: &[&str], between: &str) -> String {
    let named: Vec<&str> = texts.iter().take(NAMED).copied().collect();
    let more = texts.len().saturating_sub(NAMED);
    match more {
        0 => named.join(between),
        more => format!("{}{between}and {more} more", named.join(between)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use bumpwright_gostd::Time;
    use bumpwright_policy::Windows;

    #[test]
    fn an_event_comes_once_when_something_begins_to_wait() {
        let windows = Windows::parse("Mon 09:00-10:00").unwrap();
        let closed = windows.check(&Time::unix(0, 0)).unwrap_err();
        let said = |changed: &[&str], before: &str| match ready(&closed, changed, before) {
            Outcome::Ready { message, news, .. } => (message, news.is_some()),
            other => panic!("{other:?}"),
        };
        let (quiet, is_news) = said(&[], "repository up-to-date");
        let opens = "nothing is pushed outside of the window Mon 09:00-10:00, which opens at 1970-01-05T09:00:00Z";
        assert_eq!((quiet.as_str(), is_news), (opens, false));
        let (waiting, is_news) = said(&["one", "two"], &quiet);
        assert_eq!(
            (waiting, is_news),
            (format!("{opens}\nchanged since the last run: one, two"), true)
        );
        assert!(!said(&["one"], &format!("{opens}\nchanged since the last run: two")).1);
    }

    #[test]
    fn long_lists_are_cut() {
        let names = ["a"; 12];
        assert!(listed(&names, ", ").ends_with("a, and 2 more"));
        assert_eq!(listed(&["a", "b"], ", "), "a, b");
    }
}
