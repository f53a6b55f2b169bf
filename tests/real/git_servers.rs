//! Servers of the oldest and the newest git that Debian has, over HTTP and SSH: `bumpwright update` from the first
//! fetch to a lost race.

use std::path::{Path, PathBuf};
use std::process::Command;

use bumpwright_testkit::cli::{Bench, policy};
use bumpwright_testkit::git_http::{GitHttp, Options};
use bumpwright_testkit::repo::{Change, Repo, hermetic, run_text};
use bumpwright_testkit::sshd::Sshd;
use serde_json::{Value, json};

/// One of the two, by the folder that it is installed in.
struct Git(PathBuf);

impl Git {
    fn both() -> Vec<Self> {
        let names = ["git-oldest", "git-newest"];
        let found = names.into_iter().filter_map(bumpwright_testkit::tool).map(Self);
        found.collect()
    }

    fn program(&self) -> PathBuf {
        self.0.join("bin/git")
    }

    fn serve(&self, folder: &Path) -> GitHttp {
        let git = Some(self.program());
        GitHttp::with(
            folder,
            Options {
                git,
                ..Options::default()
            },
        )
    }

    fn run(&self, folder: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new(self.program());
        hermetic(&mut command);
        run_text(command.current_dir(folder).args(arguments))
    }
}

/// A repository with a marked file, and a policy for it.
struct World {
    bench: Bench,
    repo: Repo,
}

impl World {
    fn new() -> Self {
        let bench = Bench::new();
        let repo = bench.repository("app.git");
        repo.commit("main", "first", &[Change::File("app.yaml", marked("1.0.0").as_bytes())]);
        Self { bench, repo }
    }

    /// `update` to `tag`; gives exit code and run.
    fn update(&self, url: &str, tag: &str, more: &[&str]) -> (i32, Value) {
        self.bench.write("p.yaml", policy("fs", "app", "ghcr.io/o/app", tag));
        let fixed = ["update", "-f", "p.yaml", url, "--author", "Bot <bot@example.com>"];
        let (code, mut document) = self.bench.json(&[&fixed, more].concat());
        (code, document["runs"][0].take())
    }

    /// As [`World::update`], which has to push to `main`.
    fn lands(&self, url: &str, tag: &str, more: &[&str]) {
        let (code, run) = self.update(url, tag, more);
        let head = self.repo.rev("main");
        assert_eq!(
            (code, &run["pushes"][0]["status"]),
            (0, &json!("updated")),
            "{url}: {run:#}"
        );
        assert_eq!(run["pushes"][0]["new"].as_str(), head.as_deref(), "{url}");
        assert_eq!(self.repo.show("main", "app.yaml"), marked(tag).as_bytes(), "{url}");
        self.repo.fsck();
    }

    /// As [`World::update`], which has to be refused: nothing is pushed.
    fn refused(&self, url: &str, tag: &str, more: &[&str]) -> String {
        let before = self.repo.refs();
        let (code, run) = self.update(url, tag, more);
        assert_eq!(code, 2, "{run:#}");
        assert_eq!(self.repo.refs(), before, "{url}");
        run["error"].as_str().unwrap().to_owned()
    }
}

fn marked(tag: &str) -> String {
    format!("# one\nimage:   'ghcr.io/o/app:{tag}'   # {{\"$imagepolicy\": \"fs:app\"}}\n")
}

#[test]
fn a_bump_over_http_with_and_without_partial_clones() {
    for git in Git::both() {
        for filter in ["false", "true"] {
            let world = World::new();
            world.repo.config("uploadpack.allowFilter", filter);
            let server = git.serve(&world.bench.dir);
            let url = server.url("app.git");
            world.lands(&url, "2.0.0", &[]);
            let (code, again) = world.update(&url, "2.0.0", &[]);
            assert_eq!((code, &again["changes"]), (0, &json!([])), "{again:#}");
            // What others push meanwhile is fetched into the mirror that is there.
            world.repo.commit("main", "by a person", &[Change::File("note", b"1")]);
            world.lands(&url, "3.0.0", &[]);
            assert_eq!(world.repo.log("main").len(), 4);
        }
    }
}

