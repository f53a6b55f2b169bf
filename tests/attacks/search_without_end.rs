//! A pull request with rules whose searches take as long as they may, in many files: a check must come to its end.

use std::time::{Duration, Instant};

use bumpwright_testkit::cli::{Bench, policy};
use bumpwright_testkit::repo::{Change, Repo};

const MARKED: &str = "image: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";

/// A second of CPU each for a file, and there are 40 in 30 files: 20 minutes.
fn rules() -> String {
    let rule = "- files: '*.txt'\n  policy: fs:app\n  pattern: '(?:(?:a?){100}){9}(?P<version>b)'\n";
    format!("rules:\n{}", rule.repeat(40))
}

#[test]
fn of_a_folder_and_of_a_repository() {
    let bench = Bench::new();
    let text = "a".repeat(200_000);
    let mut files = vec![
        (".bumpwright.yaml".to_owned(), rules()),
        ("a.yaml".to_owned(), MARKED.to_owned()),
        ("p.yaml".to_owned(), policy("fs", "app", "ghcr.io/o/app", "2.0.0")),
    ];
    files.extend((0..30).map(|n| (format!("f{n:02}.txt"), text.clone())));
    for (path, bytes) in &files {
        bench.write(path, bytes);
    }
    let repo = Repo::init(bench.home.path().join("fleet.git"));
    let changes: Vec<Change<'_>> = files
        .iter()
        .map(|(path, bytes)| Change::File(path, bytes.as_bytes()))
        .collect();
    repo.commit("main", "first", &changes);
    let before = repo.rev("main");
    let url = format!("file://{}", repo.dir.display());
    for (target, push) in [(".", None), (url.as_str(), Some("--push-branch=main"))] {
        let started = Instant::now();
        let mut arguments = vec!["update"];
        arguments.extend(push.iter().flat_map(|_| ["--author", "Bot <b@example.com>"]));
        arguments.extend(push);
        arguments.push(target);
        let ran = bench.run(&arguments);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(
            ran.code == 2 && started.elapsed() < Duration::from_secs(120),
            "{target}: {said}"
        );
        assert!(
            said.contains("f00.txt: following the rules takes too long") && said.contains(".bumpwright.yaml:"),
            "{target}: {said}"
        );
    }
    // Nothing is half done: the marked file, which has nothing to do with them, is as it was.
    assert_eq!(bench.read("a.yaml"), MARKED);
    assert_eq!(repo.rev("main"), before);
}
