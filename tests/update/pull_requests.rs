//! `--pull-request` and its annotations: the requests to GitHub and Gitea, one by one, and the resulting pull requests.

mod meanwhile;
mod setup;

use bumpwright_testkit::cli::{Bench, Ran, automation, git_repository, policy, ran};
use bumpwright_testkit::forge::{Forge, ForgeKind, refused};
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::tls::Certificates;
use serde_json::{Value, json};

const MARKED: &[u8] =
    b"kind: App\nmetadata: {name: web}\nimage: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";
const TOKEN: &str = "t0ken-of-the-forge";
const BOTH: [ForgeKind; 2] = [ForgeKind::GitHub, ForgeKind::Gitea];

struct World {
    bench: Bench,
    repo: Repo,
    forge: Forge,
    kind: ForgeKind,
}

/// `main` of `o/app` has one marked file; the policy wants 2.0.0. The token is in the file `token`.
fn world(kind: ForgeKind) -> World {
    let scheme = match kind {
        ForgeKind::GitHub => "Bearer",
        ForgeKind::Gitea => "token",
    };
    world_with(kind, &format!("{scheme} {TOKEN}"))
}

fn world_with(kind: ForgeKind, authorization: &str) -> World {
    let bench = Bench::new();
    let repo = bench.repository("o/app.git");
    repo.config("http.receivepack", "true");
    repo.commit("main", "first", &[Change::File("a.yaml", MARKED)]);
    bench.write("token", format!("{TOKEN}\n"));
    let forge = Forge::start(kind, &bench.dir, authorization);
    let world = World {
        bench,
        repo,
        forge,
        kind,
    };
    world.image("2.0.0");
    world
}

impl World {
    fn image(&self, tag: &str) {
        self.bench.write("p.yaml", policy("fs", "app", "ghcr.io/o/app", tag));
    }

    fn flag(&self) -> &'static str {
        match self.kind {
            ForgeKind::GitHub => "--pull-request=github",
            ForgeKind::Gitea => "--pull-request=gitea",
        }
    }

    /// `update URL --push-branch auto --pull-request=…` with the token's file and more; the exit code and the run.
    fn update(&self, more: &[&str]) -> (i32, Value) {
        let url = self.forge.server.url("o/app.git");
        let flags = self.flags(&url);
        let (code, mut document) = self.bench.json(&[&flags[..], more].concat());
        (code, document["runs"][0].take())
    }

    fn flags<'a>(&self, url: &'a str) -> Vec<&'a str> {
        let mut flags = vec![
            "update",
            "-f",
            "p.yaml",
            url,
            "--author",
            "Bot <bot@example.com>",
            "--offline",
        ];
        flags.extend([
            "--push-branch",
            "auto",
            self.flag(),
            "--pull-request-token-file",
            "token",
        ]);
        flags
    }

    /// Runs, insists on success, and gives what became of the request.
    fn kept(&self, more: &[&str]) -> Value {
        let (code, run) = self.update(more);
        assert_eq!((code, &run["error"]), (0, &Value::Null), "{run:#}");
        run["pullRequest"].clone()
    }

    fn state(&self) -> String {
        self.kept(&[])["state"].as_str().unwrap().to_owned()
    }

    /// `GET pulls?…` as this forge is asked.
    fn listing(&self, state: &str, page: usize) -> String {
        match self.kind {
            ForgeKind::GitHub => format!("GET pulls?state={state}&head=o%3Aauto&base=main&per_page=50&page={page}"),
            ForgeKind::Gitea => format!("GET pulls?state={state}&limit=50&page={page}"),
        }
    }
}

