//! Racing pushes: automations among themselves, and with constant commits to the same branch.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy, ran};
use bumpwright_testkit::git_http::GitHttp;
use bumpwright_testkit::repo::{Change, Repo};

const TEAMS: usize = 20;

/// A repository with one marked file for each of 20 teams, and the manifests of `teams` of them.
fn fleet(bench: &Bench) -> Repo {
    let repo = bench.repository("fleet.git");
    let files: Vec<(String, String)> = (0..TEAMS)
        .map(|n| {
            (
                format!("apps/team-{n}/a.yaml"),
                format!("image: o/app:1 # {{\"$imagepolicy\": \"fs:p{n}\"}}\n"),
            )
        })
        .collect();
    let changes: Vec<Change<'_>> = files
        .iter()
        .map(|(name, text)| Change::File(name, text.as_bytes()))
        .collect();
    repo.commit("main", "first", &changes);
    repo
}

fn manifests(url: &str, teams: impl Iterator<Item = usize>) -> String {
    let head = git_repository("fs", "repo", url, "  ref: {branch: main}\n");
    teams.fold(head, |text, n| {
        let path = format!("  update: {{path: ./apps/team-{n}}}\n");
        text + &policy("fs", &format!("p{n}"), "o/app", "2") + &automation("fs", &format!("a{n}"), "repo", "", &path)
    })
}

/// A process that commits to `main` every 200 ms, by compare-and-swap, until it is stopped.
struct Rival {
    stop: Arc<AtomicBool>,
    landed: Arc<AtomicUsize>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Rival {
    fn start(dir: &Path) -> Self {
        let (stop, landed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, count, dir) = (Arc::clone(&stop), Arc::clone(&landed), dir.to_owned());
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                if commit(&dir, count.load(Ordering::SeqCst)) {
                    count.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(200));
                }
            }
        });
        Self {
            stop,
            landed,
            thread: Some(thread),
        }
    }

    fn stop(mut self) -> usize {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap();
        self.landed.load(Ordering::SeqCst)
    }
}

/// One commit of the rival on the tip; false when the branch moved meanwhile.
fn commit(dir: &Path, n: usize) -> bool {
    use bumpwright_testkit::repo::{git, run_text};
    let old = run_text(git(dir).args(["rev-parse", "main"])).trim().to_owned();
    let index = dir.join("rival-index");
    let at_index = |arguments: &[&str]| {
        run_text(git(dir).args(arguments).env("GIT_INDEX_FILE", &index))
            .trim()
            .to_owned()
    };
    at_index(&["read-tree", &old]);
    let empty = at_index(&["hash-object", "-w", "--stdin"]);
    at_index(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("100644,{empty},rival/{n}"),
    ]);
    let tree = at_index(&["write-tree"]);
    let new = at_index(&["commit-tree", &tree, "-p", &old, "-m", &format!("rival {n}")]);
    git(dir)
        .args(["update-ref", "refs/heads/main", &new, &old])
        .output()
        .unwrap()
        .status
        .success()
}

/// Everything is pushed, no commit is lost, history is linear, both sides pass fsck.
fn check(repo: &Repo, rivals: usize) {
    let log = repo.log("main");
    assert_eq!(log.len(), 1 + TEAMS + rivals);
    assert!(
        log.iter().rev().skip(1).all(|commit| commit.parents.len() == 1),
        "history is a line"
    );
    let told = log.iter().filter(|commit| commit.message.starts_with("rival ")).count();
    assert_eq!(told, rivals);
    for n in 0..TEAMS {
        let text = String::from_utf8(repo.show("main", &format!("apps/team-{n}/a.yaml"))).unwrap();
        assert!(text.starts_with("image: o/app:2 #"), "team {n}: {text}");
    }
    for n in 0..rivals {
        assert!(repo.rev(&format!("main:rival/{n}")).is_some(), "rival {n} is lost");
    }
    repo.fsck();
}

#[test]
fn twenty_automations_of_one_process_land_beside_a_rival() {
    let bench = Bench::new();
    let repo = fleet(&bench);
    let server = GitHttp::start(&bench.dir);
    bench.write("m.yaml", manifests(&server.url("fleet.git"), 0..TEAMS));
    let rival = Rival::start(&repo.dir);
    let (code, document) = bench.json(&["update", "-f", "m.yaml"]);
    let rivals = rival.stop();
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(document["runs"].as_array().unwrap().len(), TEAMS);
    check(&repo, rivals);
}

#[test]
fn four_processes_land_beside_a_rival() {
    let bench = Bench::new();
    let repo = fleet(&bench);
    let server = GitHttp::start(&bench.dir);
    let rival = Rival::start(&repo.dir);
    let children: Vec<_> = (0..4)
        .map(|process| {
            let name = format!("m{process}.yaml");
            bench.write(
                &name,
                manifests(&server.url("fleet.git"), (0..TEAMS).filter(|n| n % 4 == process)),
            );
            let mut command = bench.command(&["update", "-f", &name, "--output", "json"]);
            command
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let all: Vec<_> = children
        .into_iter()
        .map(|child| ran(child.wait_with_output().unwrap()))
        .collect();
    let rivals = rival.stop();
    for one in all {
        assert_eq!(one.code, 0, "{}\n{}", one.out, one.err);
    }
    check(&repo, rivals);
}

#[test]
fn fifty_rounds_with_a_foreign_committer_leave_both_sides_sound() {
    let bench = Bench::new();
    let repo = bench.repository("app.git");
    repo.commit(
        "main",
        "first",
        &[Change::File("a.yaml", b"tag: 0 # {\"$imagepolicy\": \"fs:app:tag\"}\n")],
    );
    let server = GitHttp::start(&bench.dir);
    let url = server.url("app.git");
    for round in 1..=50 {
        repo.commit(
            "main",
            "by hand",
            &[Change::File(&format!("f{}", round % 7), format!("{round}").as_bytes())],
        );
        let set = format!("fs:app=o/app:v{round}");
        bench.ok(&["update", &url, "--set", &set, "--author", "Bot <bot@example.com>"]);
        let text = String::from_utf8(repo.show("main", "a.yaml")).unwrap();
        assert_eq!(text, format!("tag: v{round} # {{\"$imagepolicy\": \"fs:app:tag\"}}\n"));
    }
    assert_eq!(repo.log("main").len(), 101);
    repo.fsck();
    let mirrors = bench.home.path().join("cache/mirrors");
    let mirror = std::fs::read_dir(&mirrors)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.is_dir())
        .unwrap();
    bumpwright_testkit::repo::run(bumpwright_testkit::repo::git(&mirror).args(["fsck", "--strict", "--no-dangling"]));
    let packs = std::fs::read_dir(mirror.join("objects/pack"))
        .unwrap()
        .filter(|e| e.as_ref().unwrap().path().extension().is_some_and(|x| x == "pack"))
        .count();
    assert!(packs < 60, "{packs} packs after 50 rounds");
}
