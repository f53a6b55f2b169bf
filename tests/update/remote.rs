//! `bumpwright update` against remotes, as its user runs it: fetch, edit, commit, push, with no checkout on disk.

use bumpwright_testkit::cli::{Bench, automation, policy};
use bumpwright_testkit::git_http::{GitHttp, Login, Options};
use bumpwright_testkit::repo::{self, Change, Repo};
use serde_json::{Value, json};

const MARKED: &str = "# one\n\nimage:   'ghcr.io/o/app:1.0.0'   # {\"$imagepolicy\": \"fs:app\"}\n";
const BUMPED: &str = "# one\n\nimage:   'ghcr.io/o/app:2.0.0'   # {\"$imagepolicy\": \"fs:app\"}\n";
const AUTHOR: [&str; 2] = ["--author", "Bot <bot@example.com>"];

struct Remote {
    bench: Bench,
    repo: Repo,
    first: String,
}

/// A repository with one marked file and a policy beside it (`p.yaml`).
fn remote() -> Remote {
    let bench = Bench::new();
    let repo = bench.repository("app.git");
    let first = repo.commit(
        "main",
        "first",
        &[
            Change::File("apps/a.yaml", MARKED.as_bytes()),
            Change::File("README.md", b"hi\n"),
        ],
    );
    bench.write("p.yaml", policy("fs", "app", "ghcr.io/o/app", "2.0.0"));
    Remote { bench, repo, first }
}

impl Remote {
    fn url(&self) -> String {
        format!("file://{}", self.repo.dir.display())
    }

    /// `update -f p.yaml URL --author … MORE --output json`.
    fn update(&self, more: &[&str]) -> (i32, Value) {
        let url = self.url();
        self.bench
            .json(&[&["update", "-f", "p.yaml", &url], AUTHOR.as_slice(), more].concat())
    }

    /// As [`Remote::update`], insisting on success; gives the run.
    fn landed(&self, more: &[&str]) -> Value {
        let (code, document) = self.update(more);
        assert_eq!(code, 0, "{document:#}");
        document["runs"][0].clone()
    }

    fn content(&self, revision: &str) -> String {
        String::from_utf8(self.repo.show(revision, "apps/a.yaml")).unwrap()
    }
}

#[test]
fn a_bump_is_committed_and_pushed_to_the_default_branch() {
    let remote = remote();
    let run = remote.landed(&[]);
    let head = remote.repo.rev("main").unwrap();
    assert_eq!(
        run["commit"],
        json!({
            "id": head, "branch": "main", "message": "Bump app to 2.0.0\n\n- ghcr.io/o/app: 1.0.0 → 2.0.0\n",
            "author": "Bot <bot@example.com>", "signed": false
        })
    );
    assert_eq!(
        run["pushes"],
        json!([{"ref": "refs/heads/main", "old": remote.first, "new": head, "status": "updated"}])
    );
    assert_eq!(remote.content("main"), BUMPED);
    let log = remote.repo.log("main");
    assert_eq!(log.len(), 2);
    assert_eq!(
        (log[0].author.as_str(), log[0].parents.as_slice()),
        ("Bot <bot@example.com>", [remote.first.clone()].as_slice())
    );
    remote.repo.fsck();
    // A second run finds nothing to do, and leaves no commit (IUA-088).
    let again = remote.landed(&[]);
    assert_eq!((&again["changes"], &again["commit"]), (&json!([]), &Value::Null));
    assert_eq!(remote.repo.rev("main").unwrap(), head);
}

#[test]
fn a_bare_repository_is_a_remote() {
    let remote = remote();
    remote
        .bench
        .ok(&[&["update", "-f", "p.yaml", "app.git"], AUTHOR.as_slice()].concat());
    assert_eq!(remote.content("main"), BUMPED);
}

#[test]
fn policies_of_the_repository_itself_are_used_without_f() {
    let remote = remote();
    let manifest = policy("fs", "app", "ghcr.io/o/app", "2.0.0");
    remote.repo.commit(
        "main",
        "policies",
        &[Change::File("clusters/x/p.yaml", manifest.as_bytes())],
    );
    let url = remote.url();
    remote
        .bench
        .ok(&[&["update", &url, "--path", "apps"], AUTHOR.as_slice()].concat());
    assert_eq!(remote.content("main"), BUMPED);
}

