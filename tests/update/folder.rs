//! `bumpwright update` on folders and files, as its user runs it (docs/cli.md, *`update`: what TARGET means*,
//! rules 1 to 5).

use bumpwright_testkit::cli::{Bench, automation, files, git_repository, policy};
use bumpwright_testkit::repo;

const MARKED: &str = "image: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";
const BUMPED: &str = "image: ghcr.io/o/app:2.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";

fn app() -> String {
    policy("fs", "app", "ghcr.io/o/app", "2.0.0")
}

#[test]
fn marked_fields_of_the_current_folder_are_edited_with_the_policies_found_there() {
    let bench = Bench::new();
    bench.write("apps/a.yaml", MARKED);
    bench.write("apps/other.yaml", "image: ghcr.io/o/app:1.0.0\n");
    bench.write("policies/app.yaml", app());
    let ran = bench.ok(&["update"]);
    assert_eq!(bench.read("apps/a.yaml"), BUMPED);
    assert_eq!(bench.read("apps/other.yaml"), "image: ghcr.io/o/app:1.0.0\n");
    assert!(ran.out.contains("apps/a.yaml\n"), "{}", ran.out);
    assert!(
        ran.out
            .contains("1:8  ghcr.io/o/app:1.0.0 → ghcr.io/o/app:2.0.0  (fs:app)"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("edited 1 field in 1 file"), "{}", ran.out);
    let again = bench.ok(&["update"]);
    assert_eq!(again.out, "nothing to change\n");
}

/// Somebody has a newer version than the policy allows: it goes, and not in silence.
#[test]
fn an_image_that_goes_back_is_noted() {
    let bench = Bench::new();
    let newer = MARKED.replace("1.0.0", "3.0.0");
    bench.write("a.yaml", &newer);
    bench.write("p.yaml", app());
    let note = "note: fs/app goes from 3.0.0 to 2.0.0: older than what is in the files, since the policy allows nothing newer; to keep a newer \
                version, annotate the policy with bumpwright.dev/allow-downgrade";
    let told = |arguments: &[&str]| {
        let ran = bench.ok(arguments);
        ran.out + &ran.err
    };
    let text = told(&["update", "--dry-run"]);
    assert!(text.contains(note), "{text}");
    // Who sets an older version means it.
    let text = told(&["update", "--dry-run", "--set", "fs:app=ghcr.io/o/app:1.0.0"]);
    assert!(text.contains("3.0.0 → ") && !text.contains("goes from"), "{text}");
    bench.write("a.yaml", MARKED);
    let text = told(&["update", "--dry-run"]);
    assert!(!text.contains("goes from"), "{text}");
}

#[test]
fn a_dry_run_writes_nothing_and_its_diff_applies() {
    let bench = Bench::new();
    bench.write("a.yaml", MARKED);
    bench.write(
        "sub/with blank.yaml",
        format!("\u{feff}x: 1\r\n{}", MARKED.replace('\n', "\r\n")),
    );
    bench.write("p.yaml", app());
    let before = files(&bench.dir);
    let ran = bench.ok(&["update", "--dry-run", "--output", "diff"]);
    assert_eq!(files(&bench.dir), before);
    bench.write("the.diff", &ran.out);
    repo::run(repo::git(&bench.dir).args(["apply", "the.diff"]));
    std::fs::remove_file(bench.path("the.diff")).unwrap();
    let by_diff = files(&bench.dir);
    for (name, bytes) in &before {
        std::fs::write(bench.path(name), bytes).unwrap();
    }
    bench.ok(&["update"]);
    assert_eq!(files(&bench.dir), by_diff);
    assert_eq!(bench.read("a.yaml"), BUMPED);
    let again = bench.ok(&["update", "--dry-run", "--output", "diff"]);
    assert_eq!(
        (again.out.as_str(), again.err.as_str()),
        ("", "note: nothing to change\n")
    );
}

#[test]
fn exit_codes_tell_changes_skips_and_errors() {
    let bench = Bench::new();
    bench.write("a.yaml", MARKED);
    bench.write("p.yaml", app());
    assert_eq!(bench.run(&["update", "--dry-run"]).code, 0);
    assert_eq!(bench.run(&["update", "--dry-run", "--exit-code"]).code, 1);
    bench.write("skip.yaml", "image: x # {\"$imagepolicy\": \"fs:nope\"}\n");
    assert_eq!(bench.run(&["update", "--dry-run", "--exit-code", "--strict"]).code, 3);
    assert_eq!(bench.run(&["update", "--exit-code"]).code, 1);
    assert_eq!(bench.run(&["update", "--exit-code"]).code, 0);
    assert_eq!(bench.run(&["update", "--strict"]).code, 3);
    let missing = bench.run(&["update", "--strict", "--path", "none"]);
    assert_eq!(missing.code, 2);
    assert!(
        missing.err.contains("update path \"none\" does not exist"),
        "{}",
        missing.err
    );
}

#[test]
fn strict_markers_are_those_that_somebody_has_to_correct() {
    let bench = Bench::new();
    bench.write("a.yaml", MARKED);
    let held = "metadata: {annotations: {bumpwright.dev/hold: later}, name";
    for (policy, code) in [
        (app().split("status:").next().unwrap().to_owned(), 3),
        (app().replace("metadata: {name", held), 3),
        (app(), 0),
    ] {
        bench.write("p.yaml", policy);
        let dry = ["update", "--dry-run", "--offline"];
        assert_eq!(bench.run(&[&dry[..], &["--strict"]].concat()).code, code);
        assert_eq!(bench.run(&[&dry[..], &["--strict=all"]].concat()).code, code);
        assert_eq!(bench.run(&[&dry[..], &["--strict=markers"]].concat()).code, 0);
    }
    // Of the markers that are right, whose registry is not asked, there is a count; so a wrong one is seen.
    bench.write("p.yaml", app().split("status:").next().unwrap());
    bench.write("b.yaml", MARKED.replace("fs:app", "fs:nope"));
    let flags = ["update", "--dry-run", "--offline", "--strict=markers"];
    let ran = bench.run(&flags);
    let counted =
        "note: 1 field with a valid marker and no known image: offline, no registry is asked; --verbose lists them\n";
    assert!(ran.code == 3 && ran.out.contains(counted), "{}{}", ran.out, ran.err);
    assert_eq!(ran.out.matches("skipped ").count(), 1, "{}", ran.out);
    assert!(ran.out.contains("skipped b.yaml:1:8: UnknownPolicy"), "{}", ran.out);
    let all = bench.run(&[&flags[..], &["--verbose"]].concat()).out;
    assert!(
        all.contains("skipped a.yaml:1:8: PolicyNotReady") && !all.contains("note: 1 field"),
        "{all}"
    );
    bench.write("p.yaml", app());
    for wrong in ["\"fs:nope\"", "fs:app\"", "\"fs:app\"}\nx: [ # {"] {
        bench.write("b.yaml", MARKED.replace("\"fs:app\"", wrong));
        assert_eq!(
            bench.run(&["update", "--dry-run", "--strict=markers"]).code,
            3,
            "{wrong}"
        );
    }
}

#[test]
fn a_summary_is_appended_whatever_the_output_is() {
    let bench = Bench::new();
    bench.write("a.yaml", format!("{MARKED}# {MARKED}"));
    bench.write("p.yaml", app());
    let page = bench.home.path().join("page.md");
    std::fs::write(&page, "# Job\n").unwrap();
    let markdown = bench.ok(&["update", "--dry-run", "--output", "markdown"]).out;
    let summary = ["update", "--dry-run", "--summary", page.to_str().unwrap()];
    for output in ["text", "json", "diff"] {
        let told = bench.ok(&["update", "--dry-run", "--output", output]).out;
        assert_eq!(bench.ok(&[&summary[..], &["--output", output]].concat()).out, told);
    }
    assert_eq!(
        std::fs::read_to_string(&page).unwrap(),
        format!("# Job\n{}", markdown.repeat(3))
    );
    let failed = bench.run(&[&summary[..], &["-f", "none.yaml"]].concat());
    assert!(
        failed.code == 2
            && std::fs::read_to_string(&page)
                .unwrap()
                .contains("**Failed:** none.yaml")
    );
    let nowhere = bench.run(&["update", "--dry-run", "--summary", "none/page.md"]);
    assert!(
        nowhere.code == 2 && nowhere.err.contains("--summary none/page.md: No such file"),
        "{}",
        nowhere.err
    );
    assert!(
        nowhere.out.contains("2.0.0"),
        "what was done is told all the same: {}",
        nowhere.out
    );
}

/// Only who asks for everything is told of them: they are not there by mistake.
#[test]
fn fields_that_are_commented_out_are_told_with_verbose_and_in_json_only() {
    let bench = Bench::new();
    let both = format!("{MARKED}# {MARKED}");
    bench.write("a.yaml", &both);
    bench.write("p.yaml", app());
    let told = "a.yaml:2:1: Commented: the field is commented out with its marker";
    for output in ["text", "markdown", "diff"] {
        let ran = bench.ok(&["update", "--dry-run", "--strict", "--output", output]);
        assert!(!(ran.out + &ran.err).contains("ommented"), "{output}");
        let ran = bench.ok(&["update", "--dry-run", "--strict", "--verbose", "--output", output]);
        let all = ran.out + &ran.err;
        assert!(all.contains("the field is commented out"), "{output}: {all}");
        assert!(output == "markdown" || all.contains(told), "{output}: {all}");
    }
    let (code, document) = bench.json(&["update", "--strict"]);
    assert_eq!(code, 0, "{document}");
    assert_eq!(document["runs"][0]["skips"][0]["reason"], "Commented");
    assert_eq!(bench.read("a.yaml"), format!("{BUMPED}# {MARKED}"));
    // What does count still does.
    bench.write("b.yaml", "image: x # {\"$imagepolicy\": \"fs:nope\"}\n");
    let ran = bench.run(&["update", "--dry-run", "--strict"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.out.contains("UnknownPolicy") && !ran.out.contains("Commented"),
        "{}",
        ran.out
    );
}

#[test]
fn usage_errors_are_code_2_and_say_what_to_do() {
    let bench = Bench::new();
    bench.write("a.yaml", MARKED);
    let cases: &[(&[&str], &str)] = &[
        (
            &["update", "none"],
            "TARGET is a folder, a file, a bare repository, or a Git URL",
        ),
        (&["update", "--branch", "x"], "--branch needs a remote"),
        (&["update", "--push-branch", "x"], "--push-branch needs a remote"),
        (&["update", "--refspec", "a:b"], "--refspec needs a remote"),
        (&["update", "--push-option", "a=b"], "--push-option needs a remote"),
        (&["update", "--author", "A <a@b>"], "--author needs --commit"),
        (&["update", "--message", "m"], "--message needs --commit"),
        (&["update", "--author", "A", "--commit"], "expected 'Name <mail>'"),
        (&["update", "--set", "fs=x:1"], "expected NS:POLICY=IMAGE"),
        (&["update", "-f", "none.yaml"], "none.yaml: No such file"),
        (
            &["update", "a.yaml", "--path", "x"],
            "--path cannot be used when TARGET is a file",
        ),
        (&["update", "--nonsense"], "unexpected argument"),
    ];
    for (arguments, text) in cases {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{arguments:?}: {}", ran.err);
        assert_eq!(bench.read("a.yaml"), MARKED);
    }
}

#[test]
fn the_json_document_has_its_shape() {
    let bench = Bench::new();
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app, namespace: prod}\nspec:\n  image: o/app:1 # {\"$imagepolicy\": \"fs:app\"}\n";
    bench.write("apps/d.yaml", deployment);
    bench.write("apps/e.yaml", "\n  tag: 1 # {\"$imagepolicy\": \"fs:nope:tag\"}\n");
    bench.write("p.yaml", app());
    let (code, document) = bench.json(&["update", "--path", "apps"]);
    assert_eq!(code, 0);
    let expected = serde_json::json!({
        "version": 1,
        "runs": [{
            "automation": null,
            "changes": [{
                "path": "apps/d.yaml", "line": 5, "column": 10, "old": "o/app:1", "new": "ghcr.io/o/app:2.0.0",
                "policy": "fs/app", "setter": "fs:app",
                "object": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": "app"}
            }],
            "skips": [{
                "path": "apps/e.yaml", "line": 2, "column": 8, "reason": "UnknownPolicy",
                "message": document["runs"][0]["skips"][0]["message"]
            }],
            "commit": null, "pushes": [], "error": null
        }]
    });
    assert_eq!(document, expected);
}

#[test]
fn markdown_is_headed_by_the_name_of_the_folder() {
    let bench = Bench::new();
    bench.write("my-fleet/apps/a.yaml", MARKED);
    bench.write("my-fleet/p.yaml", app());
    let folder = bench.path("my-fleet");
    let up = format!("{}/apps/..", folder.display());
    for target in ["my-fleet", &up] {
        let out = bench.ok(&["update", target, "--dry-run", "--output", "markdown"]).out;
        assert!(out.starts_with("## my-fleet\n\n"), "{target}: {out}");
    }
    let mut here = bench.command(&["update", "--dry-run", "--output", "markdown"]);
    let output = here.current_dir(&folder).output().unwrap();
    assert!(output.stdout.starts_with(b"## my-fleet\n\n"), "{output:?}");
    // A run that cannot begin, too.
    let failed = bench.run(&["update", "--output", "markdown", "-f", "none.yaml", "my-fleet/apps/.."]);
    assert!(failed.out.starts_with("## my-fleet\n\n**Failed:** "), "{}", failed.out);
}

#[test]
fn markdown_is_a_table_of_what_changed() {
    let bench = Bench::new();
    bench.write("a.yaml", MARKED);
    bench.write("p.yaml", app());
    let ran = bench.ok(&["update", "--dry-run", "--output", "markdown"]);
    assert!(
        ran.out
            .contains("| ghcr.io/o/app | `1.0.0` → `2.0.0` | fs/app | `a.yaml:1` |"),
        "{}",
        ran.out
    );
}

/// Fields that change in the same way are one row; with a remote whose forge is known, places and commits are links.
#[test]
fn reports_link_to_the_forge() {
    let bench = Bench::new();
    let run = |arguments: &[&str]| repo::run(repo::git(&bench.dir).args(arguments));
    run(&["init", "-q", "--initial-branch=main"]);
    run(&["remote", "add", "origin", "git@github.com:acme/fleet.git"]);
    bench.write("apps/a.yaml", MARKED);
    bench.write("apps/b <i>.yaml", format!("# one line\n{MARKED}"));
    bench.write("p.yaml", app());
    let told = |output: &str| {
        bench
            .ok(&["update", "apps", "-f", "p.yaml", "--dry-run", "--output", output])
            .out
    };
    // Before the first commit there is no page.
    assert!(
        told("markdown").contains("| fs/app | `a.yaml:1`, `b <i>.yaml:2` |"),
        "{}",
        told("markdown")
    );
    run(&["add", "."]);
    run(&["commit", "-q", "-m", "one"]);
    let head = repo::run_text(repo::git(&bench.dir).args(["rev-parse", "HEAD"]));
    let page = format!("https://github.com/acme/fleet/blob/{}/apps", head.trim());
    let row = format!(
        "| ghcr.io/o/app | `1.0.0` → `2.0.0` | fs/app | [`a.yaml:1`]({page}/a.yaml#L1), \
         [`b <i>.yaml:2`]({page}/b%20%3Ci%3E.yaml#L2) |"
    );
    assert!(told("markdown").contains(&row), "{}", told("markdown"));
    let html = told("html");
    for text in [
        &format!("<a href=\"{page}/a.yaml#L1\" rel=\"noreferrer\"><code>a.yaml:1</code></a>"),
        "<code>1.0.0</code>",
        "b &lt;i&gt;.yaml:2",
        "<span class=\"add\">+image: ghcr.io/o/app:2.0.0",
        "<style>",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    assert!(
        html.starts_with("<!doctype html>") && !html.contains("<script"),
        "{html}"
    );
    // A run that cannot begin is reported, too.
    let failed = bench.run(&["update", "--output", "html", "-f", "none.yaml"]);
    assert!(
        failed.code == 2 && failed.out.contains("<span class=\"badge bad\">failed</span>"),
        "{}",
        failed.out
    );
}

#[test]
fn manifests_given_win_over_those_found() {
    let bench = Bench::new();
    bench.write("repo/a.yaml", MARKED);
    bench.write("repo/p.yaml", app());
    bench.write("p3.yaml", policy("fs", "app", "ghcr.io/o/app", "3.0.0"));
    bench.ok(&["update", "repo", "-f", "p3.yaml"]);
    assert!(bench.read("repo/a.yaml").contains("app:3.0.0 #"));
    let digest = format!("sha256:{}", "0a".repeat(32));
    bench.ok(&[
        "update",
        "repo",
        "--set",
        &format!("fs:app=ghcr.io/o/app:4.0.0@{digest}"),
    ]);
    assert!(bench.read("repo/a.yaml").contains(&format!("app:4.0.0@{digest} #")));
    bench.write("p4.yaml", policy("fs", "app", "ghcr.io/o/app", "5.0.0"));
    let two = bench.run(&["update", "repo", "-f", "p3.yaml", "-f", "p4.yaml"]);
    assert_eq!(two.code, 2);
    assert!(
        two.err.contains("p3.yaml:") && two.err.contains("p4.yaml:"),
        "{}",
        two.err
    );
}

#[test]
fn a_single_file_is_edited_in_place() {
    let bench = Bench::new();
    bench.write("a.yaml", MARKED);
    bench.write("b.yaml", MARKED);
    bench.ok(&["update", "a.yaml", "--set", "fs:app=ghcr.io/o/app:2.0.0"]);
    assert_eq!(
        (bench.read("a.yaml").as_str(), bench.read("b.yaml").as_str()),
        (BUMPED, MARKED)
    );
}

#[cfg(unix)]
#[test]
fn modes_stay_and_links_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let bench = Bench::new();
    let outside = bench.write("outside/x.yaml", MARKED);
    let file = bench.write("repo/run.yaml", MARKED);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o754)).unwrap();
    symlink(&outside, bench.path("repo/link.yaml")).unwrap();
    symlink(bench.path("outside"), bench.path("repo/dir")).unwrap();
    bench.write("repo/sub/.git", "gitdir: ../.git/modules/sub\n");
    bench.write("repo/sub/x.yaml", MARKED);
    bench.ok(&["update", "repo", "--set", "fs:app=ghcr.io/o/app:2.0.0"]);
    assert_eq!(bench.read("repo/run.yaml"), BUMPED);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o754);
    assert_eq!(bench.read("outside/x.yaml"), MARKED);
    assert!(bench.path("repo/link.yaml").is_symlink());
    assert_eq!(
        bench.read("repo/sub/x.yaml"),
        MARKED,
        "a submodule is another repository"
    );
}

