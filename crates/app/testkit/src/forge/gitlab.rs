//! GitLab's API as far as reviews need it (REST API v4), beside a real Git server. Requests that its documents do not
//! have are refused.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::reviews::{ACCOUNT, Comment, CommitStatus, Reviews};
use super::{refused, said};
use crate::program::reply::Reply;
use crate::server::git_http::GitHttp;
use crate::server::http_server::Request;
use crate::server::stub_http::{StubHttp, forward};

/// The project's path, in a group of a group.
pub const PROJECT: &str = "o/team/app";

/// A merge request.
#[derive(Clone, Debug)]
struct MergeRequest {
    source: String,
    target: String,
    source_project: u64,
}

struct State {
    authorization: String,
    requests: Vec<MergeRequest>,
    reviews: Reviews,
}

/// A stub of GitLab.
pub struct GitLab {
    pub server: StubHttp,
    state: Arc<Mutex<State>>,
    _git: GitHttp,
}

impl GitLab {
    /// Serves the repositories below `root`. The API wants this token.
    pub fn start(root: &Path, token: &str) -> Self {
        let git = GitHttp::start(root);
        let state = Arc::new(Mutex::new(State {
            authorization: format!("Bearer {token}"),
            requests: Vec::new(),
            reviews: Reviews {
                repository: root.join(format!("{PROJECT}.git")),
                statuses: Vec::new(),
                comments: Vec::new(),
            },
        }));
        let (serving, address) = (Arc::clone(&state), git.address());
        let server = StubHttp::with(None, move |request| {
            if request.path.starts_with("/api/") {
                return serving.lock().answer(request);
            }
            forward(address, request).unwrap_or_else(|error| Reply::text(502, &error.to_string()))
        });
        Self {
            server,
            state,
            _git: git,
        }
    }

    /// Opens a merge request; project 1 is the project itself.
    pub fn open(&self, source: &str, target: &str, source_project: u64) {
        self.state.lock().requests.push(MergeRequest {
            source: source.to_owned(),
            target: target.to_owned(),
            source_project,
        });
    }

    /// Somebody comments.
    pub fn comment(&self, number: usize, author: &str, body: &str) {
        self.state.lock().reviews.add_comment(number, author, body);
    }

    /// All statuses that were set, in their order.
    pub fn statuses(&self) -> Vec<CommitStatus> {
        self.state.lock().reviews.statuses.clone()
    }

    pub fn comments(&self) -> Vec<Comment> {
        self.state.lock().reviews.comments.clone()
    }