/// What they say about branch and push counts for nothing in a plain run, which has to be said.
#[test]
fn automations_of_the_repository_that_a_plain_run_passes_over_are_told() {
    let remote = remote();
    let manifest = automation("fs", "all", "repo", "", "");
    let file = Change::File("clusters/x/all.yaml", manifest.as_bytes());
    remote.repo.commit("main", "automation", &[file]);
    let set = ["--set", "fs:app=ghcr.io/o/app:2.0.0"];
    let plain = ["update", &remote.url(), "--dry-run"].map(str::to_owned);
    let plain: Vec<&str> = plain.iter().map(String::as_str).chain(AUTHOR).chain(set).collect();
    let told = "note: the repository has ImageUpdateAutomations of its own (fs/all)";
    let ran = remote.bench.ok(&plain);
    assert!(ran.out.contains(told), "{}", ran.out);
    let ran = remote
        .bench
        .ok(&[plain.as_slice(), &["--fleet", "clusters/x"]].concat());
    assert!(!ran.out.contains(told), "{}", ran.out);
}

#[test]
fn a_dry_run_shows_what_the_real_run_pushes_and_never_asks_to_push() {
    let remote = remote();
    let server = GitHttp::start(&remote.bench.dir);
    let url = server.url("app.git");
    let preview = [&["update", "-f", "p.yaml", &url, "--dry-run"], AUTHOR.as_slice()].concat();
    let diff = remote
        .bench
        .ok(&[preview.as_slice(), &["--output", "diff"]].concat())
        .out;
    let (code, document) = remote.bench.json(&preview);
    assert_eq!(code, 0);
    assert_eq!(document["runs"][0]["commit"]["id"], Value::Null);
    assert_eq!(document["runs"][0]["changes"][0]["line"], 3);
    assert!(
        server
            .requests()
            .iter()
            .all(|seen| !seen.path.contains("receive-pack") && !seen.query.contains("receive-pack"))
    );
    assert_eq!(remote.repo.rev("main").unwrap(), remote.first);

    let clone = remote.bench.path("clone");
    repo::run(repo::git(&remote.bench.dir).args(["clone", "-q", "app.git", "clone"]));
    remote.bench.write("clone/the.diff", &diff);
    repo::run(repo::git(&clone).args(["apply", "--index", "the.diff"]));
    let by_diff = repo::run_text(repo::git(&clone).args(["write-tree"]));
    remote
        .bench
        .ok(&[&["update", "-f", "p.yaml", &url], AUTHOR.as_slice()].concat());
    let by_push = remote.repo.git(&["rev-parse", "main^{tree}"]);
    assert_eq!(by_diff.trim(), by_push.trim());
}

#[test]
fn modes_links_and_submodules_survive() {
    let remote = remote();
    let commit = remote.first.clone();
    remote.repo.commit(
        "main",
        "odd",
        &[
            Change::Executable("apps/run.yaml", MARKED.as_bytes()),
            Change::Symlink("apps/link.yaml", "a.yaml"),
            Change::Symlink("apps/out.yaml", "../../etc/passwd"),
            Change::Submodule("apps/sub", &commit),
            Change::File("apps/ünï \"q\".yaml", MARKED.as_bytes()),
        ],
    );
    let before = remote.repo.tree("main");
    let run = remote.landed(&[]);
    assert_eq!(run["changes"].as_array().unwrap().len(), 3, "{run:#}");
    let after = remote.repo.tree("main");
    assert_eq!(before.len(), after.len());
    for (old, new) in before.iter().zip(&after) {
        assert_eq!((&old.mode, &old.path), (&new.mode, &new.path));
        let edited = ["apps/a.yaml", "apps/run.yaml", "apps/ünï \"q\".yaml"].contains(&new.path.as_str());
        assert_eq!(old.id != new.id, edited, "{}", new.path);
    }
    remote.repo.fsck();
}

