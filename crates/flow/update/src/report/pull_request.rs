//! What a run reports of its pull request.

use bumpwright_edit::{Change, Reason, Skip};
use bumpwright_forge::{Kept, PullRequestState};

/// The pull request of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestReport {
    /// The head branch, without `refs/heads/`.
    pub head: String,
    pub base: String,
    /// The request at the forge; none in a preview, which does not contact the forge.
    pub kept: Option<Kept>,
}

impl PullRequestReport {
    /// The word for the result in every output.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.kept.as_ref().map(|kept| kept.state) {
            None => "planned",
            Some(PullRequestState::Opened) => "opened",
            Some(PullRequestState::Updated) => "updated",
            Some(PullRequestState::Unchanged) => "unchanged",
            Some(PullRequestState::Declined) => "declined",
            Some(PullRequestState::Edited) => "edited",
        }
    }

    /// The request in a sentence for conditions and events; none in a preview.
    #[must_use]
    pub fn told(&self) -> Option<String> {
        let kept = self.kept.as_ref()?;
        let (number, url) = (kept.number, &kept.url);
        Some(match kept.state {
            PullRequestState::Declined => declined(number, url),
            PullRequestState::Edited => format!("{}: {url}", edited(number, &self.head)),
            _ => format!("pull request #{number} is open: {url}"),
        })
    }

    /// Whether something happened to the request in this run.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        let state = self.kept.as_ref().map(|kept| kept.state);
        matches!(state, Some(PullRequestState::Opened | PullRequestState::Updated))
    }

    /// Whether it is left alone because of commits of others on its branch.
    pub(crate) fn is_edited(&self) -> bool {
        let kept = self.kept.as_ref();
        kept.is_some_and(|kept| kept.state == PullRequestState::Edited)
    }

    /// A note about a request that is left alone.
    pub(crate) fn note(&self) -> Option<String> {
        let kept = self.kept.as_ref()?;
        match kept.state {
            PullRequestState::Declined => Some(declined(kept.number, &kept.url)),
            PullRequestState::Edited => Some(format!(
                "{} ({}): nothing is pushed there, since that would remove them; merge or close it, or overwrite them with {OVERWRITE}",
                edited(kept.number, &self.head),
                kept.url
            )),
            _ => None,
        }
    }
}

/// The changes that are not made because of commits of others.
pub(crate) fn skips(kept: &PullRequestReport, changes: &[Change]) -> Vec<Skip> {
    let Some(request) = &kept.kept else {
        return Vec::new();
    };
    let skip = |change: &Change| Skip {
        path: change.path.clone(),
        line: change.line,
        column: change.column,
        reason: Reason::BranchEdited,
        message: format!("not set to {}: {}", change.new, edited(request.number, &kept.head)),
    };
    changes.iter().map(skip).collect()
}

/// How commits of others are overwritten.
pub(crate) const OVERWRITE: &str = "--pull-request-overwrite (bumpwright.dev/pull-request-overwrite: \"true\")";

pub(crate) fn declined(number: u64, url: &str) -> String {
    format!(
        "pull request #{number} for the same changes was closed without merging ({url}): reopen it there to have them after all"
    )
}

fn edited(number: u64, head: &str) -> String {
    format!("pull request #{number} has commits of others on {head}")
}
