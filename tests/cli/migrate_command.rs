//! `bumpwright migrate` as its user runs it (docs/cli.md, *Other commands*).

use bumpwright_testkit::cli::{Bench, files};

const POLICY: &str = "\
apiVersion: image.toolkit.fluxcd.io/v1beta1 # old
kind: ImagePolicy
metadata: {name: app, namespace: fs}
";
const AUTOMATION: &str = "\
apiVersion: image.toolkit.fluxcd.io/v1alpha1
kind: ImageUpdateAutomation
metadata:
  name: all
spec:
  checkout:
    gitRepositoryRef:
      name: fleet
    branch: main
  commit:
    authorName: n
    authorEmail: e
";
const STUCK: &str = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1beta1
kind: Kustomization
metadata: {name: apps}
spec: {validation: none}
";

fn fleet() -> Bench {
    let bench = Bench::new();
    bench.write("fleet/apps/policy.yaml", POLICY);
    bench.write("fleet/apps/automation.yml", AUTOMATION);
    bench.write("fleet/chart/broken.yaml", "{{ if }}\nkind: x\n");
    bench.write("fleet/notes.md", POLICY);
    bench.write("fleet/.git/policy.yaml", POLICY);
    bench
}

#[test]
fn without_write_a_diff_that_git_applies_and_no_file_changes() {
    let bench = fleet();
    let before = files(&bench.path("fleet"));
    let ran = bench.ok(&["migrate", "fleet"]);
    assert_eq!(files(&bench.path("fleet")), before);
    assert!(
        ran.out
            .contains("--- a/fleet/apps/policy.yaml\n+++ b/fleet/apps/policy.yaml\n@@ -1,3 +1,3 @@\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains(
        "\n-apiVersion: image.toolkit.fluxcd.io/v1beta1 # old\n+apiVersion: image.toolkit.fluxcd.io/v1 # old\n"
    ));
    assert_eq!(ran.out.matches("diff --git").count(), 2, "{}", ran.out);
    assert_eq!(ran.err, "note: nothing was written: --write makes these changes\n");
    bench.write("change.patch", &ran.out);
    let applied = std::process::Command::new("git")
        .args(["apply", "change.patch"])
        .current_dir(&bench.dir)
        .status();
    assert!(applied.unwrap().success());
    let ran = bench.ok(&["migrate", "fleet", "--write"]);
    assert_eq!(
        ran.out, "nothing to change\n",
        "the diff is what --write would have done"
    );
    let ran = bench.ok(&["migrate", "fleet"]);
    assert_eq!(ran.out, "");
    assert!(
        ran.err
            .starts_with("note: nothing to rewrite: no object of an older API version in "),
        "{}",
        ran.err
    );
}

#[test]
fn with_write_files_are_replaced_and_objects_told() {
    let bench = fleet();
    let ran = bench.ok(&["migrate", "--write", "fleet/apps", "fleet/apps/policy.yaml"]);
    assert_eq!(
        ran.out,
        "fleet/apps/automation.yml\n      1:1  ImageUpdateAutomation all: v1alpha1 → v1\n\
         fleet/apps/policy.yaml\n      1:1  ImagePolicy fs/app: v1beta1 → v1\n\
         migrated 2 objects in 2 files\n"
    );
    assert_eq!(bench.read("fleet/apps/policy.yaml"), POLICY.replace("v1beta1", "v1"));
    assert!(
        bench
            .read("fleet/apps/automation.yml")
            .contains("  git:\n    checkout:\n      ref:\n        branch: main\n")
    );
    assert_eq!(bench.read("fleet/notes.md"), POLICY);
    assert_eq!(bench.read("fleet/.git/policy.yaml"), POLICY);
}

/// Unmigrated objects are reported with their place, with exit code 2; the rest is migrated all the same.
#[test]
fn what_is_left_is_a_failure() {
    let bench = fleet();
    bench.write("fleet/apps/stuck.yaml", STUCK);
    let ran = bench.run(&["migrate", "fleet/apps"]);
    assert_eq!(ran.code, 2);
    assert_eq!(ran.out.matches("diff --git").count(), 2);
    let line = "fleet/apps/stuck.yaml:4:8: Kustomization apps: spec.validation is none";
    assert!(ran.err.starts_with(&format!("skipped: {line}")), "{}", ran.err);
    let ran = bench.run(&["migrate", "fleet/apps", "--write"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("migrated 2 objects in 2 files\n"), "{}", ran.out);
    assert!(ran.out.contains(&format!("skipped {line}")), "{}", ran.out);
    assert_eq!(bench.read("fleet/apps/stuck.yaml"), STUCK);
}

#[test]
fn what_is_not_there_is_an_error_and_the_rest_is_looked_at() {
    let bench = fleet();
    let ran = bench.run(&["migrate", "nowhere", "fleet/apps/policy.yaml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: nowhere: "), "{}", ran.err);
    assert!(ran.out.contains("policy.yaml"));
}

#[test]
fn the_current_folder_is_looked_at_where_no_path_is_given() {
    let bench = Bench::new();
    bench.write("apps/policy.yaml", POLICY);
    let ran = bench.ok(&["migrate"]);
    assert!(ran.out.contains("--- a/apps/policy.yaml\n"), "{}", ran.out);
}

/// With a path that is not there something else was meant: what is written would be half of it.
#[test]
fn nothing_is_written_where_a_path_is_not_there() {
    let bench = fleet();
    bench.write("fleet/apps/kustomization.yaml", "bases: [../base]\n");
    bench.write("fleet/apps/pod.yaml", "image: o/app:1.0.0\n");
    let before = files(&bench.path("fleet"));
    for command in [
        &["migrate"][..],
        &["migrate", "--from", "argocd-image-updater"],
        &["migrate", "--from", "flux-v1"],
        &["kustomize", "fix"],
        &["markers", "remove"],
        &["markers", "add", "--image", "o/app", "--policy", "fs:app"],
    ] {
        let ran = bench.run(&[command, &["--write", "nowhere", "fleet/apps"]].concat());
        assert_eq!(ran.code, 2, "{command:?} {}", ran.err);
        assert!(
            ran.err.starts_with("error: nowhere: ")
                && ran
                    .err
                    .contains("nothing was written; correct the path, or leave it out"),
            "{command:?} {}",
            ran.err
        );
        assert_eq!(files(&bench.path("fleet")), before, "{command:?}");
        assert!(!bench.path("image-updates.yaml").exists(), "{command:?}");
    }
}

/// A given file is read whatever its name; links below a folder are not followed, nor other repositories entered.
#[cfg(unix)]
#[test]
fn names_links_and_other_repositories() {
    let bench = fleet();
    bench.write("elsewhere/policy.yaml", POLICY);
    bench.write("fleet/module/.git", "gitdir: x\n");
    bench.write("fleet/module/policy.yaml", POLICY);
    std::os::unix::fs::symlink("../../elsewhere/policy.yaml", bench.path("fleet/apps/link.yaml")).unwrap();
    let ran = bench.ok(&["migrate", "fleet"]);
    assert_eq!(ran.out.matches("diff --git").count(), 2, "{}", ran.out);
    let ran = bench.ok(&["migrate", "--write", "fleet/notes.md", "fleet/apps/link.yaml"]);
    assert!(ran.out.contains("migrated 2 objects in 2 files"), "{}", ran.out);
    assert!(bench.path("fleet/apps/link.yaml").is_symlink());
    assert_eq!(bench.read("elsewhere/policy.yaml"), POLICY.replace("v1beta1", "v1"));
}
