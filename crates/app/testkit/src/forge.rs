//! A forge: repositories behind the real `git http-backend`, and the API of pull requests
//! as documented by GitHub and Gitea. Invalid requests are refused.

mod gitlab;
mod reviews;

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::program::reply::Reply;
use crate::server::git_http::GitHttp;
use crate::server::http_server::Request;
use crate::server::stub_http::{StubHttp, forward};
pub use gitlab::{GitLab, PROJECT};
use reviews::Reviews;
pub use reviews::{ACCOUNT, Comment, CommitStatus};

/// Whose API is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeKind {
    GitHub,
    Gitea,
}

/// A pull request of the repository `o/app`.
#[derive(Clone, Debug, Default)]
pub struct Pull {
    pub number: usize,
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    /// The repository of `head`; 1 is `o/app` itself.
    pub head_repository: u64,
    pub open: bool,
    pub merged: bool,
    pub sha: String,
    /// Seconds from its opening to its close, up to 59; none: a day.
    pub lived: Option<u8>,
    /// Whether it was closed because its branch was deleted.
    pub branch_deleted: bool,
    /// How often its description was changed.
    pub edits: u64,
    pub draft: bool,
    pub labels: Vec<String>,
    pub assignees: Vec<String>,
    /// Users, and teams as `team:NAME`.
    pub reviewers: Vec<String>,
    /// How it is merged once the rules of its base are met.
    pub automerge: Option<String>,
}

/// Whom the forge knows: nobody else is assigned or asked for a review.
const PEOPLE: [&str; 2] = ["ada", "bob"];
/// The labels of the repository. GitHub makes others.
const LABELS: [&str; 2] = ["images", "ops"];

/// A function that may answer in place of the forge.
type Fault = Box<dyn FnMut(&Request, &mut Vec<Pull>) -> Option<Reply> + Send>;

struct ForgeState {
    kind: ForgeKind,
    authorization: String,
    pulls: Vec<Pull>,
    reviews: Reviews,
    fault: Option<Fault>,
}

/// A stub of a forge's API of pull requests beside a real Git server.
pub struct Forge {
    pub server: StubHttp,
    state: Arc<Mutex<ForgeState>>,
    _git: GitHttp,
}

impl Forge {
    /// Serves the repositories below `root`. The API requires this `Authorization`.
    pub fn start(kind: ForgeKind, root: &std::path::Path, authorization: &str) -> Self {
        Self::with(kind, root, authorization, None)
    }

