//! `bumpwright fleet review --comment`: one comment at the request of a job, at forges that are GitHub, Gitea and
//! GitLab by their documents.

use bumpwright_testkit::cli::{Bench, Ran, ran};
use bumpwright_testkit::forge::{ACCOUNT, Forge, ForgeKind, GitLab, PROJECT, refused};
use bumpwright_testkit::repo::{git, run};
use serde_json::{Value, json};

const TOKEN: &str = "t0ken-of-the-job";
const MARK: &str = "<!-- bumpwright:review -->\n";

/// A clone with a cluster, and the environment of a job.
struct Job {
    bench: Bench,
    variables: Vec<(&'static str, String)>,
}

impl Job {
    /// Its checkout has a change that is wrong.
    fn new() -> Self {
        let job = Self {
            bench: Bench::new(),
            variables: Vec::new(),
        };
        run(git(&job.bench.dir).args(["init", "--quiet", "-b", "main"]));
        job.commit("data: {a: b}");
        job.write("data: {a: 1}");
        job
    }

    fn write(&self, data: &str) {
        let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m, namespace: n}}\n{data}\n");
        self.bench.write("clusters/a/map.yaml", map);
    }

    fn commit(&self, data: &str) {
        self.write(data);
        run(git(&self.bench.dir).args(["add", "-A"]));
        run(git(&self.bench.dir).args(["commit", "--quiet", "-m", "state"]));
    }

    fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.into()));
    }

    fn event(&mut self, event: &Value) {
        let file = self.bench.home.path().join("event.json");
        std::fs::write(&file, event.to_string()).unwrap();
        self.set("GITHUB_EVENT_PATH", file.to_str().unwrap());
    }

    /// A job of a pull request at this forge.
    fn of_actions(kind: ForgeKind) -> (Self, Forge) {
        let mut job = Self::new();
        let authorization = match kind {
            ForgeKind::GitHub => format!("Bearer {TOKEN}"),
            ForgeKind::Gitea => format!("token {TOKEN}"),
        };
        let forge = Forge::start(kind, job.bench.home.path(), &authorization);
        let server = forge.server.url("");
        let server = server.trim_end_matches('/');
        match kind {
            ForgeKind::GitHub => {
                job.set("GITHUB_API_URL", format!("{server}/api/v3"));
                job.set("BUMPWRIGHT_PULL_REQUEST_TOKEN", TOKEN);
            }
            ForgeKind::Gitea => {
                job.set("GITEA_ACTIONS", "true");
                job.set("GITHUB_API_URL", format!("{server}/api/v1"));
                job.set("GITHUB_TOKEN", TOKEN);
            }
        }
        job.set("GITHUB_ACTIONS", "true");
        job.set("GITHUB_SERVER_URL", server);
        job.set("GITHUB_REPOSITORY", "o/app");
        job.event(&json!({"pull_request": {"number": 7}}));
        (job, forge)
    }

    /// `fleet review` of the cluster.
    fn review(&self, arguments: &[&str]) -> Ran {
        let mut command = self.bench.command(&["fleet", "review", "--from", "main"]);
        command.args(arguments).arg("clusters/a");
        let variables = self.variables.iter().map(|(name, value)| (*name, value));
        let ran = ran(command.env_remove("GITHUB_TOKEN").envs(variables).output().unwrap());
        assert!(
            !ran.out.contains(TOKEN) && !ran.err.contains(TOKEN),
            "{}{}",
            ran.out,
            ran.err
        );
        ran
    }
}

/// What a run says of the comment.
fn said(ran: &Ran) -> Vec<&str> {
    ran.err.lines().filter(|line| line.contains("comment")).collect()
}

fn requests(forge: &Forge) -> Vec<String> {
    let asked = forge.asked().into_iter();
    asked.filter(|one| one.contains("comments")).collect()
}

