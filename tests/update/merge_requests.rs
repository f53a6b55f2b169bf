//! Merge requests by a push alone: GitLab's push options, and AGit at Gitea and Forgejo (`refs/for/…` with a topic).

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::git_http::GitHttp;
use bumpwright_testkit::repo::{Change, Repo};
use serde_json::{Value, json};

const MARKED: &[u8] = b"image: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";

struct World {
    bench: Bench,
    repo: Repo,
    server: GitHttp,
}

/// `main` has one marked file, the policy wants 2.0.0, the server takes push options.
fn world() -> World {
    let bench = Bench::new();
    let repo = bench.repository("app.git");
    repo.config("http.receivepack", "true");
    repo.config("receive.advertisePushOptions", "true");
    repo.commit("main", "first", &[Change::File("a.yaml", MARKED)]);
    let server = GitHttp::start(&bench.dir);
    let world = World { bench, repo, server };
    world.image("2.0.0");
    world
}

impl World {
    fn image(&self, tag: &str) {
        self.bench.write("p.yaml", policy("fs", "app", "ghcr.io/o/app", tag));
    }

    /// The automation `fs/auto` with this `spec.git.push`.
    fn automation(&self, push: &str) {
        let git = format!("    checkout: {{ref: {{branch: main}}}}\n    push: {push}\n");
        let text = git_repository("fs", "repo", &self.server.url("app.git"), "  ref: {branch: main}\n")
            + &automation("fs", "auto", "repo", &git, "");
        self.bench.write("a.yaml", text);
    }

    fn run(&self) -> (i32, Value) {
        let (code, mut document) = self
            .bench
            .json(&["update", "-f", "p.yaml", "-f", "a.yaml", "--offline"]);
        (code, document["runs"][0].take())
    }

    /// Runs, insists on success, and gives reference and status of the only push.
    fn pushed(&self) -> (String, String) {
        let (code, run) = self.run();
        assert_eq!(code, 0, "{run:#}");
        let pushes = run["pushes"].as_array().unwrap();
        assert_eq!(pushes.len(), 1, "{run:#}");
        let text = |key: &str| pushes[0][key].as_str().unwrap().to_owned();
        (text("ref"), text("status"))
    }
}

fn pair(reference: &str, status: &str) -> (String, String) {
    (reference.to_owned(), status.to_owned())
}

#[test]
fn iua_086_gitlab_is_asked_for_a_merge_request_with_each_push_and_no_other_time() {
    let world = world();
    world.repo.hook(
        "post-receive",
        "read line; (echo \"${line##* }\"; env | grep ^GIT_PUSH_OPTION_ | sort) >> options",
    );
    world.automation(
        "{branch: dev, options: {merge_request.create: '', merge_request.target: release, \
         merge_request.title: 'Images: new = good', merge_request.remove_source_branch: ''}}",
    );
    assert_eq!(world.pushed(), pair("refs/heads/dev", "created"));
    // IUA-085: an empty value is a value.
    let once = "refs/heads/dev\n\
                GIT_PUSH_OPTION_0=merge_request.create=\n\
                GIT_PUSH_OPTION_1=merge_request.remove_source_branch=\n\
                GIT_PUSH_OPTION_2=merge_request.target=release\n\
                GIT_PUSH_OPTION_3=merge_request.title=Images: new = good\n\
                GIT_PUSH_OPTION_COUNT=4\n";
    let seen = || std::fs::read_to_string(world.repo.dir.join("options")).unwrap();
    assert_eq!(seen(), once);
    assert_eq!(world.pushed(), pair("refs/heads/dev", "up-to-date"));
    assert_eq!(seen(), once);
    world.image("3.0.0");
    assert_eq!(world.pushed(), pair("refs/heads/dev", "forced"));
    assert_eq!(seen(), once.repeat(2));
}

/// A repository with AGit, as `flavour` words its refusals; none where Python is missing.
fn agit(flavour: &str) -> Option<World> {
    if !bumpwright_testkit::has("python3", "python3") {
        return None;
    }
    let world = world();
    world.repo.config("receive.procReceiveRefs", "refs/for");
    world.repo.hook("proc-receive", "exec python3 agit.py");
    let file = |name: &str| world.repo.dir.join(name);
    std::fs::write(file("agit.py"), include_str!("agit.py")).unwrap();
    let state = json!({"flavour": flavour, "pulls": [], "calls": []});
    std::fs::write(file("agit.json"), state.to_string()).unwrap();
    world.automation(
        "{refspec: 'refs/heads/auto:refs/for/main', options: {topic: images, title: New images, description: ''}}",
    );
    Some(world)
}

impl World {
    fn state(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.repo.dir.join("agit.json")).unwrap()).unwrap()
    }

    /// How many pull requests there are, and how many pushes came for one.
    fn counts(&self) -> (usize, usize) {
        let state = self.state();
        let count = |key: &str| state[key].as_array().unwrap().len();
        (count("pulls"), count("calls"))
    }

    fn close(&self) {
        let mut state = self.state();
        state["pulls"].as_array_mut().unwrap().last_mut().unwrap()["open"] = json!(false);
        std::fs::write(self.repo.dir.join("agit.json"), state.to_string()).unwrap();
    }

    fn requested(&self, number: usize) -> String {
        let bytes = self.repo.show(&format!("refs/pull/{number}/head"), "a.yaml");
        String::from_utf8(bytes).unwrap()
    }
}