    pub fn with(
        kind: ForgeKind,
        root: &std::path::Path,
        authorization: &str,
        tls: Option<Arc<rustls::ServerConfig>>,
    ) -> Self {
        let git = GitHttp::start(root);
        let state = Arc::new(Mutex::new(ForgeState {
            kind,
            authorization: authorization.to_owned(),
            pulls: Vec::new(),
            reviews: Reviews {
                repository: root.join("o/app.git"),
                statuses: Vec::new(),
                comments: Vec::new(),
            },
            fault: None,
        }));
        let (serving, address) = (Arc::clone(&state), git.address());
        let server = StubHttp::with(tls, move |request| {
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

    /// Answers in place of the forge until it returns none.
    pub fn fault(&self, fault: impl FnMut(&Request, &mut Vec<Pull>) -> Option<Reply> + Send + 'static) {
        self.state.lock().fault = Some(Box::new(fault));
    }

    pub fn healthy(&self) {
        self.state.lock().fault = None;
    }

    pub fn pulls(&self) -> Vec<Pull> {
        self.state.lock().pulls.clone()
    }

    /// All statuses that were set, in their order.
    pub fn statuses(&self) -> Vec<CommitStatus> {
        self.state.lock().reviews.statuses.clone()
    }

    pub fn comments(&self) -> Vec<Comment> {
        self.state.lock().reviews.comments.clone()
    }

    /// Somebody comments.
    pub fn comment(&self, number: usize, author: &str, body: &str) {
        self.state.lock().reviews.add_comment(number, author, body);
    }

    /// Changes the newest pull request, as people do in the browser.
    pub fn by_hand(&self, edit: impl FnOnce(&mut Pull)) {
        edit(self.state.lock().pulls.last_mut().unwrap());
    }

    /// Opens a pull request of people.
    pub fn open(&self, head: &str, base: &str, head_repository: u64) {
        let pulls = &mut self.state.lock().pulls;
        open(pulls, ("By hand", "Words."), (head, base), head_repository);
    }

    /// The requests to the API since the last call: method, and path with query below the repository.
    pub fn asked(&self) -> Vec<String> {
        let requests = self.api_requests();
        self.server.clear();
        requests
            .iter()
            .map(|request| {
                let below = request.target.split_once("/repos/o/app/");
                let below = below.map_or(request.target.as_str(), |(_, below)| below);
                format!("{} {below}", request.method)
            })
            .collect()
    }

    pub fn api_requests(&self) -> Vec<Request> {
        let requests = self.server.requests().into_iter();
        requests.filter(|request| request.path.starts_with("/api/")).collect()
    }

    /// The body of the last request to the API that has one.
    pub fn sent(&self) -> Value {
        let requests = self.api_requests();
        let last = requests.iter().rfind(|request| !request.body.is_empty());
        serde_json::from_slice(&last.unwrap().body).unwrap()
    }
}

fn open(pulls: &mut Vec<Pull>, (title, body): (&str, &str), (head, base): (&str, &str), head_repository: u64) -> usize {
    let number = pulls.len() + 1;
    pulls.push(Pull {
        number,
        title: title.to_owned(),
        body: body.to_owned(),
        head: head.to_owned(),
        base: base.to_owned(),
        head_repository,
        open: true,
        ..Pull::default()
    });
    number
}

/// An answer in JSON.
pub fn said(status: u16, body: &Value) -> Reply {
    Reply::bytes(status, "application/json; charset=utf-8", body.to_string())
}

/// An error in the format of both forges.
pub fn refused(status: u16, message: &str) -> Reply {
    said(status, &json!({"message": message}))
}

const OPENED: &str = "2026-01-01T00:00:00Z";

fn node_id(pull: &Pull) -> String {
    format!("PR_{}", pull.number)
}

fn closed_at(pull: &Pull) -> String {
    match pull.lived {
        None => "2026-01-02T00:00:00Z".to_owned(),
        Some(seconds) => format!("2026-01-01T00:00:{seconds:02}Z"),
    }
}

/// What Gitea says of the end of a request.
fn timeline(pull: &Pull) -> Reply {
    let entry = |kind: &str| json!({"type": kind, "created_at": closed_at(pull)});
    let deleted = pull.branch_deleted.then(|| entry("delete_branch"));
    Reply::json(&json!(
        std::iter::once(entry("close")).chain(deleted).collect::<Vec<_>>()
    ))
}

impl ForgeState {
    fn answer(&mut self, request: &Request) -> Reply {
        if let Some(fault) = &mut self.fault
            && let Some(reply) = fault(request, &mut self.pulls)
        {
            return reply;
        }
        if let Some(reply) = self.check_head(request) {
            return reply;
        }
        let version = match self.kind {
            ForgeKind::GitHub => "v3",
            ForgeKind::Gitea => "v1",
        };
        if self.kind == ForgeKind::GitHub && request.path == "/api/graphql" {
            return self.graphql(request);
        }
        if request.path == format!("/api/{version}/user") {
            return Reply::json(&json!({"login": ACCOUNT}));
        }
        let prefix = format!("/api/{version}/repos/o/app/");
        let Some(below) = request.path.strip_prefix(&prefix) else {
            return refused(404, "Not Found");
        };
        let parts: Vec<&str> = below.split('/').collect();
        if let Some(reply) = self.reviews.answer(self.kind, &self.pulls, request, &parts) {
            return reply;
        }
        match (request.method.as_str(), &parts[..]) {
            ("GET", ["pulls"]) => self.list(request),
            ("POST", ["pulls"]) => self.create(request),
            ("GET", ["pulls", number]) => Reply::json(&self.show(&self.pulls[number.parse::<usize>().unwrap() - 1])),
            ("PATCH", ["pulls", number]) => self.edit(number.parse().unwrap(), request),
            ("GET", ["branches", ..]) if self.kind == ForgeKind::Gitea => {
                Reply::json(&json!({"name": parts[1..].join("/")}))
            }
            ("GET", ["issues", number, "timeline"]) if self.kind == ForgeKind::Gitea => {
                timeline(&self.pulls[number.parse::<usize>().unwrap() - 1])
            }
            ("GET", ["issues", number]) => Reply::json(&self.show(&self.pulls[number.parse::<usize>().unwrap() - 1])),
            ("POST" | "PATCH", ["issues", number, ..]) => self.issue(number.parse().unwrap(), &parts[2..], request),
            ("POST", ["pulls", number, "requested_reviewers"]) => self.ask(number.parse().unwrap(), request),
            ("POST", ["pulls", number, "merge"]) if self.kind == ForgeKind::Gitea => {
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                assert_eq!(body["merge_when_checks_succeed"], true);
                assert_eq!(body["head_commit_id"].as_str().unwrap().len(), 40);
                self.pulls[number.parse::<usize>().unwrap() - 1].automerge =
                    Some(body["Do"].as_str().unwrap().to_owned());
                Reply::text(201, "")
            }
            _ => refused(405, "Method Not Allowed"),
        }
    }

    /// Labels and assignees.
    fn issue(&mut self, number: usize, below: &[&str], request: &Request) -> Reply {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
        let names = |key: &str| {
            let names = body[key].as_array().unwrap().iter();
            names.map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let known = |name: &String| PEOPLE.contains(&name.as_str());
        let is_github = self.kind == ForgeKind::GitHub;
        let pull = &mut self.pulls[number - 1];
        match (request.method.as_str(), below) {
            ("POST", ["labels"]) => {
                let exists = |name: &String| is_github || LABELS.contains(&name.as_str());
                pull.labels.extend(names("labels").into_iter().filter(exists));
                pull.labels.dedup();
                let labels = pull.labels.iter().map(|name| json!({"name": name}));
                return Reply::json(&json!(labels.collect::<Vec<_>>()));
            }
            // It leaves out whom it cannot assign, without a word.
            ("POST", ["assignees"]) if is_github => {
                pull.assignees.extend(names("assignees").into_iter().filter(known));
            }
            ("PATCH", []) if !is_github => match names("assignees") {
                names if names.iter().all(known) => pull.assignees = names,
                names => return refused(422, &format!("Assignee does not exist: [name: {}]", names.join(", "))),
            },
            _ => return refused(405, "Method Not Allowed"),
        }
        said(201, &self.show(&self.pulls[number - 1]))
    }

    fn ask(&mut self, number: usize, request: &Request) -> Reply {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let names = |key: &str| {
            body[key]
                .as_array()
                .unwrap()
                .iter()
                .map(|name| name.as_str().unwrap().to_owned())
        };
        if names("reviewers").any(|name| !PEOPLE.contains(&name.as_str())) {
            return refused(422, "Reviews may only be requested from collaborators.");
        }
        let teams = names("team_reviewers").map(|name| format!("team:{name}"));
        let asked = names("reviewers").chain(teams).collect();
        self.pulls[number - 1].reviewers = asked;
        said(201, &json!({}))
    }

    /// *Mutations*, `enablePullRequestAutoMerge`: not where nothing has to be waited for.
    fn graphql(&mut self, request: &Request) -> Reply {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert!(
            body["query"]
                .as_str()
                .unwrap()
                .contains("enablePullRequestAutoMerge(input: {pullRequestId: $id")
        );
        let pull = self
            .pulls
            .iter_mut()
            .find(|pull| body["variables"]["id"] == node_id(pull))
            .unwrap();
        if pull.base == "unprotected" {
            let message = "Pull request Pull request is in clean status";
            return Reply::json(
                &json!({"data": {"enablePullRequestAutoMerge": null}, "errors": [{"message": message}]}),
            );
        }
        pull.automerge = Some(body["variables"]["method"].as_str().unwrap().to_lowercase());
        Reply::json(&json!({"data": {"enablePullRequestAutoMerge": {"clientMutationId": null}}}))
    }

    fn check_head(&self, request: &Request) -> Option<Reply> {
        let (accept, version) = match self.kind {
            ForgeKind::GitHub => ("application/vnd.github+json", Some("2022-11-28")),
            ForgeKind::Gitea => ("application/json", None),
        };
        let fits = request.header("accept") == Some(accept)
            && request.header("x-github-api-version") == version
            && request
                .header("user-agent")
                .is_some_and(|agent| agent.starts_with("bumpwright/"))
            && (request.method == "GET" || request.header("content-type") == Some("application/json"));
        if !fits {
            return Some(refused(400, &format!("odd headers: {:?}", request.headers)));
        }
        let known = request.header("authorization") == Some(&self.authorization);
        (!known).then(|| refused(401, "Bad credentials"))
    }

    fn list(&self, request: &Request) -> Reply {
        let parameter = |name: &str| request.parameter(name);
        let state = parameter("state").unwrap();
        let mut pulls: Vec<&Pull> = self
            .pulls
            .iter()
            .filter(|pull| pull.open == (state == "open"))
            .collect();
        pulls.reverse();
        let size = match self.kind {
            ForgeKind::GitHub => {
                let (head, base) = (parameter("head").unwrap(), parameter("base").unwrap());
                let branch = head.strip_prefix("o:").unwrap();
                pulls.retain(|pull| pull.head == branch && pull.base == base);
                parameter("per_page").unwrap()
            }
            // The server's own limit applies.
            ForgeKind::Gitea => parameter("limit")
                .unwrap()
                .parse::<usize>()
                .unwrap()
                .min(30)
                .to_string(),
        };
        let (size, page): (usize, usize) = (size.parse().unwrap(), parameter("page").unwrap().parse().unwrap());
        let shown: Vec<Value> = pulls
            .iter()
            .skip((page - 1) * size)
            .take(size)
            .map(|pull| self.show(pull))
            .collect();
        let reply = Reply::json(&json!(shown));
        if pulls.len() > page * size {
            let next = format!("<http://{}/next>; rel=\"next\"", request.header("host").unwrap());
            return reply.header("Link", &next);
        }
        reply
    }

    fn show(&self, pull: &Pull) -> Value {
        let repository = |id: u64| json!({"id": id, "full_name": "o/app"});
        let label = match self.kind {
            ForgeKind::GitHub => format!("o:{}", pull.head),
            ForgeKind::Gitea => pull.head.clone(),
        };
        let mut shown = json!({
            "number": pull.number, "title": pull.title, "body": pull.body,
            "html_url": format!("https://forge.example/o/app/pull/{}", pull.number),
            "state": if pull.open { "open" } else { "closed" },
            "merged_at": pull.merged.then_some("2026-01-01T00:00:00Z"),
            "head": {"ref": pull.head, "label": label, "sha": pull.sha, "repo": repository(pull.head_repository)},
            "base": {"ref": pull.base, "label": pull.base, "sha": "", "repo": repository(1)},
            "created_at": OPENED, "closed_at": (!pull.open).then(|| closed_at(pull)),
        });
        let users = pull.assignees.iter().map(|name| json!({"login": name}));
        shown["assignees"] = if pull.assignees.is_empty() && self.kind == ForgeKind::Gitea {
            Value::Null
        } else {
            json!(users.collect::<Vec<_>>())
        };
        match self.kind {
            ForgeKind::Gitea => shown["content_version"] = json!(pull.edits),
            ForgeKind::GitHub => shown["node_id"] = json!(node_id(pull)),
        }
        shown
    }

    fn create(&mut self, request: &Request) -> Reply {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let text = |key: &str| body[key].as_str().unwrap();
        let draft = body.get("draft").is_some_and(|draft| *draft == json!(true));
        assert!(!draft || self.kind == ForgeKind::GitHub, "{body}");
        assert_eq!(body.as_object().unwrap().len(), 4 + usize::from(draft), "{body}");
        let (head, base) = (text("head"), text("base"));
        if head == base {
            let message = format!("No commits between {base} and {head}");
            return match self.kind {
                ForgeKind::GitHub => said(
                    422,
                    &json!({"message": "Validation Failed", "errors": [{"message": message}]}),
                ),
                ForgeKind::Gitea => refused(422, &message),
            };
        }
        let same = |pull: &&Pull| pull.open && pull.head == head && pull.base == base && pull.head_repository == 1;
        if self.pulls.iter().any(|pull| same(&pull)) {
            return match self.kind {
                ForgeKind::GitHub => {
                    let message = format!("A pull request already exists for o:{head}.");
                    let error = json!({"resource": "PullRequest", "code": "custom", "message": message});
                    said(422, &json!({"message": "Validation Failed", "errors": [error]}))
                }
                ForgeKind::Gitea => refused(409, "pull request already exists for these targets"),
            };
        }
        let number = open(&mut self.pulls, (text("title"), text("body")), (head, base), 1);
        self.pulls[number - 1].draft = draft || text("title").starts_with("WIP: ");
        said(201, &self.show(&self.pulls[number - 1]))
    }

    fn edit(&mut self, number: usize, request: &Request) -> Reply {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let pull = &mut self.pulls[number - 1];
        match body.get("content_version") {
            None => assert!(self.kind == ForgeKind::GitHub || body.get("body").is_none(), "{body}"),
            Some(version) if *version != json!(pull.edits) => {
                return refused(409, "the issue is already changed");
            }
            Some(_) => assert_eq!(self.kind, ForgeKind::Gitea),
        }
        for (key, value) in body.as_object().unwrap() {
            let text = || value.as_str().unwrap().to_owned();
            match key.as_str() {
                "title" => pull.title = text(),
                "body" => (pull.body, pull.edits) = (text(), pull.edits + 1),
                "content_version" => {}
                "state" => (pull.open, pull.lived) = (text() != "closed", Some(0)),
                other => panic!("{other} is not to be changed"),
            }
        }
        let status = if self.kind == ForgeKind::Gitea { 201 } else { 200 };
        said(status, &self.show(&self.pulls[number - 1]))
    }
}
