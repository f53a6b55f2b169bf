//! What a forge has for reviews: commits of requests, commit statuses, comments. Invalid requests are refused.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{ForgeKind, Pull, refused, said};
use crate::fixture::repo::Repo;
use crate::program::reply::Reply;
use crate::server::http_server::Request;

/// The account that the token is of.
pub const ACCOUNT: &str = "review-bot";

/// A commit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitStatus {
    pub commit: String,
    pub state: String,
    pub context: String,
    pub description: String,
}

/// A comment at a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub id: usize,
    pub number: usize,
    pub author: String,
    pub body: String,
    /// How often it was changed.
    pub edits: usize,
}

/// Statuses and comments of the repository `o/app`.
#[derive(Debug)]
pub(super) struct Reviews {
    pub(super) repository: PathBuf,
    /// All that were set, in their order.
    pub(super) statuses: Vec<CommitStatus>,
    pub(super) comments: Vec<Comment>,
}

impl Reviews {
    /// The answer to a request below the repository; none if it is about something else.
    pub(super) fn answer(
        &mut self,
        kind: ForgeKind,
        pulls: &[Pull],
        request: &Request,
        parts: &[&str],
    ) -> Option<Reply> {
        let is_github = kind == ForgeKind::GitHub;
        Some(match (request.method.as_str(), parts) {
            ("GET", ["pulls"]) if request.parameter("sort").is_some() => self.list(kind, pulls, request),
            ("GET", ["git", "ref", "heads", branch @ ..]) if is_github => match self.rev(&branch.join("/")) {
                Some(tip) => Reply::json(&json!({"object": {"sha": tip, "type": "commit"}})),
                None => refused(404, "Not Found"),
            },
            ("GET", ["compare", ends]) if is_github => {
                let (base, head) = ends.split_once("...")?;
                match self.merge_base(base, head) {
                    Some(base) => Reply::json(&json!({"merge_base_commit": {"sha": base}, "commits": []})),
                    None => refused(404, "No common ancestor between the two"),
                }
            }
            ("GET", ["commits", commit, "status"]) => self.combined(commit, request),
            ("POST", ["statuses", commit]) => self.set(commit, request),
            ("GET", ["issues", number, "comments"]) => self.comments(number.parse().ok()?, request),
            ("POST", ["issues", number, "comments"]) => self.comment(number.parse().ok()?, request),
            ("PATCH", ["issues", "comments", id]) => self.change(id.parse().ok()?, request),
            _ => return None,
        })
    }

    pub(super) fn add_comment(&mut self, number: usize, author: &str, body: &str) -> Comment {
        let comment = Comment {
            id: self.comments.len() + 1,
            number,
            author: author.to_owned(),
            body: body.to_owned(),
            edits: 0,
        };
        self.comments.push(comment.clone());
        comment
    }

    pub(super) fn rev(&self, revision: &str) -> Option<String> {
        Repo {
            dir: self.repository.clone(),
        }
        .rev(revision)
    }

