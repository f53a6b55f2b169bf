//! Whether the files have the form that their platforms want: actionlint, and the schemas of GitHub and GitLab.

use std::path::Path;
use std::process::Command;

use super::{gitlab, root, text, yaml};
use bumpwright_testkit::cli::{Bench, ran};

const WORKFLOWS: [&str; 2] = [".github/workflows/ci.yml", ".github/workflows/release.yml"];

/// Insists that a file is valid by one of the schemas that check-jsonschema brings.
fn valid(schema: &str, file: &Path) {
    let Some(program) = bumpwright_testkit::tool("check-jsonschema") else {
        return;
    };
    let checked = ran(Command::new(program)
        .arg("--builtin-schema")
        .arg(schema)
        .arg(file)
        .output()
        .unwrap());
    assert_eq!(checked.code, 0, "{}: {}{}", file.display(), checked.out, checked.err);
}

/// Insists that actionlint finds nothing in a repository with this workflow, and with our action at its root.
pub(super) fn linted(name: &str, workflow: &str) {
    let Some(program) = bumpwright_testkit::tool("actionlint") else {
        return;
    };
    let bench = Bench::new();
    bench.write(".git/HEAD", "ref: refs/heads/main\n");
    bench.write("action.yml", text("action.yml"));
    let file = bench.write(&format!(".github/workflows/{name}"), workflow);
    let linted = ran(Command::new(program)
        .current_dir(&bench.dir)
        .arg(file)
        .output()
        .unwrap());
    assert_eq!(linted.code, 0, "{}{}", linted.out, linted.err);
}

#[test]
fn the_action_and_the_workflows_are_valid() {
    for path in ["action.yml", "review/action.yml"] {
        valid("vendor.github-actions", &root().join(path));
    }
    for path in WORKFLOWS {
        valid("vendor.github-workflows", &root().join(path));
        linted(path.rsplit('/').next().unwrap(), &text(path));
    }
}

#[test]
fn the_component_is_valid_before_and_after_its_inputs() {
    let bench = Bench::new();
    let (header, _) = gitlab::template();
    for (name, value) in [("header.json", header), ("jobs.json", gitlab::interpolated(&[]))] {
        valid("vendor.gitlab-ci", &bench.write(name, value.to_string()));
    }
}

#[test]
fn others_actions_are_pinned_by_commit_and_workflows_may_little() {
    for path in ["action.yml", "docs/start/ci.md"].iter().chain(&WORKFLOWS) {
        let text = text(path);
        let used: Vec<&str> = text
            .lines()
            .filter_map(|line| Some(line.split_once("uses: ")?.1))
            .collect();
        assert!(!used.is_empty(), "{path}");
        for action in used {
            let (name, rest) = action.split_once('@').unwrap();
            let (commit, version) = rest.split_once(" # v").unwrap_or((rest, ""));
            let pinned =
                commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()) && !version.is_empty();
            assert!(pinned || name == "bumpwright/bumpwright", "{path}: {action}");
        }
    }
    for path in WORKFLOWS {
        let workflow = yaml(&text(path));
        let may = workflow["permissions"].as_object().unwrap();
        assert!(may.values().all(|may| may == "read"), "{path}");
        assert!(workflow["concurrency"].is_object(), "{path}");
    }
}