#[test]
fn a_request_is_opened_once_and_kept_up_to_date() {
    for kind in BOTH {
        let world = world(kind);
        let (code, run) = world.update(&["--message", "Bump app\n\nIt is time.\n"]);
        assert_eq!(code, 0, "{run:#}");
        let url = "https://forge.example/o/app/pull/1";
        assert_eq!(
            run["pullRequest"],
            json!({"number": 1, "url": url, "state": "opened", "head": "auto", "base": "main"})
        );
        assert_eq!(run["pushes"][0]["status"], "created");
        let sent = world.forge.sent();
        assert_eq!(
            (&sent["title"], &sent["head"], &sent["base"]),
            (&json!("Bump app"), &json!("auto"), &json!("main"))
        );
        let body = sent["body"].as_str().unwrap();
        let row = "| `a.yaml` | `App web` | `ghcr.io/o/app:1.0.0` | `ghcr.io/o/app:2.0.0` | `fs/app` |\n";
        assert!(
            body.contains(row) && body.contains("```text\nIt is time.\n```"),
            "{body}"
        );
        // Looked for, tried, opened; at Gitea, another process may have opened one as well.
        let mut first = vec![world.listing("open", 1), world.listing("closed", 1)];
        first.extend(["POST pulls".to_owned(), "POST pulls".to_owned()]);
        first.extend((kind == ForgeKind::Gitea).then(|| world.listing("open", 1)));
        assert_eq!(world.forge.asked(), first);

        // Nothing new: it is only looked at.
        assert_eq!(
            world.kept(&["--message", "Bump app\n\nIt is time.\n"])["state"],
            "unchanged"
        );
        assert_eq!(world.forge.asked(), [world.listing("open", 1)]);

        world.image("3.0.0");
        assert_eq!(world.kept(&["--message", "Bump app to 3\n"])["state"], "updated");
        let asked = [
            world.listing("open", 1),
            "POST pulls".to_owned(),
            "PATCH pulls/1".to_owned(),
        ];
        assert_eq!(world.forge.asked(), asked);
        let pulls = world.forge.pulls();
        assert_eq!((pulls.len(), pulls[0].title.as_str()), (1, "Bump app to 3"));
        assert!(pulls[0].body.contains("ghcr.io/o/app:3.0.0") && !pulls[0].body.contains("It is time"));
        assert_eq!(world.kept(&["--message", "Bump app to 3\n"])["state"], "unchanged");
    }
}

#[test]
fn a_commit_that_is_used_again_keeps_its_title() {
    let world = world(ForgeKind::GitHub);
    world.kept(&["--message", "First"]);
    let (_, run) = world.update(&["--message", "Second"]);
    assert_eq!(run["pullRequest"]["state"], "unchanged");
    assert_eq!(run["commit"]["message"], "First");
    assert_eq!(world.forge.pulls()[0].title, "First");
}

#[test]
fn after_a_merge_there_is_another_request() {
    for kind in BOTH {
        let world = world(kind);
        world.kept(&[]);
        world.forge.by_hand(|pull| (pull.open, pull.merged) = (false, true));
        // Merged, and taken back.
        assert_eq!(world.state(), "opened");
        assert_eq!(world.forge.pulls().len(), 2);
        world.repo.git(&["update-ref", "refs/heads/main", "refs/heads/auto"]);
        world.forge.asked();
        let (code, run) = world.update(&[]);
        assert_eq!(
            (code, &run["changes"], &run["pullRequest"]),
            (0, &json!([]), &Value::Null)
        );
        assert!(world.forge.asked().is_empty());
    }
}