#[test]
fn the_path_may_reach_through_a_link_and_never_leaves_the_repository() {
    let remote = remote();
    remote.repo.commit(
        "main",
        "more",
        &[
            Change::File("infra/b.yaml", MARKED.as_bytes()),
            Change::Symlink("link", "apps"),
        ],
    );
    for (path, count) in [("link", 1), ("/apps", 1), ("apps/a.yaml", 1), ("../../..", 2), (".", 2)] {
        let run = remote.landed(&["--dry-run", "--path", path]);
        assert_eq!(run["changes"].as_array().unwrap().len(), count, "{path}");
        assert!(run["changes"][0]["path"] == "apps/a.yaml", "{path}");
    }
    let (code, document) = remote.update(&["--path", "none"]);
    assert_eq!(code, 2);
    assert!(
        document["runs"][0]["error"]
            .as_str()
            .unwrap()
            .contains("update path \"none\" does not exist")
    );
}

#[test]
fn c30_a_push_branch_is_the_checkout_tip_plus_one_commit() {
    let remote = remote();
    let run = remote.landed(&["--push-branch", "auto"]);
    let auto = remote.repo.rev("auto").unwrap();
    assert_eq!(
        run["pushes"],
        json!([{"ref": "refs/heads/auto", "old": null, "new": auto, "status": "created"}])
    );
    assert_eq!(remote.repo.rev("main").unwrap(), remote.first, "IUA-087: main stays");
    // Nothing new: the commit that is there is reused and nothing is pushed.
    let again = remote.landed(&["--push-branch", "auto"]);
    assert_eq!(
        again["pushes"],
        json!([{"ref": "refs/heads/auto", "old": auto, "new": auto, "status": "up-to-date"}])
    );
    assert_eq!(again["commit"]["id"], auto.as_str());
    // The checkout branch moves on: the push branch is replaced, not stacked.
    let second = remote
        .repo
        .commit("main", "second", &[Change::File("README.md", b"hello\n")]);
    let replaced = remote.landed(&["--push-branch", "auto"]);
    assert_eq!(replaced["pushes"][0]["status"], "forced");
    let log = remote.repo.log("auto");
    assert_eq!(log[0].parents, [second]);
    assert_eq!(log.len(), 3);
    assert_eq!(
        String::from_utf8(remote.repo.show("auto", "README.md")).unwrap(),
        "hello\n"
    );
}

#[test]
fn c30_a_push_branch_with_foreign_commits_is_replaced_under_a_lease() {
    let remote = remote();
    remote.repo.git(&["branch", "auto", "main"]);
    let foreign = remote.repo.commit("auto", "by hand", &[Change::File("x", b"x")]);
    let run = remote.landed(&["--push-branch", "auto"]);
    assert_eq!(
        (&run["pushes"][0]["old"], &run["pushes"][0]["status"]),
        (&json!(foreign), &json!("forced"))
    );
    let note = run["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with(&format!(
            "the branch auto was replaced; it ended with commit {foreign} by "
        )),
        "{note}"
    );
    assert_eq!(remote.repo.log("auto")[0].parents, std::slice::from_ref(&remote.first));
    // What an earlier run pushed is replaced without a word.
    let second = [Change::File("README.md", b"hello\n")];
    remote.repo.commit("main", "second", &second);
    let run = remote.landed(&["--push-branch", "auto"]);
    assert_eq!(
        (&run["pushes"][0]["status"], &run["notes"]),
        (&json!("forced"), &Value::Null)
    );
}

#[test]
fn c31_a_refspec_alone_pushes_only_itself() {
    let remote = remote();
    let run = remote.landed(&["--refspec", "refs/heads/main:refs/heads/review"]);
    let review = remote.repo.rev("review").unwrap();
    assert_eq!(
        run["pushes"],
        json!([{"ref": "refs/heads/review", "old": null, "new": review, "status": "created"}])
    );
    assert_eq!(remote.repo.rev("main").unwrap(), remote.first);
    let again = remote.landed(&["--refspec", "refs/heads/main:refs/heads/review"]);
    assert_eq!(again["pushes"][0]["status"], "up-to-date");
}

