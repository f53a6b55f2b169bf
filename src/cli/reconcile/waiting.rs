//! Requests of reconciliations, and their outcome.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::object::{Target, found};
use crate::cli::error::CliError;
use crate::cli::images::now;
use crate::cli::installed::{at, items};
use crate::cli::view::text::once;
use crate::cli::words;
use bumpwright_gostd::RFC_3339_NANO;
use bumpwright_kube::Cluster;
use bumpwright_runtime::REQUESTED_AT;
use bumpwright_text::{Excerpt, between};

/// The field manager of what commands change.
pub(in crate::cli) const MANAGER: &str = "bumpwright";

/// How often the object is read.
const PAUSE: Duration = Duration::from_millis(500);

/// Prints progress to standard error.
pub(in crate::cli) fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", words::inline(text));
}

/// Asks for a reconciliation, by other annotations `also`; what was asked for.
pub(in crate::cli) async fn request(cluster: &Cluster, target: &Target, also: &[&str]) -> Result<String, CliError> {
    let Target { resource, name, .. } = target;
    let request = now().written(RFC_3339_NANO);
    let keys = [REQUESTED_AT].into_iter().chain(also.iter().copied());
    let annotations: Map<String, Value> = keys.map(|key| (key.to_owned(), json!(request))).collect();
    let patch = json!({"metadata": {"annotations": annotations}});
    let patched = cluster.merge_patch(resource, name, MANAGER, &patch).await;
    patched.map_err(|error| found(resource, name, error))?;
    say(&format!("► {target} annotated"));
    Ok(request)
}

/// How far an object is.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Ready, with this message.
    Ready(String),
    /// Not ready, with reason and message.
    Failed(String),
    /// Not done yet; what is known.
    Waiting(String),
}