#[test]
fn one_comment_is_kept_at_the_request_of_the_job() {
    for kind in [ForgeKind::GitHub, ForgeKind::Gitea] {
        let (job, forge) = Job::of_actions(kind);
        // Whoever copies the mark does not get the review.
        forge.comment(7, "eve", &format!("{MARK}Nothing changes."));
        let review = || {
            let ran = job.review(&["--comment"]);
            assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
            assert!(ran.out.contains("error[schema]"), "{}", ran.out);
            assert!(said(&ran).is_empty(), "{}", ran.err);
            forge.comments()
        };
        let comments = review();
        assert_eq!(comments.len(), 2, "{comments:#?}");
        assert_eq!((comments[1].number, comments[1].author.as_str()), (7, ACCOUNT));
        let begin = format!("{MARK}## In the clusters: 1 changed\n\nNew with this change: 1 error");
        assert!(comments[1].body.starts_with(&begin), "{}", comments[1].body);
        // The same review is not written again, another one is.
        assert_eq!(review(), comments);
        job.write("data: {a: 1, b: 2}");
        let changed = review();
        assert_eq!((changed.len(), changed[1].edits), (2, 1));
        assert!(changed[1].body.contains("2 errors"), "{}", changed[1].body);
        assert_eq!(changed[0], comments[0]);
        // A named one is another one; what says nothing is not begun, and a comment that is there says so.
        job.write("data: {a: b}");
        assert_eq!(job.review(&["--comment", "--comment-name", "other"]).code, 0);
        assert_eq!(forge.comments(), changed);
        assert_eq!(job.review(&["--comment"]).code, 0);
        let done = forge.comments();
        assert!(
            done[1].body.contains("Nothing changes in the clusters"),
            "{}",
            done[1].body
        );
        job.write("data: {a: c}");
        assert_eq!(job.review(&["--comment", "--comment-name", "other"]).code, 0);
        let body = &forge.comments()[2].body;
        assert!(
            body.starts_with("<!-- bumpwright:review other -->\n## In the clusters"),
            "{body}"
        );
    }
}

#[test]
fn a_merge_request_has_one_note() {
    let mut job = Job::new();
    let gitlab = GitLab::start(job.bench.home.path(), TOKEN);
    job.set("GITLAB_CI", "true");
    job.set("CI_API_V4_URL", gitlab.server.url("api/v4"));
    job.set("CI_PROJECT_PATH", "eve/app");
    job.set("CI_MERGE_REQUEST_PROJECT_PATH", PROJECT);
    job.set("CI_MERGE_REQUEST_IID", "7");
    job.set("BUMPWRIGHT_PULL_REQUEST_TOKEN", TOKEN);
    gitlab.comment(7, "eve", &format!("{MARK}Nothing changes."));
    for (data, edits) in [("data: {a: 1}", 0), ("data: {a: 1}", 0), ("data: {a: 2, b: 3}", 1)] {
        job.write(data);
        let ran = job.review(&["--comment"]);
        assert!(ran.code == 1 && said(&ran).is_empty(), "{}{}", ran.out, ran.err);
        let notes = gitlab.comments();
        assert_eq!(
            (notes.len(), notes[1].number, notes[1].edits),
            (2, 7, edits),
            "{notes:#?}"
        );
        assert!(notes[1].body.starts_with(MARK), "{notes:#?}");
        assert!(notes[0].body.ends_with("Nothing changes."));
    }
    // A pipeline of a branch is of no merge request.
    job.set("CI_MERGE_REQUEST_IID", "");
    let ran = job.review(&["--comment"]);
    assert!(said(&ran)[0].starts_with("note: no comment: "), "{}", ran.err);
    assert_eq!(gitlab.comments().len(), 2);
}