#[test]
fn iua_082_branch_and_refspec_are_two_pushes_and_a_missed_second_is_made_up_for() {
    let remote = remote();
    remote.repo.hook(
        "update",
        "#!/bin/sh\ncase $1 in refs/heads/copy) echo no copy >&2; exit 1;; esac\n",
    );
    let arguments = ["--push-branch", "auto", "--refspec", "refs/heads/auto:refs/heads/copy"];
    let (code, document) = remote.update(&arguments);
    assert_eq!(code, 2);
    let error = document["runs"][0]["error"].as_str().unwrap();
    assert!(
        error.contains("refs/heads/copy") && error.contains("no copy"),
        "{error}"
    );
    let auto = remote.repo.rev("auto").unwrap();
    std::fs::remove_file(remote.repo.dir.join("hooks/update")).unwrap();
    let run = remote.landed(&arguments);
    assert_eq!(
        run["pushes"],
        json!([
            {"ref": "refs/heads/auto", "old": auto, "new": auto, "status": "up-to-date"},
            {"ref": "refs/heads/copy", "old": null, "new": auto, "status": "created"}
        ])
    );
}

#[test]
fn a_refspec_that_cannot_be_pushed_pushes_nothing() {
    let remote = remote();
    for refspec in [
        "refs/heads/nope:refs/heads/x",
        "refs/heads/x",
        "a:b:c",
        ":refs/heads/main",
    ] {
        let (code, _) = match remote.bench.run(
            &[
                &["update", "-f", "p.yaml", &remote.url(), "--refspec", refspec],
                AUTHOR.as_slice(),
            ]
            .concat(),
        ) {
            ran if ran.out.is_empty() => (ran.code, ()),
            ran => (ran.code, ()),
        };
        assert_eq!(code, 2, "{refspec}");
        assert_eq!(remote.repo.refs().len(), 1, "{refspec}");
        assert_eq!(remote.repo.rev("main").unwrap(), remote.first, "{refspec}");
    }
}

#[test]
fn a_refspec_never_rewinds_a_branch_unless_it_says_so() {
    let remote = remote();
    remote.repo.git(&["branch", "other", "main"]);
    let foreign = remote.repo.commit("other", "by hand", &[Change::File("x", b"x")]);
    let (code, document) = remote.update(&["--refspec", "refs/heads/main:refs/heads/other"]);
    assert_eq!(code, 2, "{document:#}");
    assert_eq!(remote.repo.rev("other").unwrap(), foreign);
    let run = remote.landed(&["--refspec", "+refs/heads/main:refs/heads/other"]);
    assert_eq!(run["pushes"][0]["status"], "forced");
}

#[test]
fn iua_085_push_options_reach_the_server() {
    let remote = remote();
    remote.repo.config("receive.advertisePushOptions", "true");
    remote.repo.hook(
        "pre-receive",
        "#!/bin/sh\nenv | grep ^GIT_PUSH_OPTION | sort > options\n",
    );
    remote.landed(&[
        "--push-option",
        "merge_request.create",
        "--push-option",
        "merge_request.target=release",
    ]);
    let seen = std::fs::read_to_string(remote.repo.dir.join("options")).unwrap();
    assert_eq!(
        seen,
        "GIT_PUSH_OPTION_0=merge_request.create=\nGIT_PUSH_OPTION_1=merge_request.target=release\nGIT_PUSH_OPTION_COUNT=2\n"
    );
}

#[test]
fn push_options_that_the_server_does_not_take_fail_before_the_push() {
    let remote = remote();
    let (code, document) = remote.update(&["--push-option", "a=b"]);
    assert_eq!(code, 2);
    assert!(
        document["runs"][0]["error"]
            .as_str()
            .unwrap()
            .contains("does not support push options"),
        "{document:#}"
    );
    assert_eq!(document["runs"][0]["commit"], Value::Null);
    assert_eq!(remote.repo.rev("main").unwrap(), remote.first);
}

#[test]
fn a_branch_that_does_not_exist_need_not_be_named() {
    let remote = remote();
    let (code, document) = remote.update(&["--branch", "master"]);
    let error = document["runs"][0]["error"].as_str().unwrap();
    let told = "couldn't find remote ref \"refs/heads/master\"; the repository has main; without --branch it is the default branch";
    assert!(code == 2 && error.ends_with(told), "{error}");
}