#[test]
fn the_push_has_landed_when_the_api_fails_and_the_next_run_repairs_it() {
    for kind in BOTH {
        let world = world(kind);
        let message = "Resource not accessible by integration";
        world
            .forge
            .fault(move |request, _| (request.method == "POST").then(|| refused(403, message)));
        let (code, run) = world.update(&[]);
        let error = run["error"].as_str().unwrap();
        assert!(
            code == 2 && error.contains("nothing is pushed") && error.contains(message),
            "{error}"
        );
        assert_eq!((world.repo.rev("auto"), &run["pushes"]), (None, &json!([])));
        // Only from then on.
        let is_last = |request: &Request| request.method == "POST" && !is_trial(request);
        world
            .forge
            .fault(move |request, _| is_last(request).then(|| refused(403, message)));
        let (code, run) = world.update(&[]);
        assert_eq!(code, 2, "{run:#}");
        let error = run["error"].as_str().unwrap();
        assert!(
            error.contains("the commit is pushed") && error.contains("open a pull request from auto to main"),
            "{error}"
        );
        assert!(
            error.contains("403") && error.contains("Resource not accessible by integration"),
            "{error}"
        );
        let head = world.repo.rev("auto").unwrap();
        assert_eq!(
            (&run["commit"]["id"], &run["pushes"][0]["new"]),
            (&json!(head), &json!(head))
        );
        for format in ["text", "markdown"] {
            let url = world.forge.server.url("o/app.git");
            let told = world
                .bench
                .run(&[&world.flags(&url)[..], &["--output", format]].concat());
            assert!(
                told.code == 2 && told.out.contains(&head) && told.out.contains("refs/heads/auto"),
                "{}",
                told.out
            );
        }
        world.forge.healthy();
        let (code, run) = world.update(&[]);
        assert_eq!(
            (code, &run["pushes"][0]["status"]),
            (0, &json!("up-to-date")),
            "{run:#}"
        );
        assert_eq!(run["pullRequest"]["state"], "opened");
        assert_eq!(world.repo.rev("auto").unwrap(), head);
    }
}

/// Whether it only asks if requests can be opened.
fn is_trial(request: &Request) -> bool {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    body["head"] == body["base"]
}

#[test]
fn a_dry_run_asks_nothing_and_needs_no_token() {
    let world = world(ForgeKind::Gitea);
    let url = world.forge.server.url("o/app.git");
    let mut flags = world.flags(&url);
    flags.truncate(flags.len() - 2);
    flags.push("--dry-run");
    let (code, document) = world.bench.json(&flags);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(
        document["runs"][0]["pullRequest"],
        json!({"number": null, "url": null, "state": "planned", "head": "auto", "base": "main"})
    );
    let told = world.bench.ok(&flags);
    assert!(
        told.out.contains("would see to a pull request from auto to main"),
        "{}",
        told.out
    );
    let told = world.bench.ok(&[&flags[..], &["--output", "markdown"]].concat());
    assert!(
        told.out.contains("- pull request from `auto` to `main` (planned)"),
        "{}",
        told.out
    );
    assert!(world.forge.asked().is_empty() && world.repo.rev("auto").is_none());
}

#[test]
fn people_are_told_where_it_is() {
    let world = world(ForgeKind::GitHub);
    let url = world.forge.server.url("o/app.git");
    let told = world.bench.ok(&world.flags(&url));
    let line = "pull request #1 opened: https://forge.example/o/app/pull/1\n";
    assert!(told.out.contains(line), "{}", told.out);
    let told = world
        .bench
        .ok(&[&world.flags(&url)[..], &["--output", "markdown"]].concat());
    let line = "- pull request [#1](https://forge.example/o/app/pull/1) (unchanged)\n";
    assert!(told.out.contains(line), "{}", told.out);
}

#[test]
fn limits_are_explained() {
    for kind in BOTH {
        let world = world(kind);
        for (status, header, words) in [
            (
                403,
                ("X-RateLimit-Reset", "1700000000"),
                "the rate limit is used up until 2023-11-14 22:13:20 UTC",
            ),
            (
                429,
                ("Retry-After", "3600"),
                "the rate limit is used up, try again in 3600 s",
            ),
            (403, ("Retry-After", "60"), "try again in 60 s: slow down"),
        ] {
            world.forge.fault(move |_, _| {
                let reply = refused(status, "slow down").header("X-RateLimit-Remaining", "0");
                Some(reply.header(header.0, header.1))
            });
            let (code, run) = world.update(&[]);
            let error = run["error"].as_str().unwrap();
            assert!(code == 2 && error.contains(words), "{error}");
            assert_eq!(world.forge.asked().len(), 1);
        }
    }
}

