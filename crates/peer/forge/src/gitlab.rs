//! Reviews at GitLab: open merge requests, commit statuses, one note (REST API v4: *Merge requests*, *Branches*,
//! *Repositories*, *Commits*, *Notes*).
//!
//! A status can only be set for a commit of a branch of the project, so merge requests of forks have a note alone.

use serde::Deserialize;
use serde_json::json;
use ureq::http::Method;
use url::Url;

use super::api::null_as_empty;
use super::calls::Calls;
use super::dialect::GITLAB;
use super::login::Login;
use super::reviews::{self, CommitStatus, OpenRequest, OpenRequests, Verdict, commit_id, is_commit, is_same};
use super::{ForgeError, Repository};
use bumpwright_http::{Answer, Peer, Request};

/// Merge requests or notes per page. Anybody may write long texts: a page of them fits into an answer.
const PAGE: usize = 20;

/// The most pages of notes in which ours is looked for: it is among the first, since it is written when the request is
/// opened.
const NOTE_PAGES: usize = 10;

/// A project at GitLab, with a client of its API. Its calls block.
#[derive(Debug)]
pub struct GitLab {
    project: Repository,
    pub(super) calls: Calls,
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u64,
    title: String,
    web_url: String,
    /// None when the account is gone.
    #[serde(default)]
    author: Option<User>,
    target_branch: String,
    /// None while GitLab prepares it.
    #[serde(default)]
    sha: Option<String>,
    /// None when it is gone.
    #[serde(default)]
    source_project_id: Option<u64>,
    target_project_id: u64,
}

#[derive(Deserialize)]
struct Branch {
    commit: Commit,
}

#[derive(Deserialize)]
struct Commit {
    id: String,
}

#[derive(Deserialize)]
struct Status {
    name: String,
    #[serde(default, deserialize_with = "null_as_empty")]
    description: String,
}

#[derive(Deserialize)]
struct Note {
    id: u64,
    #[serde(default)]
    body: String,
    author: User,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

impl GitLab {
    /// Whether a host is GitLab's own.
    #[must_use]
    pub fn is_at(host: &str) -> bool {
        host.eq_ignore_ascii_case("gitlab.com")
    }

    /// Creates the client with the connection settings `peer`. Nothing is connected yet.
    #[must_use]
    pub fn new(project: Repository, login: Login, peer: Peer) -> Self {
        Self {
            project,
            calls: Calls::new(&GITLAB, login, peer),
        }
    }

    #[must_use]
    pub fn project(&self) -> &Repository {
        &self.project
    }

    /// How it is reached; without the login.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        self.calls.peer()
    }

