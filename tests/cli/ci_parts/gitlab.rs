//! The component for GitLab: its inputs are interpolated as GitLab does, and the scripts of its jobs run in a shell.

use std::collections::BTreeMap;
use std::sync::Arc;

use bumpwright_testkit::cli::Ran;
use bumpwright_testkit::git_http::{GitHttp, Login, Options};
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{self, Repo};
use bumpwright_testkit::stub_http::{StubHttp, forward};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::{Comment, MARKED, Machine, TOKEN, equipped, releases, text};

const TEMPLATE: &str = "ci/gitlab/templates/bumpwright.yml";

/// The two documents of the template: what it asks for, and its jobs.
pub(super) fn template() -> (Value, Value) {
    let documents = serde_saphyr::from_multiple::<Value>(&text(TEMPLATE)).unwrap();
    let [header, jobs] = documents.try_into().unwrap();
    (header, jobs)
}

/// The jobs with these inputs, and the others at their defaults.
pub(super) fn interpolated(with: &[(&str, Value)]) -> Value {
    let (header, jobs) = template();
    let mut inputs: BTreeMap<String, Value> = BTreeMap::new();
    for (name, input) in header["spec"]["inputs"].as_object().unwrap() {
        inputs.insert(name.clone(), input["default"].clone());
    }
    for (name, value) in with {
        let default = inputs.insert((*name).to_owned(), value.clone());
        let default = default.unwrap_or_else(|| panic!("the component has no input {name}"));
        assert_eq!(default.is_boolean(), value.is_boolean(), "{name} has another type");
    }
    replaced(&jobs, &inputs)
}