#[test]
fn answers_that_make_no_sense_are_errors() {
    let world = world(ForgeKind::Gitea);
    let page = "<html>".repeat(400_000);
    for (reply, words) in [
        (
            Reply::bytes(200, "text/html", "<html>Log in</html>"),
            "not as documented",
        ),
        (
            Reply::bytes(200, "application/json", "{}"),
            "is this the address of a gitea API?",
        ),
        (
            Reply::bytes(404, "text/html", page),
            "404 Not Found; there is no such repository",
        ),
        (
            Reply::status(302).header("Location", "http://10.0.0.1/login"),
            "refused to follow a redirect to http://10.0.0.1/login",
        ),
    ] {
        world.forge.fault(move |_, _| Some(reply.clone()));
        let (code, run) = world.update(&[]);
        let error = run["error"].as_str().unwrap();
        assert!(code == 2 && error.contains(words) && error.len() < 4_000, "{error}");
    }
}

#[test]
fn the_token_stays_at_the_api() {
    let world = world(ForgeKind::GitHub);
    let elsewhere = bumpwright_testkit::stub_http::StubHttp::start(|_| Reply::json(&json!([])));
    let location = elsewhere.url("api/v3/repos/o/app/pulls");
    world
        .forge
        .fault(move |request, _| (request.method == "GET").then(|| Reply::status(302).header("Location", &location)));
    let (_, run) = world.update(&[]);
    assert_eq!(run["pullRequest"]["state"], "opened", "{run:#}");
    assert!(elsewhere.count() > 0);
    assert!(
        elsewhere
            .requests()
            .iter()
            .all(|seen| seen.header("authorization").is_none())
    );
    // A server that says it back.
    world
        .forge
        .fault(|_, _| Some(refused(401, &format!("unknown token {TOKEN}"))));
    let url = world.forge.server.url("o/app.git");
    for format in ["text", "json", "markdown", "diff"] {
        let told = world
            .bench
            .run(&[&world.flags(&url)[..], &["--output", format]].concat());
        assert!(
            told.code == 2 && !told.out.contains(TOKEN) && !told.err.contains(TOKEN),
            "{}",
            told.err
        );
        assert!(
            told.err
                .contains("unknown token ***; the token is wrong or has expired"),
            "{}",
            told.err
        );
    }
}

/// Runs without the token's file, with more flags and variables.
fn with_login(world: &World, more: &[&str], variables: &[(&str, &str)]) -> Ran {
    let url = world.forge.server.url("o/app.git");
    let mut flags = world.flags(&url);
    flags.truncate(flags.len() - 2);
    let mut command = world.bench.command(&[&flags[..], more].concat());
    command.envs(variables.iter().copied());
    ran(command.output().unwrap())
}

#[test]
fn git_s_own_token_serves_the_same_server_and_no_other() {
    for (kind, more, authorization) in [
        (
            ForgeKind::GitHub,
            vec!["--token-file", "token"],
            format!("Bearer {TOKEN}"),
        ),
        (
            ForgeKind::Gitea,
            vec!["--token-file", "token"],
            format!("token {TOKEN}"),
        ),
        (
            ForgeKind::GitHub,
            vec!["--username", "bot", "--password-file", "token"],
            format!("Bearer {TOKEN}"),
        ),
        (
            ForgeKind::Gitea,
            vec!["--username", "bot", "--password-file", "token"],
            "Basic Ym90OnQwa2VuLW9mLXRoZS1mb3JnZQ==".to_owned(),
        ),
    ] {
        let world = world_with(kind, &authorization);
        let told = with_login(&world, &more, &[]);
        assert!(
            told.code == 0 && told.out.contains("#1 opened"),
            "{authorization}: {}{}",
            told.out,
            told.err
        );
        let api = format!("http://127.0.0.1:{}/api/v1", world.forge.server.address().port());
        world.forge.asked();
        let told = with_login(&world, &[&more[..], &["--pull-request-api", &api]].concat(), &[]);
        assert!(
            told.code == 2 && told.err.contains("no token for the pull requests of o/app"),
            "{}",
            told.err
        );
        assert!(world.forge.asked().is_empty());
    }
}