#[test]
fn a_race_is_seen_and_won_on_the_second_try() {
    for git in Git::both() {
        let world = World::new();
        let server = git.serve(&world.bench.dir);
        let (repo, once) = (world.repo.clone(), std::sync::Once::new());
        server.before_push(move |_| {
            once.call_once(|| {
                repo.commit("main", "a rival", &[Change::File("note", b"1")]);
            });
        });
        world.lands(&server.url("app.git"), "2.0.0", &[]);
        let log = world.repo.log("main");
        assert_eq!((log.len(), log[1].message.trim()), (3, "a rival"));
    }
}

#[test]
fn push_options_and_the_words_of_a_hook() {
    for git in Git::both() {
        let world = World::new();
        world.repo.config("receive.advertisePushOptions", "true");
        world.repo.hook(
            "pre-receive",
            "#!/bin/sh\n[ \"$GIT_PUSH_OPTION_0\" = ticket=1 ] || { echo 'a ticket is needed' >&2; exit 1; }\n",
        );
        let server = git.serve(&world.bench.dir);
        let url = server.url("app.git");
        let error = world.refused(&url, "2.0.0", &[]);
        assert!(error.contains("a ticket is needed"), "{error}");
        world.lands(&url, "2.0.0", &["--push-option", "ticket=1"]);
    }
}

/// `git push --signed` is not ours to make: the server says that it wants one.
#[test]
fn a_server_that_wants_push_certificates_is_told_in_its_words() {
    for git in Git::both() {
        let world = World::new();
        world.repo.config("receive.certNonceSeed", "seed");
        world.repo.hook(
            "pre-receive",
            "#!/bin/sh\n[ -n \"$GIT_PUSH_CERT\" ] || { echo 'pushes have to be signed' >&2; exit 1; }\n",
        );
        let server = git.serve(&world.bench.dir);
        let error = world.refused(&server.url("app.git"), "2.0.0", &[]);
        assert!(error.contains("pushes have to be signed"), "{error}");
    }
}

#[test]
fn a_bump_over_ssh() {
    let Some(sshd) = Sshd::start() else { return };
    for (number, git) in Git::both().into_iter().enumerate() {
        let world = World::new();
        world.bench.write("hosts", sshd.host_line("ed25519"));
        let programs = git.0.join("bin");
        let command = format!(r#"PATH={}:$PATH sh -c \"$SSH_ORIGINAL_COMMAND\""#, programs.display());
        let key = sshd.forced_key(&format!("key-{number}"), &command);
        let flags = ["--ssh-key", key.to_str().unwrap(), "--known-hosts", "hosts"];
        let url = sshd.url(&world.repo.dir);
        world.lands(&url, "2.0.0", &flags);
        world.lands(&url, "3.0.0", &flags);
    }
}

/// References as tables (git 2.45 and newer), and object ids of SHA-256.
#[test]
fn the_formats_of_newer_repositories() {
    let Some(git) = bumpwright_testkit::tool("git-newest").map(Git) else {
        return;
    };
    for format in ["--ref-format=reftable", "--object-format=sha256"] {
        let world = World::new();
        let folder = &world.bench.dir;
        git.run(folder, &["init", "-q", "-b", "main", format, "work"]);
        world.bench.write("work/app.yaml", marked("1.0.0"));
        let work = folder.join("work");
        git.run(&work, &["add", "app.yaml"]);
        git.run(&work, &["commit", "-q", "-m", "first"]);
        git.run(&work, &["config", "http.receivepack", "true"]);
        git.run(&work, &["config", "receive.denyCurrentBranch", "ignore"]);
        let server = git.serve(folder);
        let (code, run) = world.update(&server.url("work/.git"), "2.0.0", &[]);
        let push = &run["pushes"][0];
        assert_eq!((code, &push["status"]), (0, &json!("updated")), "{format}: {run:#}");
        let head = git.run(&work, &["rev-parse", "main"]);
        assert_eq!(push["new"].as_str(), Some(head.as_str()));
        assert_eq!(git.run(&work, &["show", "main:app.yaml"]), marked("2.0.0").trim_end());
        git.run(&work, &["fsck", "--strict"]);
    }
}

#[test]
fn git_daemon_is_refused_before_it_is_asked() {
    let world = World::new();
    world
        .bench
        .write("p.yaml", policy("fs", "app", "ghcr.io/o/app", "2.0.0"));
    let error = world
        .bench
        .run(&["update", "-f", "p.yaml", "git://127.0.0.1:1/app.git"]);
    let words = "git://127.0.0.1:1/app.git: git:// has neither authentication nor encryption; use https:// or ssh://";
    assert!(error.code == 2 && error.err.contains(words), "{}", error.err);
}
