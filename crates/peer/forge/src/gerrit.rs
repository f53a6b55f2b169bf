//! Open changes at Gerrit: what they hold before a push would amend them, and which others there are (REST API,
//! *Query Changes*; Gerrit 3.10).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use url::Url;

use super::calls::Calls;
use super::dialect::GERRIT;
use super::login::Login;
use super::{ForgeError, Repository};
use bumpwright_http::{Peer, Request};
use bumpwright_text::Excerpt;

/// The most open changes that are looked at.
const MOST: usize = 50;

/// The longest answer, in bytes: in memory its maps take ten times that, and any Git server may be asked.
const ANSWER: usize = 2 << 20;

/// The longest subject, in characters.
const SUBJECT: usize = 200;

/// The start of each answer, which keeps browsers from running it.
const GUARD: &[u8] = b")]}'";

/// Kinds of patch sets that are the one before them on a newer base.
const REBASES: [&str; 2] = ["TRIVIAL_REBASE", "TRIVIAL_REBASE_WITH_MESSAGE_UPDATE"];

/// A project at Gerrit, with a client of its API. Its calls block.
#[derive(Debug)]
pub struct Gerrit {
    project: Repository,
    calls: Calls,
}

/// An open change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenChange {
    /// `I` and 40 hexadecimal digits.
    pub change_id: String,
    /// The address of its page.
    pub url: String,
    pub subject: String,
    /// The reference of its current patch set, `refs/changes/…`.
    pub current: String,
    /// The reference of the patch set that the current one is a rebase of; the current one itself if it is no rebase.
    pub written: String,
    /// The paths that the current patch set changes; empty for a single change.
    pub paths: Vec<String>,
}

/// *ChangeInfo*.
#[derive(Deserialize)]
struct Change {
    change_id: String,
    subject: String,
    #[serde(rename = "_number")]
    number: u64,
    #[serde(default)]
    revisions: BTreeMap<String, Revision>,
}

/// *RevisionInfo*.
#[derive(Deserialize)]
struct Revision {
    #[serde(rename = "_number")]
    number: u64,
    #[serde(rename = "ref")]
    reference: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    files: BTreeMap<String, IgnoredAny>,
}

impl Gerrit {
    /// Creates the client with the connection settings `peer`. Nothing is connected yet.
    #[must_use]
    pub fn new(project: Repository, login: Login, peer: Peer) -> Self {
        Self {
            project,
            calls: Calls::new(&GERRIT, login, peer),
        }
    }

    /// The open change with this Change-Id for a branch.
    ///
    /// # Errors
    /// [`ForgeError`] when Gerrit does not answer or refuses.
    pub fn open_change(&self, branch: &str, change_id: &str) -> Result<Option<OpenChange>, ForgeError> {
        let attempt = format!("look at the change {change_id}");
        let query = format!("{} change:{change_id}", self.open_for(branch));
        let found = self.changes(&attempt, &query, &["ALL_REVISIONS"])?;
        Ok(found.into_iter().find(|change| change.change_id == change_id))
    }

    /// The open changes of this account for a branch, with their paths: the 50 that changed last.
    ///
    /// # Errors
    /// [`ForgeError`] when Gerrit does not answer or refuses.
    pub fn own_changes(&self, branch: &str) -> Result<Vec<OpenChange>, ForgeError> {
        let query = format!("{} owner:self", self.open_for(branch));
        self.changes("list the open changes", &query, &["CURRENT_REVISION", "CURRENT_FILES"])
    }

    fn open_for(&self, branch: &str) -> String {
        format!("status:open project:\"{}\" branch:\"{branch}\"", self.project.name)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "open changes of a project with their files; bound: 2 MiB; account: memory of fetches"
    )]
    fn changes(&self, attempt: &str, query: &str, options: &[&str]) -> Result<Vec<OpenChange>, ForgeError> {
        let mut url = below(&self.project.api, ["a", "changes", ""]);
        let mut pairs = url.query_pairs_mut();
        pairs.append_pair("q", query).append_pair("n", &MOST.to_string());
        for option in options {
            pairs.append_pair("o", option);
        }
        drop(pairs);
        let mut answer = self.calls.send(attempt, Request::get(url).limit(ANSWER))?;
        if !answer.status.is_success() {
            return Err(self.calls.refused(attempt, &answer));
        }
        answer.body = unguarded(&answer.body).to_vec();
        let changes: Vec<Change> = self.calls.read(attempt, &answer)?;
        Ok(changes
            .into_iter()
            .filter_map(|change| self.open_change_of(change))
            .collect())
    }

    fn open_change_of(&self, change: Change) -> Option<OpenChange> {
        let number = change.number.to_string();
        let project = self.project.name.split('/');
        let path = std::iter::once("c").chain(project).chain(["+", number.as_str()]);
        let url = below(&self.project.api, path).to_string();
        let revisions = change.revisions.into_values();
        let mut revisions: Vec<Revision> = revisions.filter(|revision| is_of_change(&revision.reference)).collect();
        revisions.sort_by_key(|revision| std::cmp::Reverse(revision.number));
        let written = revisions
            .iter()
            .find(|revision| !REBASES.contains(&revision.kind.as_str()))
            .map(|revision| revision.reference.clone());
        let current = revisions.into_iter().next()?;
        Some(OpenChange {
            change_id: change.change_id,
            url,
            subject: change.subject.excerpt(SUBJECT).into_owned(),
            written: written.unwrap_or_else(|| current.reference.clone()),
            current: current.reference,
            paths: current.files.into_keys().collect(),
        })
    }
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

    fn change(revisions: &str) -> Option<OpenChange> {
        let text = format!(
            ")]}}'\n{{\"change_id\": \"I01\", \"subject\": \"Bump\", \"_number\": 7, \"status\": \"NEW\", \"revisions\": {{{revisions}}}}}"
        );
        let change: Change = serde_json::from_slice(unguarded(text.as_bytes())).unwrap();
        gerrit("https://review.example/gerrit/a/x/fleet.git").open_change_of(change)
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
            OpenChange {
                change_id: "I01".to_owned(),
                url: "https://review.example/gerrit/c/x/fleet/+/7".to_owned(),
                subject: "Bump".to_owned(),
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
        let api = gerrit("https://review.example/a/fleet").project.api;
        assert_eq!(
            below(&api, ["a", "changes", ""]).as_str(),
            "https://review.example/a/changes/"
        );
    }
}
