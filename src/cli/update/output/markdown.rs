//! `--output markdown`: a summary for a CI job or a merge request.

use std::borrow::Cow;
use std::path::Path;

use crate::cli::update::output::links::Links;
use crate::cli::words;
use bumpwright_edit::{Change, Skip};
use bumpwright_forge::markdown::{cell, code};
use bumpwright_update::{Bump, CommitReport, PullRequestReport, Run, bumps, impact_section, releases_section};

/// The most fields that a row names.
const FIELDS: usize = 10;

/// The summary of these runs.
#[must_use]
pub fn render(runs: &[Run]) -> String {
    runs.iter().map(section).collect()
}

/// The section of one run.
fn section(run: &Run) -> String {
    let links = Links::of(run);
    let mut text = format!("## {}\n\n", cell(&title(run)));
    let error = run.error.as_deref().filter(|error| !error.is_empty());
    if let Some(error) = error {
        text += &format!("**Failed:** {}\n\n", cell(error));
    }
    if !run.changes.is_empty() {
        let bumps = bumps(&run.changes, &run.images);
        let rows: String = bumps.iter().map(|bump| changed(bump, &links)).collect();
        let head = "| Image | Old → New | Policy | Fields |\n|---|---|---|---|\n";
        text += &format!("{}\n\n{head}{rows}\n", words::headline(run));
    } else if error.is_none() {
        text += "Nothing to change.\n\n";
    }
    text += &releases_section(&run.releases, 3);
    text.extend(run.impact.iter().map(|impact| impact_section(impact, 3)));
    text.extend(run.commit.iter().map(|it| commit(it, &links)));
    for push in &run.pushes {
        text += &format!("- pushed `{}` ({})\n", code(&push.reference), push.status.word());
    }
    text.extend(run.pull_request.iter().map(request));
    if !run.skips.is_empty() {
        let rows: String = run.skips.iter().map(skip).collect();
        let head = "| Place | Reason | |\n|---|---|---|\n";
        let count = run.skips.len();
        text += &format!("<details><summary>{count} skipped</summary>\n\n{head}{rows}\n</details>\n\n");
    }
    text.extend(run.notes.iter().map(|note| format!("> {}\n\n", cell(note))));
    text
}

/// The automation, or where the run went.
pub(crate) fn title(run: &Run) -> Cow<'_, str> {
    run.automation.as_deref().map_or_else(|| name(&run.target), Cow::from)
}

/// A URL or a path as given; of `.` and the like, the name of the folder.
fn name(target: &str) -> Cow<'_, str> {
    if Path::new(target).file_name().is_some() {
        return target.into();
    }
    let folder = Path::new(target).canonicalize().ok();
    let name = folder.as_ref().and_then(|folder| folder.file_name());
    name.map_or_else(|| target.into(), |name| name.to_string_lossy().into_owned().into())
}

/// A row: what changed, and where, with links where the forge is known.
fn changed(bump: &Bump<'_>, links: &Links) -> String {
    let place = |field: &&Change| {
        let name = format!("`{}`", code(&format!("{}:{}", field.path, field.line)));
        match links.field(field).filter(|link| linkable(link)) {
            Some(link) => format!("[{name}]({link})"),
            None => name,
        }
    };
    let mut places: Vec<String> = bump.fields.iter().take(FIELDS).map(place).collect();
    let left = bump.fields.len().saturating_sub(FIELDS);
    places.extend((left > 0).then(|| format!("and {left} more")));
    let [name, policy] = [bump.name, &bump.policy.to_string()].map(cell);
    let (old, new) = (code(bump.old), code(bump.new));
    format!("| {name} | `{old}` → `{new}` | {policy} | {} |\n", places.join(", "))
}

fn commit(commit: &CommitReport, links: &Links) -> String {
    let id = commit.id.as_deref().filter(|id| !id.is_empty());
    let link = id.and_then(|id| links.commit(id)).filter(|link| linkable(link));
    let id = match (id, link) {
        (Some(id), Some(link)) => format!("[`{id}`]({link})"),
        (Some(id), None) => format!("`{id}`"),
        (None, _) => "(preview)".to_owned(),
    };
    let branch = commit.branch.as_deref().filter(|branch| !branch.is_empty());
    let branch = branch.map_or_else(String::new, |branch| format!(" on `{}`", code(branch)));
    let signed = if commit.signed { ", signed" } else { "" };
    let (author, subject) = (cell(&commit.author), cell(&words::subject(&commit.message)));
    format!("Commit {id}{branch} by {author}{signed}: {subject}\n\n")
}

fn request(request: &PullRequestReport) -> String {
    let pull_request = request.kept.as_ref();
    // A URL that is not valid, or would end the link, is left out.
    let name = match pull_request.map(|pull_request| (pull_request.number, &pull_request.url)) {
        Some((number, url)) if linkable(url) => format!("[#{number}]({url})"),
        Some((number, _)) => format!("#{number}"),
        None => format!("from `{}` to `{}`", code(&request.head), code(&request.base)),
    };
    format!("- pull request {name} ({})\n", request.word())
}

fn skip(skip: &Skip) -> String {
    let place = code(&format!("{}:{}:{}", skip.path, skip.line, skip.column));
    format!("| `{place}` | {:?} | {} |\n", skip.reason, cell(&skip.message))
}

fn linkable(url: &str) -> bool {
    let scheme = url.starts_with("https://") || url.starts_with("http://");
    scheme && !url.contains(|c: char| c.is_control() || c.is_whitespace() || "()<>[]`\\".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_update::Impact;

    #[test]
    fn an_empty_run_says_so() {
        let run = Run {
            target: "apps".into(),
            ..Run::default()
        };
        assert_eq!(render(&[run]).trim(), "## apps\n\nNothing to change.");
    }

    #[test]
    fn the_impact_is_a_section_of_its_run() {
        let run = Run {
            target: "apps".into(),
            impact: Some(Impact::default()),
            ..Run::default()
        };
        let expected = "## apps\n\nNothing to change.\n\n### Impact\n\nnothing changes in these clusters";
        assert_eq!(render(&[run]).trim(), expected);
    }

    #[test]
    fn a_failed_run_says_why() {
        let run = Run {
            automation: Some("fs/app".into()),
            error: Some("no\nway".into()),
            ..Run::default()
        };
        assert_eq!(render(&[run]).trim(), "## fs/app\n\n**Failed:** no way");
    }
}
