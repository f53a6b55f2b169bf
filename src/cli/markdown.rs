//! `--output markdown`: a summary for a CI job or a merge request, from `templates/summary.md`.

use serde::Serialize;

use super::words;
use crate::automation::Run;

const TEMPLATE: &str = include_str!("../../templates/summary.md");

#[derive(Serialize)]
struct RunView {
    title: String,
    error: Option<String>,
    headline: String,
    changes: Vec<ChangeView>,
    commit: Option<CommitView>,
    pushes: Vec<PushView>,
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
        skips: run.skips.iter().map(skip).collect(),
        notes: run.notes.iter().map(|note| cell(note)).collect(),
    }
}

fn change(change: &crate::edit::Change) -> ChangeView {
    ChangeView {
        place: code(&format!("{}:{}", change.path, change.line)),
        object: cell(&words::object(&change.object)),
        old: code(&change.old),
        new: code(&change.new),
        policy: cell(&change.policy.to_string()),
    }
}

fn skip(skip: &crate::edit::Skip) -> SkipView {
    SkipView {
        place: code(&format!("{}:{}:{}", skip.path, skip.line, skip.column)),
        reason: format!("{:?}", skip.reason),
        message: cell(&skip.message),
    }
}

/// Text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text inside backquotes in a table: a backquote or a bar would end it.
fn code(text: &str) -> String {
    one_line(text).replace('`', "'").replace('|', "\\|")
}

/// Text in a table that Markdown and HTML leave alone.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_in_its_cell() {
        assert_eq!(cell("a|b <img>\nc"), "a\\|b &lt;img&gt; c");
        assert_eq!(code("a`|b"), "a'\\|b");
    }

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
