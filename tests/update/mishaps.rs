//! `bumpwright update` with odd input and errors, at a terminal and in a CI job.

use bumpwright_testkit::cli::{Bench, automation, files, git_repository, policy, ran};
use bumpwright_testkit::git_http::{GitHttp, Login, Options};
use bumpwright_testkit::repo::{self, Change};

const MARKED: &str = "image: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";
const BUMPED: &str = "image: ghcr.io/o/app:2.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";
const BOT: [&str; 2] = ["--author", "Bot <bot@example.com>"];

fn app() -> String {
    policy("fs", "app", "ghcr.io/o/app", "2.0.0")
}

/// `work` with a marked file, in a repository whose only commit holds it; the policy stands beside.
fn working_repository(bench: &Bench) -> std::path::PathBuf {
    bench.write("work/a.yaml", MARKED);
    bench.write("p.yaml", app());
    let dir = bench.path("work");
    repo::run(repo::git(&dir).args(["init", "-q", "--initial-branch=trunk"]));
    repo::run(repo::git(&dir).args(["add", "."]));
    repo::run(repo::git(&dir).args(["commit", "-q", "-m", "first"]));
    dir
}

fn hook(dir: &std::path::Path, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join(".git/hooks").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Settings of a repository that would each run `program` when git does something there.
fn trapped(dir: &std::path::Path, program: &str) {
    let git_folder = if dir.join(".git").is_dir() {
        dir.join(".git")
    } else {
        dir.to_owned()
    };
    let settings = format!(
        "[core]\nfsmonitor = {program}\nsshCommand = {program}\npager = {program}\neditor = {program}\n\
         attributesFile = {attributes}\n\
         [diff]\nexternal = {program}\n[diff \"x\"]\ntextconv = {program}\ncommand = {program}\n\
         [filter \"x\"]\nclean = {program}\nsmudge = {program}\nrequired = true\n[include]\npath = {included}\n\
         [alias]\ndiff = !{program}\n[pager]\ndiff = {program}\nconfig = {program}\n[gpg]\nprogram = {program}\n\
         [commit]\ngpgsign = true\n[credential]\nhelper = !{program}\n[uploadpack]\npackObjectsHook = {program}\n",
        attributes = git_folder.join("traps").display(),
        included = git_folder.join("more").display(),
    );
    std::fs::write(git_folder.join("traps"), "a.yaml filter=x diff=x\nb.yaml filter=y.Z\n").unwrap();
    std::fs::write(
        git_folder.join("more"),
        format!("[filter \"y.Z\"]\nprocess = {program}\n"),
    )
    .unwrap();
    let config = git_folder.join("config");
    let own = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, own + &settings).unwrap();
    for hook in [
        "post-index-change",
        "fsmonitor-watchman",
        "reference-transaction",
        "pre-commit",
    ] {
        std::os::unix::fs::symlink(program, git_folder.join("hooks").join(hook)).unwrap();
    }
}