#[test]
fn an_automation_lends_its_path_selector_and_namespace_to_a_folder() {
    let bench = Bench::new();
    bench.write("repo/apps/a.yaml", MARKED);
    bench.write("repo/apps/b.yaml", "image: o/b:1 # {\"$imagepolicy\": \"other:b\"}\n");
    bench.write("repo/infra/a.yaml", MARKED);
    let manifests = app()
        + &policy("other", "b", "o/b", "2")
        + &git_repository("fs", "repo", "https://git.example.com/none.git", "")
        + &automation("fs", "auto", "repo", "", "  update: {path: ./apps}\n");
    bench.write("manifests/all.yaml", manifests);
    let (code, document) = bench.json(&["update", "-f", "manifests", "repo"]);
    assert_eq!(code, 0, "{document}");
    assert_eq!(document["runs"][0]["automation"], "fs/auto");
    assert_eq!(bench.read("repo/apps/a.yaml"), BUMPED);
    assert_eq!(bench.read("repo/infra/a.yaml"), MARKED);
    assert_eq!(document["runs"][0]["skips"][0]["reason"], "OtherNamespace");
}

fn working_repository(bench: &Bench) {
    bench.write("repo/a.yaml", MARKED);
    bench.write("repo/b.yaml", "b: 1\n");
    bench.write("p.yaml", app());
    let dir = bench.path("repo");
    repo::run(repo::git(&dir).args(["init", "-q", "--initial-branch=trunk"]));
    repo::run(repo::git(&dir).args(["add", "."]));
    repo::run(repo::git(&dir).args(["commit", "-q", "-m", "first"]));
}