fn replaced(value: &Value, inputs: &BTreeMap<String, Value>) -> Value {
    let in_text = |text: &str| {
        let mut parts = text.split("$[[");
        let mut out = parts.next().unwrap().to_owned();
        for part in parts {
            let (name, rest) = part.split_once("]]").unwrap();
            let name = name.trim().strip_prefix("inputs.").unwrap();
            match inputs.get(name).unwrap_or_else(|| panic!("there is no input {name}")) {
                Value::String(value) => out += value,
                value => out += &value.to_string(),
            }
            out += rest;
        }
        out
    };
    match value {
        Value::String(text) => Value::String(in_text(text)),
        Value::Array(items) => items.iter().map(|item| replaced(item, inputs)).collect(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (in_text(name), replaced(value, inputs)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

pub(super) struct Project {
    pub machine: Machine,
    pub repo: Repo,
    pub notes: Arc<Mutex<Vec<Comment>>>,
    server: StubHttp,
    _git: GitHttp,
}

impl Project {
    /// `group/app` at a server that wants the login, and a checkout of it. The field is behind.
    pub fn new(user: &str) -> Self {
        let machine = Machine::new();
        let repo = machine.repository("group/app.git");
        repo.config("receive.advertisePushOptions", "true");
        let hook = "read line; (echo \"${line##* }\"; env | grep ^GIT_PUSH_OPTION_ | sort) >> options";
        repo.hook("post-receive", hook);
        let login = Login::Basic(user.to_owned(), TOKEN.to_owned());
        let git = GitHttp::with(
            machine.bench.home.path(),
            Options {
                login,
                ..Options::default()
            },
        );
        let notes = Arc::<Mutex<Vec<Comment>>>::default();
        let (kept, address) = (Arc::clone(&notes), git.address());
        let server = StubHttp::start(move |request| match request.path.strip_prefix("/api/v4/") {
            Some(below) => note_api(below, request, &mut kept.lock()),
            None => forward(address, request).unwrap_or_else(|error| Reply::text(502, &error.to_string())),
        });
        Self {
            machine,
            repo,
            notes,
            server,
            _git: git,
        }
    }

    /// Runs `before_script` and `script` of a job with the variables that GitLab predefines, and these.
    pub fn run(&self, job: &str, with: &[(&str, Value)], variables: &[(&str, &str)]) -> Ran {
        let mut with = with.to_vec();
        if !with.iter().any(|(name, _)| *name == "binary" || *name == "releases") {
            with.push(("binary", json!("bumpwright")));
        }
        let jobs = interpolated(&with);
        let base = jobs[job]["extends"].as_str().unwrap();
        let folder = self.machine.bench.dir.to_str().unwrap();
        let mut environment: BTreeMap<String, String> = [
            ("CI", "true"),
            ("GITLAB_CI", "true"),
            ("CI_API_V4_URL", &self.server.url("api/v4")),
            ("CI_DEFAULT_BRANCH", "main"),
            ("CI_JOB_TOKEN", TOKEN),
            ("CI_MERGE_REQUEST_IID", "7"),
            ("CI_PROJECT_DIR", folder),
            ("CI_PROJECT_ID", "42"),
            ("CI_PROJECT_PATH", "group/app"),
            ("CI_PROJECT_URL", &self.server.url("group/app")),
            ("CI_SERVER_HOST", "gitlab.example.com"),
        ]
        .iter()
        .chain(variables)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
        for (name, value) in jobs[base]["variables"].as_object().unwrap() {
            let text = match value {
                Value::String(text) => expanded(text, &environment),
                other => {
                    assert_eq!(other["expand"], false);
                    other["value"].as_str().unwrap().to_owned()
                }
            };
            environment.insert(name.clone(), text);
        }
        let lines = |value: &Value| {
            value
                .as_array()
                .unwrap()
                .iter()
                .map(|line| line.as_str().unwrap().to_owned())
                .collect()
        };
        let scripts: [Vec<String>; 2] = [lines(&jobs[base]["before_script"]), lines(&jobs[job]["script"])];
        self.machine
            .shell(&["sh", "-e"], &scripts.concat().join("\n"), &environment)
    }

    pub fn url(&self) -> String {
        self.server.url("group/app.git")
    }

    fn options(&self) -> String {
        std::fs::read_to_string(self.repo.dir.join("options")).unwrap_or_default()
    }
}

/// Variables in the values of variables.
fn expanded(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = text.to_owned();
    // Longer names first: CI_DEFAULT_BRANCH is not CI and more.
    for (name, value) in variables.iter().rev() {
        out = out.replace(&format!("${name}"), value);
    }
    out
}

/// Notes of a merge request as documented: list, create, modify.
fn note_api(below: &str, request: &Request, notes: &mut Vec<Comment>) -> Reply {
    let answer = |status: u16, body: &Value| Reply::bytes(status, "application/json", body.to_string());
    let refused = |status: u16, message: &str| answer(status, &json!({"message": message}));
    // Either is documented.
    let is_bearer = request.header("authorization") == Some(&format!("Bearer {TOKEN}"));
    if request.header("private-token") != Some(TOKEN) && !is_bearer {
        return refused(401, "401 Unauthorized");
    }
    if below == "user" {
        return answer(200, &json!({"id": 9, "username": "project_42_bot"}));
    }
    // A project is its number or its path, which is one part of the address.
    let project = below
        .strip_prefix("projects/42/")
        .or_else(|| below.strip_prefix("projects/group/app/"))
        .filter(|_| !request.target.contains("projects/group/app"));
    let Some(below) = project.and_then(|below| below.strip_prefix("merge_requests/7/notes")) else {
        return refused(404, "404 Not found");
    };
    // What was posted here is of the token's account; the others are of people.
    let author = |note: &Comment| match note.id {
        1000.. => json!({"id": 9, "username": "project_42_bot"}),
        _ => json!({"id": 1, "username": "ada"}),
    };
    let show = |note: &Comment| json!({"id": note.id, "body": note.body, "system": false, "author": author(note)});
    let body = || {
        let body: Value = serde_json::from_slice(&request.body).ok()?;
        let fits = request.header("content-type") == Some("application/json") && body.as_object()?.len() == 1;
        body["body"]
            .as_str()
            .filter(|text| fits && text.len() <= 1_000_000)
            .map(str::to_owned)
    };
    match (request.method.as_str(), below, body()) {
        ("GET", "", _) => {
            let number = |name: &str| request.parameter(name).unwrap().parse::<usize>().unwrap();
            let (size, page) = (number("per_page").min(100), number("page"));
            let shown: Vec<Value> = notes.iter().skip((page - 1) * size).take(size).map(show).collect();
            answer(200, &json!(shown))
        }
        ("POST", "", Some(body)) => {
            let id = 1000 + notes.len() as u64;
            notes.push(Comment { id, body });
            answer(201, &show(notes.last().unwrap()))
        }
        ("PUT", path, Some(body)) => {
            let id = path.strip_prefix('/').and_then(|id| id.parse::<u64>().ok());
            match notes.iter_mut().find(|note| Some(note.id) == id) {
                Some(note) => {
                    note.body = body;
                    answer(200, &show(note))
                }
                None => refused(404, "404 Not found"),
            }
        }
        _ => refused(400, "400 Bad request"),
    }
}

/// A cluster that applies the folder `apps`.
const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: flux-system}\n\
    spec: {interval: 5m, url: 'https://gitlab.example.com/group/app', ref: {branch: main}}\n---\n\
    apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: fleet, namespace: flux-system}\n\
    spec: {interval: 10m, sourceRef: {kind: GitRepository, name: fleet}, path: './clusters/a b', prune: true}\n---\n\
    apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: db, namespace: flux-system}\n\
    spec: {interval: 10m, sourceRef: {kind: GitRepository, name: fleet}, path: ./apps, prune: true}\n";

const NOTES: (&str, &str) = ("BUMPWRIGHT_GITLAB_TOKEN", TOKEN);

#[test]
fn a_check_keeps_one_note_and_fails_as_its_inputs_say() {
    if !equipped() {
        return;
    }
    let project = Project::new("oauth2");
    for _ in 0..2 {
        let ran = project.run("bumpwright-check", &[], &[NOTES]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let report = project.machine.bench.read("bumpwright.md");
        assert!(
            report.contains("`1.0.0` → `2.0.0`") && ran.out.contains(&report),
            "{report}"
        );
        let notes = project.notes.lock();
        assert_eq!(notes.len(), 1);
        assert_eq!(notes[0].body, format!("<!-- bumpwright:report -->\n{report}"));
    }
    let document: Value = serde_json::from_str(&project.machine.bench.read("bumpwright.json")).unwrap();
    assert_eq!(
        (&document["version"], project.machine.bench.read("a.yaml").as_str()),
        (&json!(1), MARKED)
    );
    assert!(!project.machine.arguments().contains(TOKEN));
    let behind = project.run("bumpwright-check", &[("fail-if-behind", json!(true))], &[]);
    assert_eq!(behind.code, 1, "{}{}", behind.out, behind.err);
    project.machine.bench.write("b.yaml", MARKED.replace("fs:app", "fs:ap"));
    for (strict, code) in [(true, 3), (false, 0)] {
        let ran = project.run("bumpwright-check", &[("strict", json!(strict))], &[NOTES]);
        assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
        assert!(project.notes.lock()[0].body.contains("UnknownPolicy"));
    }
    let refused = project.run(
        "bumpwright-check",
        &[("strict", json!(false))],
        &[("BUMPWRIGHT_GITLAB_TOKEN", "other")],
    );
    assert!(
        refused.code == 0 && refused.out.contains("The note was not written"),
        "{}",
        refused.out
    );
    let usage = project.run("bumpwright-check", &[("arguments", json!("--no-such-flag"))], &[NOTES]);
    assert!(
        usage.code == 2 && usage.err.contains("unexpected argument"),
        "{}{}",
        usage.out,
        usage.err
    );
    project.notes.lock().clear();
    project.run("bumpwright-check", &[("note", json!(false))], &[NOTES]);
    assert!(project.notes.lock().is_empty());
}

/// What a merge request does to clusters, in one note beside the one of the check.
#[test]
fn a_review_keeps_one_note_of_its_own() {
    if !equipped() {
        return;
    }
    let project = Project::new("oauth2");
    let bench = &project.machine.bench;
    let git = |arguments: &[&str]| repo::run_text(repo::git(&bench.dir).args(arguments));
    let claim = |size: &str| {
        let text = format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data, namespace: db}}\nspec:\n  accessModes: [ReadWriteOnce]\n  \
             resources: {{requests: {{storage: {size}}}}}\n"
        );
        bench.write("apps/claim.yaml", text);
        git(&["add", "apps"]);
        git(&["commit", "-qm", size]);
    };
    git(&["init", "-q", "-b", "main"]);
    bench.write("clusters/a b/sync.yaml", SYNC);
    git(&["add", "clusters"]);
    claim("10Gi");
    let base = git(&["rev-parse", "HEAD"]);
    let since = ("CI_MERGE_REQUEST_DIFF_BASE_SHA", base.as_str());
    let entries = ("entries", json!("clusters/*"));
    let quiet = project.run("bumpwright-review", std::slice::from_ref(&entries), &[NOTES, since]);
    assert_eq!(quiet.code, 0, "{}{}", quiet.out, quiet.err);
    assert!(project.notes.lock().is_empty());
    // A note of somebody else with the mark is not the job's.
    let body = "<!-- bumpwright:review -->\ncopied".to_owned();
    project.notes.lock().push(Comment { id: 1, body });
    claim("8Gi");
    for (fail_on, code) in [("error", 1), ("never", 0)] {
        let with = [entries.clone(), ("fail-on", json!(fail_on))];
        let ran = project.run("bumpwright-review", &with, &[NOTES, since]);
        assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
        let notes = project.notes.lock();
        assert_eq!((notes.len(), notes[0].body.ends_with("copied")), (2, true));
        let body = &notes[1].body;
        assert!(
            body.starts_with("<!-- bumpwright:review -->\n") && body.contains("claims can only grow"),
            "{body}"
        );
        assert_eq!(
            *body,
            format!("<!-- bumpwright:review -->\n{}", bench.read("bumpwright.md"))
        );
        assert!(bench.read("bumpwright-review.html").contains("claims can only grow"));
        assert!(bench.read("bumpwright-review.xml").contains("immutable-field"));
    }
    // A pipeline of a fork has no such variable: the review is in its log.
    let ran = project.run("bumpwright-review", std::slice::from_ref(&entries), &[since]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("warning: the comment was not written: no token") && ran.out.contains("claims can only grow"),
        "{}{}",
        ran.out,
        ran.err
    );
    let usage = project.run("bumpwright-review", &[("fail-on", json!("all"))], &[NOTES, since]);
    assert_eq!(usage.code, 2, "{}{}", usage.out, usage.err);
    assert!(!project.machine.arguments().contains(TOKEN));
}

