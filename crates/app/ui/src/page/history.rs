//! What an automation did, with the difference of each commit as far as the mirrors of this process have it.

use std::collections::BTreeMap;

use bumpwright_api::ObjectName;
use bumpwright_overview::Change;
use bumpwright_pages::Run;

use crate::view::View;

/// The most commits of a page whose differences are made.
const COMMITS: usize = 10;

/// Makes the differences of an automation's commits, or says for each why it cannot be shown. Blocks, for a short time.
pub type Differences = Box<dyn Fn(&ObjectName, &[String]) -> Vec<Result<String, NoDifference>> + Send + Sync>;

/// Why a commit has no difference.
#[derive(Debug, thiserror::Error)]
pub enum NoDifference {
    #[error(
        "this process has no mirror of the repository; the one that reconciles the automation has it after its first run"
    )]
    NoMirror,
    /// What the mirrors say of it.
    #[error(transparent)]
    Mirror(#[from] Box<dyn std::error::Error + Send + Sync>),
}

/// What an automation did.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) runs: Vec<Run>,
    /// Why no run has a difference.
    pub(crate) note: String,
}

impl History {
    /// The history of an automation that somebody sees. Blocks.
    pub(crate) fn read(view: &View, name: &ObjectName, differences: Option<&Differences>) -> Self {
        let changes = view.world.runs(name);
        let mut commits: Vec<String> = changes.iter().map(|change| change.commit.clone()).collect();
        commits.retain(|commit| !commit.is_empty());
        commits.dedup();
        if commits.is_empty() {
            return Self::of(changes, &BTreeMap::new(), "");
        }
        let Some(differences) = differences else {
            let note = "No differences of commits: this process has no mirrors of repositories. The pages of the controller have them.";
            return Self::of(changes, &BTreeMap::new(), note);
        };
        let mut automations = view.overview.automations.iter();
        let automation = automations.find(|one| one.id.name == *name);
        // What is in a repository belongs to it.
        if automation.is_none_or(|automation| view.world.readiness(&automation.source).is_none()) {
            let note = "No differences of commits: the source is not there, or you may not list it.";
            return Self::of(changes, &BTreeMap::new(), note);
        }
        commits.truncate(COMMITS);
        let diffs = differences(name, &commits);
        Self::of(changes, &commits.into_iter().zip(diffs).collect(), "")
    }

    fn of(changes: Vec<Change>, made: &BTreeMap<String, Result<String, NoDifference>>, note: &str) -> Self {
        let run = |change: Change| {
            let (diff, why) = match made.get(&change.commit) {
                Some(Ok(diff)) => (Some(diff.clone()), String::new()),
                Some(Err(why)) => (None, why.to_string()),
                None => (None, String::new()),
            };
            Run { change, diff, why }
        };
        Self {
            runs: changes.into_iter().map(run).collect(),
            note: note.to_owned(),
        }
    }
}