#[test]
fn with_commit_only_the_edited_files_are_committed() {
    let bench = Bench::new();
    working_repository(&bench);
    let dir = bench.path("repo");
    bench.write("repo/b.yaml", "b: 2\n");
    repo::run(repo::git(&dir).args(["add", "b.yaml"]));
    bench.write("repo/untracked.txt", "u");
    let (code, document) = bench.json(&[
        "update",
        "repo",
        "-f",
        "p.yaml",
        "--commit",
        "--author",
        "Bot <bot@example.com>",
        "--message",
        "bump: all",
    ]);
    assert_eq!(code, 0, "{document}");
    let head = repo::run_text(repo::git(&dir).args(["rev-parse", "HEAD"]))
        .trim()
        .to_owned();
    assert_eq!(document["runs"][0]["commit"]["id"], head.as_str());
    assert_eq!(document["runs"][0]["commit"]["branch"], "trunk");
    assert_eq!(document["runs"][0]["pushes"], serde_json::json!([]));
    let shown =
        repo::run_text(repo::git(&dir).args(["show", "--format=%an <%ae>|%cn <%ce>|%B", "--name-only", "HEAD"]));
    assert_eq!(
        shown.split_whitespace().collect::<Vec<_>>().join(" "),
        "Bot <bot@example.com>|Bot <bot@example.com>|bump: all a.yaml"
    );
    let status = repo::run_text(repo::git(&dir).args(["status", "--porcelain"]));
    assert_eq!(
        status.lines().collect::<Vec<_>>(),
        ["M  b.yaml", "?? untracked.txt"],
        "what was staged stays staged"
    );
}

