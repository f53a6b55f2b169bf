//! A pull request with manifests that name other servers, where a job has credentials in its environment
//! and runs `update -f`.

use std::process::Command;

use bumpwright_testkit::cli::{Bench, Ran, automation, git_repository, policy, ran};
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{Change, Repo, git, run};
use bumpwright_testkit::stub_http::StubHttp;

const TOKEN: &str = "t0ken-of-the-job";
const MARKED: &str = "image: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";

/// Takes whatever it is sent, without having asked.
fn thief() -> StubHttp {
    StubHttp::start(|_| Reply::text(200, "thanks"))
}

/// Manifests of an automation whose repository is at `url`, with these annotations.
fn manifests(url: &str, annotations: &str) -> String {
    let automation = automation("fs", "auto", "repo", "", "").replacen(
        "metadata: {",
        &format!("metadata: {{annotations: {{{annotations}}}, "),
        1,
    );
    policy("fs", "app", "ghcr.io/o/app", "2.0.0")
        + &git_repository("fs", "repo", url, "  ref: {branch: main}\n")
        + &automation
}

/// The job: a clone of `own`, and a token.
struct Job {
    bench: Bench,
    /// `BUMPWRIGHT_GIT_SERVER`, if it is set.
    server: Option<String>,
}

impl Job {
    fn in_a_clone_of(own: &str) -> Self {
        let bench = Bench::new();
        run(git(&bench.dir).args(["init", "-q"]));
        run(git(&bench.dir).args(["remote", "add", "origin", own]));
        Self { bench, server: None }
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = self
            .bench
            .command(&[&["update", "-f", "m.yaml", "--offline"][..], more].concat());
        match &self.server {
            Some(server) => command.env("BUMPWRIGHT_GIT_SERVER", server),
            None => command.env_remove("BUMPWRIGHT_GIT_SERVER"),
        };
        command
    }

    fn runs(&self, manifests: &str, more: &[&str], variables: &[(&str, &str)]) -> Ran {
        self.bench.write("m.yaml", manifests);
        ran(self.command(more).envs(variables.iter().copied()).output().unwrap())
    }
}

/// Whether a request has the token, by itself or as a password.
fn has_token(request: &Request) -> bool {
    let sent = request.header("authorization").unwrap_or_default();
    sent.starts_with("Basic ") || sent.contains(TOKEN)
}

#[test]
fn a_secret_of_the_manifests_is_used_without_a_note() {
    let thief = thief();
    let job = Job::in_a_clone_of("https://git.example.com/o/fleet.git");
    let plain = manifests(&thief.url("o/fleet.git"), "");
    let reference = "  ref: {branch: main}\n";
    let with_secret = plain.replace(reference, &format!("{reference}  secretRef: {{name: git}}\n"))
        + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: git, namespace: fs}\nstringData: {username: bot, password: own}\n";
    for (manifests, has_note) in [(&plain, true), (&with_secret, false)] {
        let told = job.runs(manifests, &["--dry-run"], &[("BUMPWRIGHT_GIT_TOKEN", TOKEN)]);
        let said = format!("{}{}", told.out, told.err);
        assert_eq!(said.contains("are not sent to"), has_note, "{said}");
        let sent = |request: &Request| request.header("authorization").unwrap_or_default().contains(TOKEN);
        assert!(!thief.requests().iter().any(sent), "{:?}", thief.requests());
    }
}

