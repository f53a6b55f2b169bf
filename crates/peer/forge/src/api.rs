//! Pull requests at a forge's API.

use serde::{Deserialize, Deserializer, Serialize};
use ureq::http::Method;
use url::Url;

use super::calls::Calls;
use super::error::place;
use super::login::Login;
use super::{ForgeApi, ForgeError, Repository};
use bumpwright_http::{Answer, Peer, Request};
use bumpwright_json::written;

/// Pull requests per page, the most of GitHub's and Gitea's defaults.
const PAGE: usize = 50;
/// The most pages of open pull requests.
const OPEN_PAGES: usize = 200;

/// A repository at a forge, with a client of its API. Its calls block.
#[derive(Debug)]
pub struct Forge {
    pub(super) kind: ForgeApi,
    pub(super) repository: Repository,
    pub(super) calls: Calls,
}

/// A pull request in both APIs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PullRequest {
    pub(super) number: u64,
    pub(super) title: String,
    /// What its author wrote below the title, perhaps nothing.
    #[serde(default, rename = "body", deserialize_with = "null_as_empty")]
    pub(super) description: String,
    pub(super) html_url: String,
    /// Who opened it; none when the account is gone.
    #[serde(default)]
    pub(super) user: Option<Author>,
    /// At GitHub, its name in the GraphQL API.
    #[serde(default)]
    pub(super) node_id: Option<String>,
    /// When it was merged; none when it is open or closed.
    #[serde(default)]
    pub(super) merged_at: Option<String>,
    #[serde(default)]
    pub(super) created_at: Option<String>,
    #[serde(default)]
    pub(super) closed_at: Option<String>,
    /// At Gitea, how often the description was changed.
    #[serde(default)]
    pub(super) content_version: Option<i64>,
    /// At Gitea, the last commit that both ends have in common.
    #[serde(default)]
    pub(super) merge_base: Option<String>,
    pub(super) head: BranchEnd,
    base: BranchEnd,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Author {
    pub(super) login: String,
    /// At GitHub, whether it is a `Bot`.
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
}

/// One end of a pull request.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct BranchEnd {
    /// The branch; at Gitea `refs/pull/N/head` once it is gone.
    #[serde(rename = "ref")]
    reference: String,
    /// At Gitea the branch, also when it is gone.
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    pub(super) sha: String,
    /// None when the repository is gone.
    repo: Option<RepositoryId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct RepositoryId {
    id: u64,
}

/// A text or a list of an answer: null is an empty one, like a missing one.
pub(super) fn null_as_empty<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(value: D) -> Result<T, D::Error> {
    Option::deserialize(value).map(Option::unwrap_or_default)
}

impl PullRequest {
    pub(super) fn base_branch(&self) -> &str {
        &self.base.reference
    }

    /// Whether it is from a branch of this repository, which only somebody with the right to write can make. With the
    /// right to read alone one can push to Gitea's `refs/for/…` (AGit), whose heads are not branches.
    pub(super) fn is_of_branch(&self) -> bool {
        let is_here = self.head.repo.is_some() && self.head.repo == self.base.repo;
        is_here && !self.head.reference.starts_with("refs/")
    }

    /// Whether it is from `head` to `base`, both of this repository.
    pub(super) fn joins(&self, head: &str, base: &str) -> bool {
        let is_head = self.head.reference == head || self.head.label.as_deref() == Some(head);
        is_head && self.base.reference == base && self.head.repo.is_some() && self.head.repo == self.base.repo
    }
}

/// The body that opens a pull request.
#[derive(Serialize)]
pub(super) struct NewPullRequest<'a> {
    pub(super) title: &'a str,
    pub(super) head: &'a str,
    pub(super) base: &'a str,
    pub(super) body: &'a str,
    /// At GitHub; at Gitea the title says it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) draft: bool,
}

/// The body that changes a pull request, with the changed fields only.
#[derive(Default, Serialize)]
pub(super) struct PullRequestEdit<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<&'a str>,
    /// The version of the description that `body` is made from: the server refuses it when there is a newer one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_version: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<&'a str>,
}

/// The result of opening a pull request.
pub(super) enum Opened {
    PullRequest(Box<PullRequest>),
    /// There is one, or another process has opened one in between.
    Exists(ForgeError),
}

/// The result of changing a pull request.
pub(super) enum Edited {
    PullRequest(Box<PullRequest>),
    /// Somebody has changed its description in between.
    Outdated(ForgeError),
}

impl Forge {
    /// Creates the client with the connection settings `peer`. Nothing is connected yet.
    #[must_use]
    pub fn new(kind: ForgeApi, repository: Repository, login: Login, peer: Peer) -> Self {
        Self {
            kind,
            repository,
            calls: Calls::new(kind.dialect(), login, peer),
        }
    }

    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Which API it has.
    #[must_use]
    pub fn kind(&self) -> ForgeApi {
        self.kind
    }