/// No commit can hold it, so it is none of the run's business; a file that is forgotten is another thing.
#[test]
fn with_commit_a_file_that_git_ignores_is_left_with_a_note() {
    let bench = Bench::new();
    working_repository(&bench);
    bench.write("repo/.gitignore", "local/\n");
    bench.write("repo/local/a.yaml", MARKED);
    let commit = [
        "update",
        "repo",
        "-f",
        "p.yaml",
        "--commit",
        "--author",
        "Bot <bot@example.com>",
    ];
    let preview = bench.ok(&[&commit[..], &["--dry-run"]].concat());
    assert!(preview.out.contains("(1 field in 1 file)"), "{}", preview.out);
    let ran = bench.ok(&commit);
    assert!(
        ran.out
            .contains("note: repo/local/a.yaml is left as it is: git ignores it, so no commit can hold it"),
        "{}",
        ran.out
    );
    assert_eq!(
        (bench.read("repo/a.yaml"), bench.read("repo/local/a.yaml")),
        (BUMPED.to_owned(), MARKED.to_owned())
    );
    let again = bench.ok(&commit);
    assert!(
        again.out.starts_with("nothing to change\nnote: repo/local/a.yaml"),
        "{}",
        again.out
    );
    bench.write("repo/c.yaml", MARKED);
    let ran = bench.run(&commit);
    assert!(
        ran.code == 2 && ran.err.contains("error: repo/c.yaml is not tracked by git"),
        "{}",
        ran.err
    );
}