#[test]
fn a_refused_push_is_told_in_the_servers_words_and_leaves_nothing() {
    let remote = remote();
    remote.repo.hook(
        "pre-receive",
        "#!/bin/sh\necho 'main is protected: open a merge request' >&2\nexit 1\n",
    );
    let (code, document) = remote.update(&[]);
    assert_eq!(code, 2);
    let run = &document["runs"][0];
    let error = run["error"].as_str().unwrap();
    assert!(
        error.contains("main is protected: open a merge request") && error.contains("refs/heads/main"),
        "{error}"
    );
    assert!(
        error.ends_with(
            "; if main takes no pushes, give --push-branch BRANCH, for a pull request from there (docs/guides/pull-requests.md)"
        ),
        "{error}"
    );
    // Another branch is not the way out where that is what was refused.
    let (_, document) = remote.update(&["--push-branch", "auto"]);
    let error = document["runs"][0]["error"].as_str().unwrap();
    assert!(
        error.contains("refs/heads/auto") && !error.contains("--push-branch"),
        "{error}"
    );
    assert_eq!((&run["commit"], &run["pushes"]), (&Value::Null, &json!([])));
    assert_eq!(remote.repo.rev("main").unwrap(), remote.first);
    std::fs::remove_file(remote.repo.dir.join("hooks/pre-receive")).unwrap();
    remote.landed(&[]);
    remote.repo.fsck();
}

#[test]
fn what_is_not_there_is_named() {
    let remote = remote();
    let (code, document) = remote.update(&["--branch", "nope"]);
    assert_eq!(code, 2);
    let error = document["runs"][0]["error"].as_str().unwrap();
    assert!(
        error.contains("refs/heads/nope") && error.contains("app.git"),
        "{error}"
    );
    let empty = remote.bench.repository("empty.git");
    let url = format!("file://{}", empty.dir.display());
    let (code, document) = remote
        .bench
        .json(&[&["update", "-f", "p.yaml", &url], AUTHOR.as_slice()].concat());
    assert_eq!(code, 2);
    assert!(
        document["runs"][0]["error"].as_str().unwrap().contains("no commits"),
        "{document:#}"
    );
    let url = format!("file://{}", remote.bench.path("none.git").display());
    let (code, document) = remote
        .bench
        .json(&[&["update", "-f", "p.yaml", &url], AUTHOR.as_slice()].concat());
    assert_eq!(
        (
            code,
            document["runs"][0]["error"].as_str().unwrap().contains("none.git")
        ),
        (2, true)
    );
}

#[test]
fn credentials_come_from_files_and_environment_and_never_show() {
    let remote = remote();
    let login = Login::Basic("bot".into(), "s3cret-pass".into());
    let server = GitHttp::with(
        &remote.bench.dir,
        Options {
            login,
            ..Options::default()
        },
    );
    let url = server.url("app.git");
    let arguments = [&["update", "-f", "p.yaml", &url], AUTHOR.as_slice()].concat();
    let refused = remote.bench.run(&arguments);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("authentication required"), "{}", refused.err);
    remote.bench.write("wrong", "n0t-this-one\n");
    let wrong = remote
        .bench
        .run(&[arguments.as_slice(), &["--username", "bot", "--password-file", "wrong"]].concat());
    assert_eq!(wrong.code, 2);
    assert!(!wrong.err.contains("n0t-this-one") && !wrong.out.contains("n0t-this-one"));
    remote.bench.write("right", "s3cret-pass\n");
    let right = remote
        .bench
        .run(&[arguments.as_slice(), &["--username", "bot", "--password-file", "right"]].concat());
    assert_eq!(right.code, 0, "{}", right.err);
    assert!(!right.out.contains("s3cret-pass"));
    assert_eq!(remote.content("main"), BUMPED);
}

