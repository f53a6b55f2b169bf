//! `action.yml`, its steps run as a runner runs them, at a forge of the testkit.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use bumpwright_testkit::cli::{Ran, ran};
use bumpwright_testkit::forge::{Forge, ForgeKind, refused, said};
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{Repo, git, run};
use bumpwright_testkit::stub_http::StubHttp;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Comment, MARKED, Machine, TOKEN, equipped, releases, root, text, yaml};

pub(super) struct Runner {
    pub machine: Machine,
    pub forge: Forge,
    pub repo: Repo,
    comments: Arc<Mutex<Vec<Comment>>>,
    /// `pull_request` in the event, if it was one.
    event: Value,
    /// What the action is checked out as, and where.
    reference: String,
    action: PathBuf,
    kind: ForgeKind,
}

impl Runner {
    /// `o/app` at a forge, and a checkout of it that is the working folder. The field is behind.
    pub fn new() -> Self {
        let runner = Self::at(ForgeKind::GitHub, &format!("Bearer {TOKEN}"));
        let kept = Arc::clone(&runner.comments);
        runner
            .forge
            .fault(move |request, _| comment_api(request, &mut kept.lock()));
        runner
    }

    /// The same with the comments of the testkit.
    fn at(kind: ForgeKind, authorization: &str) -> Self {
        let machine = Machine::new();
        let repo = machine.repository("o/app.git");
        let forge = Forge::start(kind, machine.bench.home.path(), authorization);
        let comments = Arc::<Mutex<Vec<Comment>>>::default();
        Self {
            machine,
            forge,
            repo,
            comments,
            event: json!({"pull_request": {"number": 7}}),
            reference: "v0.1.0".to_owned(),
            action: root().to_owned(),
            kind,
        }
    }

    fn server(&self) -> String {
        self.forge.server.url("").trim_end_matches('/').to_owned()
    }

    /// The value of an expression of the action.
    fn evaluate(&self, expression: &str, inputs: &BTreeMap<String, String>) -> String {
        let known = match expression {
            "github.token" => TOKEN,
            "github.action_path" => self.action.to_str().unwrap(),
            "github.action_ref" => &self.reference,
            "github.action_repository" => "bumpwright/bumpwright",
            "github.job" => "images",
            _ => {
                let name = expression.strip_prefix("inputs.");
                let value = name.and_then(|name| inputs.get(name));
                return value.unwrap_or_else(|| panic!("{expression} has no value")).clone();
            }
        };
        known.to_owned()
    }

    fn interpolate(&self, text: &str, inputs: &BTreeMap<String, String>) -> String {
        let mut parts = text.split("${{");
        let mut out = parts.next().unwrap().to_owned();
        for part in parts {
            let (expression, rest) = part.split_once("}}").unwrap();
            out += &self.evaluate(expression.trim(), inputs);
            out += rest;
        }
        out
    }

    /// Runs the action with these inputs. Those that it does not have are an error.
    pub fn run(&self, with: &[(&str, &str)]) -> Ran {
        self.step("update", with)
    }

    /// Runs a step of the action.
    fn step(&self, id: &str, with: &[(&str, &str)]) -> Ran {
        self.step_of("action.yml", id, with)
    }