#[test]
fn a_token_comes_from_the_environment_or_from_helpers() {
    let world = world(ForgeKind::GitHub);
    let told = with_login(&world, &[], &[]);
    assert!(
        told.code == 2 && told.err.contains("BUMPWRIGHT_PULL_REQUEST_TOKEN"),
        "{}",
        told.err
    );
    assert_eq!(world.repo.rev("auto"), None);
    let told = with_login(&world, &[], &[("BUMPWRIGHT_PULL_REQUEST_TOKEN", TOKEN)]);
    assert!(told.out.contains("#1 opened"), "{}", told.err);
    let helper = format!("!printf 'username=x\\npassword={TOKEN}\\n'");
    let config = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "credential.helper"),
        ("GIT_CONFIG_VALUE_0", helper.as_str()),
    ];
    let told = with_login(&world, &[], &config);
    assert!(told.out.contains("#1 unchanged"), "{}", told.err);
}

#[test]
fn the_authority_of_the_git_server_is_trusted_for_its_api() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let mut world = world(ForgeKind::Gitea);
    let tls = Some(certificates.server_config(false));
    world.forge = Forge::with(ForgeKind::Gitea, &world.bench.dir, &format!("token {TOKEN}"), tls);
    world.bench.write("ca.crt", &certificates.ca);
    assert_eq!(world.kept(&["--ca-file", "ca.crt"])["state"], "opened");
    assert!(world.forge.server.url("").starts_with("https://"));
}

#[test]
fn what_cannot_be_is_said_before_anything_is_pushed() {
    let world = world(ForgeKind::GitHub);
    let url = world.forge.server.url("o/app.git");
    let base = ["update", "-f", "p.yaml", "--author", "B <b@e>", "--offline"];
    let token = ["--pull-request-token-file", "token"];
    for (more, words) in [
        (vec![&*url, "--pull-request"], "does not tell which API it speaks"),
        (
            vec![&*url, "--pull-request"],
            "; write --pull-request=github or --pull-request=gitea; for GitLab, leave the flag out and give --push-branch B --push-option ",
        ),
        (
            vec![&*url, "--pull-request=github"],
            "a pull request into main needs another branch",
        ),
        (
            vec![&*url, "--pull-request=github", "--push-branch", "main"],
            "a pull request into main needs another branch",
        ),
        (
            vec![
                &*url,
                "--pull-request=github",
                "--push-branch",
                "auto",
                "--refspec",
                "refs/heads/auto:refs/heads/main",
            ],
            "a pull request into main needs another branch",
        ),
        (
            vec![&*url, "--pull-request=github", "--gerrit"],
            "--pull-request is for a pull request, and --gerrit pushes a change",
        ),
        (vec![&*url, "--gerrit", "--reviewer", "anna"], "--push-option r=NAME"),
        (
            vec![
                &*url,
                "--pull-request=github",
                "--push-branch",
                "auto",
                "--pull-request-base",
                "a b",
            ],
            "expected the name of a branch",
        ),
        (
            vec![
                &*url,
                "--pull-request=github",
                "--push-branch",
                "auto",
                "--pull-request-api",
                "git.example",
            ],
            "expected an http or https URL",
        ),
        (vec![".", "--pull-request=github"], "--pull-request needs a remote"),
        (
            vec![&*url, "--push-branch", "auto"],
            "--pull-request-token-file needs --pull-request",
        ),
        (
            vec!["o/app.git", "--push-branch", "auto", "--pull-request=gitea"],
            "over https or ssh",
        ),
        (
            vec!["https://github.com/o", "--push-branch", "auto", "--pull-request"],
            "not the path of a repository at a github forge",
        ),
    ] {
        let told = world.bench.run(&[&base[..], &token, &more].concat());
        assert!(told.code == 2 && told.err.contains(words), "{more:?}: {}", told.err);
        assert!(
            world.repo.rev("auto").is_none() && world.forge.api_requests().is_empty(),
            "{more:?}"
        );
    }
    let told = world.bench.run(&["update", &url, "--pull-request=gitlab"]);
    assert!(
        told.code == 2
            && told
                .err
                .contains("GitLab opens merge requests by itself when it is pushed to"),
        "{}",
        told.err
    );
}

