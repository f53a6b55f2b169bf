//! The requests to a forge's API, and what it answers.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use ureq::http::Method;
use url::Url;

use super::error::{place, refusal};
use super::{ForgeApi, ForgeError, Repository};
use bumpwright_http::{Answer, Client, Deadline, Peer, Request, RetryPolicy, basic_header, scrubbed};
use bumpwright_secret::Secret;

/// Requests on one page of an answer, the most that GitHub and Gitea give by default.
const PAGE: usize = 50;
/// Pages of open requests that are looked through before it is given up.
const OPEN_PAGES: usize = 200;

/// Who asks.
#[derive(Clone, Debug, Default)]
pub enum Login {
    /// Nobody; for previews, which ask nothing.
    #[default]
    Nobody,
    /// An access token.
    Token(Secret),
    /// A user name with a password or token, as Git uses it.
    Basic {
        /// The user name.
        username: String,
        /// The password or token.
        password: Secret,
    },
}

impl Login {
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        match self {
            Self::Nobody => None,
            Self::Token(secret) | Self::Basic { password: secret, .. } => Some(secret),
        }
        .into_iter()
    }

    /// The `Authorization` header. What stands for a password at GitHub is always a token, which its API wants as such.
    fn header(&self, kind: ForgeApi) -> Option<Secret> {
        let scheme = |scheme: &str, token: &Secret| Secret::new(format!("{scheme} {}", token.expose()));
        Some(match (self, kind) {
            (Self::Nobody, _) => return None,
            (Self::Token(token), ForgeApi::GitHub) | (Self::Basic { password: token, .. }, ForgeApi::GitHub) => {
                scheme("Bearer", token)
            }
            (Self::Token(token), ForgeApi::Gitea) => scheme("token", token),
            (Self::Basic { username, password }, ForgeApi::Gitea) => basic_header(username, password),
        })
    }
}

/// A repository at a forge, with what is needed to ask its API. Its calls block.
#[derive(Debug)]
pub struct Forge {
    pub(super) kind: ForgeApi,
    pub(super) repository: Repository,
    login: Login,
    client: Client,
    limit: Duration,
}

/// A pull request as both APIs give it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PullRequest {
    pub(super) number: u64,
    pub(super) title: String,
    #[serde(default)]
    pub(super) body: Option<String>,
    pub(super) html_url: String,
    /// When it was merged; none when it is open or was closed.
    #[serde(default)]
    pub(super) merged_at: Option<String>,
    pub(super) head: BranchEnd,
    base: BranchEnd,
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

impl PullRequest {
    /// Whether it asks for `head` to be merged into `base`, both of this repository.
    pub(super) fn joins(&self, head: &str, base: &str) -> bool {
        let is_head = self.head.reference == head || self.head.label.as_deref() == Some(head);
        is_head && self.base.reference == base && self.head.repo.is_some() && self.head.repo == self.base.repo
    }
}

/// What is sent to open a request.
#[derive(Serialize)]
pub(super) struct NewPullRequest<'a> {
    pub(super) title: &'a str,
    pub(super) head: &'a str,
    pub(super) base: &'a str,
    pub(super) body: &'a str,
}

/// What is sent to change one: only what is to be changed.
#[derive(Serialize)]
pub(super) struct PullRequestEdit<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<&'a str>,
}

/// What became of a request to open one.
pub(super) enum Opened {
    PullRequest(PullRequest),
    /// There is one, or somebody else has opened one in between.
    Exists(ForgeError),
}

impl Forge {
    /// A forge behind `peer`. Nothing is connected yet.
    #[must_use]
    pub fn new(kind: ForgeApi, repository: Repository, login: Login, peer: Peer) -> Self {
        Self {
            kind,
            repository,
            login,
            limit: peer.timeout,
            client: Client::new(peer, RetryPolicy::default()),
        }
    }

    /// The repository.
    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The open request from `head` to `base`.
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

    /// One page of requests, newest first, and whether there may be more. GitHub chooses by branches itself.
    pub(super) fn page(&self, attempt: &str, url: Url) -> Result<(Vec<PullRequest>, bool), ForgeError> {
        let (found, answer): (Vec<PullRequest>, Answer) = self.send_json(attempt, Request::get(url))?;
        let linked = answer.header("link").is_some_and(|link| link.contains("rel=\"next\""));
        // A server may give fewer on a page than it was asked for: `Link` says whether there is a next one, and where
        // a proxy has taken that away, a page with nothing on it.
        let more = linked || (answer.header("link").is_none() && self.kind == ForgeApi::Gitea && found.len() >= PAGE);
        Ok((found, more))
    }

    /// The address of a page of requests in a state.
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

    /// Opens a request. It is sent once: a broken connection leaves open whether there is one now, and the next run looks.
    pub(super) fn open(&self, new: &NewPullRequest<'_>) -> Result<Opened, ForgeError> {
        let attempt = format!("open a pull request from {} to {}", new.head, new.base);
        let request = Request::post(self.repository.url(&["pulls"]), "application/json", json(new));
        let answer = self.send(&attempt, request)?;
        if answer.status.is_success() {
            return self.read(&attempt, &answer).map(Opened::PullRequest);
        }
        let refused = refusal(&attempt, &answer, &self.login, self.kind);
        // GitHub: 422 for all that is not valid; Gitea: 409 for this alone.
        let exists = match answer.status.as_u16() {
            409 => true,
            422 => refused.to_string().contains("already exists"),
            _ => false,
        };
        match exists {
            true => Ok(Opened::Exists(refused)),
            false => Err(refused),
        }
    }

    /// Changes a request.
    pub(super) fn edit(&self, number: u64, edit: &PullRequestEdit<'_>) -> Result<PullRequest, ForgeError> {
        let url = self.repository.url(&["pulls", &number.to_string()]);
        let request = Request::post(url, "application/json", json(edit))
            .method(Method::PATCH)
            .repeatable();
        let attempt = format!("update pull request #{number}");
        self.send_json(&attempt, request).map(|(found, _)| found)
    }

    fn send_json<T: DeserializeOwned>(&self, attempt: &str, request: Request) -> Result<(T, Answer), ForgeError> {
        let answer = self.send(attempt, request)?;
        if !answer.status.is_success() {
            return Err(refusal(attempt, &answer, &self.login, self.kind));
        }
        Ok((self.read(attempt, &answer)?, answer))
    }

    fn read<T: DeserializeOwned>(&self, attempt: &str, answer: &Answer) -> Result<T, ForgeError> {
        serde_json::from_slice(&answer.body).map_err(|error| ForgeError::Unreadable {
            attempt: attempt.to_owned(),
            url: place(&answer.url),
            detail: format!(
                "the answer is not as documented: {}",
                scrubbed(&error.to_string(), self.login.secrets())
            ),
            kind: self.kind,
        })
    }

    fn send(&self, attempt: &str, request: Request) -> Result<Answer, ForgeError> {
        let mut request = match self.kind {
            ForgeApi::GitHub => request
                .header("accept", "application/vnd.github+json")
                .header("x-github-api-version", "2022-11-28"),
            ForgeApi::Gitea => request.header("accept", "application/json"),
        };
        if let Some(header) = self.login.header(self.kind) {
            request = request.authorization(header);
        }
        let answer = self.client.send(&request, Deadline::after(self.limit));
        answer.map_err(|source| ForgeError::Net {
            attempt: attempt.to_owned(),
            source,
        })
    }
}

/// Texts into a string: this cannot fail, and an empty body would be refused by the server.
fn json(body: &impl Serialize) -> String {
    serde_json::to_string(body).unwrap_or_default()
}