/// What people read names files from where they are, and what programs read by the path in TARGET.
#[test]
fn files_are_named_behind_the_target_as_typed() {
    let bench = Bench::new();
    let skipped = "image: x # {\"$imagepolicy\": \"fs:nope\"}\n";
    bench.write("repo/apps/a.yaml", format!("{MARKED}---\n{skipped}"));
    bench.write("p.yaml", app());
    let dry = ["--dry-run", "-f", "../p.yaml"];
    for (target, folder) in [
        (".", ""),
        ("apps", "apps/"),
        ("./apps/", "apps/"),
        ("apps/a.yaml", "apps/"),
        ("../repo/apps", "../repo/apps/"),
    ] {
        let said = |more: &[&str]| {
            let mut command = bench.command(&[&["update", target], &dry[..], more].concat());
            let output = command.current_dir(bench.path("repo")).output().unwrap();
            let out = String::from_utf8(output.stdout).unwrap();
            (out, String::from_utf8(output.stderr).unwrap())
        };
        let place = if target == "." { "apps/a.yaml" } else { "a.yaml" };
        let (out, _) = said(&[]);
        for line in [
            format!("{folder}{place}\n"),
            format!("skipped {folder}{place}:3:8: UnknownPolicy: "),
        ] {
            assert!(
                out.lines().any(|one| format!("{one}\n").starts_with(&line)),
                "{target}: {line}\n{out}"
            );
        }
        let (_, err) = said(&["-o", "diff"]);
        assert!(
            err.contains(&format!("skipped: {folder}{place}:3:8: ")),
            "{target}: {err}"
        );
        let (out, _) = said(&["-o", "json"]);
        let document: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(document["runs"][0]["changes"][0]["path"], place, "{target}");
        assert_eq!(document["runs"][0]["skips"][0]["path"], place, "{target}");
    }
}

