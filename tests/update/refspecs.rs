//! `--refspec` with a plain server, over smart HTTP: forced, refused, several, repeated.

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::git_http::GitHttp;
use bumpwright_testkit::repo::{Change, Repo};
use serde_json::Value;

const MARKED: &[u8] = b"image: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";

struct World {
    bench: Bench,
    repo: Repo,
    server: GitHttp,
}

/// `main` has one marked file; `staging` has a commit of its own on top.
fn world() -> World {
    let bench = Bench::new();
    let repo = bench.repository("app.git");
    repo.config("http.receivepack", "true");
    repo.commit("main", "first", &[Change::File("a.yaml", MARKED)]);
    repo.git(&["branch", "staging", "main"]);
    repo.commit("staging", "by hand", &[Change::File("x", b"x")]);
    let server = GitHttp::start(&bench.dir);
    let world = World { bench, repo, server };
    world.image("2.0.0");
    world
}

impl World {
    fn image(&self, tag: &str) {
        self.bench.write("p.yaml", policy("fs", "app", "ghcr.io/o/app", tag));
    }

    fn update(&self, more: &[&str]) -> (i32, Value) {
        let url = self.server.url("app.git");
        let flags = [
            "update",
            "-f",
            "p.yaml",
            &url,
            "--author",
            "Bot <bot@example.com>",
            "--offline",
        ];
        let (code, mut document) = self.bench.json(&[flags.as_slice(), more].concat());
        (code, document["runs"][0].take())
    }

    fn landed(&self, more: &[&str]) -> Vec<(String, String)> {
        let (code, run) = self.update(more);
        assert_eq!(code, 0, "{more:?}: {run:#}");
        let text = |push: &Value, key: &str| push[key].as_str().unwrap().to_owned();
        let pushes = run["pushes"].as_array().unwrap().iter();
        pushes.map(|push| (text(push, "ref"), text(push, "status"))).collect()
    }

    /// The error, with no reference changed.
    fn refused(&self, more: &[&str]) -> String {
        let before = self.repo.refs();
        // Manifests and flags that make no sense are refused before there is a run to report.
        let url = self.server.url("app.git");
        let flags = [
            "update",
            "-f",
            "p.yaml",
            &url,
            "--author",
            "Bot <bot@example.com>",
            "--offline",
        ];
        let ran = self.bench.run(&[flags.as_slice(), more].concat());
        assert_eq!(ran.code, 2, "{more:?}: {}", ran.out);
        assert_eq!(self.repo.refs(), before, "{more:?}");
        ran.err
    }

