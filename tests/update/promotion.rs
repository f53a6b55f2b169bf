//! Images that only come to one part of a repository when another part has had them for a while
//! (docs/guides/promotion.md).

use std::time::{SystemTime, UNIX_EPOCH};

use bumpwright_testkit::cli::{Bench, policy};
use bumpwright_testkit::repo::{Change, Repo, git, run};
use serde_json::Value;

const STAGING: &str = "clusters/staging/app.yaml";
const PRODUCTION: &str = "clusters/production/app.yaml";
const HOUR: u64 = 3600;

struct World {
    bench: Bench,
    repo: Repo,
}

fn field(policy: &str, value: &str) -> String {
    format!("image: {value} # {{\"$imagepolicy\": \"fs:{policy}\"}}\n")
}

impl World {
    /// Both stages at 1.0.0, for a week.
    fn new() -> Self {
        let bench = Bench::new();
        let repo = bench.repository("fleet.git");
        run(git(&bench.dir).args(["clone", "-q", "fleet.git", "clone"]));
        let world = Self { bench, repo };
        world.write(STAGING, &field("staging", "o/app:1.0.0"));
        world.write(PRODUCTION, &field("app", "o/app:1.0.0"));
        world.commit(168);
        world
    }

    fn write(&self, path: &str, text: &str) {
        self.bench.write(&format!("clone/{path}"), text);
    }

    /// `git ARGUMENTS` of somebody whose clock shows the time so many hours ago.
    fn git(&self, hours: u64, arguments: &[&str]) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let date = format!("{} +0000", now - hours * HOUR - 60);
        let mut git = git(&self.bench.path("clone"));
        run(git.env("GIT_COMMITTER_DATE", date).args(arguments));
    }

    /// Commits everything, so many hours ago, and pushes.
    fn commit(&self, hours: u64) {
        self.git(hours, &["add", "-A"]);
        self.git(hours, &["commit", "-qm", "change"]);
        self.git(0, &["push", "-q", "origin", "HEAD:main"]);
    }

    /// Staging changes, so many hours ago.
    fn stage(&self, value: &str, hours: u64) {
        self.write(STAGING, &field("staging", value));
        self.commit(hours);
    }

    /// A preview with this choice of the policy of production: the new values and the messages of skips.
    fn promoted(&self, chosen: &str, target: &str, more: &[&str]) -> (Vec<String>, Vec<String>) {
        let annotated =
            "name: app, annotations: {bumpwright.dev/promote-path: ./clusters/staging/, bumpwright.dev/soak: 24h},";
        let (tag, digest) = chosen
            .split_once('@')
            .map_or((chosen, ""), |(tag, digest)| (tag, digest));
        let digest = format!("tag: {tag:?}, digest: {digest:?}}}");
        let production = policy("fs", "app", "o/app", tag).replace("name: app,", annotated);
        let production = production
            .replace(&format!("tag: {tag:?}}}"), &digest)
            .replace("'*'", "'1.x'");
        self.bench.write(
            "p.yaml",
            production + &policy("fs", "staging", "docker.io/o/app", "9.9.9"),
        );
        let arguments = [
            "update",
            "-f",
            "p.yaml",
            target,
            "--path",
            "clusters/production",
            "--dry-run",
        ];
        let (code, document) = self.bench.json(&[&arguments, more].concat());
        assert_eq!(code, 0, "{document:#}");
        let list = |key: &str, field: &str| -> Vec<String> {
            let all = document["runs"][0][key].as_array().unwrap();
            all.iter().map(|one| one[field].as_str().unwrap().to_owned()).collect()
        };
        let reasons = list("skips", "reason");
        assert!(reasons.iter().all(|reason| reason == "NotProven"), "{document:#}");
        (list("changes", "new"), list("skips", "message"))
    }

    fn lands(&self, chosen: &str) -> Option<String> {
        let (mut changes, skips) = self.promoted(chosen, "fleet.git", &[]);
        assert_eq!(changes.len() + skips.len(), 1, "{changes:?} {skips:?}");
        changes.pop()
    }
}

