//! `--output json` (docs/cli.md, *Output*): the shape that programs rely on, version 1.

use serde::Serialize;

use crate::cli::error::CliError;
use crate::cli::view::document;
use bumpwright_edit::{Change, DocumentId, Reason, Skip};
use bumpwright_update::{CommitReport, ImageRelease, Impact, PullRequestReport, PushReport, Run};

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    runs: Vec<RunView<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunView<'a> {
    automation: Option<&'a str>,
    changes: Vec<ChangeView<'a>>,
    skips: Vec<SkipView<'a>>,
    commit: Option<CommitView<'a>>,
    pushes: Vec<PushView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    impact: Option<&'a Impact>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    releases: &'a [ImageRelease],
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_request: Option<PullRequestView<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct ChangeView<'a> {
    path: &'a str,
    line: usize,
    column: usize,
    old: &'a str,
    new: &'a str,
    policy: String,
    setter: String,
    object: &'a DocumentId,
}

#[derive(Serialize)]
struct SkipView<'a> {
    path: &'a str,
    line: usize,
    column: usize,
    reason: Reason,
    message: &'a str,
}

#[derive(Serialize)]
struct CommitView<'a> {
    id: Option<&'a str>,
    branch: Option<&'a str>,
    message: &'a str,
    author: &'a str,
    signed: bool,
}

#[derive(Serialize)]
struct PushView<'a> {
    #[serde(rename = "ref")]
    reference: &'a str,
    old: Option<&'a str>,
    new: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
}

#[derive(Serialize)]
struct PullRequestView<'a> {
    /// None in a preview.
    number: Option<u64>,
    url: Option<&'a str>,
    state: &'static str,
    head: &'a str,
    base: &'a str,
}

/// The JSON document for these runs, with a final line feed.
///
/// # Errors
/// A value has no form as JSON.
pub fn render(runs: &[Run]) -> Result<String, CliError> {
    let document = Document {
        version: 1,
        runs: runs.iter().map(run).collect(),
    };
    document::json(&document)
}

fn run(run: &Run) -> RunView<'_> {
    RunView {
        automation: run.automation.as_deref(),
        changes: run.changes.iter().map(change).collect(),
        skips: run.skips.iter().map(skip).collect(),
        commit: run.commit.as_ref().map(commit),
        pushes: run.pushes.iter().map(push).collect(),
        impact: run.impact.as_ref(),
        releases: &run.releases,
        pull_request: run.pull_request.as_ref().map(pull_request),
        notes: &run.notes,
        error: run.error.as_deref(),
    }
}

fn change(change: &Change) -> ChangeView<'_> {
    ChangeView {
        path: &change.path,
        line: change.line,
        column: change.column,
        old: &change.old,
        new: &change.new,
        policy: change.policy.to_string(),
        setter: change.setter.to_string(),
        object: &change.object,
    }
}

fn skip(skip: &Skip) -> SkipView<'_> {
    SkipView {
        path: &skip.path,
        line: skip.line,
        column: skip.column,
        reason: skip.reason,
        message: &skip.message,
    }
}

fn commit(commit: &CommitReport) -> CommitView<'_> {
    CommitView {
        id: commit.id.as_deref(),
        branch: commit.branch.as_deref(),
        message: &commit.message,
        author: &commit.author,
        signed: commit.signed,
    }
}

fn push(push: &PushReport) -> PushView<'_> {
    PushView {
        reference: &push.reference,
        old: push.old.as_deref(),
        new: &push.new,
        status: push.status.word(),
        url: push.url.as_deref(),
    }
}

fn pull_request(request: &PullRequestReport) -> PullRequestView<'_> {
    PullRequestView {
        number: request.kept.as_ref().map(|kept| kept.number),
        url: request.kept.as_ref().map(|kept| kept.url.as_str()),
        state: request.word(),
        head: &request.head,
        base: &request.base,
    }
}
