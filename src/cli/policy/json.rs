//! `policy --output json`: the shape that programs rely on, version 1.

use std::collections::BTreeMap;

use serde::Serialize;

use super::explain::Explained;
use super::find::{Counts, Finding, Problem};
use crate::cli::error::CliError;
use crate::cli::view::document;
use bumpwright_edit::Reason;
use bumpwright_policy::{GuardRefusal, LatestRef};

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    policies: Vec<PolicyView<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyView<'a> {
    policy: Option<String>,
    repository: Option<String>,
    image: Option<&'a str>,
    canonical: Option<&'a str>,
    choice: Option<ImageView<'a>>,
    previous: Option<ImageView<'a>>,
    runners_up: &'a [String],
    tags: Option<TagsView<'a>>,
    guards: Vec<GuardView>,
    explanation: Option<ExplanationView<'a>>,
    error: Option<ErrorView<'a>>,
}

#[derive(Serialize)]
struct ImageView<'a> {
    name: &'a str,
    tag: &'a str,
    digest: Option<&'a str>,
}

#[derive(Serialize)]
struct TagsView<'a> {
    total: usize,
    excluded: usize,
    counted: usize,
    dropped: &'a BTreeMap<&'static str, usize>,
}

#[derive(Serialize)]
struct GuardView {
    reason: &'static str,
    message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExplanationView<'a> {
    tag: &'a str,
    listed: Option<bool>,
    excluded_by: Option<&'a str>,
    value: Option<&'a str>,
    verdict: Option<&'static str>,
    place: Option<usize>,
    winner: Option<&'a str>,
    steps: &'a [String],
}

#[derive(Serialize)]
struct ErrorView<'a> {
    reason: Reason,
    message: &'a str,
}

/// The document for these findings, with a line feed at its end:
///
/// ```json
/// {"version": 1, "policies": [{
///   "policy": "ns/name",
///   "repository": "ns/name",
///   "image": "app",
///   "canonical": "index.docker.io/library/app",
///   "choice": {"name": "app", "tag": "1.4.0", "digest": null},
///   "previous": {"name": "app", "tag": "1.3.0", "digest": null},
///   "runnersUp": ["1.3.0", "1.2.0"],
///   "tags": {"total": 9, "excluded": 1, "counted": 3, "dropped": {"OutOfRange": 3, "Unmatched": 2}},
///   "guards": [{"reason": "Held", "message": "held: freeze"}],
///   "explanation": {"tag": "1.2.0", "listed": true, "excludedBy": null, "value": "1.2.0", "verdict": "Outranked",
///     "place": 3, "winner": "1.4.0", "steps": ["The repository has the tag 1.2.0."]},
///   "error": null
/// }]}
/// ```
///
/// - `policy` and `repository` are null for the policy that flags made; `repository` also for one that names none.
/// - `image` is the repository's `spec.image`, or the status' where the repository is not known; `canonical` names
///   registry and repository in full. Both are null when there is nothing to tell.
/// - `choice` is what rule, filter and ages choose, with the digest if the policy reflects it; with `--offline`,
///   and for what is suspended, the status'. It is written only if `guards` is empty: `Held`, `TooYoung`,
///   `NotProven`, `Unsigned`, `Failed`, `OutsideWindow`, `WouldDowngrade` (judged against `previous`). It is null
///   when there is an `error`.
/// - `previous` is what the status names, or null.
/// - `tags` is null when they are not known. `total` is `excluded` (by the exclusion list) + `counted` (taking part in
///   the choice) + all of `dropped`, by the names of [`Verdict`](bumpwright_policy::Verdict).
/// - `explanation` is null without `--explain`, and where the tags are not known. Its `listed` and `verdict` are null
///   for a tag that the exclusion list leaves out; `value` is what is compared; `place` counts from 1.
/// - `error` has a reason of `update`'s skips: `PolicyNotReady` or `ScanFailed`. Another reason may come to be.
///
/// # Errors
/// A value has no form as JSON.
pub fn render(findings: &[Finding]) -> Result<String, CliError> {
    let document = Document {
        version: 1,
        policies: findings.iter().map(view).collect(),
    };
    document::json(&document)
}

fn view(finding: &Finding) -> PolicyView<'_> {
    PolicyView {
        policy: finding.policy.as_ref().map(ToString::to_string),
        repository: finding.repository.as_ref().map(ToString::to_string),
        image: finding.image.as_deref(),
        canonical: finding.canonical.as_deref(),
        choice: finding.choice.as_ref().map(image),
        previous: finding.previous.as_ref().map(image),
        runners_up: &finding.runners_up,
        tags: finding.tags.as_ref().map(tags),
        guards: finding.guards.iter().map(guard).collect(),
        explanation: finding.explanation.as_ref().map(explanation),
        error: finding.problem.as_ref().map(error),
    }
}

fn image(image: &LatestRef) -> ImageView<'_> {
    ImageView {
        name: &image.name,
        tag: &image.tag,
        digest: image.digest.as_deref(),
    }
}

fn tags(counts: &Counts) -> TagsView<'_> {
    TagsView {
        total: counts.total,
        excluded: counts.excluded,
        counted: counts.counted,
        dropped: &counts.dropped,
    }
}

fn guard(refusal: &GuardRefusal) -> GuardView {
    GuardView {
        reason: refusal.name(),
        message: refusal.to_string(),
    }
}

fn explanation(explained: &Explained) -> ExplanationView<'_> {
    ExplanationView {
        tag: &explained.tag,
        listed: explained.listed,
        excluded_by: explained.excluded_by.as_deref(),
        value: explained.value.as_deref(),
        verdict: explained.verdict,
        place: explained.place,
        winner: explained.winner.as_deref(),
        steps: &explained.steps,
    }
}

fn error(problem: &Problem) -> ErrorView<'_> {
    ErrorView {
        reason: problem.reason,
        message: &problem.message,
    }
}