/// Where `init` puts them, at the top of the repository.
#[test]
fn a_file_or_folder_of_a_repository_has_the_policies_at_its_top() {
    let bench = Bench::new();
    bench.write("repo/.bumpwright/policies.yaml", app());
    for target in ["repo/apps/a.yaml", "repo/apps"] {
        bench.write("repo/apps/a.yaml", MARKED);
        // Above a folder that is in no repository are folders of others.
        let ran = bench.ok(&["update", target]);
        assert!(ran.out.contains("UnknownPolicy"), "{}", ran.out);
        repo::run(repo::git(&bench.path("repo")).args(["init", "-q"]));
        bench.ok(&["update", target]);
        assert_eq!(bench.read("repo/apps/a.yaml"), BUMPED, "{target}");
        std::fs::remove_dir_all(bench.path("repo/.git")).unwrap();
    }
}

#[test]
fn with_commit_a_file_with_changes_of_its_own_is_refused() {
    let bench = Bench::new();
    working_repository(&bench);
    let dirty = format!("# mine\n{MARKED}");
    bench.write("repo/a.yaml", &dirty);
    let ran = bench.run(&[
        "update",
        "repo",
        "-f",
        "p.yaml",
        "--commit",
        "--author",
        "Bot <bot@example.com>",
    ]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("error: repo/a.yaml has uncommitted changes"),
        "{}",
        ran.err
    );
    assert_eq!(bench.read("repo/a.yaml"), dirty);
}

