//! What a pull request is given beside its text: labels, reviewers, assignees, a merge as soon as the forge allows it.
//!
//! It is given once, when the request is opened or when what is wanted changes: what people change afterwards stays. A
//! digest of what was given is in our block of the description.

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

use super::api::PullRequest;
use super::{Forge, ForgeApi, ForgeError};
use bumpwright_api::{MergeKind, PullRequestName, PullRequestSetup};
use bumpwright_http::Request;

/// What marks the name of a team among reviewers.
const TEAM: &str = "team:";

/// The prefix of a draft's title at Gitea.
pub(super) const DRAFT: &str = "WIP: ";

/// A digest of what is given to an open request; none where that is nothing.
pub(super) fn digest(setup: &PullRequestSetup) -> Option<String> {
    let lists = [&setup.labels, &setup.reviewers, &setup.assignees];
    if lists.iter().all(|list| list.is_empty()) && setup.merge.is_none() {
        return None;
    }
    let mut hash = Sha256::new();
    for list in lists {
        hash.update(list.len().to_be_bytes());
        for name in list {
            hash.update(name.as_str().len().to_be_bytes());
            hash.update(name.as_str());
        }
    }
    hash.update(setup.merge.map_or("", MergeKind::word));
    Some(super::description::short(hash))
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

#[derive(Deserialize)]
pub(super) struct User {
    login: String,
}

/// The assignees of a request or issue.
#[derive(Deserialize)]
struct Assigned {
    #[serde(default)]
    assignees: Option<Vec<User>>,
}

impl Assigned {
    fn names(&self) -> Vec<&str> {
        let users = self.assignees.iter().flatten();
        users.map(|user| user.login.as_str()).collect()
    }
}

impl Forge {
    /// Gives an open request what is wanted of it.
    pub(super) fn equip(&self, open: &PullRequest, setup: &PullRequestSetup, commit: &str) -> Result<(), ForgeError> {
        if !setup.labels.is_empty() {
            self.label(open.number, &setup.labels)?;
        }
        if !setup.assignees.is_empty() {
            self.assign(open.number, &setup.assignees)?;
        }
        if !setup.reviewers.is_empty() {
            self.ask_reviewers(open.number, &setup.reviewers)?;
        }
        match (setup.merge, self.kind) {
            (None, _) => Ok(()),
            (Some(method), ForgeApi::GitHub) => self.merge_at_github(open, method),
            (Some(method), ForgeApi::Gitea) => self.merge_at_gitea(open.number, method, commit),
        }
    }

    fn label(&self, number: u64, labels: &[PullRequestName]) -> Result<(), ForgeError> {
        let attempt = format!("label pull request #{number}");
        let url = self.issue(number, "labels");
        let (has, _): (Vec<Label>, _) = self
            .calls
            .send_json(&attempt, post(url.clone(), &json!({ "labels": texts(labels) })))?;
        let has: Vec<&str> = has.iter().map(|label| label.name.as_str()).collect();
        match lacking(labels, &has) {
            None => Ok(()),
            Some(name) => Err(self.missing(attempt, &url, format!("there is no label {name:?}: make it first"))),
        }
    }

    /// Gitea replaces the assignees, GitHub adds to them and leaves out whom it cannot assign, without a word.
    fn assign(&self, number: u64, wanted: &[PullRequestName]) -> Result<(), ForgeError> {
        let attempt = format!("assign pull request #{number}");
        let (url, request) = match self.kind {
            ForgeApi::GitHub => {
                let url = self.issue(number, "assignees");
                (url.clone(), post(url, &json!({ "assignees": texts(wanted) })))
            }
            ForgeApi::Gitea => {
                let url = self.repository.url(&["issues", &number.to_string()]);
                let (before, _): (Assigned, _) = self.calls.send_json(&attempt, Request::get(url.clone()))?;
                let mut assignees = before.names();
                assignees.extend(texts(wanted));
                let request = post(url.clone(), &json!({ "assignees": assignees }));
                (url, request.method(ureq::http::Method::PATCH))
            }
        };
        let (has, _): (Assigned, _) = self.calls.send_json(&attempt, request)?;
        match lacking(wanted, &has.names()) {
            None => Ok(()),
            Some(name) => Err(self.missing(attempt, &url, format!("{name:?} cannot be assigned here"))),
        }
    }

    fn ask_reviewers(&self, number: u64, reviewers: &[PullRequestName]) -> Result<(), ForgeError> {
        let attempt = format!("ask for reviews of pull request #{number}");
        let url = self
            .repository
            .url(&["pulls", &number.to_string(), "requested_reviewers"]);
        let names = texts(reviewers);
        let teams: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix(TEAM)).collect();
        let people: Vec<&&str> = names.iter().filter(|name| !name.starts_with(TEAM)).collect();
        let body = json!({ "reviewers": people, "team_reviewers": teams });
        let _: (serde::de::IgnoredAny, _) = self.calls.send_json(&attempt, post(url, &body))?;
        Ok(())
    }

    /// As *Merge a pull request* of Gitea's API with `merge_when_checks_succeed`. One that is planned already stays.
    fn merge_at_gitea(&self, number: u64, method: MergeKind, commit: &str) -> Result<(), ForgeError> {
        let attempt = format!("have pull request #{number} merged once its checks succeed");
        let url = self.repository.url(&["pulls", &number.to_string(), "merge"]);
        let body = json!({"Do": method.word(), "merge_when_checks_succeed": true, "head_commit_id": commit});
        let answer = self.calls.send(&attempt, post(url, &body))?;
        if answer.status.is_success() || answer.status.as_u16() == 409 {
            Ok(())
        } else {
            Err(self.calls.refused(&attempt, &answer))
        }
    }

    /// GitHub has this in its GraphQL API alone (*Mutations*, `enablePullRequestAutoMerge`).
    fn merge_at_github(&self, open: &PullRequest, method: MergeKind) -> Result<(), ForgeError> {
        let attempt = format!("have pull request #{} merged once its checks succeed", open.number);
        let url = self.repository.graphql();
        let mutation = "mutation($id: ID!, $method: PullRequestMergeKind!) { enablePullRequestAutoMerge(input: \
                        {pullRequestId: $id, mergeMethod: $method}) { clientMutationId } }";
        let method = method.word().to_ascii_uppercase();
        let variables = json!({"id": open.node_id, "method": method});
        let body = json!({"query": mutation, "variables": variables});
        let (answer, _): (GraphqlAnswer, _) = self.calls.send_json(&attempt, post(url.clone(), &body))?;
        let Some(fault) = answer.errors.first() else {
            return Ok(());
        };
        let said = self.calls.without_secrets(&fault.message);
        let hint = if said.contains("clean status") || said.contains("Protected branch rules not configured") {
            "; the base has no rules that a merge could wait for: protect it, and allow auto-merge in the repository's settings"
        } else {
            ""
        };
        Err(self.missing(attempt, &url, format!("{said}{hint}")))
    }

    fn issue(&self, number: u64, what: &str) -> Url {
        self.repository.url(&["issues", &number.to_string(), what])
    }

    fn missing(&self, attempt: String, url: &Url, detail: String) -> ForgeError {
        ForgeError::NotGiven {
            attempt,
            url: super::error::place(url),
            detail,
        }
    }
}

