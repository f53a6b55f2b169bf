//! What a review of pull requests needs: the open ones with their commits, a commit status, and one comment.
//!
//! GitHub (REST API 2022-11-28: *Pulls*, *Commits*, *Commit statuses*, *Issue comments*); Gitea and Forgejo (API v1,
//! *repository*, *issue*).

use serde::{Deserialize, Serialize};
use serde_json::json;
use ureq::http::Method;
use url::Url;

use super::api::{Author, PullRequest, null_as_empty};
use super::dialect::Dialect;
use super::error::place;
use super::{Forge, ForgeApi, ForgeError};
use bumpwright_http::Request;
use bumpwright_text::Excerpt;

/// Requests, statuses or comments per page. Anybody may write texts of 65,536 characters: a page of them fits into an
/// answer.
const PAGE: usize = 20;

/// The most pages of a commit's statuses.
const STATUS_PAGES: usize = 4;

/// The most pages of comments in which ours is looked for: it is among the first, since it is written when the request
/// is opened.
const COMMENT_PAGES: usize = 10;

/// The accounts of jobs at Gitea and Forgejo, whose names nobody can have. Their tokens need not see whose they are.
const JOBS: [&str; 2] = ["gitea-actions", "forgejo-actions"];

/// The longest title and name of an author, in characters, and the longest link in bytes: anybody may write them.
const TITLE: usize = 300;
const NAME: usize = 100;
const LINK: usize = 500;

/// An open pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    /// Its number in the repository.
    pub number: u64,
    /// What its author calls it.
    pub title: String,
    /// The name of its author's account; empty if the forge does not say it.
    pub author: String,
    /// Its page, as the forge has it.
    pub link: String,
    /// The branch to merge into.
    pub base: String,
    /// The commit to merge, in hexadecimal; none when it is gone.
    pub head: Option<String>,
    /// The commit that it was begun from, where the forge says so.
    pub merge_base: Option<String>,
    /// Whether it comes from elsewhere than a branch of the repository itself: its author need not have rights to
    /// write here.
    pub is_fork: bool,
}

/// The open pull requests, those that changed last first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenRequests {
    /// As many as were asked for at most.
    pub requests: Vec<OpenRequest>,
    /// Whether there are more.
    pub has_more: bool,
}

/// The verdict in a commit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing speaks against it.
    Success,
    Failure,
    /// The check came to no verdict.
    Error,
}

impl Verdict {
    /// The word for it, also at the forges.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Error => "error",
        }
    }
}

/// The commit status to set for a check.
#[derive(Clone, Copy, Debug)]
pub struct CommitStatus<'a> {
    /// Which check it is of.
    pub context: &'a str,
    pub verdict: Verdict,
    /// In a few words: GitHub takes 140 characters.
    pub description: &'a str,
}

#[derive(Deserialize)]
struct CombinedStatus {
    #[serde(default, deserialize_with = "null_as_empty")]
    statuses: Vec<KnownStatus>,
}

#[derive(Deserialize)]
struct KnownStatus {
    context: String,
    #[serde(default, deserialize_with = "null_as_empty")]
    description: String,
}

#[derive(Deserialize)]
struct Comparison {
    merge_base_commit: CommitId,
}

#[derive(Deserialize)]
struct CommitId {
    sha: String,
}

#[derive(Deserialize)]
struct Reference {
    object: CommitId,
}

#[derive(Deserialize)]
struct Comment {
    id: u64,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    user: Option<Author>,
}

#[derive(Serialize)]
struct NewStatus<'a> {
    state: &'static str,
    context: &'a str,
    description: &'a str,
}

impl Forge {
    /// Lists the open pull requests, `most` of them, into a branch if one is given.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer or refuses.
    pub fn open_requests(&self, base: Option<&str>, most: usize) -> Result<OpenRequests, ForgeError> {
        let attempt = "list the open pull requests";
        let mut open = OpenRequests::default();
        for page in 1..=most.div_ceil(PAGE) + 1 {
            let (requests, more) = self.page(attempt, self.open_page(base, page))?;
            // Where a proxy has removed `Link`, an empty page is the last one.
            let more = more || (self.kind == ForgeApi::Gitea && requests.len() >= PAGE);
            let wanted = requests
                .into_iter()
                .filter(|one| base.is_none_or(|base| one.base_branch() == base));
            for one in wanted {
                if open.requests.len() >= most {
                    open.has_more = true;
                    return Ok(open);
                }
                open.requests.push(open_request(one));
            }
            if !more {
                return Ok(open);
            }
        }
        open.has_more = true;
        Ok(open)
    }