    /// An address below the project, whose path is one segment.
    pub(super) fn url(&self, below: &[&str]) -> Url {
        let mut url = self.project.api.clone();
        let project = format!("{}/{}", self.project.owner, self.project.name);
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["projects", &project]).extend(below);
        }
        url
    }

    fn page(&self, below: &[&str], page: usize) -> Url {
        let mut url = self.url(below);
        url.query_pairs_mut()
            .append_pair("per_page", &PAGE.to_string())
            .append_pair("page", &page.to_string());
        url
    }

    /// The open merge requests, those that changed last first: `most` of them, into a branch if one is given.
    ///
    /// # Errors
    /// [`ForgeError`] when GitLab does not answer or refuses.
    pub fn open_requests(&self, base: Option<&str>, most: usize) -> Result<OpenRequests, ForgeError> {
        let attempt = "list the open merge requests";
        let mut open = OpenRequests::default();
        for page in 1..=most.div_ceil(PAGE) + 1 {
            let mut url = self.page(&["merge_requests"], page);
            let mut query = url.query_pairs_mut();
            query
                .append_pair("state", "opened")
                .append_pair("order_by", "updated_at")
                .append_pair("sort", "desc");
            if let Some(base) = base {
                query.append_pair("target_branch", base);
            }
            drop(query);
            let (requests, answer): (Vec<MergeRequest>, _) = self.calls.send_json(attempt, Request::get(url))?;
            let is_last = !has_more(&answer, requests.len());
            for one in requests {
                if open.requests.len() >= most {
                    open.has_more = true;
                    return Ok(open);
                }
                open.requests.push(open_request(one));
            }
            if is_last {
                return Ok(open);
            }
        }
        open.has_more = true;
        Ok(open)
    }

    /// The commit at the end of a branch.
    ///
    /// # Errors
    /// [`ForgeError`] when GitLab does not answer or refuses.
    pub fn tip(&self, branch: &str) -> Result<String, ForgeError> {
        let attempt = format!("look at branch {branch}");
        let url = self.url(&["repository", "branches", branch]);
        let (found, _): (Branch, _) = self.calls.send_json(&attempt, Request::get(url.clone()))?;
        commit_id((attempt, &url), found.commit.id, self.calls.dialect)
    }

    /// The last commit that two have in common.
    ///
    /// # Errors
    /// [`ForgeError`] when GitLab does not answer or refuses, as for commits with nothing in common.
    pub fn merge_base(&self, base: &str, head: &str) -> Result<String, ForgeError> {
        let attempt = format!("find the last commit that {base} and {head} have in common");
        let mut url = self.url(&["repository", "merge_base"]);
        url.query_pairs_mut()
            .append_pair("refs[]", base)
            .append_pair("refs[]", head);
        let (found, _): (Commit, _) = self.calls.send_json(&attempt, Request::get(url.clone()))?;
        commit_id((attempt, &url), found.id, self.calls.dialect)
    }

    /// The description of a commit's newest status of this context; none if it has none.
    ///
    /// # Errors
    /// [`ForgeError`] when GitLab does not answer or refuses.
    pub fn status(&self, commit: &str, context: &str) -> Result<Option<String>, ForgeError> {
        let attempt = format!("look at the statuses of {commit}");
        let mut url = self.page(&["repository", "commits", commit, "statuses"], 1);
        url.query_pairs_mut()
            .append_pair("name", context)
            .append_pair("order_by", "id")
            .append_pair("sort", "desc");
        let (found, _): (Vec<Status>, _) = self.calls.send_json(&attempt, Request::get(url))?;
        let newest = found.into_iter().find(|status| status.name == context);
        Ok(newest.map(|status| status.description))
    }

    /// Sets a commit's status, which is a job of its pipeline.
    ///
    /// # Errors
    /// [`ForgeError`] when GitLab does not answer or refuses. A retry is safe.
    pub fn set_status(&self, commit: &str, status: CommitStatus<'_>) -> Result<(), ForgeError> {
        let attempt = format!("set the status {} of {commit}", status.context);
        let state = match status.verdict {
            Verdict::Success => "success",
            // GitLab has no state for a check without a verdict.
            Verdict::Failure | Verdict::Error => "failed",
        };
        let body = json!({"state": state, "name": status.context, "description": status.description});
        let request = Request::post(self.url(&["statuses", commit]), "application/json", body.to_string());
        let _: (serde::de::IgnoredAny, _) = self.calls.send_json(&attempt, request)?;
        Ok(())
    }

    /// Keeps one note at a merge request: the one of ours that begins with `mark`, or a new one if it `may_begin`.
    /// Returns its id, if there is one.
    ///
    /// # Errors
    /// [`ForgeError`] when GitLab does not answer or refuses. A retry is safe.
    pub fn keep_comment(
        &self,
        number: u64,
        mark: &str,
        text: &str,
        may_begin: bool,
    ) -> Result<Option<u64>, ForgeError> {
        let number = number.to_string();
        let notes = ["merge_requests", &number, "notes"];
        let body = format!("{mark}\n{text}");
        let (attempt, url, method) = match self.own_note(&notes, mark)? {
            Some(known) if is_same(&known.body, &body) => return Ok(Some(known.id)),
            Some(known) => (
                format!("change the note at merge request !{number}"),
                self.url(&[&notes[..], &[&known.id.to_string()]].concat()),
                Method::PUT,
            ),
            None if !may_begin => return Ok(None),
            None => (
                format!("comment at merge request !{number}"),
                self.url(&notes),
                Method::POST,
            ),
        };
        let request = Request::post(url, "application/json", json!({ "body": body }).to_string()).method(method);
        let (written, _): (Note, _) = self.calls.send_json(&attempt, request)?;
        Ok(Some(written.id))
    }

    /// Our note with this mark. Others can copy the mark: whose note it is counts.
    fn own_note(&self, notes: &[&str], mark: &str) -> Result<Option<Note>, ForgeError> {
        let attempt = "look for the note at the merge request";
        let mut own: Option<String> = None;
        for page in 1..=NOTE_PAGES {
            let mut url = self.page(notes, page);
            url.query_pairs_mut()
                .append_pair("order_by", "created_at")
                .append_pair("sort", "asc");
            let (found, answer): (Vec<Note>, _) = self.calls.send_json(attempt, Request::get(url))?;
            let is_last = !has_more(&answer, found.len());
            for note in found {
                if note.body.lines().next() != Some(mark) {
                    continue;
                }
                let name = match own.take() {
                    Some(name) => name,
                    None => self.own_name()?,
                };
                if note.author.username == *own.insert(name) {
                    return Ok(Some(note));
                }
            }
            if is_last {
                break;
            }
        }
        Ok(None)
    }

    /// The name of the account that the token is of; projects and groups have accounts for theirs.
    fn own_name(&self) -> Result<String, ForgeError> {
        let mut url = self.project.api.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("user");
        }
        let (user, _): (User, _) = self.calls.send_json("see whose token it is", Request::get(url))?;
        Ok(user.username)
    }
}

fn open_request(request: MergeRequest) -> OpenRequest {
    OpenRequest {
        number: request.iid,
        title: reviews::title(&request.title),
        author: reviews::author(request.author.as_ref().map_or("", |author| author.username.as_str())),
        link: reviews::link(request.web_url),
        is_fork: request.source_project_id != Some(request.target_project_id),
        head: request.sha.filter(|head| is_commit(head)),
        merge_base: None,
        base: request.target_branch,
    }
}

/// Whether there is a page after this one. Where a proxy has removed the header, a page that is not full is the last
/// one.
fn has_more(answer: &Answer, count: usize) -> bool {
    match answer.header("x-next-page") {
        Some(next) => !next.trim().is_empty(),
        None => count >= PAGE,
    }
}
