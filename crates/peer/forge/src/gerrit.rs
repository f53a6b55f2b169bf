//! Changes at Gerrit: what they hold before a push would amend them, and which others there are (REST API, *Query
//! Changes*; over SSH `gerrit_ssh`; Gerrit 3.10).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use url::Url;

use super::calls::Calls;
use super::dialect::GERRIT;
use super::gerrit_ssh::{FILES, GerritShell, PATCH_SETS, over_ssh};
use super::login::Login;
use super::{ForgeError, Repository};
use bumpwright_http::{Peer, Request};
use bumpwright_text::Excerpt;

/// The most changes that are looked at.
pub(super) const MOST: usize = 50;

/// The longest answer, in bytes: in memory its maps take ten times that, and any Git server may be asked.
pub(super) const ANSWER: usize = 2 << 20;

/// The longest subject, in characters.
const SUBJECT: usize = 200;

/// The start of each answer, which keeps browsers from running it.
const GUARD: &[u8] = b")]}'";

/// Kinds of patch sets that are the one before them on a newer base.
const REBASES: [&str; 2] = ["TRIVIAL_REBASE", "TRIVIAL_REBASE_WITH_MESSAGE_UPDATE"];

/// A project at Gerrit, with a client of its API. Its calls block.
#[derive(Debug)]
pub struct Gerrit {
    project: String,
    door: Door,
}

/// How Gerrit is asked.
#[derive(Debug)]
enum Door {
    /// Over HTTP, below this address.
    Rest(Url, Calls),
    /// By `gerrit query`.
    Shell(Box<dyn GerritShell>),
}

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

/// *ChangeInfo*.
#[derive(Deserialize)]
pub(super) struct Change {
    pub(super) change_id: String,
    pub(super) subject: String,
    pub(super) status: ChangeStatus,
    #[serde(rename = "_number")]
    pub(super) number: u64,
    /// By commit.
    #[serde(default)]
    pub(super) revisions: BTreeMap<String, Revision>,
}

/// *RevisionInfo*.
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

impl Gerrit {
    /// Creates the client of the REST API with the connection settings `peer`. Nothing is connected yet.
    #[must_use]
    pub fn new(project: Repository, login: Login, peer: Peer) -> Self {
        Self {
            project: project.name,
            door: Door::Rest(project.api, Calls::new(&GERRIT, login, peer)),
        }
    }

    /// A client that asks over SSH, for a repository at this path; none for a path that queries cannot name.
    #[must_use]
    pub fn over_ssh(path: &str, shell: Box<dyn GerritShell>) -> Option<Self> {
        let path = path.trim_matches('/');
        let project = path.strip_suffix(".git").unwrap_or(path);
        if project.is_empty() || project.contains(['"', '\\']) {
            return None;
        }
        Some(Self {
            project: project.to_owned(),
            door: Door::Shell(shell),
        })
    }

    /// The change with this Change-Id for a branch, open or closed.
    ///
    /// # Errors
    /// [`ForgeError`] when Gerrit does not answer or refuses.
    pub fn change(&self, branch: &str, change_id: &str) -> Result<Option<GerritChange>, ForgeError> {
        let attempt = format!("look at the change {change_id}");
        let query = format!("{} change:{change_id}", self.for_branch(branch));
        let found = match &self.door {
            Door::Rest(api, calls) => self.rest((api, calls), &attempt, &query, &["ALL_REVISIONS"])?,
            Door::Shell(shell) => over_ssh(&**shell, &attempt, &query, PATCH_SETS)?,
        };
        Ok(found.into_iter().find(|change| change.change_id == change_id))
    }

    /// The open changes of this account for a branch, with their paths: the 50 that changed last.
    ///
    /// # Errors
    /// [`ForgeError`] when Gerrit does not answer or refuses.
    pub fn own_changes(&self, branch: &str) -> Result<Vec<GerritChange>, ForgeError> {
        let attempt = "list the open changes";
        let query = format!("status:open {} owner:self", self.for_branch(branch));
        match &self.door {
            Door::Rest(api, calls) => self.rest((api, calls), attempt, &query, &["CURRENT_REVISION", "CURRENT_FILES"]),
            Door::Shell(shell) => over_ssh(&**shell, attempt, &query, FILES),
        }
    }

    fn for_branch(&self, branch: &str) -> String {
        format!("project:\"{}\" branch:\"{branch}\"", self.project)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "open changes of a project with their files; bound: 2 MiB; account: memory of fetches"
    )]
    fn rest(
        &self,
        (api, calls): (&Url, &Calls),
        attempt: &str,
        query: &str,
        options: &[&str],
    ) -> Result<Vec<GerritChange>, ForgeError> {
        let mut url = below(api, ["a", "changes", ""]);
        let mut pairs = url.query_pairs_mut();
        pairs.append_pair("q", query).append_pair("n", &MOST.to_string());
        for option in options {
            pairs.append_pair("o", option);
        }
        drop(pairs);
        let mut answer = calls.send(attempt, Request::get(url).limit(ANSWER))?;
        if !answer.status.is_success() {
            return Err(calls.refused(attempt, &answer));
        }
        answer.body = unguarded(&answer.body).to_vec();
        let changes: Vec<Change> = calls.read(attempt, &answer)?;
        let changes = changes.into_iter();
        Ok(changes
            .filter_map(|change| {
                let url = self.page(api, change.number);
                change_at(change, url)
            })
            .collect())
    }

    /// The address of a change's page.
    fn page(&self, api: &Url, number: u64) -> String {
        let number = number.to_string();
        let project = self.project.split('/');
        below(api, std::iter::once("c").chain(project).chain(["+", number.as_str()])).to_string()
    }
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

/// An address at the server.
fn below<'a>(api: &Url, path: impl IntoIterator<Item = &'a str>) -> Url {
    let mut url = api.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

/// Whether a reference is that of a patch set: no other one is fetched because the server names it here.
fn is_of_change(reference: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = reference.strip_prefix("refs/changes/").map(|rest| rest.split('/'));
    parts.is_some_and(|mut parts| parts.clone().count() == 3 && parts.all(number))
}

fn unguarded(body: &[u8]) -> &[u8] {
    body.strip_prefix(GUARD).unwrap_or(body)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn gerrit(url: &str) -> Gerrit {
        let project = Repository::at_gerrit(&Url::parse(url).unwrap()).unwrap();
        Gerrit::new(project, Login::Nobody, Peer::default())
    }

    const API: &str = "https://review.example/gerrit";

    fn change(revisions: &str) -> Option<GerritChange> {
        let text = format!(
            ")]}}'\n{{\"change_id\": \"I01\", \"subject\": \"Bump\", \"_number\": 7, \"status\": \"NEW\", \"revisions\": {{{revisions}}}}}"
        );
        let change: Change = serde_json::from_slice(unguarded(text.as_bytes())).unwrap();
        let gerrit = gerrit("https://review.example/gerrit/a/x/fleet.git");
        let url = gerrit.page(&Url::parse(API).unwrap(), change.number);
        change_at(change, url)
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
                url: "https://review.example/gerrit/c/x/fleet/+/7".to_owned(),
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
    fn changes_are_asked_for_below_a_login() {
        let project = Repository::at_gerrit(&Url::parse("https://review.example/a/fleet").unwrap()).unwrap();
        assert_eq!(
            below(&project.api, ["a", "changes", ""]).as_str(),
            "https://review.example/a/changes/"
        );
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