    fn open_page(&self, base: Option<&str>, page: usize) -> Url {
        let mut url = self.repository.url(&["pulls"]);
        let mut query = url.query_pairs_mut();
        query.append_pair("state", "open");
        match self.kind {
            ForgeApi::GitHub => {
                query.append_pair("sort", "updated").append_pair("direction", "desc");
                if let Some(base) = base {
                    query.append_pair("base", base);
                }
                query.append_pair("per_page", &PAGE.to_string());
            }
            ForgeApi::Gitea => {
                query
                    .append_pair("sort", "recentupdate")
                    .append_pair("limit", &PAGE.to_string());
            }
        }
        query.append_pair("page", &page.to_string());
        drop(query);
        url
    }

    /// The commit at the end of a branch, where [`Forge::merge_base`] needs it: at GitHub, which does not say where a
    /// request begins.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer or refuses.
    pub fn tip(&self, branch: &str) -> Result<Option<String>, ForgeError> {
        if self.kind != ForgeApi::GitHub {
            return Ok(None);
        }
        let attempt = format!("look at branch {branch}");
        let parts = ["git", "ref", "heads"].into_iter().chain(branch.split('/'));
        let url = self.repository.url(&parts.collect::<Vec<_>>());
        let (found, _): (Reference, _) = self.calls.send_json(&attempt, Request::get(url.clone()))?;
        commit_id((attempt, &url), found.object.sha, self.calls.dialect).map(Some)
    }

    /// The last commit that two have in common. At GitHub: *Compare two commits*; the second page has no list of files.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer or refuses, as for commits with nothing in common.
    pub fn merge_base(&self, base: &str, head: &str) -> Result<String, ForgeError> {
        let attempt = format!("find the last commit that {base} and {head} have in common");
        let mut url = self.repository.url(&["compare", &format!("{base}...{head}")]);
        url.query_pairs_mut()
            .append_pair("per_page", "1")
            .append_pair("page", "2");
        let (found, _): (Comparison, _) = self.calls.send_json(&attempt, Request::get(url.clone()))?;
        commit_id((attempt, &url), found.merge_base_commit.sha, self.calls.dialect)
    }

    /// The description of a commit's newest status of this context; none if it has none.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer or refuses.
    pub fn status(&self, commit: &str, context: &str) -> Result<Option<String>, ForgeError> {
        let attempt = format!("look at the statuses of {commit}");
        for page in 1..=STATUS_PAGES {
            let mut url = self.repository.url(&["commits", commit, "status"]);
            let size = match self.kind {
                ForgeApi::GitHub => "per_page",
                ForgeApi::Gitea => "limit",
            };
            url.query_pairs_mut()
                .append_pair(size, &PAGE.to_string())
                .append_pair("page", &page.to_string());
            let (found, _): (CombinedStatus, _) = self.calls.send_json(&attempt, Request::get(url))?;
            if found.statuses.is_empty() {
                break;
            }
            let mut statuses = found.statuses.into_iter();
            if let Some(known) = statuses.find(|status| status.context == context) {
                return Ok(Some(known.description));
            }
        }
        Ok(None)
    }

    /// Sets a commit's status.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer or refuses. A retry is safe.
    pub fn set_status(&self, commit: &str, status: CommitStatus<'_>) -> Result<(), ForgeError> {
        let attempt = format!("set the status {} of {commit}", status.context);
        let body = NewStatus {
            state: status.verdict.word(),
            context: status.context,
            description: status.description,
        };
        let url = self.repository.url(&["statuses", commit]);
        let request = Request::post(url, "application/json", json!(body).to_string());
        let _: (serde::de::IgnoredAny, _) = self.calls.send_json(&attempt, request)?;
        Ok(())
    }