/// Waits until an object is reconciled, and says how that ended; the exit code. With a request, until that is handled.
///
/// # Errors
/// It is not there any more; or another error of the server.
pub(in crate::cli) async fn until_ready(
    cluster: &Cluster,
    target: &Target,
    request: Option<&str>,
    limit: Duration,
) -> Result<u8, CliError> {
    let Target { resource, name, .. } = target;
    say(&format!("◎ waiting for {target}"));
    let end = Instant::now() + limit;
    loop {
        let object = cluster.fetch(resource, name).await;
        let object = object.map_err(|error| found(resource, name, error))?;
        match outcome(&object, request) {
            Outcome::Ready(message) => {
                say(&format!("✔ {target} is ready: {}", line(&message)));
                if let Some(commit) = request.and_then(|request| pushed_since(&object, request)) {
                    say(&format!("✔ pushed commit {commit}"));
                }
                say_more(&message);
                return Ok(0);
            }
            Outcome::Failed(why) => {
                say(&format!("✗ {target} is not ready: {}", line(&why)));
                say_more(&why);
                if let Some((reason, _)) = why.split_once(": ") {
                    say(&format!("  bumpwright explain {reason}"));
                }
                return Ok(1);
            }
            Outcome::Waiting(why) if Instant::now() >= end => {
                say(&format!("✗ {target} is not ready in time: {}", line(&why)));
                return Ok(1);
            }
            Outcome::Waiting(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// The commit that an automation has pushed since a request, by the seconds of both.
fn pushed_since<'o>(object: &'o Value, request: &str) -> Option<&'o str> {
    let seconds = |time: &str| time.get(..19).map(str::to_owned);
    let pushed = seconds(at(object, "/status/lastPushTime"))?;
    (pushed >= seconds(request)?).then(|| at(object, "/status/lastPushCommit"))
}

/// The first line: others are skips, each with a place.
fn line(message: &str) -> &str {
    message.first_line()
}

/// The skips of an object that is ready all the same.
fn say_more(message: &str) {
    const FEW: usize = 5;
    let mut lines = message.lines().skip(1).filter(|line| !line.trim().is_empty());
    lines.by_ref().take(FEW).for_each(|line| say(&format!("! {line}")));
    match lines.count() {
        0 => {}
        more => say(&format!("! and {more} more")),
    }
}

/// Whether a request is handled, or one that came after it: an annotation has one token, the last that somebody wrote.
fn is_handled(object: &Value, request: &str) -> bool {
    let annotations = object.pointer("/metadata/annotations");
    let last = annotations.and_then(|annotations| annotations.get(REQUESTED_AT)?.as_str());
    let handled = at(object, "/status/lastHandledReconcileAt");
    handled == request || last.is_some_and(|last| handled == last)
}

fn outcome(object: &Value, request: Option<&str>) -> Outcome {
    let condition = |kind: &str| items(object, "/status/conditions").find(|one| at(one, "/type") == kind);
    let told = |one: &Value| format!("{}: {}", at(one, "/reason"), once(at(one, "/message")));
    let ready = condition("Ready");
    if request.is_some_and(|request| !is_handled(object, request)) {
        let why = "no controller has handled the request";
        let known = ready.map(|ready| format!("{}: {}", at(ready, "/status"), told(ready)));
        return Outcome::Waiting(format!("{why}{}", between("; Ready is ", known, "")));
    }
    let number = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_i64);
    let generation = number(object, "/metadata/generation");
    let Some(ready) = ready else {
        return Outcome::Waiting("it has no Ready condition".to_owned());
    };
    let seen = number(ready, "/observedGeneration").max(number(object, "/status/observedGeneration"));
    match at(ready, "/status") {
        _ if seen < generation => Outcome::Waiting("its controller has not seen its newest spec".to_owned()),
        "True" => Outcome::Ready(at(ready, "/message").to_owned()),
        "False" => Outcome::Failed(told(ready)),
        _ => Outcome::Waiting(told(ready)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(ready: &str, handled: &str, seen: i64) -> Value {
        json!({
            "metadata": {"generation": 2},
            "status": {"lastHandledReconcileAt": handled, "observedGeneration": seen, "conditions": [
                {"type": "Ready", "status": ready, "reason": "R", "message": "m"},
            ]},
        })
    }

    #[test]
    fn an_outcome_counts_once_the_request_is_handled() {
        let not_handled = "no controller has handled the request; Ready is True: R: m".to_owned();
        for (object, expected) in [
            (object("True", "before", 2), Outcome::Waiting(not_handled)),
            (object("True", "now", 2), Outcome::Ready("m".to_owned())),
            (object("False", "now", 2), Outcome::Failed("R: m".to_owned())),
            (object("Unknown", "now", 2), Outcome::Waiting("R: m".to_owned())),
            (
                object("True", "now", 1),
                Outcome::Waiting("its controller has not seen its newest spec".to_owned()),
            ),
        ] {
            assert_eq!(outcome(&object, Some("now")), expected);
        }
        assert_eq!(outcome(&object("True", "", 2), None), Outcome::Ready("m".to_owned()));
    }

    #[test]
    fn a_push_after_the_request_is_told() {
        let automation = json!({"status": {"lastPushTime": "2026-01-02T03:04:05Z", "lastPushCommit": "abc"}});
        for (request, expected) in [
            ("2026-01-02T03:04:05.9Z", Some("abc")),
            ("2026-01-02T03:04:04Z", Some("abc")),
            ("2026-01-02T03:04:06.1Z", None),
            ("", None),
        ] {
            assert_eq!(pushed_since(&automation, request), expected, "{request}");
        }
        assert_eq!(pushed_since(&json!({}), "2026-01-02T03:04:05Z"), None);
    }

    #[test]
    fn the_words_of_a_missing_secret_are_said_once() {
        let mut failed = object("False", "now", 2);
        let missing = "failed to get secret 'a/b': secrets \"b\" not found";
        if let Some(message) = failed.pointer_mut("/status/conditions/0/message") {
            *message = json!(format!("failed to get secret 'a/b': {missing}"));
        }
        assert_eq!(outcome(&failed, Some("now")), Outcome::Failed(format!("R: {missing}")));
    }

    #[test]
    fn a_request_is_handled_with_a_later_one() {
        let requested = |handled: &str, token: &str| {
            let mut object = object("True", handled, 2);
            if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
                metadata.insert("annotations".to_owned(), json!({REQUESTED_AT: token}));
            }
            outcome(&object, Some("now"))
        };
        assert!(matches!(requested("before", "now"), Outcome::Waiting(_)));
        assert!(matches!(requested("before", "later"), Outcome::Waiting(_)));
        assert_eq!(requested("later", "later"), Outcome::Ready("m".to_owned()));
    }
}
