//! The history of a commit, of which a mirror has little at first.

use std::path::Path;

use bumpwright_git::{Fetched, GitError, History, Mirror};
use bumpwright_testkit::git_http::GitHttp;
use bumpwright_testkit::mirror::{Speaks, branch, folder, mirror_with, transport};
use bumpwright_testkit::repo::{Change, Repo, git, run};
use tempfile::TempDir;

/// The ids of the commits that are visited, and whether the history was cut.
fn walked(mirror: &Mirror, fetched: &Fetched, limit: u32) -> Result<(Vec<String>, bool), GitError> {
    let mut history = History::of_mirror(mirror, &fetched.objects, fetched.tip.commit, limit)?;
    let mut ids = Vec::new();
    while let Some(visited) = history.step()? {
        assert_eq!(visited.place as usize, ids.len());
        // Whatever a commit has is there.
        fetched.objects.tree(visited.commit.tree)?;
        ids.push(visited.id.to_string());
    }
    Ok((ids, history.is_cut()))
}

/// A repository with a line of commits, half of which are merged into the rest.
fn repository(root: &Path, arguments: &[&str], commits: usize) -> Repo {
    let repo = Repo::init_with(root.join("r.git"), arguments);
    for n in 0..commits / 2 {
        repo.commit("main", "change", &[Change::File("a", n.to_string().as_bytes())]);
    }
    repo.git(&["branch", "side", "main~5"]);
    for n in 0..commits / 2 {
        repo.commit("side", "change", &[Change::File("b", n.to_string().as_bytes())]);
    }
    let tree = repo.git(&["rev-parse", "side^{tree}"]);
    let merge = repo.git(&["commit-tree", "-p", "main", "-p", "side", "-m", "merge", &tree]);
    repo.git(&["update-ref", "refs/heads/main", &merge]);
    repo
}

#[test]
fn a_mirror_fetches_the_history_that_is_looked_at() {
    let root = tempfile::tempdir().unwrap();
    let repo = repository(root.path(), &[], 160);
    let http = GitHttp::start(root.path());
    for url in [repo.dir.to_str().unwrap().to_owned(), http.url("r.git")] {
        for speaks in [Speaks::Two, Speaks::One, Speaks::Zero] {
            let all: usize = repo.git(&["rev-list", "--count", "main"]).parse().unwrap();
            let storage = tempfile::tempdir_in(root.path()).unwrap();
            let mirror = mirror_with(storage.path(), &url, speaks, true);
            let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
            for limit in [1, 10, 100, 100, 1000] {
                let (ids, is_cut) = walked(&mirror, &fetched, limit).unwrap();
                let wanted = repo.git(&["rev-list", "--date-order", &format!("-{limit}"), "main"]);
                assert_eq!(ids.len(), all.min(limit as usize), "{url} {speaks:?} {limit}");
                assert_eq!(ids.first().map(String::as_str), wanted.lines().next());
                assert!(!is_cut);
            }
            folder(storage.path()).fsck();
            // What comes later is added to it.
            let later = repo.commit(
                "main",
                "later",
                &[Change::File("c", format!("{speaks:?}{url}").as_bytes())],
            );
            let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
            let counted = transport(&url, speaks);
            let quiet = mirror.with_transport(counted.clone());
            let (ids, _) = walked(&quiet, &fetched, 1000).unwrap();
            assert_eq!(ids[0], later);
            assert!(ids.len() > all);
            assert_eq!(
                counted.requests.load(std::sync::atomic::Ordering::SeqCst),
                0,
                "{url} {speaks:?}"
            );
        }
    }
}

#[test]
fn a_remote_may_be_shallow_itself_or_use_sha256() {
    let root = tempfile::tempdir().unwrap();
    let repo = repository(root.path(), &["--object-format=sha256"], 20);
    let storage = |name: &str| -> TempDir { tempfile::Builder::new().prefix(name).tempdir_in(root.path()).unwrap() };
    let (one, two) = (storage("one"), storage("two"));
    let mirror = mirror_with(one.path(), repo.dir.to_str().unwrap(), Speaks::Two, true);
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    assert_eq!(walked(&mirror, &fetched, 500).unwrap().0.len(), 21);
    let url = format!("file://{}", repo.dir.display());
    run(git(root.path()).args(["clone", "-q", "--bare", "--depth=3", &url, "shallow.git"]));
    let mirror = mirror_with(
        two.path(),
        root.path().join("shallow.git").to_str().unwrap(),
        Speaks::Two,
        true,
    );
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    let (ids, is_cut) = walked(&mirror, &fetched, 500).unwrap();
    assert_eq!((ids.len(), is_cut), (5, true));
}