#[test]
fn a_refused_commit_leaves_the_files_as_they_were() {
    let bench = Bench::new();
    working_repository(&bench);
    let hook = bench.write(
        "repo/.git/hooks/pre-commit",
        "#!/bin/sh\necho 'not today' >&2\nexit 1\n",
    );
    #[cfg(unix)]
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran = bench.run(&[
        "update",
        "repo",
        "-f",
        "p.yaml",
        "--commit",
        "--author",
        "Bot <bot@example.com>",
    ]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("not today"), "{}", ran.err);
    assert_eq!(bench.read("repo/a.yaml"), MARKED);
    let status = repo::run_text(repo::git(&bench.path("repo")).args(["status", "--porcelain"]));
    assert_eq!(status, "");
}

#[test]
fn the_author_comes_from_git_when_nobody_gives_one() {
    let bench = Bench::new();
    working_repository(&bench);
    let mut command = bench.command(&["update", "repo", "-f", "p.yaml", "--commit"]);
    let none = bumpwright_testkit::cli::ran(command.output().unwrap());
    assert_eq!(none.code, 2);
    assert!(none.err.contains("give --author"), "{}", none.err);
    let dir = bench.path("repo");
    repo::run(repo::git(&dir).args(["config", "user.name", "Dev"]));
    repo::run(repo::git(&dir).args(["config", "user.email", "dev@example.com"]));
    bench.ok(&["update", "repo", "-f", "p.yaml", "--commit"]);
    let author = repo::run_text(repo::git(&dir).args(["log", "-1", "--format=%an <%ae>"]));
    assert_eq!(author.trim(), "Dev <dev@example.com>");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    let many: String = (0..2000)
        .map(|n| format!("k{n}: o/app:1 # {{\"$imagepolicy\": \"fs:app\"}}\n"))
        .collect();
    bench.write("a.yaml", many);
    bench.write("p.yaml", app());
    let mut command = bench.command(&["update", "--dry-run"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = bumpwright_testkit::cli::ran(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn files_that_do_not_parse_do_not_stop_the_others() {
    let bench = Bench::new();
    bench.write("bad.yaml", format!("{{{{- if x }}}}\n{MARKED}"));
    bench.write("good.yaml", MARKED);
    bench.write("note.txt", MARKED);
    bench.write("p.yaml", app());
    let (code, document) = bench.json(&["update"]);
    assert_eq!(code, 0);
    assert_eq!(bench.read("good.yaml"), BUMPED);
    let reasons: Vec<_> = document["runs"][0]["skips"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| (s["path"].as_str().unwrap(), s["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(reasons, [("bad.yaml", "Unparsable"), ("note.txt", "NotYaml")]);
}

/// A key of a marker or of a policy that is nearly the right one: each is told where it is, and what was meant.
#[test]
fn what_is_misspelt_is_told() {
    let bench = Bench::new();
    bench.write("a.yaml", MARKED.replace("$imagepolicy", "$imagepolcy"));
    bench.write("b.yaml", MARKED.replace("\"$imagepolicy\"", "$imagePolicy"));
    bench.write("c.yaml", MARKED.replace("\"}", "\""));
    bench.write("d.yaml", MARKED);
    bench.write("p.yaml", app().replace("range:", "rnage:"));
    let ran = bench.ok(&["update", "--dry-run"]);
    for told in [
        "skipped a.yaml:1:28: MalformedMarker: the key of the marker is \"$imagepolcy\"; write \"$imagepolicy\"",
        "skipped b.yaml:1:28: MalformedMarker: the marker is without quotes; it is JSON",
        "skipped c.yaml:1:28: MalformedMarker: the marker has no } at its end",
        "ImagePolicy fs/app: spec.policy.semver.rnage is unknown: did you mean range?",
    ] {
        assert!(ran.out.contains(told), "{told}\n{}", ran.out);
    }
    let listed = bench.ok(&["markers", "list"]).out;
    assert!(listed.contains("the key of the marker is \"$imagepolcy\""), "{listed}");
}

/// Somebody who tries it on a repository without markers sees why nothing happens; a commented-out field is a marker.
#[test]
fn a_folder_without_markers_says_so() {
    let bench = Bench::new();
    bench.write("app.yaml", "image: ghcr.io/o/app:1.0.0\n");
    let ran = bench.ok(&["update", "--dry-run", "--output", "diff"]);
    assert_eq!(ran.out, "");
    assert!(ran.err.starts_with("note: there are no markers"), "{}", ran.err);
    bench.write(
        "app.yaml",
        "# image: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n",
    );
    assert_eq!(bench.ok(&["update", "--dry-run"]).err, "");
}