    pub(super) fn merge_base(&self, base: &str, head: &str) -> Option<String> {
        let repo = Repo {
            dir: self.repository.clone(),
        };
        let mut command = crate::fixture::repo::git(&repo.dir);
        let output = command.args(["merge-base", base, head]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    }

    /// Open requests, those that changed last first.
    fn list(&self, kind: ForgeKind, pulls: &[Pull], request: &Request) -> Reply {
        let parameter = |name: &str| request.parameter(name);
        let (sort, size) = match kind {
            ForgeKind::GitHub => ("updated", "per_page"),
            ForgeKind::Gitea => ("recentupdate", "limit"),
        };
        assert_eq!(
            (parameter("sort").as_deref(), parameter("state").as_deref()),
            (Some(sort), Some("open"))
        );
        let is_wanted = |pull: &&Pull| {
            let base = parameter("base").filter(|_| kind == ForgeKind::GitHub);
            pull.open && base.is_none_or(|base| base == pull.base)
        };
        let (size, page): (usize, usize) = (
            parameter(size).unwrap().parse().unwrap(),
            parameter("page").unwrap().parse().unwrap(),
        );
        let all: Vec<&Pull> = pulls.iter().rev().filter(is_wanted).collect();
        let shown = all.iter().skip((page - 1) * size).take(size);
        let shown: Vec<Value> = shown.map(|pull| self.show(kind, pull)).collect();
        let reply = Reply::json(&json!(shown));
        if all.len() > page * size {
            return reply.header("Link", "<http://127.0.0.1/next>; rel=\"next\"");
        }
        reply
    }

    fn show(&self, kind: ForgeKind, pull: &Pull) -> Value {
        let head = Some(pull.sha.clone()).filter(|sha| !sha.is_empty());
        let head = head.or_else(|| self.rev(&format!("refs/heads/{}", pull.head)));
        let repository = |id: u64| json!({"id": id});
        let mut shown = json!({
            "number": pull.number, "title": pull.title, "body": pull.body, "html_url": "https://forge.example/", "user": {"login": "ada"},
            "head": {"ref": pull.head, "sha": head.clone().unwrap_or_default(), "repo": repository(pull.head_repository)},
            "base": {"ref": pull.base, "sha": "", "repo": repository(1)},
        });
        if kind == ForgeKind::Gitea {
            let base = head.and_then(|head| self.merge_base(&format!("refs/heads/{}", pull.base), &head));
            shown["merge_base"] = json!(base.unwrap_or_default());
        }
        shown
    }

    /// The newest status of each context.
    fn combined(&self, commit: &str, request: &Request) -> Reply {
        let mut newest: Vec<&CommitStatus> = Vec::new();
        for status in self.statuses.iter().rev().filter(|status| status.commit == commit) {
            if newest.iter().all(|known| known.context != status.context) {
                newest.push(status);
            }
        }
        if request.parameter("page").as_deref() != Some("1") {
            newest.clear();
        }
        let shown = newest
            .iter()
            .map(|status| json!({"context": status.context, "state": status.state, "description": status.description}));
        Reply::json(&json!({"sha": commit, "statuses": shown.collect::<Vec<_>>()}))
    }

    fn set(&mut self, commit: &str, request: &Request) -> Reply {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let text = |key: &str| body[key].as_str().unwrap().to_owned();
        assert_eq!(body.as_object().unwrap().len(), 3, "{body}");
        if !["success", "failure", "error", "pending"].contains(&text("state").as_str())
            || text("description").chars().count() > 140
            || self.rev(&format!("{commit}^{{commit}}")).is_none()
        {
            return refused(422, "Validation Failed");
        }
        self.statuses.push(CommitStatus {
            commit: commit.to_owned(),
            state: text("state"),
            context: text("context"),
            description: text("description"),
        });
        said(201, &json!({"id": self.statuses.len()}))
    }

    fn comments(&self, number: usize, request: &Request) -> Reply {
        let size = request.parameter("per_page").or_else(|| request.parameter("limit"));
        let (size, page): (usize, usize) = (
            size.unwrap().parse().unwrap(),
            request.parameter("page").unwrap().parse().unwrap(),
        );
        let of_it = self.comments.iter().filter(|comment| comment.number == number);
        let shown = of_it.skip((page - 1) * size).take(size).map(shown);
        Reply::json(&json!(shown.collect::<Vec<_>>()))
    }

    fn comment(&mut self, number: usize, request: &Request) -> Reply {
        let comment = self.add_comment(number, ACCOUNT, &body_of(request));
        said(201, &shown(&comment))
    }

    fn change(&mut self, id: usize, request: &Request) -> Reply {
        let Some(comment) = self.comments.get_mut(id - 1) else {
            return refused(404, "Not Found");
        };
        comment.body = body_of(request);
        comment.edits += 1;
        Reply::json(&shown(comment))
    }
}

fn body_of(request: &Request) -> String {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    let text = body["body"].as_str().unwrap().to_owned();
    assert!(text.chars().count() <= 65_536);
    text
}

fn shown(comment: &Comment) -> Value {
    json!({"id": comment.id, "body": comment.body, "user": {"login": comment.author, "type": "User"}})
}