/// Writes the automation `fs/auto`, which pushes to `auto`, with these annotations.
fn annotated(world: &World, annotations: &str) {
    let git = "    checkout: {ref: {branch: main}}\n    push: {branch: auto}\n";
    let text = git_repository(
        "fs",
        "repo",
        &world.forge.server.url("o/app.git"),
        "  ref: {branch: main}\n",
    ) + &automation("fs", "auto", "repo", git, "").replace(
        "name: auto, namespace: fs}",
        &format!("name: auto, namespace: fs, annotations: {{{annotations}}}}}"),
    ) + &format!(
        "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: forge, namespace: fs}}\nstringData: {{token: \"{TOKEN}\\n\"}}\n"
    );
    world.bench.write("a.yaml", text);
}

const ALL: [&str; 6] = ["update", "-f", "p.yaml", "-f", "a.yaml", "--offline"];

#[test]
fn annotations_do_the_same() {
    for (kind, name) in [(ForgeKind::GitHub, "github"), (ForgeKind::Gitea, "gitea")] {
        let world = world(kind);
        world.repo.git(&["branch", "stable", "main"]);
        let all = format!(
            "bumpwright.dev/pull-request: {name}, bumpwright.dev/pull-request-base: stable, \
             bumpwright.dev/pull-request-secret: forge, bumpwright.dev/pull-request-labels: 'ops, images', \
             bumpwright.dev/pull-request-reviewers: ada, bumpwright.dev/pull-request-assignees: bob, \
             bumpwright.dev/pull-request-draft: 'true', bumpwright.dev/pull-request-automerge: rebase"
        );
        annotated(&world, &all);
        let (code, document) = world.bench.json(&ALL);
        let request = &document["runs"][0]["pullRequest"];
        assert_eq!(
            (code, &request["state"], &request["base"]),
            (0, &json!("opened"), &json!("stable")),
            "{document:#}"
        );
        let pull = world.forge.pulls().pop().unwrap();
        assert_eq!(
            (pull.base.as_str(), pull.automerge.as_deref()),
            ("stable", Some("rebase"))
        );
        assert_eq!(
            [pull.labels, pull.reviewers, pull.assignees].concat(),
            ["ops", "images", "ada", "bob"]
        );
        assert!(pull.draft);
        // Flags win.
        let (_, document) = world.bench.json(&[&ALL[..], &["--pull-request-base", "main"]].concat());
        assert_eq!(document["runs"][0]["pullRequest"]["base"], "main");
        // An API that is named, at another name of the same machine.
        let version = if kind == ForgeKind::GitHub { "v3" } else { "v1" };
        let api = format!(
            "http://127.0.0.1:{}/api/{version}/",
            world.forge.server.address().port()
        );
        annotated(&world, &format!("{all}, bumpwright.dev/pull-request-api: '{api}'"));
        let (code, document) = world.bench.json(&ALL);
        assert_eq!(
            (code, &document["runs"][0]["pullRequest"]["state"]),
            (0, &json!("unchanged")),
            "{document:#}"
        );
    }
}

