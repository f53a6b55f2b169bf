//! Puts the fields of a rollout back to what they held in an earlier commit.

use std::collections::BTreeSet;

use crate::commit::review::{change_id, repository};
use crate::commit::trailer::has_change_id;
use bumpwright_git::{GitError, ObjectId, Objects};
use bumpwright_policy::PolicyName;

/// What is to be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutBack {
    /// The commits of the rollout, oldest first: parent and commit.
    pub commits: Vec<(ObjectId, ObjectId)>,
    /// The commit that the fields are put back to.
    pub good: ObjectId,
    /// Only fields of these policies; none for all.
    pub only: Option<BTreeSet<PolicyName>>,
    /// Lines for the end of the commit message: keys and values.
    pub trailers: Vec<(String, String)>,
    /// The commit by which this was proposed before, if it was.
    pub earlier: Option<ObjectId>,
}

impl PutBack {
    /// Whether the commits name changes: they were reviewed at Gerrit.
    pub(crate) fn has_change_ids(&self, objects: &Objects) -> Result<bool, GitError> {
        for (_, commit) in self.commits.iter().filter(|(_, commit)| objects.contains(*commit)) {
            if has_change_id(&objects.commit(*commit)?.message) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The Change-Id: of the commits of the rollout, and not of the fields or the base, which may change
    /// while it is reviewed.
    pub(crate) fn change_id(&self, url: &str, reference: &str, automation: Option<&str>) -> String {
        let commits = self.commits.iter().map(|(_, commit)| commit.to_string());
        let only = self.only.iter().flatten().map(ToString::to_string);
        let automation = automation.unwrap_or_default().to_owned();
        let first = ["put back".to_owned(), repository(url), reference.to_owned(), automation];
        let parts: Vec<String> = first.into_iter().chain(commits).chain(only).collect();
        change_id(&parts.iter().map(String::as_bytes).collect::<Vec<_>>())
    }
}
