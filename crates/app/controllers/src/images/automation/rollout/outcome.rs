//! What became of a run that puts images back.

use bumpwright_forge::PullRequestState;
use bumpwright_update::Run;

/// The most characters of an address that are remembered.
const LONGEST: usize = 300;

/// What became of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// No field has the images any more.
    Nothing,
    /// They are reverted on the reconciled branch.
    Done,
    /// To put them back is proposed, here.
    Proposed(String),
    /// Somebody has closed the proposal.
    Declined(String),
}

impl Outcome {
    /// Of a run for the branch `reconciled`, by its full name, that ended well.
    pub(super) fn of(run: &Run, reconciled: &str) -> Self {
        if let Some(kept) = run.pull_request.as_ref().and_then(|request| request.kept.as_ref()) {
            let request = bounded(&format!("pull request #{} ({})", kept.number, kept.url));
            return match kept.state {
                PullRequestState::Declined => Self::Declined(request),
                _ => Self::Proposed(request),
            };
        }
        if run.changes.is_empty() {
            return Self::Nothing;
        }
        if let Some(declined) = &run.declined {
            return Self::Declined(bounded(declined));
        }
        if run.pushes.iter().any(|push| push.reference == reconciled) {
            return Self::Done;
        }
        let page = run.pushes.iter().find_map(|push| push.url.as_deref());
        Self::Proposed(page.map_or_else(|| pushed(run), bounded))
    }
}

/// As much of a server's words as is remembered.
fn bounded(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

/// Where the commit was pushed.
fn pushed(run: &Run) -> String {
    let Some(push) = run.pushes.last() else {
        return String::new();
    };
    let commit = push.new.get(..7).unwrap_or(&push.new);
    match push.reference.strip_prefix("refs/heads/") {
        Some(branch) => format!("commit '{commit}' on branch '{branch}'"),
        None => format!("commit '{commit}' at {}", push.reference),
    }
}