#[test]
fn a_secret_without_a_token_is_reported() {
    let world = world(ForgeKind::Gitea);
    let annotations = "bumpwright.dev/pull-request: gitea, bumpwright.dev/pull-request-secret: forge";
    annotated(&world, annotations);
    let text = std::fs::read_to_string(world.bench.dir.join("a.yaml")).unwrap();
    world.bench.write("a.yaml", text.replace("{token: ", "{password: "));
    let told = world.bench.run(&ALL);
    assert!(
        told.code == 2 && told.err.contains("secret 'fs/forge' has no token, for pull requests"),
        "{}",
        told.err
    );
}

#[test]
fn annotations_that_do_not_parse_close() {
    let world = world(ForgeKind::Gitea);
    for (annotations, words) in [
        (
            "bumpwright.dev/pull-request: gitlab",
            "bumpwright.dev/pull-request: \"gitlab\" is not github or gitea (GitLab makes requests of the options in spec.git.push.options)",
        ),
        (
            "bumpwright.dev/pull-request: gitea, bumpwright.dev/pull-request-base: 'a b'",
            "bumpwright.dev/pull-request-base: \"a b\" is not the name of a branch",
        ),
        (
            "bumpwright.dev/pull-request: gitea, bumpwright.dev/pull-request-api: 'https://u:p@h/'",
            "bumpwright.dev/pull-request-api: \"https://u:p@h/\" is not an http or https URL",
        ),
        (
            "bumpwright.dev/pull-request-secret: ns/name",
            "bumpwright.dev/pull-request-secret: \"ns/name\" is not the name of a Secret",
        ),
    ] {
        annotated(&world, annotations);
        for target in [&[][..], &["o"]] {
            std::fs::create_dir_all(world.bench.path("o")).unwrap();
            let told = world.bench.run(&[&ALL[..], target].concat());
            assert!(told.code == 2 && told.err.contains(words), "{target:?}: {}", told.err);
        }
        assert_eq!(world.repo.rev("auto"), None);
    }
    assert!(world.forge.api_requests().is_empty());
}

#[test]
fn a_secret_is_not_sent_to_another_server() {
    let world = world(ForgeKind::Gitea);
    annotated(
        &world,
        "bumpwright.dev/pull-request: gitea, bumpwright.dev/pull-request-secret: forge",
    );
    let other = format!("http://127.0.0.1:{}/o/app.git", world.forge.server.address().port());
    let told = world.bench.run(&[&ALL[..], &[&other]].concat());
    assert!(
        told.code == 2 && told.err.contains("no token for the pull requests of o/app"),
        "{}",
        told.err
    );
    assert!(world.forge.api_requests().is_empty() && world.repo.rev("auto").is_none());
    // A Secret that is not there is not guessed.
    annotated(
        &world,
        "bumpwright.dev/pull-request: gitea, bumpwright.dev/pull-request-secret: none",
    );
    let told = world.bench.run(&ALL);
    assert!(told.code == 2 && told.err.contains("no token"), "{}", told.err);
    // What is not asked for is not done.
    annotated(&world, "bumpwright.dev/pull-request-base: main");
    let told = world.bench.ok(&ALL);
    assert!(
        told.out
            .contains("no pull request is opened: the annotation bumpwright.dev/pull-request"),
        "{}",
        told.out
    );
}

#[test]
fn flags_are_for_one_automation() {
    let world = world(ForgeKind::GitHub);
    annotated(&world, "x: y");
    let second = world.bench.read("a.yaml").replace("name: auto,", "name: second,");
    let (_, second) = second.split_once("---\napiVersion: image").unwrap();
    let (second, _) = second.split_once("---\napiVersion: v1").unwrap();
    world.bench.write("b.yaml", format!("---\napiVersion: image{second}"));
    let flags = ["-f", "b.yaml", "--pull-request=github"];
    let told = world.bench.run(&[&ALL[..], &flags].concat());
    assert!(
        told.code == 2 && told.err.contains("--pull-request cannot be used with 2 automations"),
        "{}",
        told.err
    );
}