    /// Runs a step of an action of ours.
    fn step_of(&self, file: &str, id: &str, with: &[(&str, &str)]) -> Ran {
        let action = yaml(&text(file));
        let mut inputs = BTreeMap::new();
        for (name, input) in action["inputs"].as_object().unwrap() {
            let default = self.interpolate(input["default"].as_str().unwrap(), &inputs);
            inputs.insert(name.clone(), default);
        }
        inputs.insert("binary".to_owned(), "bumpwright".to_owned());
        for (name, value) in with {
            let known = inputs.insert((*name).to_owned(), (*value).to_owned());
            assert!(known.is_some(), "{file} has no input {name}");
        }
        let steps = action["runs"]["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["id"] == id).unwrap();
        let mut environment = self.environment();
        for (name, value) in step["env"].as_object().unwrap() {
            environment.insert(name.clone(), self.interpolate(value.as_str().unwrap(), &inputs));
        }
        // An action in a folder has the path of its folder.
        if let Some(folder) = Path::new(file).parent() {
            let path = self.action.join(folder);
            environment.insert("ACTION_PATH".to_owned(), path.to_str().unwrap().to_owned());
        }
        assert_eq!(step["shell"], "bash");
        let shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail"];
        self.machine.shell(&shell, step["run"].as_str().unwrap(), &environment)
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let file = |name: &str| {
            let path = self.machine.outside(name);
            std::fs::write(&path, "").unwrap();
            path.to_str().unwrap().to_owned()
        };
        let event = self.machine.outside("event.json");
        std::fs::write(&event, self.event.to_string()).unwrap();
        let server = self.server();
        let (version, is_gitea) = match self.kind {
            ForgeKind::GitHub => ("v3", ""),
            ForgeKind::Gitea => ("v1", "true"),
        };
        let pairs = [
            ("CI", "true".to_owned()),
            ("GITHUB_ACTIONS", "true".to_owned()),
            ("GITEA_ACTIONS", is_gitea.to_owned()),
            ("GITHUB_API_URL", format!("{server}/api/{version}")),
            ("GITHUB_SERVER_URL", server),
            ("GITHUB_REPOSITORY", "o/app".to_owned()),
            ("GITHUB_BASE_REF", "main".to_owned()),
            ("GITHUB_EVENT_PATH", event.to_str().unwrap().to_owned()),
            ("GITHUB_OUTPUT", file("output")),
            ("GITHUB_STEP_SUMMARY", file("summary")),
            ("GITHUB_PATH", file("path")),
            ("RUNNER_TEMP", self.machine.outside("temp").to_str().unwrap().to_owned()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// An output of the last run.
    pub fn output(&self, name: &str) -> String {
        let written = std::fs::read_to_string(self.machine.outside("output")).unwrap();
        let mut lines = written.lines().filter_map(|line| line.split_once('='));
        lines.find(|(known, _)| *known == name).unwrap().1.to_owned()
    }

    fn summary(&self) -> String {
        std::fs::read_to_string(self.machine.outside("summary")).unwrap()
    }

    pub fn comments(&self) -> Vec<Comment> {
        self.comments.lock().clone()
    }

    /// The methods of the requests to the comments since the last call.
    fn asked(&self) -> Vec<String> {
        let asked = self.forge.asked();
        asked
            .into_iter()
            .filter(|request| request.contains("issues/"))
            .collect()
    }
}

/// Issue comments as documented: list, create, update. None for other paths.
fn comment_api(request: &Request, comments: &mut Vec<Comment>) -> Option<Reply> {
    if request.path == "/api/v3/user" {
        return Some(refused(403, "Resource not accessible by integration"));
    }
    let below = request.path.strip_prefix("/api/v3/repos/o/app/issues/")?;
    let writes = request.method != "GET";
    let fits = request.header("accept") == Some("application/vnd.github+json")
        && request.header("x-github-api-version") == Some("2022-11-28")
        && request.header("user-agent").is_some()
        && (!writes || request.header("content-type") == Some("application/json"));
    if !fits {
        return Some(refused(400, &format!("odd headers: {:?}", request.headers)));
    }
    if request.header("authorization") != Some(&format!("Bearer {TOKEN}")) {
        return Some(refused(401, "Bad credentials"));
    }
    // What was posted here is of the job; the others are of people.
    let author = |comment: &Comment| match comment.id {
        1000.. => json!({"login": "github-actions[bot]", "type": "Bot"}),
        _ => json!({"login": "ada", "type": "User"}),
    };
    let show = |comment: &Comment| json!({"id": comment.id, "body": comment.body, "user": author(comment)});
    let body = || {
        let body: Value = serde_json::from_slice(&request.body).ok()?;
        let only = body.as_object().is_some_and(|object| object.len() == 1);
        body["body"]
            .as_str()
            .filter(|text| only && text.len() <= 65_536)
            .map(str::to_owned)
    };
    Some(match (request.method.as_str(), below) {
        ("GET", "7/comments") => {
            let number = |name: &str| request.parameter(name).unwrap().parse::<usize>().unwrap();
            let (size, page) = (number("per_page").min(100), number("page"));
            let shown: Vec<Value> = comments.iter().skip((page - 1) * size).take(size).map(show).collect();
            said(200, &json!(shown))
        }
        ("POST", "7/comments") => {
            let Some(body) = body() else {
                return Some(refused(422, "Validation Failed"));
            };
            let id = 1000 + comments.len() as u64;
            comments.push(Comment { id, body });
            said(201, &show(comments.last().unwrap()))
        }
        ("PATCH", path) => {
            let id = path.strip_prefix("comments/").and_then(|id| id.parse::<u64>().ok());
            let known = comments.iter_mut().find(|comment| Some(comment.id) == id);
            match (known, body()) {
                (Some(comment), Some(body)) => {
                    comment.body = body;
                    said(200, &show(comment))
                }
                (None, _) => refused(404, "Not Found"),
                (_, None) => refused(422, "Validation Failed"),
            }
        }
        _ => refused(405, "Method Not Allowed"),
    })
}

#[test]
fn a_check_reports_once_and_keeps_its_comment() {
    if !equipped() {
        return;
    }
    let runner = Runner::new();
    // People have talked more than fits on a page.
    for id in 0..130 {
        let body = "a comment".to_owned();
        runner.comments.lock().push(Comment { id, body });
    }
    let check = [("dry-run", "true"), ("comment", "true")];
    let ran = runner.run(&check);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(
        (runner.output("changed"), runner.output("commit")),
        ("true".to_owned(), String::new())
    );
    let report = std::fs::read_to_string(runner.output("report")).unwrap();
    let row = "| ghcr.io/o/app | `1.0.0` → `2.0.0` | fs/app | `a.yaml:1` |";
    assert!(report.contains(row), "{report}");
    assert_eq!(runner.summary(), report);
    let document: Value = serde_json::from_str(&std::fs::read_to_string(runner.output("json")).unwrap()).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(runner.machine.bench.read("a.yaml"), MARKED);
    let list = |page: usize| format!("GET issues/7/comments?per_page=100&page={page}");
    assert_eq!(runner.asked(), [list(1), list(2), "POST issues/7/comments".to_owned()]);
    assert_eq!(runner.run(&check).code, 0);
    assert_eq!(
        runner.asked(),
        [list(1), list(2), "PATCH issues/comments/1130".to_owned()]
    );
    let comments = runner.comments();
    assert_eq!(comments.len(), 131);
    assert_eq!(
        comments[130].body,
        format!("<!-- bumpwright:report images -->\n{report}")
    );
    // Done: the comment says so; without a comment there is nothing to say.
    assert_eq!(runner.run(&[]).code, 0);
    assert!(runner.machine.bench.read("a.yaml").contains("2.0.0"));
    assert_eq!(runner.run(&check).code, 0);
    assert_eq!(runner.output("changed"), "false");
    assert!(runner.comments()[130].body.contains("Nothing to change."));
    runner.comments.lock().clear();
    assert_eq!(runner.run(&check).code, 0);
    assert!(runner.comments().is_empty());
    assert!(!runner.machine.arguments().contains(TOKEN));
}

#[test]
fn a_job_fails_as_its_inputs_say_and_still_reports() {
    if !equipped() {
        return;
    }
    let runner = Runner::new();
    let behind = runner.run(&[("dry-run", "true"), ("exit-code", "true")]);
    assert!(
        behind.code == 1
            && behind
                .out
                .contains("\n::error title=bumpwright::a marked field is behind"),
        "{}",
        behind.out
    );
    assert_eq!(runner.output("changed"), "true");
    runner.machine.bench.write("b.yaml", MARKED.replace("fs:app", "fs:ap"));
    for (strict, code) in [("false", 0), ("true", 3), ("problems", 3), ("markers", 3)] {
        let ran = runner.run(&[("dry-run", "true"), ("strict", strict)]);
        assert_eq!(ran.code, code, "{strict}: {}", ran.out);
        assert!(runner.summary().contains("UnknownPolicy"), "{}", runner.summary());
    }
    let failed = runner.run(&[("dry-run", "true"), ("filenames", "none.yaml"), ("comment", "true")]);
    assert!(
        failed.code == 2 && failed.out.contains("::error title=bumpwright::none.yaml: No such file"),
        "{}",
        failed.out
    );
    assert!(
        runner.comments()[0].body.contains("**Failed:** none.yaml"),
        "{:?}",
        runner.comments()
    );
    for (input, value) in [
        ("dry-run", "yes"),
        ("strict", "1"),
        ("pull-request", "gitlab"),
        ("binary", "no-such-program"),
    ] {
        let ran = runner.run(&[(input, value)]);
        assert!(
            ran.code == 2 && ran.out.contains(&format!("::error title=bumpwright::{input}")),
            "{}",
            ran.out
        );
    }
}

#[test]
fn a_bump_keeps_one_pull_request_and_no_program_sees_the_token_as_an_argument() {
    if !equipped() {
        return;
    }
    let runner = Runner::new();
    let bump = [
        ("push-branch", "bump/images"),
        ("pull-request", "true"),
        ("pull-request-base", "main"),
    ];
    let ran = runner.run(&bump);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let head = runner.repo.rev("bump/images").unwrap();
    assert_eq!(
        (runner.output("commit"), runner.output("changed")),
        (head.clone(), "true".to_owned())
    );
    assert_eq!(runner.output("pull-request"), "https://forge.example/o/app/pull/1");
    let author = &runner.repo.log("bump/images")[0].author;
    assert_eq!(
        author,
        "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>"
    );
    assert_eq!(runner.run(&bump).code, 0);
    assert_eq!(
        (runner.forge.pulls().len(), runner.repo.rev("bump/images")),
        (1, Some(head))
    );
    assert!(!runner.machine.arguments().contains(TOKEN) && !ran.out.contains(TOKEN));
    // The token of the job is for its own server.
    let other = format!("http://127.0.0.1:{}/o/app.git", runner.forge.server.address().port());
    let ran = runner.run(&[
        ("target", &other),
        ("push-branch", "bump/images"),
        ("pull-request", "true"),
    ]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("no token for the pull requests"), "{}", ran.err);
}

/// A clone with a cluster, whose checkout has a commit more than `main`.
fn with_a_change(runner: &Runner, change: &str) {
    let bench = &runner.machine.bench;
    let user = ["-c", "user.name=A", "-c", "user.email=a@b.c"];
    let commit = |text: &str| {
        bench.write(
            "clusters/a/map.yaml",
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m, namespace: n}}\n{text}\n"),
        );
        run(git(&bench.dir).args(["add", "-A"]));
        run(git(&bench.dir)
            .args(user)
            .args(["commit", "--quiet", "--allow-empty", "-m", "state"]));
    };
    run(git(&bench.dir).args(["init", "--quiet"]));
    commit("data: {a: b}");
    run(git(&bench.dir).args(["update-ref", "refs/remotes/origin/main", "HEAD"]));
    commit(change);
}

#[test]
fn a_review_is_in_the_summary_in_annotations_and_in_one_comment() {
    if !equipped() {
        return;
    }
    let runner = Runner::new();
    with_a_change(&runner, "data: {a: 1}");
    let review = |with: &[(&str, &str)]| {
        let with = [&[("entries", "clusters/*\n\n")], with].concat();
        runner.step_of("review/action.yml", "review", &with)
    };
    let ran = review(&[]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(
        ran.out
            .contains("\n::error file=clusters/a/map.yaml,line=4,col=11,title=schema::"),
        "{}",
        ran.out
    );
    let report = std::fs::read_to_string(runner.output("report")).unwrap();
    assert!(
        report.starts_with("## In the clusters: 1 changed\n\nNew with this change: 1 error"),
        "{report}"
    );
    assert_eq!(
        (runner.summary(), runner.output("changed")),
        (report.clone(), "true".to_owned())
    );
    let sarif: Value = serde_json::from_str(&std::fs::read_to_string(runner.output("sarif")).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "schema");
    let page = std::fs::read_to_string(runner.output("html")).unwrap();
    assert!(
        page.contains("bumpwright fleet review") && page.contains("schema"),
        "{page}"
    );
    // All of it is of one run.
    assert_eq!(runner.machine.arguments().matches("fleet\nreview\n").count(), 1);
    // The next one is in the same comment.
    assert_eq!(review(&[("fail-on", "never")]).code, 0);
    let comments = runner.comments();
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0].body, format!("<!-- bumpwright:review images -->\n{report}"));
    assert!(!runner.machine.arguments().contains(TOKEN));
    // A pull request of a fork has no right to write.
    let ran = review(&[("token", "of-a-fork"), ("fail-on", "never")]);
    assert!(
        ran.code == 0
            && ran
                .out
                .contains("::warning title=bumpwright::the comment was not written"),
        "{}",
        ran.out
    );
    for (input, value, said) in [
        ("fail-on", "all", "fail-on is"),
        ("from", "none", "no revision"),
        ("entries", "none", "none: "),
    ] {
        let ran = runner.step_of("review/action.yml", "review", &[(input, value)]);
        assert!(
            ran.code == 2 && format!("{}{}", ran.out, ran.err).contains(said),
            "{}{}",
            ran.out,
            ran.err
        );
    }
}

/// Its runners have the variables of GitHub's, and another API.
#[test]
fn a_review_at_gitea_has_its_comment_too() {
    if !equipped() {
        return;
    }
    let runner = Runner::at(ForgeKind::Gitea, &format!("token {TOKEN}"));
    with_a_change(&runner, "data: {a: c}");
    runner
        .forge
        .comment(7, "eve", "<!-- bumpwright:review images -->\nNothing changes.");
    for _ in 0..2 {
        let ran = runner.step_of("review/action.yml", "review", &[("entries", "clusters/a")]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let comments = runner.forge.comments();
        assert_eq!((comments.len(), comments[1].edits), (2, 0), "{comments:#?}");
        assert!(
            comments[1].body.contains("## In the clusters: 1 changed"),
            "{comments:#?}"
        );
    }
    assert!(!runner.machine.arguments().contains(TOKEN));
}

/// Its author could not be told what it says next.
#[test]
fn a_copied_mark_is_not_the_comment_of_the_job() {
    if !equipped() {
        return;
    }
    let runner = Runner::new();
    with_a_change(&runner, "data: {a: c}");
    let copied = "<!-- bumpwright:review images -->\nNothing changes.".to_owned();
    runner.comments.lock().push(Comment {
        id: 1,
        body: copied.clone(),
    });
    for _ in 0..2 {
        let ran = runner.step_of("review/action.yml", "review", &[("entries", "clusters/a")]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let comments = runner.comments();
        assert_eq!((comments.len(), &comments[0].body), (2, &copied));
        assert!(
            comments[1].body.contains("## In the clusters: 1 changed"),
            "{comments:?}"
        );
    }
}

/// As at Gitea, which answers each page with all comments.
#[test]
fn a_list_without_pages_is_read_once() {
    if !equipped() {
        return;
    }
    let runner = Runner::new();
    runner.forge.fault(|request, _| {
        let is_list = request.method == "GET" && request.path.ends_with("/issues/7/comments");
        let one = |id: usize| json!({"id": id, "body": "words", "user": {"login": "ada"}});
        is_list.then(|| said(200, &(0..100).map(one).collect::<Value>()))
    });
    let ran = runner.run(&[("dry-run", "true"), ("comment", "true")]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let lists = runner.asked().into_iter().filter(|request| request.starts_with("GET "));
    assert_eq!(lists.count(), 2);
}

#[test]
fn a_change_of_nothing_needs_no_comment() {
    if !equipped() {
        return;
    }
    let runner = Runner::new();
    with_a_change(&runner, "data: {a: b}");
    let ran = runner.step_of("review/action.yml", "review", &[("entries", "clusters/a")]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(
        (runner.comments().len(), runner.output("changed")),
        (0, "false".to_owned())
    );
    let hostile = "$(touch pwned) `touch pwned` '; touch pwned; ' \" ; touch pwned\n";
    for input in ["entries", "arguments", "from", "to", "comment-id", "version"] {
        runner.step_of("review/action.yml", "review", &[("comment", "true"), (input, hostile)]);
        assert!(!runner.machine.bench.path("pwned").exists(), "{input}");
    }
}

#[test]
fn inputs_and_files_are_no_commands() {
    if !equipped() {
        return;
    }
    let action = yaml(&text("action.yml"));
    for step in action["runs"]["steps"].as_array().unwrap() {
        assert!(!step["run"].as_str().unwrap_or_default().contains("${{"), "{step}");
    }
    let hostile = "$(touch pwned) `touch pwned` '; touch pwned; ' \" ; touch pwned\n";
    for input in [
        "filenames",
        "set",
        "arguments",
        "target",
        "author",
        "message",
        "push-branch",
        "comment-id",
        "version",
    ] {
        let runner = Runner::new();
        runner.run(&[("dry-run", "true"), ("comment", "true"), (input, hostile)]);
        assert!(!runner.machine.bench.path("pwned").exists(), "{input}");
    }
    let runner = Runner::new();
    runner
        .machine
        .bench
        .write("::error::x/a.yaml", MARKED.replace("fs:app", "fs:\\n::add-mask::main"));
    let ran = runner.run(&[
        ("dry-run", "true"),
        ("set", "fs:app=ghcr.io/o/app:3.0.0\n\nfs:app=ghcr.io/o/app:3.0.0"),
    ]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let (before, after) = ran.out.split_once("::stop-commands::").unwrap();
    let (token, after) = after.split_once('\n').unwrap();
    let (report, after) = after.split_once(&format!("\n::{token}::\n")).unwrap();
    assert!(
        token.len() == 32 && report.contains("::error::x/a.yaml") && report.contains("3.0.0"),
        "{}",
        ran.out
    );
    assert!(!before.contains("::") && !after.contains("::"), "{}", ran.out);
}

#[test]
fn a_release_is_checked_before_it_runs() {
    if !equipped() {
        return;
    }
    let runner = Runner::new();
    let wrong = "0".repeat(64);
    for (checksum, version, code) in [
        (None, "", 0),
        (None, "v0.1.0", 0),
        (Some(wrong.as_str()), "", 2),
        (None, "v9.9.9", 2),
    ] {
        let served = releases(checksum);
        // GitHub's releases are at another server than the forge of the test.
        let address = served.address();
        let config = format!(
            "connect-to = \"{}:127.0.0.1:{}\"\n",
            runner.forge.server.host(),
            address.port()
        );
        std::fs::write(runner.machine.outside(".curlrc"), config).unwrap();
        let ran = runner.run(&[("dry-run", "true"), ("binary", ""), ("version", version)]);
        assert_eq!(ran.code, code, "{checksum:?} {version}: {}{}", ran.out, ran.err);
        assert_eq!(ran.out.contains("2.0.0"), code == 0, "{}", ran.out);
        let added = std::fs::read_to_string(runner.machine.outside("path")).unwrap();
        assert_eq!(added.trim_end().ends_with("/bin"), code == 0, "{added}");
    }
}

#[test]
fn what_a_fork_may_not_write_is_a_warning() {
    if !equipped() {
        return;
    }
    let mut runner = Runner::new();
    runner
        .forge
        .fault(|_, _| Some(refused(403, "Resource not accessible by integration")));
    let check = [("dry-run", "true"), ("comment", "true")];
    let ran = runner.run(&check);
    assert!(
        ran.code == 0
            && ran
                .out
                .contains("\n::warning title=bumpwright::the comment was not written"),
        "{}",
        ran.out
    );
    runner.forge.asked();
    runner.event = json!({"schedule": "17 * * * *"});
    let ran = runner.run(&check);
    assert!(ran.code == 0 && ran.out.contains("No comment: "), "{}", ran.out);
    assert!(runner.forge.asked().is_empty());
}

/// A cache of a public repository is read by the jobs of pull requests from forks.
#[test]
fn mirrors_of_other_repositories_are_not_kept() {
    let runner = Runner::new();
    let own = format!("{}/o/app", runner.server());
    let git = format!("{own}.git");
    let other = format!("{}/o/fleet.git", runner.server());
    let push = ("push-branch", "bump/images");
    for (with, keep) in [
        (vec![], "false"),
        (vec![("target", ".")], "false"),
        (vec![push], "true"),
        (vec![("pull-request", "true")], "true"),
        (vec![("target", own.as_str())], "true"),
        (vec![("target", git.as_str()), push], "true"),
        (vec![("target", other.as_str()), push], "false"),
        (vec![("target", "git@github.com:o/app.git"), push], "false"),
        (vec![("filenames", "fleet/"), push], "false"),
        (vec![("arguments", "--no-color\n-f\nfleet/"), push], "false"),
        (vec![("arguments", "--no-color"), push], "true"),
        (vec![("cache", "false"), push], "false"),
        (vec![("cache", "true"), ("target", other.as_str())], "true"),
        (vec![("cache", "true")], "false"),
    ] {
        let ran = runner.step("mirrors", &with);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert_eq!(runner.output("keep"), keep, "{with:?}");
        let is_told = with.contains(&("cache", "true")) && keep == "true";
        assert_eq!(ran.out.contains("::notice "), is_told, "{}", ran.out);
    }
    assert_eq!(runner.step("mirrors", &[("cache", "yes")]).code, 2);
    // What is kept for one is not given to the other.
    let action = yaml(&text("action.yml"));
    let steps = action["runs"]["steps"].as_array().unwrap();
    let cache = steps.iter().find(|step| step["with"]["path"].is_string()).unwrap();
    assert_eq!(cache["if"], "steps.mirrors.outputs.keep == 'true'");
    let keys = format!("{}", cache["with"]);
    assert_eq!(
        keys.matches("bumpwright-of-${{ steps.mirrors.outputs.of }}-").count(),
        2,
        "{keys}"
    );
}

/// The action in a folder, with the digests of what a release has.
fn pinned_to(runner: &Runner, served: &StubHttp) -> PathBuf {
    let action = runner.machine.outside("action");
    let made = runner.machine.outside("made");
    std::fs::create_dir_all(&action).unwrap();
    std::fs::create_dir_all(&made).unwrap();
    let name = format!("bumpwright-0.1.0-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH);
    let address = served.url(&format!("bumpwright/bumpwright/releases/download/v0.1.0/{name}"));
    let run = |program: &str, arguments: &[&OsStr]| {
        let ran = ran(Command::new(program).args(arguments).output().unwrap());
        assert_eq!(ran.code, 0, "{program}: {}{}", ran.out, ran.err);
    };
    run("cp", &["-R".as_ref(), root().join("ci").as_ref(), action.as_ref()]);
    run("curl", &["-fsSo".as_ref(), made.join(&name).as_ref(), address.as_ref()]);
    let (pin, file) = (root().join("packaging/pin"), action.join("ci/release"));
    run(pin.to_str().unwrap(), &[made.as_ref(), file.as_ref()]);
    run(
        pin.to_str().unwrap(),
        &["--check".as_ref(), made.as_ref(), file.as_ref()],
    );
    std::fs::write(made.join(&name), "another").unwrap();
    let compared = Command::new(&pin)
        .args(["--check".as_ref(), made.as_os_str(), file.as_os_str()])
        .output();
    assert!(
        !compared.unwrap().status.success(),
        "another program is not what is pinned"
    );
    action
}

/// What is at the address of a release is not what says whether it is right.
#[test]
fn an_action_pinned_by_a_commit_runs_the_program_of_that_commit() {
    if !equipped() {
        return;
    }
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let wrong = "0".repeat(64);
    let (right, sums_replaced) = (releases(None), releases(Some(&wrong)));
    for (reference, of, served, with, code, words) in [
        (commit, Some(&right), &right, "", 0, "2.0.0"),
        // The sums beside the release are not asked.
        (commit, Some(&sums_replaced), &sums_replaced, "", 0, "2.0.0"),
        ("v0.1.0", Some(&sums_replaced), &sums_replaced, "", 0, "2.0.0"),
        // Program and sums were replaced together: each of these servers packs another tarball.
        (
            commit,
            Some(&right),
            &replaced(),
            "",
            2,
            "bumpwright v0.1.0 was not downloaded",
        ),
        (
            commit,
            None,
            &right,
            "",
            2,
            "this commit of the action has no release with digests: pin the commit of a release",
        ),
        (commit, None, &right, "v0.1.0", 0, "2.0.0"),
        (
            "main",
            Some(&right),
            &right,
            "",
            2,
            "bumpwright/bumpwright@main may be another program tomorrow: pin the commit",
        ),
        (
            "v0",
            Some(&right),
            &right,
            "",
            2,
            "bumpwright/bumpwright@v0 may be another program tomorrow",
        ),
        (
            "0123abc",
            Some(&right),
            &right,
            "",
            2,
            "bumpwright/bumpwright@0123abc may be",
        ),
    ] {
        let mut runner = Runner::new();
        reference.clone_into(&mut runner.reference);
        if let Some(of) = of {
            runner.action = pinned_to(&runner, of);
        }
        let address = served.address();
        let config = format!(
            "connect-to = \"{}:127.0.0.1:{}\"\n",
            runner.forge.server.host(),
            address.port()
        );
        std::fs::write(runner.machine.outside(".curlrc"), config).unwrap();
        let ran = runner.run(&[("dry-run", "true"), ("binary", ""), ("version", with)]);
        assert_eq!(ran.code, code, "{reference} {words}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(words), "{reference} {words}: {}{}", ran.out, ran.err);
    }
}

/// A release whose program was replaced, with sums that fit.
fn replaced() -> StubHttp {
    StubHttp::start(|request: &Request| match request.path.rsplit('/').next() {
        Some("SHA256SUMS") => {
            let name = format!("bumpwright-0.1.0-{}-unknown-linux-musl.tar.gz", std::env::consts::ARCH);
            // sha256 of `replaced`
            Reply::text(
                200,
                &format!("6c1aa50442a93e42c0eb2907cf4e017cd19547891fa190f3ea473582b0479290  {name}\n"),
            )
        }
        _ => Reply::text(200, "replaced"),
    })
}
