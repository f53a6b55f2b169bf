//! `--output markdown`: a summary for a CI job or a merge request, from `templates/summary.md`.

use serde::Serialize;

use super::words;
use bumpwright_forge::markdown::{cell, code};
use bumpwright_update::{PullRequestReport, Run};

const TEMPLATE: &str = include_str!("../../templates/summary.md");

#[derive(Serialize)]
struct RunView {
    title: String,
    error: Option<String>,
    headline: String,
    changes: Vec<ChangeView>,
    commit: Option<CommitView>,
    pushes: Vec<PushView>,
    request: Option<RequestView>,
    skips: Vec<SkipView>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ChangeView {
    place: String,
    object: String,
    old: String,
    new: String,
    policy: String,
}

#[derive(Serialize)]
struct CommitView {
    id: Option<String>,
    branch: Option<String>,
    author: String,
    signed: bool,
    subject: String,
}

#[derive(Serialize)]
struct PushView {
    reference: String,
    status: &'static str,
}

#[derive(Serialize)]
struct RequestView {
    head: String,
    base: String,
    number: Option<u64>,
    url: Option<String>,
    word: &'static str,
}

#[derive(Serialize)]
struct SkipView {
    place: String,
    reason: String,
    message: String,
}

/// The summary of these runs.
///
/// # Errors
///
/// When the template does not fit its data: a defect of this program.
pub fn render(runs: &[Run]) -> Result<String, tera::Error> {
    let mut context = tera::Context::new();
    context.insert("runs", &runs.iter().map(run).collect::<Vec<_>>());
    let mut templates = tera::Tera::default();
    templates.autoescape_on(Vec::<&str>::new());
    templates.add_raw_template("summary.md", TEMPLATE)?;
    templates.render("summary.md", &context)
}

fn run(run: &Run) -> RunView {
    RunView {
        title: cell(&run.automation.clone().unwrap_or_else(|| run.target.clone())),
        error: run.error.as_deref().map(cell),
        headline: words::headline(run),
        changes: run.changes.iter().map(change).collect(),
        commit: run.commit.as_ref().map(|commit| CommitView {
            id: commit.id.clone(),
            branch: commit.branch.as_deref().map(code),
            author: cell(&commit.author),
            signed: commit.signed,
            subject: cell(&words::subject(&commit.message)),
        }),
        pushes: run
            .pushes
            .iter()
            .map(|push| PushView {
                reference: code(&push.reference),
                status: push.status.word(),
            })
            .collect(),
        request: run.pull_request.as_ref().map(request),
        skips: run.skips.iter().map(skip).collect(),
        notes: run.notes.iter().map(|note| cell(note)).collect(),
    }
}

fn change(change: &bumpwright_edit::Change) -> ChangeView {
    ChangeView {
        place: code(&format!("{}:{}", change.path, change.line)),
        object: cell(&change.object.to_string()),
        old: code(&change.old),
        new: code(&change.new),
        policy: cell(&change.policy.to_string()),
    }
}

fn request(request: &PullRequestReport) -> RequestView {
    let kept = request.kept.as_ref();
    RequestView {
        head: code(&request.head),
        base: code(&request.base),
        number: kept.map(|kept| kept.number),
        // What is no address, or would end the link, is left out.
        url: kept.map(|kept| &kept.url).filter(|url| linkable(url)).cloned(),
        word: request.word(),
    }
}

fn linkable(url: &str) -> bool {
    let scheme = url.starts_with("https://") || url.starts_with("http://");
    scheme && !url.contains(|c: char| c.is_control() || c.is_whitespace() || "()<>[]`\\".contains(c))
}

fn skip(skip: &bumpwright_edit::Skip) -> SkipView {
    SkipView {
        place: code(&format!("{}:{}:{}", skip.path, skip.line, skip.column)),
        reason: format!("{:?}", skip.reason),
        message: cell(&skip.message),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_run_says_so() {
        let run = Run {
            target: ".".into(),
            ..Run::default()
        };
        assert_eq!(render(&[run]).unwrap().trim(), "## .\n\nNothing to change.");
    }

    #[test]
    fn a_failed_run_says_why() {
        let run = Run {
            automation: Some("fs/app".into()),
            error: Some("no\nway".into()),
            ..Run::default()
        };
        assert_eq!(render(&[run]).unwrap().trim(), "## fs/app\n\n**Failed:** no way");
    }
}