    /// How often the merge requests were listed.
    pub fn lists(&self) -> usize {
        let requests = self.server.requests().into_iter();
        requests.filter(|one| one.path.ends_with("/merge_requests")).count()
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> Reply {
        if request.header("authorization") != Some(&self.authorization) {
            return refused(401, "401 Unauthorized");
        }
        if request.method != "GET" && request.header("content-type") != Some("application/json") {
            return refused(400, "400 Bad request");
        }
        if request.path == "/api/v4/user" {
            return Reply::json(&json!({"id": 7, "username": ACCOUNT}));
        }
        let project = format!("/api/v4/projects/{}/", PROJECT.replace('/', "%2F"));
        // The path of the project is one part of it, so it is read as it was sent.
        let path = request.target.split('?').next().unwrap();
        let Some(below) = path.strip_prefix(&project) else {
            return refused(404, "404 Project Not Found");
        };
        match (request.method.as_str(), &below.split('/').collect::<Vec<_>>()[..]) {
            ("GET", ["merge_requests"]) => self.list(request),
            ("GET", ["repository", "branches", branch]) => match self.reviews.rev(&branch.replace("%2F", "/")) {
                Some(tip) => Reply::json(&json!({"name": branch, "commit": {"id": tip}})),
                None => refused(404, "404 Branch Not Found"),
            },
            ("GET", ["repository", "merge_base"]) => {
                let ends = request.parameters("refs[]");
                match self.reviews.merge_base(&ends[0], &ends[1]) {
                    Some(base) => Reply::json(&json!({"id": base})),
                    None => refused(404, "404 Merge Base Not Found"),
                }
            }
            ("GET", ["repository", "commits", commit, "statuses"]) => self.statuses(commit, request),
            ("POST", ["statuses", commit]) => self.set(commit, request),
            ("GET", ["merge_requests", number, "notes"]) => self.notes(number.parse().unwrap(), request),
            ("POST", ["merge_requests", number, "notes"]) => {
                let note = self
                    .reviews
                    .add_comment(number.parse().unwrap(), ACCOUNT, &body_of(request));
                said(201, &note_of(&note))
            }
            ("PUT", ["merge_requests", _, "notes", id]) => {
                match self.reviews.comments.get_mut(id.parse::<usize>().unwrap() - 1) {
                    Some(note) if note.author == ACCOUNT => {
                        note.body = body_of(request);
                        note.edits += 1;
                        Reply::json(&note_of(note))
                    }
                    _ => refused(403, "403 Forbidden"),
                }
            }
            _ => refused(404, "404 Not Found"),
        }
    }

    fn list(&self, request: &Request) -> Reply {
        let parameter = |name: &str| request.parameter(name).unwrap_or_default();
        let order = (parameter("state"), parameter("order_by"), parameter("sort"));
        assert_eq!(order, ("opened".to_owned(), "updated_at".to_owned(), "desc".to_owned()));
        let target = request.parameter("target_branch");
        let all = self.requests.iter().enumerate().rev();
        let all = all.filter(|(_, one)| target.as_ref().is_none_or(|target| *target == one.target));
        let shown = all.map(|(at, one)| {
            json!({
                "iid": at + 1, "title": "By hand", "web_url": "https://gitlab.example/o/team/app/-/merge_requests/1", "author": {"username": "ada"},
                "source_branch": one.source, "target_branch": one.target,
                "sha": self.head(at + 1, one),
                "source_project_id": one.source_project, "target_project_id": 1,
            })
        });
        page(&shown.collect::<Vec<_>>(), request)
    }

    /// The commit to merge. The project has those of forks below `refs/merge-requests` alone.
    fn head(&self, number: usize, request: &MergeRequest) -> Option<String> {
        match request.source_project {
            1 => self.reviews.rev(&format!("refs/heads/{}", request.source)),
            _ => self.reviews.rev(&format!("refs/merge-requests/{number}/head")),
        }
    }

    fn statuses(&self, commit: &str, request: &Request) -> Reply {
        let name = request.parameter("name").unwrap();
        assert_eq!(request.parameter("sort").as_deref(), Some("desc"));
        let known = self.reviews.statuses.iter().rev();
        let known = known.filter(|status| status.commit == commit && status.context == name);
        let shown = known
            .map(|status| json!({"name": status.context, "status": status.state, "description": status.description}));
        page(&shown.collect::<Vec<_>>(), request)
    }

    fn set(&mut self, commit: &str, request: &Request) -> Reply {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let text = |key: &str| body[key].as_str().unwrap().to_owned();
        assert_eq!(body.as_object().unwrap().len(), 3, "{body}");
        if !["pending", "running", "success", "failed", "canceled", "skipped"].contains(&text("state").as_str())
            || text("description").chars().count() > 255
        {
            return refused(400, "state does not have a valid value");
        }
        let mut containing = crate::fixture::repo::git(&self.reviews.repository);
        let branches = containing.args(["branch", "--contains", commit]).output().unwrap();
        if branches.stdout.is_empty() {
            return refused(404, "404 References for commit Not Found");
        }
        self.reviews.statuses.push(CommitStatus {
            commit: commit.to_owned(),
            state: text("state"),
            context: text("name"),
            description: text("description"),
        });
        said(201, &json!({"id": self.reviews.statuses.len()}))
    }

    fn notes(&self, number: usize, request: &Request) -> Reply {
        assert_eq!(request.parameter("sort").as_deref(), Some("asc"));
        let of_it = self.reviews.comments.iter().filter(|note| note.number == number);
        page(&of_it.map(note_of).collect::<Vec<_>>(), request)
    }
}

/// A page of a list, and which one is next.
fn page(all: &[Value], request: &Request) -> Reply {
    let number = |name: &str| request.parameter(name).unwrap().parse::<usize>().unwrap();
    let (size, page) = (number("per_page"), number("page"));
    assert!(size <= 100);
    let shown: Vec<&Value> = all.iter().skip((page - 1) * size).take(size).collect();
    let next = if all.len() > page * size {
        (page + 1).to_string()
    } else {
        String::new()
    };
    Reply::json(&json!(shown)).header("X-Next-Page", &next)
}

fn body_of(request: &Request) -> String {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
    body["body"].as_str().unwrap().to_owned()
}

fn note_of(note: &Comment) -> Value {
    json!({"id": note.id, "body": note.body, "system": false, "author": {"id": 7, "username": note.author}})
}