    /// How it is reached; without the login.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        self.calls.peer()
    }

    /// Finds the open pull request from `head` to `base`.
    pub(super) fn open_request(&self, head: &str, base: &str) -> Result<Option<PullRequest>, ForgeError> {
        let attempt = format!("look for a pull request from {head} to {base}");
        for page in 1..=OPEN_PAGES {
            let url = self.list("open", head, base, page);
            let (found, more) = self.page(&attempt, url)?;
            if let Some(found) = found.into_iter().find(|found| found.joins(head, base)) {
                return Ok(Some(found));
            }
            if !more {
                return Ok(None);
            }
        }
        Err(ForgeError::TooMany {
            attempt,
            url: place(&self.repository.url(&["pulls"])),
            limit: OPEN_PAGES * PAGE,
        })
    }

    /// Gets a page of pull requests, newest first, and whether there may be more. GitHub filters by branches itself.
    pub(super) fn page(&self, attempt: &str, url: Url) -> Result<(Vec<PullRequest>, bool), ForgeError> {
        let (found, answer): (Vec<PullRequest>, Answer) = self.calls.send_json(attempt, Request::get(url))?;
        let linked = answer.header("link").is_some_and(|link| link.contains("rel=\"next\""));
        // A server may return smaller pages: `Link` says whether there is a next one, or, where
        // a proxy has removed it, an empty page.
        let more = linked || (answer.header("link").is_none() && self.kind == ForgeApi::Gitea && found.len() >= PAGE);
        Ok((found, more))
    }

    /// The address of a page of pull requests in a state.
    pub(super) fn list(&self, state: &str, head: &str, base: &str, page: usize) -> Url {
        let mut url = self.repository.url(&["pulls"]);
        let mut query = url.query_pairs_mut();
        query.append_pair("state", state);
        match self.kind {
            ForgeApi::GitHub => {
                let head = format!("{}:{head}", self.repository.owner);
                query.append_pair("head", &head).append_pair("base", base);
                query.append_pair("per_page", &PAGE.to_string());
            }
            ForgeApi::Gitea => {
                query.append_pair("limit", &PAGE.to_string());
            }
        }
        query.append_pair("page", &page.to_string());
        drop(query);
        url
    }

    /// Checks that pull requests into `base` can be opened: the token and its scopes, the repository and its settings,
    /// the branch, unless it is known to exist. Every forge refuses to merge a branch into itself, but checks these
    /// before, at Gitea without the branch.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer or would refuse.
    pub fn check(&self, base: &str, exists: bool) -> Result<(), ForgeError> {
        let attempt = format!("open pull requests into {base}");
        if self.kind == ForgeApi::Gitea && !exists {
            let parts = std::iter::once("branches").chain(base.split('/'));
            let request = Request::get(self.repository.url(&parts.collect::<Vec<_>>()));
            let _: (serde::de::IgnoredAny, _) = self.calls.send_json(&attempt, request)?;
        }
        let new = NewPullRequest {
            title: "Update images",
            head: base,
            base,
            body: "",
            draft: false,
        };
        let answer = self.calls.send(
            &attempt,
            Request::post(self.repository.url(&["pulls"]), "application/json", written(&new)),
        )?;
        let refuses_the_pair = matches!(answer.status.as_u16(), 409 | 422) && !names_base(&answer.body);
        if answer.status.is_success() || refuses_the_pair {
            Ok(())
        } else {
            Err(self.calls.refused(&attempt, &answer))
        }
    }

    /// Opens a pull request. It is sent once: after a broken connection the next run checks whether it was opened.
    pub(super) fn open(&self, new: &NewPullRequest<'_>) -> Result<Opened, ForgeError> {
        let attempt = format!("open a pull request from {} to {}", new.head, new.base);
        let request = Request::post(self.repository.url(&["pulls"]), "application/json", written(new));
        let answer = self.calls.send(&attempt, request)?;
        if answer.status.is_success() {
            return self
                .calls
                .read(&attempt, &answer)
                .map(Box::new)
                .map(Opened::PullRequest);
        }
        let refused = self.calls.refused(&attempt, &answer);
        // GitHub: 422 for anything that is not valid; Gitea: 409 only for this.
        let exists = match answer.status.as_u16() {
            409 => true,
            422 => refused.to_string().contains("already exists"),
            _ => false,
        };
        if exists {
            Ok(Opened::Exists(refused))
        } else {
            Err(refused)
        }
    }

    /// Changes a pull request.
    pub(super) fn edit(&self, number: u64, edit: &PullRequestEdit<'_>) -> Result<Edited, ForgeError> {
        let request = Request::post(self.request_url(number), "application/json", written(edit))
            .method(Method::PATCH)
            .repeatable();
        let attempt = format!("update pull request #{number}");
        let answer = self.calls.send(&attempt, request)?;
        if answer.status.is_success() {
            return self
                .calls
                .read(&attempt, &answer)
                .map(Box::new)
                .map(Edited::PullRequest);
        }
        let refused = self.calls.refused(&attempt, &answer);
        if edit.content_version.is_some() && matches!(answer.status.as_u16(), 400 | 409 | 412) {
            Ok(Edited::Outdated(refused))
        } else {
            Err(refused)
        }
    }

    /// Closes a pull request.
    pub(super) fn close(&self, number: u64) -> Result<(), ForgeError> {
        let edit = PullRequestEdit {
            state: Some("closed"),
            ..PullRequestEdit::default()
        };
        self.edit(number, &edit).map(drop)
    }

    /// Gets a pull request.
    pub(super) fn request(&self, number: u64) -> Result<PullRequest, ForgeError> {
        let attempt = format!("look at pull request #{number}");
        let (found, _) = self.calls.send_json(&attempt, Request::get(self.request_url(number)))?;
        Ok(found)
    }

    fn request_url(&self, number: u64) -> Url {
        self.repository.url(&["pulls", &number.to_string()])
    }
}

/// Whether GitHub's answer is about the branch to merge into.
fn names_base(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Body {
        errors: Vec<Fault>,
    }
    #[derive(Deserialize)]
    struct Fault {
        field: Option<String>,
    }
    let body = serde_json::from_slice::<Body>(body);
    body.is_ok_and(|body| {
        let mut fields = body.errors.iter().filter_map(|fault| fault.field.as_deref());
        fields.any(|field| field == "base")
    })
}