#[test]
fn bearer_tokens_work_too() {
    let remote = remote();
    let server = GitHttp::with(
        &remote.bench.dir,
        Options {
            login: Login::Bearer("t0ken".into()),
            ..Options::default()
        },
    );
    let url = server.url("app.git");
    let mut command = remote
        .bench
        .command(&[&["update", "-f", "p.yaml", &url], AUTHOR.as_slice()].concat());
    let ran = bumpwright_testkit::cli::ran(command.env("BUMPWRIGHT_GIT_TOKEN", "t0ken").output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(remote.content("main"), BUMPED);
}

#[test]
fn a_warm_run_with_nothing_new_is_one_request() {
    let remote = remote();
    let server = GitHttp::start(&remote.bench.dir);
    let url = server.url("app.git");
    let arguments = [&["update", "-f", "p.yaml", &url], AUTHOR.as_slice()].concat();
    remote.bench.ok(&arguments);
    server.clear();
    remote.bench.ok(&arguments);
    let seen: Vec<String> = server
        .requests()
        .iter()
        .map(|seen| format!("{} {}", seen.method, seen.service))
        .collect();
    assert_eq!(seen, ["POST git-upload-pack"]);
}

#[test]
fn a_lost_race_is_planned_again_on_the_new_tip() {
    let remote = remote();
    let server = GitHttp::start(&remote.bench.dir);
    let rival = Repo {
        dir: remote.repo.dir.clone(),
    };
    let lost = std::sync::atomic::AtomicUsize::new(0);
    server.before_push(move |_| {
        let n = lost.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        if n < 3 {
            let text = format!("{MARKED}# rival {n}\n");
            rival.commit(
                "main",
                "rival",
                &[
                    Change::File("apps/a.yaml", text.as_bytes()),
                    Change::File(&format!("r{n}"), b""),
                ],
            );
        }
    });
    let url = server.url("app.git");
    let (code, document) = remote
        .bench
        .json(&[&["update", "-f", "p.yaml", &url], AUTHOR.as_slice()].concat());
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(remote.content("main"), format!("{BUMPED}# rival 2\n"));
    let log = remote.repo.log("main");
    assert_eq!(log.len(), 5, "first, three rivals, ours");
    assert!(
        log.iter().all(|commit| commit.parents.len() <= 1),
        "history stays linear"
    );
    remote.repo.fsck();
}

#[test]
fn ssh_takes_a_key_and_known_hosts_from_flags_or_a_secret() {
    let Some(server) = bumpwright_testkit::sshd::Sshd::start() else {
        return;
    };
    let remote = remote();
    let key = server.key("id", &["-t", "ed25519"]);
    let key = key.to_str().unwrap();
    let hosts = remote.bench.write("hosts", server.host_line("ed25519"));
    let url = server.url(&remote.repo.dir);
    let arguments = [&["update", "-f", "p.yaml", &url, "--ssh-key", key], AUTHOR.as_slice()].concat();
    // The user's known_hosts do not know the host: refused, nothing pushed.
    let refused = remote.bench.run(&arguments);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("known_hosts"), "{}", refused.err);
    assert_eq!(remote.repo.rev("main").unwrap(), remote.first);
    remote
        .bench
        .ok(&[arguments.as_slice(), &["--known-hosts", hosts.to_str().unwrap()]].concat());
    assert_eq!(remote.content("main"), BUMPED);

    let indented = |path: &std::path::Path| std::fs::read_to_string(path).unwrap().replace('\n', "\n    ");
    let secret = format!(
        "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: login, namespace: fs}}\nstringData:\n  identity: |\n    {}\n  known_hosts: |\n    {}\n",
        indented(std::path::Path::new(key)),
        indented(&hosts)
    );
    let manifests = policy("fs", "app", "ghcr.io/o/app", "3.0.0")
        + &bumpwright_testkit::cli::git_repository(
            "fs",
            "repo",
            &url,
            "  ref: {branch: main}\n  secretRef: {name: login}\n",
        )
        + &secret
        + &bumpwright_testkit::cli::automation("fs", "auto", "repo", "", "");
    remote.bench.write("m.yaml", manifests);
    let (code, document) = remote.bench.json(&["update", "-f", "m.yaml"]);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(remote.repo.log("main").len(), 3);
}