#[derive(Deserialize)]
struct GraphqlAnswer {
    #[serde(default)]
    errors: Vec<GraphqlFault>,
}

#[derive(Deserialize)]
struct GraphqlFault {
    message: String,
}

fn post(url: Url, body: &Value) -> Request {
    Request::post(url, "application/json", body.to_string())
}

/// The first of these names that the forge does not have. Names differ by more than case.
fn lacking<'n>(wanted: &'n [PullRequestName], has: &[&str]) -> Option<&'n str> {
    let is_there = |name: &&str| has.iter().any(|there| there.eq_ignore_ascii_case(name));
    texts(wanted).into_iter().find(|name| !is_there(name))
}

fn texts(names: &[PullRequestName]) -> Vec<&str> {
    names.iter().map(PullRequestName::as_str).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_has_a_digest_and_a_draft_is_not_given() {
        let draft = PullRequestSetup {
            draft: true,
            ..PullRequestSetup::default()
        };
        assert_eq!(digest(&draft), None);
        let labels = |names: &[&str]| PullRequestSetup {
            labels: names.iter().map(|name| name.parse().unwrap()).collect(),
            ..PullRequestSetup::default()
        };
        let reviewers = PullRequestSetup {
            reviewers: labels(&["a"]).labels,
            ..PullRequestSetup::default()
        };
        let digests = [labels(&["a"]), labels(&["a", "b"]), labels(&["ab"]), reviewers].map(|setup| digest(&setup));
        for (at, one) in digests.iter().enumerate() {
            assert!(one.is_some() && !digests.iter().skip(at + 1).any(|other| other == one));
        }
    }
}
