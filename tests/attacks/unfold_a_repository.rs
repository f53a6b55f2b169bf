//! A dozen tree objects, each of which has the next under ten names, are a million million files to a walk.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::git_objects::{commit, unfolding};
use crate::siege::siege;
use bumpwright_testkit::cli::{Bench, Ran, ran};
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, World, automation, git_repository};

const LEVELS: usize = 12;

/// An archive of such a repository, which would fill the controller's memory.
#[test]
fn an_archive_of_endless_paths() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-unfolds");
    let repo = world.repository("bomb.git");
    commit(&repo, &unfolding(&repo, b"a: 1\n", LEVELS));
    world.add(GIT_REPOSITORY, "bomb", git_repository(&world.git.url("bomb.git")));
    let began = Instant::now();
    let message = world.ready(GIT_REPOSITORY, "bomb", "False", |_, message| {
        message.contains("raises the bound")
    });
    assert!(message.contains("bomb.git"), "{message}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    siege.stands();
}

/// The same with one empty file, and only a part of the tree asked for.
#[test]
fn an_archive_of_some_endless_paths() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-unfolds-sparsely");
    let repo = world.repository("bomb.git");
    commit(&repo, &unfolding(&repo, b"", LEVELS));
    let mut spec = git_repository(&world.git.url("bomb.git"));
    spec["sparseCheckout"] = json!(["1.yaml"]);
    world.add(GIT_REPOSITORY, "bomb", spec);
    world.ready(GIT_REPOSITORY, "bomb", "False", |_, message| {
        message.contains("raises the bound")
    });
    siege.stands();
}

/// A scan for markers in such a repository, each file of which has one.
#[test]
fn markers_on_endless_paths() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-marks-endlessly");
    let repo = world.repository("bomb.git");
    let marked = b"image: app:1 # {\"$imagepolicy\": \"mallory-marks-endlessly:app\"}\n";
    commit(&repo, &unfolding(&repo, marked, LEVELS));
    world.add(GIT_REPOSITORY, "bomb", git_repository(&world.git.url("bomb.git")));
    world.add(AUTOMATION, "bomb", automation("bomb"));
    world.ready(AUTOMATION, "bomb", "False", |_, message| {
        message.contains("raises the bound")
    });
    siege.stands();
}

/// Runs a command of the program with external limits.
fn fenced(bench: &Bench, arguments: &[&str]) -> Ran {
    let command = bench.command(arguments);
    let mut fenced = Command::new("prlimit");
    fenced
        .args(["--data=3221225472", "--cpu=100"])
        .arg(command.get_program());
    fenced.args(command.get_args()).current_dir(&bench.dir).env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        fenced.env("PATH", path);
    }
    fenced.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ran(fenced.output().unwrap())
}

/// A user runs the command on such a repository.
#[test]
fn a_preview_of_endless_paths() {
    let bench = Bench::new();
    let repo = bench.repository("bomb.git");
    let marked = b"image: app:1 # {\"$imagepolicy\": \"default:app\"}\n";
    commit(&repo, &unfolding(&repo, marked, LEVELS));
    let url = format!("file://{}", repo.dir.display());
    let update = ["update", "--dry-run", "--set", "default:app=app:2", url.as_str()];
    for (flag, named) in [
        (
            "--max-entries=1000",
            "more than 1000 objects, files and folders; --max-entries raises the bound",
        ),
        ("--fetch-memory=16Mi", "--fetch-memory raises the bound"),
        ("--max-content-size=4Gi", "raises the bound"),
    ] {
        let ran = fenced(&bench, &[&update[..], &[flag]].concat());
        assert_eq!(ran.code, 2, "{}\n{}", ran.out, ran.err);
        assert!(
            ran.out.contains(named) || ran.err.contains(named),
            "{}\n{}",
            ran.out,
            ran.err
        );
    }
}

/// A user builds a folder of such a repository, all of which has to be on disk for a program.
#[test]
fn a_build_among_endless_paths() {
    let bench = Bench::new();
    let repo = bench.repository("bomb.git");
    let tree = unfolding(&repo, b"a: 1\n", LEVELS);
    let kustomization =
        b"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nhelmCharts: [{name: chart}]\n";
    let file = crate::git_objects::object(&repo, "blob", kustomization);
    let entries = [
        ("40000", "endless", tree.as_str()),
        ("100644", "kustomization.yaml", file.as_str()),
    ];
    commit(&repo, &crate::git_objects::tree(&repo, &entries));
    let url = format!("file://{}", repo.dir.display());
    let build = [
        "build",
        "--enable-helm",
        "--helm-command=true",
        "--max-entries=1000",
        url.as_str(),
    ];
    let ran = fenced(&bench, &build);
    assert_ne!(ran.code, 0);
    assert!(ran.err.contains("--max-entries raises the bound"), "{}", ran.err);
}