#[test]
fn for_git_by_the_address_of_a_repository() {
    let git = [("BUMPWRIGHT_GIT_TOKEN", TOKEN)];
    let login = [("BUMPWRIGHT_GIT_USERNAME", "bot"), ("BUMPWRIGHT_GIT_PASSWORD", TOKEN)];
    for own in [
        "https://git.example.com/o/fleet.git",
        // The same host, where somebody else listens.
        "http://localhost:9/o/fleet.git",
        "https://localhost/o/fleet.git",
        "git@localhost:o/fleet.git",
    ] {
        for variables in [&git[..], &login[..]] {
            for more in [&["--dry-run"][..], &[]] {
                let thief = thief();
                let job = Job::in_a_clone_of(own);
                let told = job.runs(&manifests(&thief.url("o/fleet.git"), ""), more, variables);
                assert_eq!(told.code, 2, "{}", told.out);
                assert!(!thief.requests().is_empty(), "{own}: {}", told.err);
                assert!(!thief.requests().iter().any(has_token), "{own}: {:?}", thief.requests());
                let said = format!("{}{}", told.out, told.err);
                assert!(
                    said.contains("are not sent to http://localhost:") && said.contains("--git-server="),
                    "{own}: {said}"
                );
                assert!(!said.contains(TOKEN), "{said}");
            }
        }
    }
    // Whom the user names gets them.
    let named = thief();
    let mut job = Job::in_a_clone_of("https://git.example.com/o/fleet.git");
    job.server = Some(named.url(""));
    job.runs(&manifests(&named.url("o/fleet.git"), ""), &["--dry-run"], &git);
    assert!(named.requests().iter().any(has_token));
    // So does the server of the clone.
    let own = thief();
    let job = Job::in_a_clone_of(&own.url("o/fleet.git"));
    job.runs(&manifests(&own.url("o/other.git"), ""), &["--dry-run"], &git);
    assert!(own.requests().iter().any(has_token));
}

#[test]
fn for_pull_requests_by_the_address_of_an_api() {
    let thief = thief();
    let repo = Bench::new();
    let fleet = Repo::init(repo.path("o/fleet.git"));
    fleet.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
    let server = bumpwright_testkit::git_http::GitHttp::start(&repo.dir);
    let own = server.url("o/fleet.git");
    let api = format!(
        "bumpwright.dev/pull-request: gitea, bumpwright.dev/pull-request-api: '{}'",
        thief.url("api/v1")
    );
    let token = [("BUMPWRIGHT_PULL_REQUEST_TOKEN", TOKEN)];
    for target in [None, Some(own.as_str())] {
        for dry_run in [true, false] {
            let job = Job::in_a_clone_of(&own);
            let mut more = vec!["--push-branch=auto"];
            more.extend(dry_run.then_some("--dry-run"));
            more.extend(target);
            let told = job.runs(&manifests(&own, &api), &more, &token);
            let said = format!("{}{}", told.out, told.err);
            assert!(
                !thief.requests().iter().any(has_token),
                "{target:?}: {:?}",
                thief.requests()
            );
            assert!(
                said.contains("which only a manifest names") && !said.contains(TOKEN),
                "{target:?}: {said}"
            );
        }
    }
}

/// What a pull request names is no folder of the machine that runs the job.
#[test]
fn and_the_repositories_of_its_machine() {
    let elsewhere = Bench::new();
    let private = Repo::init(elsewhere.path("private.git"));
    private.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
    let path = private.dir.display().to_string();
    let before = private.rev("main");
    let url = format!("file://{path}");
    let job = Job::in_a_clone_of("https://git.example.com/o/fleet.git");
    let told = job.runs(&manifests(&url, ""), &[], &[]);
    assert_eq!(told.code, 2, "{}", told.out);
    let said = format!("{}{}", told.out, told.err);
    assert!(said.contains("manifests name no folders of this machine"), "{said}");
    assert_eq!(private.rev("main"), before);
    // The clone's own remote, and a folder that is allowed.
    let job = Job::in_a_clone_of(&path);
    assert_eq!(job.runs(&manifests(&url, ""), &["--dry-run"], &[]).code, 0, "{url}");
    let mut job = Job::in_a_clone_of("https://git.example.com/o/fleet.git");
    job.server = Some("file://".to_owned());
    assert_eq!(job.runs(&manifests(&url, ""), &["--dry-run"], &[]).code, 0, "{url}");
}