#[test]
fn a_bump_asks_for_one_merge_request() {
    if !equipped() {
        return;
    }
    // With a token of the project, and with the job's own.
    for (user, variables) in [
        ("oauth2", &[NOTES, ("CI_JOB_TOKEN", "other")][..]),
        ("gitlab-ci-token", &[]),
    ] {
        let project = Project::new(user);
        let once = "refs/heads/bump/images\n\
                    GIT_PUSH_OPTION_0=merge_request.create=\n\
                    GIT_PUSH_OPTION_1=merge_request.target=main\n\
                    GIT_PUSH_OPTION_2=merge_request.remove_source_branch=\n\
                    GIT_PUSH_OPTION_COUNT=3\n";
        for _ in 0..2 {
            let ran = project.run("bumpwright-bump", &[], variables);
            assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
            assert_eq!(project.options(), once);
        }
        let commit = &project.repo.log("bump/images")[0];
        assert_eq!(commit.author, "bumpwright <bumpwright@noreply.gitlab.example.com>");
        assert!(project.machine.bench.path(".cache/bumpwright").exists());
        assert!(!project.machine.arguments().contains(TOKEN));
    }
}

/// A component cannot bring a script with it, so it has a copy.
#[test]
fn the_component_has_a_copy_of_the_download() {
    let jobs = interpolated(&[]);
    let script = jobs[".bumpwright"]["before_script"][0].as_str().unwrap();
    let (_, copy) = script.split_once("<<'DOWNLOAD'\n").unwrap();
    let (copy, _) = copy.split_once("DOWNLOAD\n").unwrap();
    assert_eq!(copy, text("ci/download"), "copy ci/download into {TEMPLATE}");
}

#[test]
fn inputs_are_no_commands_and_releases_are_checked() {
    if !equipped() {
        return;
    }
    let hostile = "$(touch pwned) `touch pwned` '; touch pwned; ' \" ; touch pwned\nEND\ntouch pwned\n";
    for input in [
        "target",
        "filenames",
        "set",
        "arguments",
        "push-branch",
        "target-branch",
        "author",
        "version",
        "entries",
        "fail-on",
        "review-arguments",
    ] {
        let project = Project::new("oauth2");
        for job in ["bumpwright-check", "bumpwright-bump", "bumpwright-review"] {
            project.run(job, &[(input, json!(hostile))], &[NOTES]);
        }
        assert!(!project.machine.bench.path("pwned").exists(), "{input}");
    }
    let project = Project::new("oauth2");
    for (checksum, code) in [(None, 0), (Some("0".repeat(64)), 1)] {
        let served = releases(checksum.as_deref());
        let address = json!(served.url("bumpwright/bumpwright/releases"));
        let ran = project.run("bumpwright-check", &[("releases", address)], &[]);
        assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
        assert_eq!(ran.out.contains("2.0.0"), code == 0, "{}", ran.out);
    }
}
