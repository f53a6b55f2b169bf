//! AGit: a push to `refs/for/BRANCH` with a topic opens and amends requests, without the API.

use super::{Fleet, forge};
use bumpwright_testkit::cli::{automation, git_repository};
use bumpwright_testkit::gitea::Forge;
use serde_json::{Value, json};

impl Fleet {
    /// Writes the automation `fs/auto`, which pushes to `refs/for/BASE` with these options.
    fn agit(&self, base: &str, options: &str) {
        let git = format!(
            "    checkout: {{ref: {{branch: main}}}}\n    \
             push: {{refspec: 'refs/heads/auto:refs/for/{base}', options: {{{options}}}}}\n"
        );
        let text = git_repository("fs", "repo", &self.hosted.url(), "  ref: {branch: main}\n")
            + &automation("fs", "auto", "repo", &git, "");
        self.bench.write("a.yaml", text);
    }

    /// A run over the manifests alone: whom the password is for is said beside it.
    fn run<T>(&self, run: impl FnOnce(&[&str]) -> T) -> T {
        let login = ["--username", "bot", "--password-file", "password"];
        let flags = ["update", "-f", "p.yaml", "-f", "a.yaml", "--offline"];
        run(&[&flags[..], &login, &["--git-server", &self.hosted.url()]].concat())
    }

    /// The run, which must succeed, with the status of its only push.
    fn proposed(&self) -> (Value, String) {
        let (code, mut document) = self.run(|flags| self.bench.json(flags));
        let run = document["runs"][0].take();
        assert_eq!((code, run["pushes"].as_array().map(Vec::len)), (0, Some(1)), "{run:#}");
        let status = run["pushes"][0]["status"].as_str().unwrap().to_owned();
        (run, status)
    }

    /// What people are told beside the result.
    fn notes(&self) -> String {
        let told = self.run(|flags| self.bench.ok(flags));
        let notes = told.out.lines().filter(|line| line.starts_with("note: "));
        notes.collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn a_topic_is_one_request() {
    let Some(fleet) = Fleet::new("topics") else { return };
    fleet.agit("main", "topic: images, title: New images");
    assert_eq!(fleet.proposed().1, "created");
    assert_eq!(fleet.numbers("open"), [1]);
    assert_eq!(fleet.request(1)["title"], "New images");
    assert_eq!(fleet.proposed().1, "up-to-date");
    fleet.image("3.0.0");
    let amended = match forge() {
        Forge::Gitea => "forced",
        // It does not say so of references that it makes up.
        Forge::Forgejo => "updated",
    };
    assert_eq!(fleet.proposed().1, amended);
    fleet.hosted.commit(&fleet.owner, "main", &[("README", "hello")]);
    assert_eq!(fleet.proposed().1, amended);
    assert_eq!(fleet.proposed().1, "up-to-date");
    assert_eq!(fleet.numbers("open"), [1]);
    assert!(fleet.file("refs/pull/1/head").contains("3.0.0"));
    fleet.hosted.merge(&fleet.owner, 1, "merge", false);
    fleet.image("4.0.0");
    assert_eq!(fleet.proposed().1, "created");
    assert_eq!(fleet.numbers("open"), [2]);
}

/// The base and the topic make a request, not the commit.
#[test]
fn the_same_commit_for_another_base_or_topic_is_another_request() {
    let Some(fleet) = Fleet::new("bases") else { return };
    let branch = json!({"new_branch_name": "release", "old_branch_name": "main"});
    fleet.hosted.api(&fleet.owner, "POST", "/branches", &branch);
    fleet.agit("main", "topic: images");
    assert_eq!(fleet.proposed().1, "created");
    for (base, topic, number) in [("release", "images", 2), ("main", "others", 3)] {
        fleet.agit(base, &format!("topic: {topic}"));
        assert_eq!(fleet.proposed().1, "created", "{base} {topic}");
        assert_eq!(fleet.numbers("open").last(), Some(&number));
        assert_eq!(fleet.proposed().1, "up-to-date", "{base} {topic}");
    }
    let heads: Vec<_> = (1..=3).map(|n| fleet.rev(&format!("refs/pull/{n}/head"))).collect();
    assert!(
        heads[0].is_some() && heads.iter().all(|head| *head == heads[0]),
        "{heads:?}"
    );
    assert_eq!(fleet.numbers("open"), [1, 2, 3]);
}

#[test]
fn a_closed_request_and_an_old_title_are_told() {
    let Some(fleet) = Fleet::new("told") else { return };
    fleet.agit("main", "topic: images, title: Images of Monday");
    assert_eq!(fleet.proposed().1, "created");
    fleet.agit("main", "topic: images, title: Images of Tuesday");
    fleet.image("3.0.0");
    let link = fleet.request(1)["html_url"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let notes = fleet.notes();
        let stale = format!("pull request #1 keeps its title \"Images of Monday\" ({link})");
        assert!(notes.contains(&stale), "{notes}");
    }
    fleet.hosted.close(&fleet.owner, 1);
    let notes = fleet.notes();
    let closed = format!("pull request #1 for this commit was closed without merging ({link})");
    assert!(notes.contains(&closed) && !notes.contains("title"), "{notes}");
    assert_eq!(
        (fleet.proposed().1, fleet.numbers("open")),
        ("up-to-date".to_owned(), vec![])
    );
}