#[test]
fn a_tag_has_to_have_been_there_for_as_long_as_it_takes() {
    let world = World::new();
    world.stage("o/app:1.1.0", 1);
    let (changes, skips) = world.promoted("1.1.0", "fleet.git", &[]);
    assert_eq!(changes, Vec::<String>::new());
    let said = &skips[0];
    assert!(
        said.starts_with("ImagePolicy fs/app: 1.1.0 is not proven: clusters/staging has 1.1.0 since 20"),
        "{said}"
    );
    assert!(
        said.contains("Z (commit ") && said.contains(" of Test, 20") && said.contains("), 22h5"),
        "{said}"
    );
    assert!(said.ends_with("s too short"), "{said}");
    // A day before, nobody has touched it since.
    let world = World::new();
    world.stage("o/app:1.1.0", 25);
    world.repo.commit("main", "other", &[Change::File("other", b"x")]);
    assert_eq!(world.lands("1.1.0").as_deref(), Some("o/app:1.1.0"));
    // The choice may be newer than what is proven; the newest that is gets there.
    assert_eq!(world.lands("1.2.0").as_deref(), Some("o/app:1.1.0"));
    // By hand it gets there at once.
    let (changes, _) = world.promoted("1.2.0", "fleet.git", &["--set", "fs:app=o/app:1.2.0"]);
    assert_eq!(changes, ["o/app:1.2.0"]);
    // In a folder, too.
    let folder = world.bench.path("clone");
    world.git(0, &["pull", "-q", "origin", "main"]);
    let (changes, _) = world.promoted("1.2.0", folder.to_str().unwrap(), &[]);
    assert_eq!(changes, ["o/app:1.1.0"]);
}

#[test]
fn what_is_not_there_proves_nothing() {
    let world = World::new();
    let skipped = |chosen: &str, words: &str| {
        let (changes, skips) = world.promoted(chosen, "fleet.git", &[]);
        assert!(
            changes.is_empty() && skips.len() == 1 && skips[0].contains(words),
            "{changes:?} {skips:?}"
        );
    };
    // Staging is as production is.
    skipped("1.1.0", "1.1.0 is not proven: clusters/staging has 1.0.0 since 20");
    // Newer than the choice, or out of the policy's range.
    world.stage("o/app:1.4.0", 48);
    skipped("1.3.0", "clusters/staging has 1.4.0 since");
    world.stage("o/app:0.9.0", 47);
    skipped("1.3.0", "clusters/staging has 0.9.0 since");
    // It had the choice, but not without a break.
    world.stage("o/app:1.3.0", 46);
    world.stage("o/app:1.2.0", 20);
    world.stage("o/app:1.3.0", 3);
    skipped("1.3.0", "clusters/staging has 1.3.0 since");
    // Another image; the policy's own field; nothing at all.
    world.stage("o/other:1.3.0", 2);
    skipped(
        "1.3.0",
        "no marked field of another policy below clusters/staging has a tag of this image",
    );
    world.write(STAGING, &field("app", "o/app:1.3.0"));
    world.commit(1);
    skipped("1.3.0", "no marked field");
    world.git(1, &["rm", "-rq", "clusters/staging"]);
    world.commit(1);
    skipped("1.3.0", "no marked field");
}

#[test]
fn production_never_goes_back_for_staging() {
    let world = World::new();
    world.write(PRODUCTION, &field("app", "o/app:1.1.5"));
    world.stage("o/app:1.1.0", 30);
    assert_eq!(world.lands("1.2.0"), None);
    world.write(PRODUCTION, &field("app", "o/app:1.0.5"));
    world.commit(1);
    assert_eq!(world.lands("1.2.0").as_deref(), Some("o/app:1.1.0"));
}

