//! The report of an automation with `bumpwright.dev/dry-run: "true"`, in place of a push.

use super::skips;
use super::status::noted;
use super::windows;
use bumpwright_api::ImageUpdateAutomation;
use bumpwright_edit::unified;
use bumpwright_runtime::Outcome;
use bumpwright_text::{Parts, between};
use bumpwright_update::Run;

/// Limit on the diff in a condition's message, in bytes.
const SHOWN: usize = 8 << 10;

/// The outcome of a dry run: the diff in the message, and an event when it differs from the previous one.
pub(crate) fn outcome(automation: &ImageUpdateAutomation, run: &Run) -> Outcome {
    let mut message = match &run.commit {
        None => "dry run: repository up-to-date".to_owned(),
        Some(commit) => format!(
            "dry run: {} change{} would be pushed to branch '{}'\n{}",
            run.changes.len(),
            if run.changes.len() == 1 { "" } else { "s" },
            between("", commit.branch.as_deref(), ""),
            diff(run)
        ),
    };
    message = noted(message, run);
    for line in windows::closed_line(run).into_iter().chain(windows::told(run)) {
        message = format!("{}\n{line}", message.trim_end());
    }
    if let Some(skipped) = skips::summary(&run.skips) {
        message = format!("{}\n{skipped}", message.trim_end());
    }
    Outcome::Ready {
        trace: message.clone(),
        news: None,
        message,
        after: Some(automation.interval()),
    }
}

fn diff(run: &Run) -> String {
    let mut bytes = Vec::new();
    for file in &run.files {
        unified::append(&mut bytes, &file.path, &file.old, &file.new);
        if bytes.len() > SHOWN {
            break;
        }
    }
    let whole = String::from_utf8_lossy(&bytes);
    if whole.len() <= SHOWN {
        return whole.into_owned();
    }
    let cut = whole.part(..whole.floor_char_boundary(SHOWN));
    let lines = cut.rfind('\n').and_then(|end| cut.get(..=end)).unwrap_or(cut);
    format!("{lines}… cut here\n")
}