    /// Keeps one comment at a pull request: the one of ours that begins with `mark`, or a new one if it `may_begin`.
    /// Returns its id, if there is one.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer or refuses. A retry is safe.
    pub fn keep_comment(
        &self,
        number: u64,
        mark: &str,
        text: &str,
        may_begin: bool,
    ) -> Result<Option<u64>, ForgeError> {
        let body = format!("{mark}\n{text}");
        let (attempt, url, method) = match self.own_comment(number, mark)? {
            // It may be written again: it says the same then.
            Some(known) if known.body.as_deref().is_some_and(|old| is_same(old, &body)) => {
                return Ok(Some(known.id));
            }
            Some(known) => (
                format!("change the comment at pull request #{number}"),
                self.repository.url(&["issues", "comments", &known.id.to_string()]),
                Method::PATCH,
            ),
            None if !may_begin => return Ok(None),
            None => (
                format!("comment at pull request #{number}"),
                self.comments(number),
                Method::POST,
            ),
        };
        let request = Request::post(url, "application/json", json!({ "body": body }).to_string()).method(method);
        let (written, _): (Comment, _) = self.calls.send_json(&attempt, request)?;
        Ok(Some(written.id))
    }

    fn comments(&self, number: u64) -> Url {
        self.repository.url(&["issues", &number.to_string(), "comments"])
    }

    /// Our comment with this mark. Others can copy the mark: whose comment it is counts.
    fn own_comment(&self, number: u64, mark: &str) -> Result<Option<Comment>, ForgeError> {
        let attempt = format!("look for the comment at pull request #{number}");
        let mut own = None;
        let mut last = None;
        for page in 1..=COMMENT_PAGES {
            let mut url = self.comments(number);
            let size = match self.kind {
                ForgeApi::GitHub => "per_page",
                ForgeApi::Gitea => "limit",
            };
            url.query_pairs_mut()
                .append_pair(size, &PAGE.to_string())
                .append_pair("page", &page.to_string());
            let (found, _): (Vec<Comment>, _) = self.calls.send_json(&attempt, Request::get(url))?;
            // Older servers return all comments, on any page.
            let first = found.first().map(|comment| comment.id);
            let is_repeated = first.is_none() || first == last;
            last = first;
            for comment in found.into_iter().filter(|comment| has_mark(comment, mark)) {
                if own.is_none() {
                    own = Some(self.own_name()?);
                }
                let name = own.as_ref().and_then(Option::as_deref);
                if is_own(&comment, name, self.kind) {
                    return Ok(Some(comment));
                }
            }
            if is_repeated {
                break;
            }
        }
        Ok(None)
    }

    /// The name of the account that the login is of; none where the forge does not say it, as to apps of GitHub.
    fn own_name(&self) -> Result<Option<String>, ForgeError> {
        let attempt = "see whose token it is";
        let mut url = self.repository.api.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("user");
        }
        let answer = self.calls.send(attempt, Request::get(url))?;
        if matches!(answer.status.as_u16(), 401 | 403 | 404) {
            return Ok(None);
        }
        if !answer.status.is_success() {
            return Err(self.calls.refused(attempt, &answer));
        }
        self.calls
            .read(attempt, &answer)
            .map(|author: Author| Some(author.login))
    }
}

fn open_request(request: PullRequest) -> OpenRequest {
    OpenRequest {
        number: request.number,
        title: title(&request.title),
        author: author(request.user.as_ref().map_or("", |author| author.login.as_str())),
        link: link(request.html_url.clone()),
        is_fork: !request.is_of_branch(),
        head: Some(request.head.sha.clone()).filter(|head| is_commit(head)),
        merge_base: request.merge_base.clone().filter(|base| is_commit(base)),
        base: request.base_branch().to_owned(),
    }
}

pub(super) fn title(text: &str) -> String {
    text.excerpt(TITLE).into_owned()
}

pub(super) fn author(name: &str) -> String {
    name.excerpt(NAME).into_owned()
}

/// A link; none of one that is too long, since a part of it leads elsewhere.
pub(super) fn link(link: String) -> String {
    if link.len() <= LINK { link } else { String::new() }
}

