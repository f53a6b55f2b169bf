//! `.pre-commit-hooks.yaml` with the real pre-commit.

use std::path::PathBuf;
use std::process::Command;

use bumpwright_testkit::cli::{Bench, Ran, ran};
use bumpwright_testkit::repo::{Change, Repo, git, hermetic, run};

use super::{MARKED, policies, text};

const OLD: &str = "apiVersion: image.toolkit.fluxcd.io/v1beta2\nkind: ImagePolicy\nmetadata: {name: old, namespace: fs}\n\
                   spec: {imageRepositoryRef: {name: old}, policy: {semver: {range: '1.x'}}}\n";

pub(super) struct Hooked {
    pub bench: Bench,
    pre_commit: PathBuf,
}

impl Hooked {
    /// A repository with this configuration, whose hooks are those of this one. None without pre-commit.
    pub fn new(config: &str) -> Option<Self> {
        let pre_commit = bumpwright_testkit::tool("pre-commit")?;
        let bench = Bench::new();
        let hooks = Repo::init(bench.home.path().join("hooks.git"));
        let file = text(".pre-commit-hooks.yaml");
        hooks.commit(
            "main",
            "hooks",
            &[Change::File(".pre-commit-hooks.yaml", file.as_bytes())],
        );
        hooks.git(&["tag", "v0.1.0", "main"]);
        let here = hooks.dir.to_str().unwrap();
        let address = "https://github.com/bumpwright/bumpwright\n";
        assert!(config.contains(address), "{config}");
        bench.write(".pre-commit-config.yaml", config.replace(address, &format!("{here}\n")));
        run(git(&bench.dir).args(["init", "-q"]));
        Some(Self { bench, pre_commit })
    }

    pub fn run(&self, hook: &str) -> Ran {
        run(git(&self.bench.dir).args(["add", "--all"]));
        let mut command = Command::new(&self.pre_commit);
        hermetic(&mut command);
        let program = bumpwright_testkit::program();
        let path = format!(
            "{}:{}",
            program.parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        command
            .args(["run", "--all-files", "--color=never", hook])
            .current_dir(&self.bench.dir)
            .env("HOME", self.bench.home.path())
            .env("PRE_COMMIT_HOME", self.bench.home.path().join("pre-commit"))
            .env("PATH", path)
            .env_remove("CI");
        ran(command.output().unwrap())
    }
}

const CONFIG: &str = "repos:\n  - repo: https://github.com/bumpwright/bumpwright\n    rev: v0.1.0\n    \
                      hooks: [{id: bumpwright-markers}, {id: bumpwright-migrate}]\n";

#[test]
fn markers_are_refused_if_they_are_wrong_and_not_because_there_is_a_newer_image() {
    let Some(hooked) = Hooked::new(CONFIG) else { return };
    let (before, _) = policies()
        .split_once("status:")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    // The policy has an image, or has none yet.
    for policy in [policies(), before] {
        hooked.bench.write("a.yaml", MARKED);
        hooked.bench.write("p.yaml", policy);
        let ran = hooked.run("bumpwright-markers");
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("Passed"), "{}", ran.out);
    }
    for (broken, words) in [
        (
            MARKED.replace("fs:app", "fs:ap"),
            "UnknownPolicy: there is no ImagePolicy fs/ap; did you mean fs:app?",
        ),
        (MARKED.replace("\"fs:app\"", "fs:app\""), "MalformedMarker"),
        (format!("{MARKED}foo: [\n"), "Unparsable"),
    ] {
        hooked.bench.write("a.yaml", &broken);
        let ran = hooked.run("bumpwright-markers");
        assert!(
            ran.code == 1 && ran.out.contains("- exit code: 3") && ran.out.contains(words),
            "{}",
            ran.out
        );
        assert_eq!(hooked.bench.read("a.yaml"), broken);
    }
}

#[test]
fn old_manifests_are_rewritten_once() {
    let Some(hooked) = Hooked::new(CONFIG) else { return };
    hooked.bench.write("p.yaml", OLD);
    hooked.bench.write("chart/values.yaml", "image: {tag: 1}\n");
    let ran = hooked.run("bumpwright-migrate");
    assert!(
        ran.code == 1 && ran.out.contains("files were modified by this hook"),
        "{}",
        ran.out
    );
    assert_eq!(hooked.bench.read("p.yaml"), OLD.replace("v1beta2", "v1"));
    let ran = hooked.run("bumpwright-migrate");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}