#[test]
fn gits_own_credential_helpers_are_asked_cold_and_warm() {
    let remote = remote();
    let login = Login::Basic("bot".into(), "h3lper-pass".into());
    let server = GitHttp::with(
        &remote.bench.dir,
        Options {
            login,
            ..Options::default()
        },
    );
    let helper = remote.bench.write(
        "helper.sh",
        "#!/bin/sh\n[ \"$1\" = get ] && printf 'username=bot\\npassword=h3lper-pass\\n'\n",
    );
    let config = remote.bench.write(
        "gitconfig",
        format!("[credential]\n\thelper = \"!sh {}\"\n", helper.display()),
    );
    let url = server.url("app.git");
    for tag in ["2.0.0", "3.0.0"] {
        let set = format!("fs:app=ghcr.io/o/app:{tag}");
        let mut command = remote
            .bench
            .command(&[&["update", &url, "--set", &set], AUTHOR.as_slice()].concat());
        let ran = bumpwright_testkit::cli::ran(command.env("GIT_CONFIG_GLOBAL", &config).output().unwrap());
        assert_eq!(ran.code, 0, "{tag}: {}", ran.err);
        assert!(remote.content("main").contains(&format!("app:{tag}'")));
    }
}

/// A foreign repository as the working directory: its settings may name any program.
#[test]
fn helpers_of_the_repository_one_stands_in_are_not_asked() {
    let remote = remote();
    let login = Login::Basic("bot".into(), "h3lper-pass".into());
    let server = GitHttp::with(
        &remote.bench.dir,
        Options {
            login,
            ..Options::default()
        },
    );
    let (folder, canary) = (remote.bench.path("stranger"), remote.bench.path("canary"));
    std::fs::create_dir(&folder).unwrap();
    bumpwright_testkit::repo::run(bumpwright_testkit::repo::git(&folder).args(["init", "-q"]));
    let helper = format!("!touch {}; :", canary.display());
    bumpwright_testkit::repo::run(bumpwright_testkit::repo::git(&folder).args([
        "config",
        "credential.helper",
        &helper,
    ]));
    // Git itself asks it.
    let asked = bumpwright_testkit::repo::git(&folder)
        .args(["ls-remote", &server.url("app.git")])
        .output();
    assert!(!asked.unwrap().status.success());
    std::fs::remove_file(&canary).unwrap();
    let url = server.url("app.git");
    let mut command = remote.bench.command(
        &[
            &["update", "--dry-run", &url, "--set", "fs:app=ghcr.io/o/app:2.0.0"],
            AUTHOR.as_slice(),
        ]
        .concat(),
    );
    let ran = bumpwright_testkit::cli::ran(command.current_dir(&folder).output().unwrap());
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("authentication required"), "{}", ran.err);
    assert!(!canary.exists());
}

#[test]
fn a_branch_that_git_would_not_take_is_refused_in_a_preview_too() {
    let remote = remote();
    let (code, document) = remote.update(&["--push-branch", "bad..name", "--dry-run"]);
    assert_eq!(code, 2);
    let error = document["runs"][0]["error"].as_str().unwrap();
    assert!(
        error.contains("\"refs/heads/bad..name\" is not a valid reference name (git check-ref-format)"),
        "{error}"
    );
}

#[test]
fn repositories_with_sha256_ids_and_lfs_pointers_are_updated_like_others() {
    let bench = Bench::new();
    let repo = Repo::init_with(bench.path("new.git"), &["--object-format=sha256"]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let files = [
        Change::File("a.yaml", MARKED.as_bytes()),
        Change::File("big.yaml", pointer.as_bytes()),
    ];
    repo.commit("main", "first", &files);
    let url = format!("file://{}", repo.dir.display());
    for tag in ["2.0.0", "3.0.0"] {
        let set = format!("fs:app=ghcr.io/o/app:{tag}");
        let (code, document) = bench.json(&[&["update", &url, "--set", &set], AUTHOR.as_slice()].concat());
        assert_eq!(code, 0, "{document:#}");
        assert_eq!(document["runs"][0]["commit"]["id"], repo.rev("main").unwrap().as_str());
    }
    assert_eq!(repo.rev("main").unwrap().len(), 64);
    assert_eq!(repo.show("main", "big.yaml"), pointer.as_bytes());
    assert!(
        String::from_utf8(repo.show("main", "a.yaml"))
            .unwrap()
            .contains("app:3.0.0'")
    );
    repo.fsck();
}
