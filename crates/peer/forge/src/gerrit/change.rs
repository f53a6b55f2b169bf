//! A change as Gerrit describes it (REST API, *ChangeInfo*), and what a run makes of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use bumpwright_text::Excerpt;

/// The most changes that are looked at.
pub(super) const MOST: usize = 50;

/// The longest answer, in bytes: in memory its maps take ten times that, and any Git server may be asked.
pub(super) const ANSWER: usize = 2 << 20;

/// The longest subject, in characters.
const SUBJECT: usize = 200;

/// Kinds of patch sets that are the one before them on a newer base.
const REBASES: [&str; 2] = ["TRIVIAL_REBASE", "TRIVIAL_REBASE_WITH_MESSAGE_UPDATE"];

/// A change at Gerrit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GerritChange {
    /// `I` and 40 hexadecimal digits.
    pub change_id: String,
    pub status: ChangeStatus,
    /// The address of its page; over SSH `change NUMBER` at a server that does not know its own address.
    pub url: String,
    pub subject: String,
    /// The commits of its patch sets; of a listing the current one alone.
    pub commits: Vec<String>,
    /// The reference of its current patch set, `refs/changes/…`.
    pub current: String,
    /// The reference of the patch set that the current one is a rebase of; the current one itself if it is no rebase.
    pub written: String,
    /// The paths that the current patch set changes; empty for a single change.
    pub paths: Vec<String>,
}

/// Whether a change can be amended, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ChangeStatus {
    #[serde(rename = "ABANDONED")]
    Abandoned,
    #[serde(rename = "MERGED")]
    Merged,
    /// `NEW`, and the states of older versions.
    #[serde(other)]
    Open,
}

/// A *ChangeInfo* of the REST API.
#[derive(Deserialize)]
pub(super) struct Change {
    pub(super) change_id: String,
    pub(super) subject: String,
    pub(super) status: ChangeStatus,
    #[serde(rename = "_number")]
    pub(super) number: u64,
    /// Its patch sets, each by the id of its commit.
    #[serde(default)]
    pub(super) revisions: BTreeMap<String, Revision>,
}

/// A *RevisionInfo* of the REST API.
#[derive(Deserialize)]
pub(super) struct Revision {
    #[serde(rename = "_number")]
    pub(super) number: u64,
    #[serde(rename = "ref")]
    pub(super) reference: String,
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) files: BTreeMap<String, IgnoredAny>,
}

/// None for a change without patch sets.
pub(super) fn change_at(change: Change, url: String) -> Option<GerritChange> {
    let commits = change.revisions.keys().cloned().collect();
    let revisions = change.revisions.into_values();
    let mut revisions: Vec<Revision> = revisions.filter(|revision| is_of_change(&revision.reference)).collect();
    revisions.sort_by_key(|revision| std::cmp::Reverse(revision.number));
    let written = revisions
        .iter()
        .find(|revision| !REBASES.contains(&revision.kind.as_str()))
        .map(|revision| revision.reference.clone());
    let current = revisions.into_iter().next()?;
    Some(GerritChange {
        change_id: change.change_id,
        status: change.status,
        url,
        subject: change.subject.excerpt(SUBJECT).into_owned(),
        commits,
        written: written.unwrap_or_else(|| current.reference.clone()),
        current: current.reference,
        paths: current.files.into_keys().collect(),
    })
}

/// Whether a reference is that of a patch set: no other one is fetched because the server names it here.
fn is_of_change(reference: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = reference.strip_prefix("refs/changes/").map(|rest| rest.split('/'));
    parts.is_some_and(|mut parts| parts.clone().count() == 3 && parts.all(number))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn change(revisions: &str) -> Option<GerritChange> {
        let text = format!(
            "{{\"change_id\": \"I01\", \"subject\": \"Bump\", \"_number\": 7, \"status\": \"NEW\", \"revisions\": {{{revisions}}}}}"
        );
        let change: Change = serde_json::from_str(&text).unwrap();
        change_at(change, "https://review.example/c/x/fleet/+/7".to_owned())
    }

    #[test]
    fn rebases_of_a_patch_set_are_not_written_by_hand() {
        let revision = |id: &str, number: u64, kind: &str, more: &str| {
            format!(
                "\"{id}\": {{\"_number\": {number}, \"ref\": \"refs/changes/07/7/{number}\", \"kind\": \"{kind}\"{more}}}"
            )
        };
        let files = ", \"files\": {\"a.yaml\": {\"lines_inserted\": 1}, \"b.yaml\": {}}";
        let all = [
            revision("cc", 2, "REWORK", ""),
            revision("aa", 4, "TRIVIAL_REBASE", files),
            revision("bb", 3, "TRIVIAL_REBASE", ""),
            revision("dd", 1, "REWORK", ""),
        ];
        let found = change(&all.join(",")).unwrap();
        assert_eq!(
            found,
            GerritChange {
                change_id: "I01".to_owned(),
                status: ChangeStatus::Open,
                url: "https://review.example/c/x/fleet/+/7".to_owned(),
                subject: "Bump".to_owned(),
                commits: ["aa", "bb", "cc", "dd"].map(str::to_owned).to_vec(),
                current: "refs/changes/07/7/4".to_owned(),
                written: "refs/changes/07/7/2".to_owned(),
                paths: vec!["a.yaml".to_owned(), "b.yaml".to_owned()],
            }
        );
        let found = change(&revision("aa", 1, "TRIVIAL_REBASE", "")).unwrap();
        assert_eq!(found.written, "refs/changes/07/7/1");
        assert_eq!(change(""), None);
    }

    #[test]
    fn only_patch_sets_are_fetched() {
        for (reference, expected) in [
            ("refs/changes/07/7/2", true),
            ("refs/changes/07/7/meta", false),
            ("refs/changes/07/7", false),
            ("refs/changes/07//2", false),
            ("refs/heads/main", false),
            ("refs/pins/7", false),
        ] {
            assert_eq!(is_of_change(reference), expected, "{reference}");
            let revision = format!("\"aa\": {{\"_number\": 1, \"ref\": \"{reference}\"}}");
            assert_eq!(change(&revision).is_some(), expected, "{reference}");
        }
    }

    #[test]
    fn closed_changes_are_told_apart() {
        for (status, expected) in [
            ("NEW", ChangeStatus::Open),
            ("DRAFT", ChangeStatus::Open),
            ("ABANDONED", ChangeStatus::Abandoned),
            ("MERGED", ChangeStatus::Merged),
        ] {
            let read: ChangeStatus = serde_json::from_str(&format!("\"{status}\"")).unwrap();
            assert_eq!(read, expected, "{status}");
        }
    }
}