/// A dry run is as harmless as reading the files, for any repository.
#[test]
fn a_dry_run_starts_no_program_that_the_repository_names() {
    let bench = Bench::new();
    let dir = working_repository(&bench);
    bench.write("work/b.yaml", MARKED);
    repo::run(repo::git(&dir).args(["add", "."]));
    repo::run(repo::git(&dir).args(["commit", "-q", "-m", "second"]));
    repo::run(repo::git(&bench.dir).args(["clone", "-q", "--bare", "work", "bare.git"]));
    let canary = bench.path("canary");
    let program = bench.write("trap", format!("#!/bin/sh\ntouch {}\ncat\n", canary.display()));
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let sprung = || std::fs::remove_file(&canary).is_ok();
    trapped(&dir, program.to_str().unwrap());
    // Newer than what git knows of the files, so that it has to look into them.
    let touch = || ["work/a.yaml", "work/b.yaml"].map(|file| bench.write(file, MARKED));
    touch();
    let _ = repo::git(&dir).args(["diff", "--name-only", "HEAD"]).output().unwrap();
    assert!(sprung(), "the traps are armed");

    for commit in [&["--commit"][..], &["--commit", "--no-sign"], &[]] {
        touch();
        let arguments = [&["update", "work", "-f", "p.yaml", "--dry-run"], commit].concat();
        let ran = bench.ok(&arguments);
        assert!(ran.out.contains("2 fields in 2 files"), "{}", ran.out);
        assert!(!sprung(), "{arguments:?}");
    }
    // Also when git lacks objects, which it would fetch with programs of the settings.
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", "ssh://host.invalid/x"),
    ] {
        repo::run(repo::git(&dir).args(["config", key, value]));
    }
    let tree = repo::run_text(repo::git(&dir).args(["-c", "core.fsmonitor=", "rev-parse", "HEAD^{tree}"]));
    let (folder, file) = tree.trim().split_at(2);
    std::fs::remove_file(dir.join(".git/objects").join(folder).join(file)).unwrap();
    sprung();
    let ran = bench.run(&["update", "work", "-f", "p.yaml", "--dry-run", "--commit"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(!sprung(), "objects were fetched");

    trapped(&bench.path("bare.git"), program.to_str().unwrap());
    let ran = bench.ok(&["update", "bare.git", "-f", "p.yaml", "--dry-run"]);
    assert!(ran.out.contains("2 fields in 2 files"), "{}", ran.out);
    assert!(!sprung(), "a bare repository");
}

/// A filter that cannot be switched off by its name is not run either.
#[test]
fn a_dry_run_refuses_a_filter_that_it_cannot_leave_out() {
    let bench = Bench::new();
    let dir = working_repository(&bench);
    let canary = bench.path("canary");
    let touch = format!("touch {}; cat", canary.display());
    repo::run(repo::git(&dir).args(["config", "filter.a=b.clean", &touch]));
    std::fs::write(dir.join(".git/info/attributes"), "*.yaml filter=a=b\n").unwrap();
    bench.write("work/a.yaml", MARKED);
    let ran = bench.run(&["update", "work", "-f", "p.yaml", "--dry-run", "--commit"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("filter.a=b: git cannot be told"), "{}", ran.err);
    assert!(!canary.exists());
}

#[test]
fn json_is_one_document_also_when_nothing_could_be_planned() {
    let bench = Bench::new();
    bench.write("broken.yaml", "a: [\n");
    let cases: &[(&[&str], &str)] = &[
        (&["update", "-f", "broken.yaml"], "broken.yaml:1:"),
        (&["update", "none"], "none: No such file"),
        (&["update", ""], "TARGET is empty"),
        (&["update", "--branch", "x"], "--branch needs a remote"),
        (&["update", "--set", "fs:app=o/app"], "give a tag, a digest or both"),
    ];
    for (arguments, text) in cases {
        let (code, document) = bench.json(arguments);
        assert_eq!(code, 2, "{document:#}");
        assert_eq!(document["version"], 1);
        let error = document["runs"][0]["error"].as_str().unwrap();
        assert!(error.contains(text), "{arguments:?}: {error}");
        assert_eq!(document["runs"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn an_empty_variable_in_ci_is_no_branch() {
    let bench = Bench::new();
    for flag in ["--branch", "--push-branch", "--refspec", "--push-option", "--author"] {
        let ran = bench.run(&["update", "file:///none.git", flag, ""]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("a value is required"), "{flag}: {}", ran.err);
    }
}

#[test]
fn a_password_in_target_is_never_shown() {
    let bench = Bench::new();
    let source = git_repository("fs", "repo", "https://git.example.com/none.git", "");
    let active = source.clone() + &automation("fs", "auto", "repo", "", "");
    let suspended = source + &automation("fs", "auto", "repo", "", "  suspend: true\n");
    bench.write("active.yaml", active);
    bench.write("suspended.yaml", suspended);
    for target in [
        "ftp://u:hunter2@127.0.0.1:1/x.git",
        "http://u:hunter2@127.0.0.1:1/x.git",
        "http:u:hunter2@127.0.0.1:1/x.git",
    ] {
        for manifests in [None, Some("active.yaml"), Some("suspended.yaml")] {
            for output in ["text", "json", "markdown", "diff"] {
                let mut arguments = vec!["update", target, "-o", output];
                arguments.extend(manifests.iter().flat_map(|file| ["-f", file]));
                let ran = bench.run(&arguments);
                assert!(!(ran.out + &ran.err).contains("hunter2"), "{arguments:?}");
            }
        }
    }
    for (path, bytes) in files(bench.home.path()) {
        assert!(
            !path.contains("hunter2") && !String::from_utf8_lossy(&bytes).contains("hunter2"),
            "{path}"
        );
    }
}

#[test]
fn a_flags_secret_wins_over_the_environments_and_bad_ones_are_named() {
    let bench = Bench::new();
    let remote = bench.repository("app.git");
    remote.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
    let options = Options {
        login: Login::Basic("bot".into(), "right".into()),
        ..Options::default()
    };
    let server = GitHttp::with(&bench.dir, options);
    let url = server.url("app.git");
    bench.write("right", "right\n");
    bench.write("empty", "\n");
    bench.write("lines", "one\ntwo\n");
    let update = |more: &[&str], token: &str| {
        let mut command = bench.command(&[&["update", &url, "--dry-run"], more].concat());
        command.env("BUMPWRIGHT_GIT_TOKEN", token);
        ran(command.output().unwrap())
    };
    let login = ["--username", "bot", "--password-file"];
    let good = update(&[login.as_slice(), &["right"]].concat(), "wr0ng");
    assert_eq!(good.code, 0, "{}", good.err);
    let refused = update(&["--username", "bot"], "wr0ng");
    assert_eq!(refused.code, 2);
    assert!(!refused.err.contains("wr0ng"), "{}", refused.err);
    for (more, token, text) in [
        (
            ["--username", "bot", "--password-file", "empty"].as_slice(),
            "",
            "empty: the secret in it is empty",
        ),
        (
            &["--token-file", "lines"],
            "",
            "lines: the secret in it has several lines",
        ),
        (&[], "a\nb", "BUMPWRIGHT_GIT_TOKEN: the secret in it has several lines"),
        (&["--username", "bot"], "", "--username \"bot\" needs a secret"),
        (&["--token-file", "none"], "", "none: No such file"),
    ] {
        let ran = update(more, token);
        assert_eq!(ran.code, 2, "{more:?}");
        assert!(ran.err.contains(text), "{more:?}: {}", ran.err);
    }
}

#[test]
fn the_demo_keeps_out_of_the_repository_of_a_hook() {
    let bench = Bench::new();
    let dir = working_repository(&bench);
    let mut command = bench.command(&["demo"]);
    command
        .env("GIT_DIR", dir.join(".git"))
        .env("GIT_INDEX_FILE", dir.join(".git/index"));
    let demo = ran(command.output().unwrap());
    assert_eq!(demo.code, 0, "{}", demo.err);
    assert_eq!(
        repo::run_text(repo::git(&dir).args(["rev-list", "--count", "--all"])),
        "1"
    );
    assert_eq!(repo::run_text(repo::git(&dir).args(["status", "--porcelain"])), "");
}

#[test]
fn what_is_no_manifest_of_ours_need_not_parse_in_a_folder() {
    let bench = Bench::new();
    bench.write("work/a.yaml", MARKED);
    bench.write("m/p.yaml", app());
    bench.write(
        "m/chart/deployment.yaml",
        "{{- if .x }}\nkind: Deployment\n{{- end }}\n",
    );
    bench.write("m/chart/secret.yaml", "{{- if .x }}\nkind: Secret\n{{- end }}\n");
    bench.ok(&["update", "work", "-f", "m"]);
    assert_eq!(bench.read("work/a.yaml"), BUMPED);
    let named = bench.run(&["update", "work", "-f", "m/chart/deployment.yaml"]);
    assert_eq!(named.code, 2, "a file that is named has to be one");
    bench.write("m/broken.yaml", format!("{}a: [\n", app()));
    let ours = bench.run(&["update", "work", "-f", "m"]);
    assert_eq!(ours.code, 2);
    assert!(ours.err.contains("m/broken.yaml:"), "{}", ours.err);
}

#[test]
fn names_that_move_the_cursor_are_spelled_out() {
    let bench = Bench::new();
    bench.write("a\u{1b}[2J\n.yaml", MARKED);
    let ran = bench.ok(&["update", "--dry-run", "--set", "fs:app=o/app:2"]);
    assert!(ran.out.starts_with("a\\u{1b}[2J\\n.yaml\n"), "{}", ran.out);
}

/// A marker's policy that is nowhere is told with the ways to give it.
#[test]
fn a_policy_that_is_not_known_is_told_with_a_way_out() {
    let bench = Bench::new();
    bench.write("a.yaml", MARKED);
    let ran = bench.ok(&["update", "--dry-run"]);
    assert!(
        ran.out.contains(
            "UnknownPolicy: there is no ImagePolicy fs/app; give its manifest with -f FILE|DIR, in the files of TARGET or in .bumpwright/ at its top, \
             or the folder of its cluster with --fleet PATH"
        ),
        "{}",
        ran.out
    );
}

/// Whoever names a policy means it: nothing is written for the others either.
#[test]
fn a_set_policy_that_no_marker_names_stops_the_run() {
    let bench = Bench::new();
    bench.write("a.yaml", MARKED);
    let set = ["--set", "fs:app=ghcr.io/o/app:2.0.0", "--set", "fs:ap=o/app:2"];
    let ran = bench.run(&[&["update"], set.as_slice()].concat());
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            2,
            "error: --set fs:ap: no marker names this policy, so nothing was changed; did you mean fs:app?\n"
        )
    );
    assert_eq!(bench.read("a.yaml"), MARKED);
    let repo = bench.repository("app.git");
    let first = repo.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
    let remote = ["update", "app.git", "--author", "A <a@b.c>"];
    let ran = bench.run(&[&remote[..], set.as_slice()].concat());
    assert!(ran.code == 2 && ran.err.contains("did you mean fs:app?"), "{}", ran.err);
    assert_eq!(repo.rev("main").unwrap(), first);
    // Each automation has markers of its own, so what is left is known at the end.
    let automations = automation("fs", "one", "repo", "", "") + &automation("fs", "two", "repo", "", "");
    bench.write("m.yaml", automations);
    let ran = bench.run(&[&["update", ".", "-f", "m.yaml"], set.as_slice()].concat());
    assert!(ran.code == 2 && ran.err.contains("did you mean fs:app?"), "{}", ran.err);
}

/// A policy with a field that does not exist is not what its author meant: it chooses nothing,
/// whatever the registry has.
#[test]
fn a_policy_with_an_unknown_field_chooses_nothing() {
    let bench = Bench::new();
    bench.write("a.yaml", MARKED);
    let policy = |spec: &str| {
        format!(
            "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: app, namespace: fs}}\n\
             spec: {{image: 127.0.0.1:1/o/app, interval: 1m}}\n---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\n\
             metadata: {{name: app, namespace: fs}}\nspec:\n  imageRepositoryRef: {{name: app}}\n{spec}  policy: {{alphabetical: {{}}}}\n"
        )
    };
    for (spec, place) in [
        (
            "  filters: {pattern: ^main-}\n",
            "p.yaml:11:3: ImagePolicy fs/app: spec.filters is unknown",
        ),
        (
            "  filterTags: {regex: ^main-}\n",
            "p.yaml:11:16: ImagePolicy fs/app: spec.filterTags.regex is unknown",
        ),
        (
            "  suspended: true\n",
            "p.yaml:11:3: ImagePolicy fs/app: spec.suspended is unknown: did you mean suspend?",
        ),
    ] {
        bench.write("p.yaml", policy(spec));
        let ran = bench.run(&["update", "--strict"]);
        let skip = format!("skipped a.yaml:1:8: PolicyNotReady: {place}");
        assert!(ran.code == 3 && ran.out.contains(&skip), "{}{}", ran.out, ran.err);
        assert_eq!(bench.read("a.yaml"), MARKED);
    }
}

/// PowerShell writes UTF-16: such a file is not UTF-8, which is told if it has a marker.
#[test]
fn files_in_utf16_are_told() {
    let bench = Bench::new();
    for (mark, bytes) in [
        ([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]),
        ([0xfe, 0xff], u16::to_be_bytes),
    ] {
        let text: Vec<u8> = MARKED.encode_utf16().flat_map(bytes).collect();
        bench.write("a.yaml", [&mark[..], &text].concat());
        let ran = bench.run(&["update", "--strict", "--set", "fs:app=ghcr.io/o/app:2.0.0"]);
        let skip = "skipped a.yaml:1:1: Unparsable: ";
        assert!(
            ran.code == 3 && ran.out.contains(skip) && ran.out.contains("save the file as UTF-8"),
            "{}{}",
            ran.out,
            ran.err
        );
    }
}

#[test]
fn a_digest_alone_can_be_set_and_a_tag_field_is_then_skipped() {
    let bench = Bench::new();
    let tag = "tag: 1.0.0 # {\"$imagepolicy\": \"fs:app:tag\"}\n";
    bench.write("a.yaml", MARKED.to_owned() + tag);
    let digest = format!("ghcr.io/o/app@sha256:{}", "0".repeat(64));
    let (code, document) = bench.json(&["update", "--set", &format!("fs:app={digest}")]);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(
        bench.read("a.yaml"),
        MARKED.replace("ghcr.io/o/app:1.0.0", &digest) + tag
    );
    assert_eq!(document["runs"][0]["skips"][0]["reason"], "PolicyNotReady");
}

#[test]
fn a_preview_of_several_automations_tells_what_they_do_one_after_the_other() {
    let bench = Bench::new();
    let dir = working_repository(&bench);
    bench.write(
        "work/a.yaml",
        format!("{MARKED}b: o/b:1 # {{\"$imagepolicy\": \"other:b\"}}\n"),
    );
    let manifests = app()
        + &policy("other", "b", "o/b", "2")
        + &git_repository("fs", "repo", "https://git.example.com/none.git", "")
        + &automation("fs", "one", "repo", "", "")
        + &automation("fs", "two", "repo", "", "")
        + &automation("other", "three", "repo", "", "")
        + &automation("fs", "four", "repo", "", "  suspend: true\n");
    bench.write("m.yaml", manifests);
    let ran = bench.ok(&["update", "work", "-f", "m.yaml", "--dry-run", "-o", "diff"]);
    let diff = bench.write("the.diff", &ran.out);
    let preview = bench.ok(&["update", "work", "-f", "m.yaml", "--dry-run"]).out;
    let real = bench.ok(&["update", "work", "-f", "m.yaml"]).out;
    assert_eq!(preview.replace("would edit", "edited"), real);
    assert!(
        real.contains("fs/two work\nnothing to change\n") && real.contains("suspended"),
        "{real}"
    );
    let after = bench.read("work/a.yaml");
    assert_eq!(after, format!("{BUMPED}b: o/b:2 # {{\"$imagepolicy\": \"other:b\"}}\n"));
    bench.write("work/a.yaml", after.replace("2.0.0", "1.0.0").replace("o/b:2", "o/b:1"));
    repo::run(repo::git(&dir).arg("apply").arg(&diff));
    assert_eq!(bench.read("work/a.yaml"), after);
}

#[test]
fn the_same_edit_of_one_branch_stands_once_in_a_diff() {
    let bench = Bench::new();
    let remote = bench.repository("app.git");
    remote.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
    let url = format!("file://{}", remote.dir.display());
    let manifests = app()
        + &git_repository("fs", "repo", &url, "  ref: {branch: main}\n")
        + &automation("fs", "one", "repo", "", "")
        + &automation("fs", "two", "repo", "", "");
    bench.write("m.yaml", manifests);
    let ran = bench.ok(&["update", "-f", "m.yaml", "--dry-run", "-o", "diff"]);
    assert_eq!(ran.out.matches("diff --git").count(), 1, "{}", ran.out);
}

#[test]
fn an_unborn_branch_takes_no_commit_and_says_why() {
    let bench = Bench::new();
    bench.write("work/a.yaml", MARKED);
    bench.write("p.yaml", app());
    repo::run(repo::git(&bench.path("work")).args(["init", "-q"]));
    let ran = bench.run(&[&["update", "work", "-f", "p.yaml", "--commit"], BOT.as_slice()].concat());
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("the repository has no commits; make a first one"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("not completed: 1 field in 1 file"), "{}", ran.out);
    assert_eq!(bench.read("work/a.yaml"), MARKED);
}

#[test]
fn what_a_hook_makes_of_the_message_is_reported() {
    let bench = Bench::new();
    let dir = working_repository(&bench);
    hook(&dir, "commit-msg", "printf '\\n\\nChange-Id: I1' >> \"$1\"");
    let arguments = [
        &["update", "work", "-f", "p.yaml", "--commit", "--message", "bump"],
        BOT.as_slice(),
    ]
    .concat();
    let (code, document) = bench.json(&arguments);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(document["runs"][0]["commit"]["message"], "bump\n\nChange-Id: I1");
}

#[test]
fn a_hook_that_says_nothing_and_changes_files_leaves_them_as_they_were() {
    let bench = Bench::new();
    let dir = working_repository(&bench);
    hook(&dir, "pre-commit", "echo more >> a.yaml; exit 1");
    let ran = bench.run(&[&["update", "work", "-f", "p.yaml", "--commit"], BOT.as_slice()].concat());
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("a hook may have"), "{}", ran.err);
    assert_eq!(bench.read("work/a.yaml"), MARKED);
    assert_eq!(repo::run_text(repo::git(&dir).args(["status", "--porcelain"])), "");
}

#[test]
fn a_commit_that_was_made_is_not_undone_when_git_dies_after_it() {
    let bench = Bench::new();
    let dir = working_repository(&bench);
    hook(&dir, "post-commit", "kill -KILL $PPID");
    let ran = bench.run(&[&["update", "work", "-f", "p.yaml", "--commit"], BOT.as_slice()].concat());
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("HEAD has moved meanwhile"), "{}", ran.err);
    assert_eq!(bench.read("work/a.yaml"), BUMPED);
    assert_eq!(repo::run_text(repo::git(&dir).args(["status", "--porcelain"])), "");
}

#[test]
fn the_target_is_committed_to_also_from_a_hook_of_another_repository() {
    let bench = Bench::new();
    let dir = working_repository(&bench);
    let other = bench.path("other");
    std::fs::create_dir(&other).unwrap();
    repo::run(repo::git(&other).args(["init", "-q"]));
    let mut command = bench.command(&[&["update", "work", "-f", "p.yaml", "--commit"], BOT.as_slice()].concat());
    let git = other.join(".git");
    command
        .env("GIT_DIR", &git)
        .env("GIT_INDEX_FILE", git.join("index"))
        .env("GIT_PREFIX", "");
    let ran = ran(command.output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        repo::run_text(repo::git(&dir).args(["rev-list", "--count", "HEAD"])),
        "2"
    );
}

#[test]
fn an_interrupted_commit_changes_nothing() {
    let bench = Bench::new();
    let dir = working_repository(&bench);
    // The hook runs while the edited file stands there: the worst moment for a signal to the whole group.
    hook(
        &dir,
        "pre-commit",
        "touch reached; kill -TERM $PPID; kill -TERM \"$(cat pid)\"; sleep 1; exit 1",
    );
    let line = "echo $$ > work/pid; exec \"$0\" \"$@\"";
    let binary = env!("CARGO_BIN_EXE_bumpwright");
    let arguments = [&["update", "work", "-f", "p.yaml", "--commit"], BOT.as_slice()].concat();
    let inner = bench.command(&arguments);
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", line, binary])
        .args(&arguments)
        .current_dir(&bench.dir);
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let ran = ran(command.output().unwrap());
    assert!(bench.path("work/reached").exists(), "{}", ran.err);
    assert_eq!(ran.code, 2, "a process that a signal ended has no code: {}", ran.err);
    assert_eq!(bench.read("work/a.yaml"), MARKED);
    assert_eq!(
        repo::run_text(repo::git(&dir).args(["rev-list", "--count", "HEAD"])),
        "1"
    );
}

#[test]
fn what_cannot_be_read_is_a_skip() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    bench.write("a.yaml", MARKED);
    let locked = bench.write("b/locked.yaml", MARKED);
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&locked).is_ok() {
        // The superuser reads everything.
        return;
    }
    let (code, document) = bench.json(&["update", "--set", "fs:app=ghcr.io/o/app:2.0.0"]);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(bench.read("a.yaml"), BUMPED);
    assert_eq!(document["runs"][0]["skips"][0]["path"], "b/locked.yaml");
}