/// A pull request of a fork has no right to write: the review is printed, and its verdict is the exit code.
#[test]
fn what_may_not_be_written_is_printed() {
    let (mut job, forge) = Job::of_actions(ForgeKind::GitHub);
    forge.fault(|request, _| {
        let writes = request.method == "POST";
        writes.then(|| refused(403, "Resource not accessible by integration"))
    });
    let ran = job.review(&["--comment"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let warning = said(&ran)[0];
    let begin = "warning: the comment was not written: cannot comment at pull request #7: ";
    assert!(warning.starts_with(begin), "{warning}");
    assert!(warning.contains("Resource not accessible by integration"), "{warning}");
    assert!(warning.ends_with(", which jobs for forks do not get"), "{warning}");
    assert!(ran.out.contains("error[schema]"), "{}", ran.out);
    // It is refused for good.
    assert_eq!(requests(&forge).iter().filter(|one| one.starts_with("POST")).count(), 1);
    // In the place of the comment, where nothing else is printed.
    let ran = job.review(&["--comment", "--output", "sarif=review.sarif", "--fail-on", "error"]);
    assert!(
        ran.code == 1 && ran.out.starts_with("## In the clusters: 1 changed\n"),
        "{}",
        ran.out
    );
    let ran = job.review(&["--comment", "--output", "github"]);
    let last = ran.out.lines().last().unwrap();
    assert!(
        last.starts_with("::warning title=bumpwright::the comment was not written"),
        "{}",
        ran.out
    );
    // A wrong token, and none.
    forge.healthy();
    job.set("BUMPWRIGHT_PULL_REQUEST_TOKEN", "other");
    let ran = job.review(&["--comment"]);
    assert!(ran.code == 1 && ran.err.contains("401"), "{}", ran.err);
    forge.asked();
    job.set("BUMPWRIGHT_PULL_REQUEST_TOKEN", "");
    let ran = job.review(&["--comment"]);
    assert!(
        ran.code == 1 && ran.err.contains("no token for the requests of o/app"),
        "{}",
        ran.err
    );
    assert!(forge.asked().is_empty() && forge.comments().is_empty());
}

/// After an answer that is lost nobody knows whether the comment was written: it is looked for first.
#[test]
fn a_forge_that_fails_is_asked_again_and_nothing_is_posted_twice() {
    let (job, forge) = Job::of_actions(ForgeKind::GitHub);
    let mut failures = 1;
    forge.fault(move |request, _| {
        let fails = request.method == "POST" && failures > 0;
        fails.then(|| {
            failures -= 1;
            refused(502, "Bad Gateway")
        })
    });
    let ran = job.review(&["--comment"]);
    assert!(ran.code == 1 && said(&ran).is_empty(), "{}", ran.err);
    let list = "GET issues/7/comments?per_page=20&page=1";
    let post = "POST issues/7/comments";
    assert_eq!(requests(&forge), [list, post, list, post]);
    assert_eq!(forge.comments().len(), 1);
    // A pause that is longer than the time limit is not waited for.
    forge.fault(|_, _| Some(refused(429, "slow down").header("Retry-After", "3600")));
    job.write("data: {a: 1, b: 2}");
    let ran = job.review(&["--comment", "--timeout", "5s"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let warning = said(&ran)[0];
    assert!(
        warning.starts_with("warning: the comment was not written: ") && warning.contains("the rate limit is used up"),
        "{warning}"
    );
    assert_eq!(forge.comments()[0].edits, 0);
}

#[test]
fn a_job_without_a_request_has_no_comment() {
    let (mut job, forge) = Job::of_actions(ForgeKind::GitHub);
    job.event(&json!({"schedule": "17 * * * *"}));
    let ran = job.review(&["--comment"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let note = "note: no comment: a pull or merge request did not start this job";
    assert_eq!(said(&ran), [note]);
    assert!(forge.asked().is_empty());
    // The number can be given.
    assert_eq!(job.review(&["--comment", "--request", "9"]).code, 1);
    assert_eq!(forge.comments()[0].number, 9);
    // What cannot be known is an error before anything is built.
    job.set("GITHUB_EVENT_PATH", "/none/event.json");
    let ran = job.review(&["--comment"]);
    assert!(
        ran.code == 2 && ran.err.contains("GITHUB_EVENT_PATH: /none/event.json: "),
        "{}",
        ran.err
    );
}

/// Other CI has no such variables: the repository is that of the clone's remote.
#[test]
fn elsewhere_the_request_is_one_of_the_remote() {
    let mut job = Job::new();
    let forge = Forge::start(ForgeKind::Gitea, job.bench.home.path(), &format!("token {TOKEN}"));
    let file = job.bench.home.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let token = ["--pull-request-token-file", file.to_str().unwrap()];
    let review = |job: &Job, arguments: &[&str]| job.review(&[&token[..], arguments].concat());
    let remote = |arguments: &[&str]| run(git(&job.bench.dir).arg("remote").args(arguments));
    for (arguments, said) in [
        (
            &["--comment=gitea"][..],
            "give the number of the request with --request",
        ),
        (&["--comment=gitea", "--request", "7"], "the repository has no remote"),
    ] {
        let ran = review(&job, arguments);
        assert!(ran.code == 2 && ran.err.contains(said), "{}", ran.err);
    }
    remote(&["add", "origin", &forge.server.url("o/app.git")]);
    let ran = review(&job, &["--comment", "--request", "7"]);
    assert!(
        ran.code == 2 && ran.err.contains("write --comment=github"),
        "{}",
        ran.err
    );
    let ran = review(&job, &["--comment=gitea", "--request", "7"]);
    assert!(ran.code == 1 && said(&ran).is_empty(), "{}", ran.err);
    assert_eq!(forge.comments()[0].number, 7);
    // A job of another forge, which has a mirror, is not the one that is meant.
    job.set("GITLAB_CI", "true");
    job.set("CI_API_V4_URL", "https://gitlab.example.com/api/v4");
    job.set("CI_PROJECT_PATH", "o/app");
    assert_eq!(review(&job, &["--comment=gitea", "--request", "8"]).code, 1);
    assert_eq!(forge.comments()[1].number, 8);
    for arguments in [
        &["--request", "7"][..],
        &["--comment", "--request", "0"],
        &["--comment", "--comment-name", "a b"],
    ] {
        assert_eq!(review(&job, arguments).code, 2, "{arguments:?}");
    }
}