/// The id of a commit, if a text is one.
pub(super) fn commit_id(
    (attempt, url): (String, &Url),
    text: String,
    dialect: &'static Dialect,
) -> Result<String, ForgeError> {
    if is_commit(&text) {
        return Ok(text);
    }
    Err(ForgeError::Unreadable {
        attempt,
        url: place(url),
        detail: "the answer has no id of a commit".to_owned(),
        kind: dialect.name,
    })
}

/// Whether a text is the id of a commit.
pub(super) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn has_mark(comment: &Comment, mark: &str) -> bool {
    comment
        .body
        .as_deref()
        .is_some_and(|body| body.lines().next() == Some(mark))
}

/// Whether a comment is of the account with this name; where that is not known, of an app or a job: at GitHub these
/// write as bots, and people cannot.
fn is_own(comment: &Comment, own: Option<&str>, kind: ForgeApi) -> bool {
    let Some(author) = &comment.user else {
        return false;
    };
    match own {
        Some(own) => author.login == own,
        None => match kind {
            ForgeApi::GitHub => author.kind.as_deref() == Some("Bot"),
            ForgeApi::Gitea => JOBS.contains(&author.login.as_str()),
        },
    }
}

/// Whether two texts differ in line ends alone.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.trim_end()
        .lines()
        .map(str::trim_end)
        .eq(other.trim_end().lines().map(str::trim_end))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_branch_of_the_repository_is_a_fork() {
        let base = json!({"ref": "main", "sha": "", "repo": {"id": 1}});
        for (head, is_fork) in [
            (json!({"ref": "change", "repo": {"id": 1}}), false),
            (json!({"ref": "change", "repo": {"id": 2}}), true),
            // The fork is gone.
            (json!({"ref": "change", "repo": null}), true),
            // AGit: everybody who may read may push there.
            (json!({"ref": "refs/pull/7/head", "repo": {"id": 1}}), true),
        ] {
            let request = json!({"number": 7, "title": "t", "html_url": "", "head": head, "base": base});
            let request: PullRequest = serde_json::from_value(request).unwrap();
            assert_eq!(open_request(request).is_fork, is_fork, "{head}");
        }
    }

    /// Titles, names and links are anybody's.
    #[test]
    fn what_a_request_is_called_is_bounded() {
        let end = json!({"ref": "main", "sha": "", "repo": {"id": 1}});
        let read = |title: &str, link: &str, user: serde_json::Value| {
            let request =
                json!({"number": 7, "title": title, "html_url": link, "user": user, "head": end, "base": end});
            open_request(serde_json::from_value(request).unwrap())
        };
        let one = read("größer", "https://forge/7", json!({"login": "ann"}));
        assert_eq!(
            (one.title.as_str(), one.author.as_str(), one.link.as_str()),
            ("größer", "ann", "https://forge/7")
        );
        let long = read(&"ü".repeat(9000), &"x".repeat(9000), json!(null));
        assert_eq!(
            (long.title.chars().count(), long.author.as_str(), long.link.as_str()),
            (301, "", "")
        );
    }

    #[test]
    fn a_copied_mark_makes_no_comment_ours() {
        let comment = |user: serde_json::Value| -> Comment {
            serde_json::from_value(json!({"id": 1, "body": "mark\r\ntext", "user": user})).unwrap()
        };
        let (ours, others) = (comment(json!({"login": "bot"})), comment(json!({"login": "eve"})));
        let app = comment(json!({"login": "review[bot]", "type": "Bot"}));
        assert!(has_mark(&ours, "mark") && !has_mark(&ours, "mar"));
        assert!(is_own(&ours, Some("bot"), ForgeApi::Gitea) && !is_own(&others, Some("bot"), ForgeApi::Gitea));
        assert!(!is_own(&ours, None, ForgeApi::Gitea) && !is_own(&others, None, ForgeApi::GitHub));
        assert!(is_own(&app, None, ForgeApi::GitHub) && !is_own(&comment(json!(null)), None, ForgeApi::GitHub));
        let job = comment(json!({"login": "gitea-actions"}));
        assert!(is_own(&job, None, ForgeApi::Gitea) && !is_own(&job, None, ForgeApi::GitHub));
        assert!(!is_own(&job, Some("bot"), ForgeApi::Gitea));
    }
}