/// A commit is as old as its clock says, but the branch has it only since a merge, or a push.
#[test]
fn the_time_on_the_branch_counts() {
    let world = World::new();
    world.git(30, &["checkout", "-qb", "bump"]);
    world.write(STAGING, &field("staging", "o/app:1.1.0"));
    world.git(30, &["commit", "-qam", "bump"]);
    world.git(30, &["checkout", "-q", "-"]);
    world.git(2, &["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
    world.git(1, &["merge", "-q", "--no-ff", "-m", "merged", "bump"]);
    world.git(0, &["push", "-q", "origin", "HEAD:main"]);
    assert_eq!(world.lands("1.1.0"), None);

    let world = World::new();
    world.git(1, &["commit", "-q", "--allow-empty", "-m", "somebody else was first"]);
    world.git(
        31,
        &[
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "made long ago, rebased with its dates",
        ],
    );
    world.stage("o/app:1.1.0", 30);
    assert_eq!(world.lands("1.1.0"), None);
}

#[test]
fn digests_and_parts_of_images_are_proven() {
    let digest = |n: u8| format!("sha256:{}", n.to_string().repeat(64));
    let world = World::new();
    let of = |tag: &str, n: u8| format!("o/app:{tag}@{}", digest(n));
    world.stage(&of("1.1.0", 1), 30);
    // Other bytes under the same tag are not what staging has.
    assert_eq!(world.lands(&format!("1.1.0@{}", digest(1))), Some(of("1.1.0", 1)));
    assert_eq!(world.lands(&format!("1.1.0@{}", digest(2))), Some(of("1.1.0", 1)));
    assert_eq!(world.lands(&format!("1.2.0@{}", digest(2))), Some(of("1.1.0", 1)));
    assert_eq!(world.lands("1.2.0").as_deref(), Some("o/app:1.1.0"));
    // Without its digest an older tag cannot be written where the policy has digests.
    world.stage("o/app:1.1.0", 29);
    assert_eq!(world.lands(&format!("1.2.0@{}", digest(2))), None);
    assert_eq!(world.lands(&format!("1.1.0@{}", digest(2))), Some(of("1.1.0", 2)));
    let parts = |name: &str, tag: &str, n: u8| {
        let marker = |part: &str| format!("# {{\"$imagepolicy\": \"fs:else:{part}\"}}");
        let name = match name {
            "" => String::new(),
            name => format!("name: {name} {}\n", marker("name")),
        };
        format!(
            "{name}tag: {tag} {}\ndigest: {} {}\n",
            marker("tag"),
            digest(n),
            marker("digest")
        )
    };
    world.write(STAGING, &parts("docker.io/o/app", "1.3.0", 3));
    world.commit(28);
    assert_eq!(world.lands(&format!("1.4.0@{}", digest(4))), Some(of("1.3.0", 3)));
    // The tag stayed, but not the digest.
    world.write(STAGING, &parts("docker.io/o/app", "1.3.0", 5));
    world.commit(2);
    assert_eq!(world.lands(&format!("1.4.0@{}", digest(4))), None);
    // A tag whose image nobody knows.
    world.write(STAGING, &parts("", "1.3.0", 5));
    world.commit(1);
    assert!(world.promoted("1.4.0", "fleet.git", &[]).1[0].contains("no marked field"));
}

#[test]
fn what_is_reverted_in_production_is_not_promoted_again() {
    let world = World::new();
    world.stage("o/app:1.1.0", 30);
    world.write(PRODUCTION, &field("app", "o/app:1.1.0"));
    world.commit(3);
    world.write(PRODUCTION, &field("app", "o/app:1.0.0"));
    world.commit(2);
    assert_eq!(world.lands("1.2.0").as_deref(), Some("o/app:1.1.0"));
    world.promoted("1.2.0", "fleet.git", &[]);
    let arguments = [
        "update",
        "-f",
        "p.yaml",
        "fleet.git",
        "--path",
        "clusters/production",
        "--dry-run",
        "--respect-reverts",
    ];
    let (_, document) = world.bench.json(&arguments);
    let skip: &Value = &document["runs"][0]["skips"][0];
    assert_eq!(skip["reason"], "Reverted", "{document:#}");
}

#[test]
fn annotations_that_do_not_parse_close_the_policy() {
    let world = World::new();
    let text = policy("fs", "app", "o/app", "1.1.0")
        .replace("name: app,", "name: app, annotations: {bumpwright.dev/soak: 24h},");
    world.bench.write("p.yaml", text);
    let (code, document) = world.bench.json(&[
        "update",
        "-f",
        "p.yaml",
        "fleet.git",
        "--dry-run",
        "--path",
        "clusters/production",
    ]);
    let skip = &document["runs"][0]["skips"][0];
    assert_eq!((code, &skip["reason"]), (0, &Value::from("PolicyNotReady")));
    assert!(skip["message"].as_str().unwrap().contains("promote-path"), "{skip}");
}
