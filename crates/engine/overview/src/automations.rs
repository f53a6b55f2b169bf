//! Automations.

use bumpwright_api::ObjectName;
use bumpwright_rollout::Record;
use serde::Serialize;

use super::facts::AutomationFacts;
use super::forge::Forge;
use super::readiness::{Readiness, seconds};
use super::world::{AUTOMATION, Id, World};

/// The annotation with the record of a rollout (docs/guides/rollouts.md).
const ROLLOUT: &str = "state.bumpwright.dev/rollout";

/// An ImageUpdateAutomation as views show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Automation {
    pub id: Id,
    pub readiness: Readiness,
    pub source: Id,
    /// The path in it that it changes; empty for all.
    pub path: String,
    /// The branch or refspec that it pushes to; empty when that is the one it starts from.
    pub push: String,
    /// When it ran last, in seconds since 1970-01-01 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed: Option<Pushed>,
    /// The commit that took images back, of its last rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub put_back: Option<PutBack>,
    /// Number of policies of its last run.
    pub policies: usize,
    /// What it left out in its last run, a line for each, as in its Ready condition.
    pub skipped: Vec<String>,
    /// How far its commits are; empty unless it follows them.
    pub rollout: String,
    /// Whether the rollout failed.
    pub rollout_failed: bool,
}

/// The last commit that an automation pushed, by its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pushed {
    pub commit: String,
    /// When it was pushed, in seconds since 1970-01-01 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// Its page at the forge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// A commit that took images back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PutBack {
    #[serde(flatten)]
    pub pushed: Pushed,
    /// The images that it took away: `name:tag`, with the digest where it is reflected.
    pub images: Vec<String>,
}

impl Automation {
    /// The commit that was pushed last; empty before the first push.
    #[must_use]
    pub fn commit(&self) -> &str {
        self.pushed.as_ref().map_or("", |pushed| &pushed.commit)
    }
}

impl AutomationFacts {
    /// The record of its rollout; none unless it follows its commits.
    #[must_use]
    pub fn rollout(&self) -> Option<Record> {
        Record::parse(self.metadata.annotations.0.get(ROLLOUT)?)
    }

    /// The same, without commits unless it follows them.
    pub(crate) fn record(&self) -> Record {
        self.rollout().unwrap_or_default()
    }

    /// The policies of its last run, with the image of each.
    pub(crate) fn observed(&self) -> impl Iterator<Item = (ObjectName, &super::facts::ImageRef)> {
        let own = &self.metadata.namespace;
        self.status.observed_policies.iter().map(move |(name, image)| {
            let name = match name.split_once('/') {
                Some((namespace, name)) => ObjectName::new(namespace, name),
                None => ObjectName::new(own, name),
            };
            (name, image)
        })
    }
}

impl World {
    #[must_use]
    pub fn automations(&self) -> Vec<Automation> {
        let one = |(name, facts): (&ObjectName, &AutomationFacts)| {
            let (source, source_facts) = self.source_of(facts);
            let status = &facts.status;
            let forge = source_facts.and_then(|source| Forge::of(&source.spec.url));
            let commit = &status.last_push_commit;
            let pushed = (!commit.is_empty()).then(|| Pushed {
                commit: commit.clone(),
                at: seconds(&status.last_push_time),
                link: forge.map(|forge| forge.commit(commit)),
            });
            let put_back = self.put_back(facts);
            let push = &facts.spec.git.push;
            let readiness = facts.readiness();
            let rollout = status.conditions.iter().find(|condition| condition.kind == "RolledOut");
            Automation {
                id: Id::new(AUTOMATION, name.clone()),
                source,
                path: facts.spec.update.path.clone(),
                push: if push.refspec.is_empty() {
                    push.branch.clone()
                } else {
                    push.refspec.clone()
                },
                ran: seconds(&status.last_automation_run_time),
                pushed,
                put_back,
                policies: status.observed_policies.len(),
                skipped: skipped(&readiness.message),
                rollout: rollout.map_or("", |rollout| &rollout.message).to_owned(),
                rollout_failed: rollout.is_some_and(|rollout| rollout.status == "False"),
                readiness,
            }
        };
        self.automations.iter().map(one).collect()
    }

    /// The commit that took images back.
    pub(crate) fn put_back(&self, automation: &AutomationFacts) -> Option<PutBack> {
        let put_back = automation.record().put_back.filter(|put_back| put_back.pushed)?;
        let source = self.source_of(automation).1;
        let forge = source.and_then(|source| Forge::of(&source.spec.url));
        let is_last = automation.status.last_push_commit == put_back.commit;
        Some(PutBack {
            pushed: Pushed {
                at: seconds(&automation.status.last_push_time).filter(|_| is_last),
                link: forge.map(|forge| forge.commit(&put_back.commit)),
                commit: put_back.commit,
            },
            images: put_back.images.into_values().collect(),
        })
    }
}

/// The lines `path:line: why` of a Ready message, after its first one.
fn skipped(message: &str) -> Vec<String> {
    let lines = message.lines().skip(1);
    let is_place = |line: &&str| {
        let mut parts = line.splitn(3, ':').skip(1);
        parts.next().is_some_and(|number| number.parse::<usize>().is_ok()) || line.ends_with(" more skipped")
    };
    lines.filter(is_place).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_the_lines_with_a_place() {
        let message = "repository up-to-date\nopened #7: https://x\na.yaml:3: no policy x\nand 2 more skipped";
        assert_eq!(skipped(message), ["a.yaml:3: no policy x", "and 2 more skipped"]);
    }
}