    /// How many times the server was asked to take a push.
    fn attempts(&self) -> usize {
        let requests = self.server.requests();
        let posts = requests.iter().filter(|seen| seen.is_push());
        posts.count()
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[test]
fn what_somebody_else_has_committed_is_not_replaced_and_not_fought_for() {
    let world = world();
    for _ in 0..2 {
        let error = world.refused(&["--refspec", "refs/heads/main:refs/heads/staging"]);
        assert!(
            error.contains("refs/heads/staging: non-fast-forward update") && error.contains("leading '+'"),
            "{error}"
        );
    }
    assert_eq!(world.attempts(), 0);
    let staging = world.repo.rev("staging").unwrap();
    let forced = world.landed(&["--refspec", "+refs/heads/main:refs/heads/staging"]);
    assert_eq!(forced, pairs(&[("refs/heads/staging", "forced")]));
    assert_ne!(world.repo.rev("staging").unwrap(), staging);
    assert_eq!(world.repo.log("staging")[0].parents, [world.repo.rev("main").unwrap()]);
}

#[test]
fn a_place_for_review_that_exists_is_a_reference_like_others() {
    let world = world();
    let refspec = ["--refspec", "HEAD:refs/for/main"];
    assert_eq!(world.landed(&refspec), pairs(&[("refs/for/main", "created")]));
    assert_eq!(world.landed(&refspec), pairs(&[("refs/for/main", "up-to-date")]));
    world.repo.commit("main", "moved", &[Change::File("y", b"y")]);
    world.server.clear();
    let error = world.refused(&refspec);
    assert!(error.contains("refs/for/main: non-fast-forward update"), "{error}");
    assert_eq!(world.attempts(), 0);
    let forced = world.landed(&["--refspec", "+HEAD:refs/for/main"]);
    assert_eq!(forced, pairs(&[("refs/for/main", "forced")]));
    // The short form is for Gerrit, which shows no such reference.
    world.image("3.0.0");
    let error = world.refused(&["--gerrit"]);
    assert!(
        error.contains("refs/for/main has moved") && error.contains("it is not a Gerrit; push to a branch"),
        "{error}"
    );
}

#[test]
fn a_reference_that_only_pushes_see_is_given_up_soon() {
    let world = world();
    world.repo.config("uploadpack.hideRefs", "refs/heads/staging");
    let refspec = ["--refspec", "refs/heads/main:refs/heads/staging"];
    let error = world.refused(&refspec);
    assert!(error.contains("refs/heads/staging: failed to update ref"), "{error}");
    assert_eq!(world.attempts(), 1);
    // Here the server's own list of references is read before the push.
    let address = format!("file://{}", world.repo.dir.display());
    let flags = [
        "update",
        "-f",
        "p.yaml",
        &address,
        "--author",
        "Bot <bot@example.com>",
        "--offline",
    ];
    let ran = world.bench.run(&[flags.as_slice(), &refspec].concat());
    assert_eq!(ran.code, 2, "{}", ran.out);
    let words = ["refs/heads/staging has moved", "hideRefs"];
    assert!(words.iter().all(|word| ran.err.contains(word)), "{}", ran.err);
}

#[test]
fn a_push_branch_is_forced_with_its_refspecs() {
    let world = world();
    let flags = ["--push-branch", "auto", "--refspec", "refs/heads/auto:refs/heads/copy"];
    let created = pairs(&[("refs/heads/auto", "created"), ("refs/heads/copy", "created")]);
    assert_eq!(world.landed(&flags), created);
    world.image("3.0.0");
    let forced = pairs(&[("refs/heads/auto", "forced"), ("refs/heads/copy", "forced")]);
    assert_eq!(world.landed(&flags), forced);
    assert_eq!(world.repo.rev("auto"), world.repo.rev("copy"));
}

#[test]
fn the_branch_that_is_checked_out_is_never_moved_back() {
    let world = world();
    world.repo.git(&["tag", "v1", "main"]);
    let later = world.repo.commit("main", "later", &[Change::File("y", b"y")]);
    let url = world.server.url("app.git");
    let git = "    checkout: {ref: {branch: main, tag: v1}}\n    \
               push: {branch: auto, refspec: 'refs/heads/auto:refs/heads/main'}\n";
    let text = git_repository("fs", "repo", &url, "") + &automation("fs", "a", "repo", git, "");
    world.bench.write("a.yaml", text);
    let (code, document) = world
        .bench
        .json(&["update", "-f", "p.yaml", "-f", "a.yaml", "--offline"]);
    let error = document["runs"][0]["error"].as_str().unwrap_or_default();
    assert_eq!(code, 2, "{document:#}");
    assert!(error.contains("refs/heads/main: non-fast-forward update"), "{error}");
    assert_eq!(world.repo.rev("main").unwrap(), later);
}

#[test]
fn several_refspecs_go_in_one_push_and_none_of_them_deletes() {
    let world = world();
    let several = [
        "--refspec",
        "refs/heads/main:refs/heads/one",
        "--refspec",
        "HEAD:refs/tags/two",
        "--refspec",
        "+HEAD:refs/heads/one",
    ];
    let created = pairs(&[("refs/heads/one", "created"), ("refs/tags/two", "created")]);
    assert_eq!(world.landed(&several), created);
    assert_eq!(world.attempts(), 1);
    for refspec in [":refs/heads/staging", "+:refs/heads/staging"] {
        let error = world.refused(&["--refspec", refspec]);
        assert!(error.contains("deleting references is not supported"), "{error}");
    }
    let undone = ["--push-branch", "auto", "--refspec", "refs/heads/main:refs/heads/auto"];
    let error = world.refused(&undone);
    assert!(error.contains("two different commits to refs/heads/auto"), "{error}");
    let same = ["--push-branch", "main", "--refspec", "refs/heads/main:refs/heads/main"];
    assert_eq!(world.landed(&same), pairs(&[("refs/heads/main", "updated")]));
}

/// What holds its commit already is not sent: a server's hooks and rules would be asked about it.
#[test]
fn only_what_changes_is_pushed() {
    let world = world();
    let log = world.bench.dir.join("updated");
    world.repo.hook("update", &format!("echo \"$1\" >> {}", log.display()));
    let updated = || std::fs::read_to_string(&log).unwrap();
    let flags = ["--push-branch", "auto", "--refspec", "refs/heads/main:refs/heads/base"];
    let created = pairs(&[("refs/heads/auto", "created"), ("refs/heads/base", "created")]);
    assert_eq!(world.landed(&flags), created);
    std::fs::remove_file(&log).unwrap();
    world.image("3.0.0");
    let again = pairs(&[("refs/heads/auto", "forced"), ("refs/heads/base", "up-to-date")]);
    assert_eq!(world.landed(&flags), again);
    assert_eq!(updated(), "refs/heads/auto\n");
}

/// A reference that is only behind is moved on without force, and a `+` that was not needed is not
/// told as a replacement.
#[test]
fn a_fast_forward_is_no_replacement() {
    let world = world();
    world.repo.git(&["branch", "behind", "main"]);
    world.repo.commit("main", "moved", &[Change::File("y", b"y")]);
    world.repo.git(&["branch", "level", "main"]);
    for (name, refspec) in [
        ("refs/heads/behind", "refs/heads/main:refs/heads/behind"),
        ("refs/heads/level", "+refs/heads/main:refs/heads/level"),
    ] {
        assert_eq!(world.landed(&["--refspec", refspec]), pairs(&[(name, "updated")]));
    }
}

#[test]
fn the_short_form_is_for_one_remote() {
    let world = world();
    world.bench.write("folder/a.yaml", MARKED);
    for flag in ["--gerrit", "--gerrit=main"] {
        // What comes after the flag is no branch.
        let ran = world.bench.run(&["update", "-f", "p.yaml", flag, "folder"]);
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(ran.err.contains("--gerrit needs a remote"), "{}", ran.err);
    }
    // What comes after the flag is taken for TARGET.
    let ran = world.bench.run(&["update", "-f", "p.yaml", "--gerrit", "release-1.4"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("--gerrit=release-1.4 URL"), "{}", ran.err);
    let url = world.server.url("app.git");
    let text = git_repository("fs", "repo", &url, "  ref: {branch: main}\n")
        + &automation("fs", "a", "repo", "", "")
        + &automation("fs", "b", "repo", "", "");
    world.bench.write("a.yaml", text);
    let ran = world.bench.run(&["update", "-f", "a.yaml", "--gerrit"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(
        ran.err.contains("--gerrit cannot be used with 2 automations"),
        "{}",
        ran.err
    );
}