#[test]
fn n_021_a_topic_is_one_pull_request() {
    for flavour in ["gitea", "forgejo"] {
        let Some(world) = agit(flavour) else { return };
        let (code, run) = world.run();
        assert_eq!(code, 0, "{run:#}");
        assert_eq!(
            (&run["pushes"][0]["ref"], &run["pushes"][0]["status"]),
            (&json!("refs/for/main"), &json!("created"))
        );
        let calls = world.state()["calls"].clone();
        assert_eq!(
            calls,
            json!([{"topic": "images", "title": "New images", "description": ""}])
        );
        assert!(world.requested(1).contains("2.0.0"));
        assert_eq!(world.repo.rev("auto"), None);
        // Nothing new: nothing is sent.
        assert_eq!(world.pushed(), pair("refs/for/main", "up-to-date"));
        assert_eq!(world.counts(), (1, 1));
        // A new tag, and a newer base: the same request, replaced as a push branch is (C30).
        world.image("3.0.0");
        assert_eq!(world.pushed(), pair("refs/for/main", "forced"));
        assert!(world.requested(1).contains("3.0.0"));
        world
            .repo
            .commit("main", "by hand", &[Change::File("README", b"hello")]);
        assert_eq!(world.pushed(), pair("refs/for/main", "forced"));
        assert_eq!(world.pushed(), pair("refs/for/main", "up-to-date"));
        assert_eq!(world.counts(), (1, 5));
        let head = &world.repo.log("refs/pull/1/head")[0];
        assert_eq!(head.parents, [world.repo.rev("main").unwrap()]);
        world.repo.fsck();
    }
}

/// Gerrit names a change only when it gets a commit that is new to it, and people ask for the page all the same.
#[test]
fn a_change_that_is_up_to_date_is_named_by_its_address() {
    let Some(world) = agit("gerrit") else { return };
    let url = world.server.url("app.git");
    let update = |more: &[&str]| {
        let author = "Bot <bot@example.com>";
        let flags = [
            "update",
            &url,
            "-f",
            "p.yaml",
            "--gerrit",
            "--author",
            author,
            "--offline",
        ];
        world.bench.ok(&[&flags[..], more].concat()).out
    };
    let first = update(&[]);
    assert!(
        first.contains("note: https://review.example/c/app/+/1 Bump [NEW]\n"),
        "{first}"
    );
    let again = update(&[]);
    let (_, id) = again.split_once("/q/").unwrap();
    let id = id.split(' ').next().unwrap();
    let root = url.strip_suffix("/app.git").unwrap();
    for line in [
        "nothing had to be pushed: the remote has it at refs/for/main already\n".to_owned(),
        format!("note: {root}/q/{id} has this commit already\n"),
    ] {
        assert!(again.contains(&line), "{line}\n{again}");
    }
    let document: Value = serde_json::from_str(&update(&["-o", "json"])).unwrap();
    let run = &document["runs"][0];
    assert_eq!(run["pushes"][0]["url"], format!("{root}/q/{id}"));
    let message = run["commit"]["message"].as_str().unwrap();
    assert!(message.contains(&format!("\n\nChange-Id: {id}")), "{message}");
    assert_eq!(world.counts().0, 1);
}

#[test]
fn a_topic_without_visible_requests_is_still_one() {
    for flavour in ["gitea", "forgejo"] {
        let Some(world) = agit(flavour) else { return };
        world.repo.config("transfer.hideRefs", "refs/pull");
        assert_eq!(world.pushed(), pair("refs/for/main", "created"));
        // The server has to say that it has the commit.
        assert_eq!(world.pushed(), pair("refs/for/main", "up-to-date"));
        assert_eq!(world.counts(), (1, 2));
    }
}

#[test]
fn a_closed_agit_request_is_not_opened_again_for_the_same_commit() {
    let Some(world) = agit("gitea") else { return };
    world.pushed();
    world.close();
    assert_eq!(world.pushed(), pair("refs/for/main", "up-to-date"));
    assert_eq!(world.counts(), (1, 1));
    world.image("3.0.0");
    assert_eq!(world.pushed(), pair("refs/for/main", "created"));
    assert_eq!(world.counts(), (2, 2));
    assert!(world.requested(1).contains("2.0.0") && world.requested(2).contains("3.0.0"));
}

#[test]
fn what_agit_refuses_is_said_in_its_words_and_links_are_shown() {
    let Some(world) = agit("gitea") else { return };
    world.automation("{refspec: 'refs/heads/auto:refs/for/main', options: {title: New images}}");
    let (code, run) = world.run();
    let error = run["error"].as_str().unwrap();
    assert!(code == 2 && error.contains("topic-branch is not set"), "{error}");
    assert_eq!(world.repo.rev("refs/pull/1/head"), None);
    world.automation("{refspec: 'refs/heads/auto:refs/for/main', options: {topic: images}}");
    let told = world.bench.ok(&["update", "-f", "p.yaml", "-f", "a.yaml", "--offline"]);
    let link = "note: https://forge.example/o/app/pulls/1";
    assert!(
        told.out.contains(link) && told.out.contains("pushed refs/for/main"),
        "{}",
        told.out
    );
}