#[test]
fn a_relative_cache_folder_of_the_desktop_is_ignored() {
    let bench = Bench::new();
    let remote = bench.repository("app.git");
    remote.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
    let mut command = bench.command(&["update", "app.git", "--dry-run"]);
    command.env_remove("BUMPWRIGHT_CACHE").env("XDG_CACHE_HOME", "relative");
    assert_eq!(ran(command.output().unwrap()).code, 0);
    assert!(!bench.path("relative").exists() && bench.home.path().join(".cache/bumpwright").exists());
    let mut command = bench.command(&["update", "app.git", "--dry-run"]);
    command
        .env_remove("BUMPWRIGHT_CACHE")
        .env_remove("XDG_CACHE_HOME")
        .env_remove("HOME");
    let homeless = ran(command.output().unwrap());
    assert_eq!(homeless.code, 2);
    assert!(homeless.err.contains("set BUMPWRIGHT_CACHE"), "{}", homeless.err);
}

#[test]
fn a_full_disk_at_the_output_is_an_error() {
    let bench = Bench::new();
    bench.write("a.yaml", MARKED);
    let mut command = bench.command(&["update", "--dry-run", "--set", "fs:app=o/app:2"]);
    command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let ran = ran(command.output().unwrap());
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("standard output: No space left"), "{}", ran.err);
}
