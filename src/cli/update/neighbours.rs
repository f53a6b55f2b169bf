//! Fields that an automation's `policySelector` leaves to another automation of the same command: for people
//! these are no news.

use std::collections::BTreeSet;

use bumpwright_api::Objects;
use bumpwright_edit::{Reason, Skip};
use bumpwright_fleet::clean;
use bumpwright_update::Run;

/// A field: its file, line and column.
type Field = (String, usize, usize);

/// What a run has to do with fields.
struct Neighbour {
    automation: Option<String>,
    target: String,
    /// The folder that it looks at; empty for all.
    path: String,
    /// The fields whose policies are not its own: its selector leaves them out, or they are of another namespace.
    left: BTreeSet<Field>,
}

impl Neighbour {
    fn of(run: &Run, objects: &Objects) -> Self {
        let is_its = |name: String| run.automation.as_ref() == Some(&name);
        let automation = objects
            .automations()
            .find(|automation| is_its(automation.metadata.object_name().to_string()));
        let is_left = |skip: &&Skip| matches!(skip.reason, Reason::NotSelected | Reason::OtherNamespace);
        let left = run.skips.iter().filter(is_left);
        Self {
            automation: run
                .automation
                .clone()
                .filter(|_| automation.is_some() && run.error.is_none() && !run.suspended),
            target: run.target.clone(),
            path: automation.map_or_else(String::new, |automation| clean(automation.path())),
            left: left.map(field).collect(),
        }
    }

    /// Whether it looks at a field that another run leaves out, and takes its policy.
    fn takes(&self, run: &Run, skip: &Skip) -> bool {
        let is_other = self.automation.is_some() && self.automation != run.automation && self.target == run.target;
        let below = skip.path.strip_prefix(self.path.as_str());
        let covers = self.path.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_other && covers && !self.left.contains(&field(skip))
    }
}

fn field(skip: &Skip) -> Field {
    (skip.path.clone(), skip.line, skip.column)
}

/// The runs without skips of fields that another one of them takes.
pub(super) fn apart(mut runs: Vec<Run>, objects: &Objects) -> Vec<Run> {
    let all: Vec<Neighbour> = runs.iter().map(|run| Neighbour::of(run, objects)).collect();
    for run in &mut runs {
        let skips = std::mem::take(&mut run.skips);
        let is_news =
            |skip: &Skip| skip.reason != Reason::NotSelected || !all.iter().any(|other| other.takes(run, skip));
        let kept: Vec<Skip> = skips.into_iter().filter(is_news).collect();
        run.skips = kept;
    }
    runs
}
