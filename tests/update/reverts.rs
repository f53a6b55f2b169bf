//! What people take back in Git stays so (`--respect-reverts`, docs/guides/reverts.md), with the real git.

use std::path::{Path, PathBuf};

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::git_http::GitHttp;
use bumpwright_testkit::repo::{Change, Repo, git, run, run_text};
use serde_json::{Value, json};

const BOT: &str = "Bot <bot@example.com>";

/// A repository that a bot and a person push to.
struct World {
    bench: Bench,
    repo: Repo,
    /// The person's clone.
    clone: PathBuf,
}

/// The fields `app` and `web`, each with its policy.
fn file(app: &str, web: &str) -> String {
    format!(
        "app: o/app:{app} # {{\"$imagepolicy\": \"fs:app\"}}\nweb: o/web:{web} # {{\"$imagepolicy\": \"fs:web\"}}\n"
    )
}

impl World {
    /// With both images at 1.0.0.
    fn new() -> Self {
        Self::with(&[("apps/a.yaml", &file("1.0.0", "1.0.0"))])
    }

    fn with(files: &[(&str, &str)]) -> Self {
        let bench = Bench::new();
        let repo = bench.repository("fleet.git");
        let changes: Vec<Change<'_>> = files
            .iter()
            .map(|(path, text)| Change::File(path, text.as_bytes()))
            .collect();
        repo.commit("main", "first", &changes);
        run(git(&bench.dir).args(["clone", "-q", "fleet.git", "clone"]));
        let clone = bench.path("clone");
        Self { bench, repo, clone }
    }

    /// `update TARGET --respect-reverts MORE`, with the policies at these tags; gives the run.
    fn update(&self, app: &str, web: &str, more: &[&str]) -> Value {
        let policies = policy("fs", "app", "o/app", app) + &policy("fs", "web", "o/web", web);
        self.bench.write("p.yaml", policies);
        let arguments = [&["update", "-f", "p.yaml", "fleet.git", "--author", BOT], more].concat();
        let (code, document) = self.bench.json(&arguments);
        assert_eq!(code, 0, "{document:#}");
        document["runs"][0].clone()
    }

    /// A run that respects reverts: the new values, and the skips.
    fn bump(&self, app: &str, web: &str) -> (Vec<String>, Vec<String>) {
        told(&self.update(app, web, &["--respect-reverts"]))
    }

    /// A commit of the bot.
    fn landed(&self, app: &str, web: &str) -> String {
        let run = self.update(app, web, &["--respect-reverts"]);
        run["commit"]["id"].as_str().expect("there is a commit").to_owned()
    }

    /// The person runs git, now.
    fn person(&self, arguments: &[&str]) -> String {
        let mut git = git(&self.clone);
        for who in ["AUTHOR", "COMMITTER"] {
            git.env_remove(format!("GIT_{who}_DATE"));
        }
        run_text(git.env("TZ", "UTC").args(arguments))
    }

    fn pulls(&self) {
        self.person(&["pull", "-q", "--ff-only"]);
    }

    fn pushes(&self) {
        self.person(&["push", "-q", "origin", "HEAD:main"]);
    }

    /// The person reverts a commit and pushes; gives the id of the revert.
    fn reverts(&self, commit: &str) -> String {
        self.pulls();
        self.person(&["revert", "--no-edit", commit]);
        self.pushes();
        self.person(&["rev-parse", "HEAD"])
    }

    /// The person writes a file and pushes.
    fn writes(&self, path: &str, text: &str) -> String {
        self.pulls();
        std::fs::write(self.clone.join(path), text).unwrap();
        self.person(&["commit", "-qam", "by hand"]);
        self.pushes();
        self.person(&["rev-parse", "HEAD"])
    }

    fn content(&self) -> String {
        String::from_utf8(self.repo.show("main", "apps/a.yaml")).unwrap()
    }
}

fn told(run: &Value) -> (Vec<String>, Vec<String>) {
    let list = |key: &str, text: &dyn Fn(&Value) -> String| {
        let all = run[key].as_array().unwrap_or_else(|| panic!("{run:#}"));
        all.iter().map(text).collect()
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (
        list("changes", &|change| text(&change["new"])),
        list("skips", &|skip| {
            format!("{}: {}", text(&skip["reason"]), text(&skip["message"]))
        }),
    )
}

fn none() -> Vec<String> {
    Vec::new()
}

/// flux2 #4676.
#[test]
fn a_git_revert_is_enough_to_stop_the_bot() {
    let world = World::new();
    let bumped = world.landed("2.0.0", "1.0.0");
    let revert = world.reverts(&bumped);
    let (changes, skips) = world.bump("2.0.0", "1.0.0");
    assert_eq!(changes, none());
    let (short, day) = (&revert[..7], world.person(&["log", "-1", "--format=%cs"]));
    let wanted = format!(
        "Reverted: commit {short} of Test, {day}, replaced o/app:2.0.0 by o/app:1.0.0; nothing is written here until \
         ImagePolicy fs/app chooses something newer"
    );
    assert_eq!(skips, [wanted]);
    assert_eq!(world.repo.rev("main").unwrap(), revert);
    // Older versions are not newer; the next one is.
    assert!(world.bump("1.9.0", "1.0.0").1[0].contains("by o/app:1.0.0, and o/app:1.9.0 is not newer; nothing"));
    assert_eq!(world.bump("2.0.1", "1.0.0"), (vec!["o/app:2.0.1".to_owned()], none()));
    assert_eq!(world.content(), file("2.0.1", "1.0.0"));
    // Without the flag nobody asks.
    let bumped = world.repo.rev("main").unwrap();
    world.reverts(&bumped);
    assert_eq!(told(&world.update("2.0.1", "1.0.0", &[])).0, ["o/app:2.0.1"]);
}

#[test]
fn a_revert_of_the_revert_gives_the_field_back() {
    let world = World::new();
    let bumped = world.landed("2.0.0", "1.0.0");
    let revert = world.reverts(&bumped);
    world.reverts(&revert);
    assert_eq!(world.bump("2.0.0", "1.0.0"), (none(), none()));
    assert_eq!(world.bump("2.1.0", "1.0.0").0, ["o/app:2.1.0"]);
    // Taken back again, it stays so again.
    world.reverts("HEAD");
    assert_eq!(world.bump("2.1.0", "1.0.0").1.len(), 1);
}

#[test]
fn each_field_has_a_past_of_its_own() {
    let world = World::new();
    world.landed("2.0.0", "2.0.0");
    world.writes("apps/a.yaml", &file("1.0.0", "2.0.0"));
    let (changes, skips) = world.bump("2.0.0", "3.0.0");
    assert_eq!(changes, ["o/web:3.0.0"]);
    assert_eq!(skips.len(), 1);
    assert_eq!(world.content(), file("1.0.0", "3.0.0"));
}

#[test]
fn a_person_may_go_back_by_several_versions() {
    let world = World::new();
    world.landed("2.0.0", "1.0.0");
    world.landed("3.0.0", "1.0.0");
    // One after the other, or in one step by hand.
    for (n, undo) in [["HEAD", "HEAD~2"], ["", ""]].into_iter().enumerate() {
        match undo {
            ["", ""] => _ = world.writes("apps/a.yaml", &file("1.0.0", "1.0.0")),
            [last, before] => {
                world.reverts(last);
                world.reverts(before);
            }
        }
        assert_eq!(world.content(), file("1.0.0", "1.0.0"));
        for tag in ["2.0.0", "3.0.0"] {
            let (changes, skips) = world.bump(tag, "1.0.0");
            assert_eq!((changes, skips.len()), (none(), 1), "{n}: {tag}");
        }
        let next = format!("4.{n}.0");
        assert_eq!(world.bump(&next, "1.0.0").0, [format!("o/app:{next}")]);
    }
}

#[test]
fn a_person_may_go_forward_by_hand() {
    let world = World::new();
    world.landed("2.0.0", "1.0.0");
    world.writes("apps/a.yaml", &file("2.5.0", "1.0.0"));
    assert_eq!(world.bump("2.0.0", "1.0.0").1.len(), 1);
    assert_eq!(world.bump("3.0.0", "1.0.0").0, ["o/app:3.0.0"]);
}

#[test]
fn reverts_that_are_merged_count() {
    let world = World::new();
    let bumped = world.landed("2.0.0", "1.0.0");
    world.pulls();
    world.person(&["checkout", "-qb", "undo"]);
    world.person(&["revert", "--no-edit", &bumped]);
    world.person(&["checkout", "-q", "main"]);
    world.person(&["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
    world.person(&["merge", "-q", "--no-ff", "-m", "Merge the revert", "undo"]);
    world.pushes();
    assert_eq!(world.bump("2.0.0", "1.0.0").1.len(), 1);
    assert_eq!(world.bump("3.0.0", "1.0.0").0, ["o/app:3.0.0"]);

    // Squashed, as pull requests are: of the bump, where the bot is named as an author besides, and of the revert.
    let world = World::new();
    let message = "Bump (#1)\n\nCo-authored-by: Bot <BOT@example.com>";
    std::fs::write(world.clone.join("apps/a.yaml"), file("2.0.0", "1.0.0")).unwrap();
    world.person(&["commit", "-qam", message]);
    world.pushes();
    world.reverts("HEAD");
    assert_eq!(world.bump("2.0.0", "1.0.0").1.len(), 1);
    assert_eq!(world.bump("1.5.0", "1.0.0").1.len(), 1);
    assert_eq!(world.bump("3.0.0", "1.0.0").0, ["o/app:3.0.0"]);
}

/// `git pull` makes a person's own line the first parent of the merge.
#[test]
fn a_revert_on_the_other_side_of_a_merge_counts() {
    let world = World::new();
    world.person(&["commit", "-q", "--allow-empty", "-m", "not pushed yet"]);
    let bumped = world.landed("2.0.0", "1.0.0");
    let other = world.bench.path("other");
    run(git(&world.bench.dir).args(["clone", "-q", "fleet.git", "other"]));
    run(git(&other).args(["revert", "--no-edit", &bumped]));
    run(git(&other).args(["push", "-q", "origin", "HEAD:main"]));
    world.person(&["pull", "-q", "--no-rebase", "--no-edit"]);
    world.pushes();
    assert_eq!(world.repo.log("main")[0].parents.len(), 2);
    assert_eq!(world.bump("2.0.0", "1.0.0").1.len(), 1);
}

/// The merge itself takes the bump away.
#[test]
fn a_merge_that_drops_a_bump_counts() {
    let world = World::new();
    world.person(&["commit", "-q", "--allow-empty", "-m", "not pushed yet"]);
    world.landed("2.0.0", "1.0.0");
    world.person(&["fetch", "-q"]);
    world.person(&["merge", "-q", "-s", "ours", "-m", "no", "origin/main"]);
    world.pushes();
    let (changes, skips) = world.bump("2.0.0", "1.0.0");
    assert_eq!(changes, none());
    assert!(
        skips[0].contains(" of Bot, ") && skips[0].contains("wrote o/app:2.0.0, which was replaced by o/app:1.0.0"),
        "{skips:?}"
    );
}

#[test]
fn renamed_files_and_moved_fields_keep_their_past() {
    let world = World::new();
    let bumped = world.landed("2.0.0", "1.0.0");
    world.reverts(&bumped);
    world.person(&["mv", "apps", "services"]);
    world.person(&["commit", "-qm", "move the folder"]);
    world.pushes();
    assert_eq!(world.bump("2.0.0", "1.0.0").1.len(), 1);
    let moved = format!(
        "# on top\nkind: ConfigMap\nmetadata: {{name: x}}\n---\n{}",
        file("1.0.0", "1.0.0")
    );
    world.writes("services/a.yaml", &moved);
    assert_eq!(world.bump("2.0.0", "1.0.0").1.len(), 1);
    // Of a file that was moved and changed at once, nothing is known.
    world.person(&["mv", "services/a.yaml", "services/b.yaml"]);
    world.writes("services/b.yaml", &format!("new: 1\n{moved}"));
    assert_eq!(world.bump("2.0.0", "1.0.0").0, ["o/app:2.0.0"]);
}

#[test]
fn equal_fields_are_told_apart_by_their_objects_and_order() {
    let deployment = |name: &str, init: &str, main: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  init: o/app:{init} # {{\"$imagepolicy\": \"fs:app\"}}\n  \
             main: o/app:{main} # {{\"$imagepolicy\": \"fs:app\"}}\n"
        )
    };
    let world = World::with(&[(
        "apps/a.yaml",
        &format!("{}---\n{}", deployment("one", "1", "1"), deployment("two", "1", "1")),
    )]);
    world.landed("2.0.0", "1.0.0");
    world.writes(
        "apps/a.yaml",
        &format!(
            "{}---\n{}",
            deployment("two", "2.0.0", "1"),
            deployment("one", "2.0.0", "2.0.0")
        ),
    );
    let run = world.update("2.0.0", "1.0.0", &["--respect-reverts"]);
    assert_eq!(run["changes"], json!([]));
    assert_eq!((&run["skips"][0]["line"], &run["skips"][1]), (&json!(6), &Value::Null));
}

#[test]
fn tag_and_digest_of_an_image_stay_together() {
    let digest = |n: u8| format!("sha256:{}", n.to_string().repeat(64));
    let of = |tag: &str, n: u8| {
        format!(
            "tag: {tag} # {{\"$imagepolicy\": \"fs:app:tag\"}}\ndigest: {} # {{\"$imagepolicy\": \"fs:app:digest\"}}\n",
            digest(n)
        )
    };
    let world = World::with(&[("apps/a.yaml", &of("latest", 1))]);
    let set = |tag: &str, n: u8| {
        let image = format!("fs:app=o/app:{tag}@{}", digest(n));
        let run = world.update("1.0.0", "1.0.0", &["--respect-reverts", "--set", &image]);
        let (changes, skips) = told(&run);
        (changes.len(), skips.len())
    };
    // Only the digest moves, and is taken back: the same one is not written again, another one is.
    assert_eq!(set("latest", 2), (1, 0));
    world.writes("apps/a.yaml", &of("latest", 1));
    assert_eq!(set("latest", 2), (0, 1));
    assert_eq!(set("latest", 3), (1, 0));
    // A tag that stays keeps its digest, whatever that is by now.
    assert_eq!(set("2.0.0", 4), (2, 0));
    world.writes("apps/a.yaml", &of("1.0.0", 5));
    assert_eq!(set("2.0.0", 4), (0, 2));
    assert_eq!(set("2.0.0", 6), (0, 2));
    assert_eq!(set("2.0.1", 6), (2, 0));
}

#[test]
fn commits_with_the_address_of_the_bot_are_the_bots() {
    let world = World::new();
    let bumped = world.landed("2.0.0", "1.0.0");
    world.pulls();
    world.person(&["-c", "user.name=Bot", "revert", "--no-edit", &bumped]);
    world.person(&[
        "commit",
        "-q",
        "--amend",
        "--no-edit",
        "--author",
        "Me <bot@example.com>",
    ]);
    world.pushes();
    assert_eq!(world.bump("2.0.0", "1.0.0").0, ["o/app:2.0.0"]);
}

#[test]
fn only_so_many_commits_are_looked_at() {
    let world = World::new();
    let bumped = world.landed("2.0.0", "1.0.0");
    world.reverts(&bumped);
    for n in 0..3 {
        world.repo.commit("main", "other", &[Change::File("other", &[n])]);
    }
    let among = |commits: &str| told(&world.update("2.0.0", "1.0.0", &[commits, "--dry-run"])).1.len();
    assert_eq!(among("--respect-reverts=3"), 0);
    // The revert, but not the bump: it does not matter who wrote it, the value was set back.
    assert_eq!(among("--respect-reverts=4"), 1);
    assert_eq!(among("--respect-reverts=5"), 1);
    assert_eq!(among("--respect-reverts"), 1);
}

/// Long histories, in a mirror that has none of them: what is fetched, and that it ends.
#[test]
fn a_mirror_fetches_as_much_history_as_it_takes() {
    let world = World::new();
    let server = GitHttp::start(&world.bench.dir);
    let url = server.url("fleet.git");
    let bumped = world.landed("2.0.0", "1.0.0");
    world.reverts(&bumped);
    let grow = |count: usize| {
        let mut input = String::new();
        let tip = world.repo.rev("main").unwrap();
        for n in 0..count {
            let from = if n == 0 { format!("from {tip}\n") } else { String::new() };
            input.push_str(&format!(
                "commit refs/heads/main\ncommitter Test <test@example.com> 1800000000 +0000\ndata 1\nx\n{from}M 100644 inline other/{n}\ndata 1\nx\n"
            ));
        }
        feed(&world.repo.dir, &input);
    };
    let requests = |name: &str, more: &[&str]| {
        server.clear();
        let mut command = world.bench.command(
            &[
                &[
                    "update",
                    "-f",
                    "p.yaml",
                    &url,
                    "--author",
                    BOT,
                    "--dry-run",
                    "--output",
                    "json",
                ],
                more,
            ]
            .concat(),
        );
        let out = run(command.env("BUMPWRIGHT_CACHE", world.bench.home.path().join(name)));
        let document: Value = serde_json::from_slice(&out).unwrap();
        let skipped = document["runs"][0]["skips"].as_array().unwrap().len();
        let fetches = server
            .requests()
            .iter()
            .filter(|seen| seen.path.ends_with("git-upload-pack"))
            .count();
        (skipped, fetches)
    };
    // Without edits nothing is asked for: one listing, one fetch.
    world.update("1.0.0", "1.0.0", &["--respect-reverts"]);
    assert_eq!(requests("idle", &["--respect-reverts"]), (0, 2));
    world.update("2.0.0", "1.0.0", &["--respect-reverts"]);
    assert_eq!(requests("near", &["--respect-reverts"]), (1, 3));
    assert_eq!(requests("near", &["--respect-reverts"]), (1, 1));
    grow(200);
    assert_eq!(
        requests("near", &["--respect-reverts"]),
        (1, 2),
        "the mirror has the rest"
    );
    assert_eq!(requests("far", &["--respect-reverts"]), (1, 4));
    assert_eq!(requests("far", &["--respect-reverts"]), (1, 1));
    grow(3000);
    // None of these 500 is the bump.
    assert_eq!(requests("beyond", &["--respect-reverts"]), (0, 5));
    assert_eq!(requests("all", &["--respect-reverts=10000"]), (1, 6));
}

/// `git fast-import`.
fn feed(dir: &Path, input: &str) {
    use std::io::Write as _;
    let mut command = git(dir);
    command.args(["fast-import", "--quiet", "--date-format=raw"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Two lines that merge each other a thousand times have 2^1000 ways through them.
#[test]
fn criss_cross_merges_are_walked_once() {
    let world = World::new();
    let bumped = world.landed("2.0.0", "1.0.0");
    let revert = world.reverts(&bumped);
    let mut input = String::new();
    let mut mark = |parents: [String; 2], n: usize| {
        input.push_str(&format!(
            "commit refs/heads/main\nmark :{n}\ncommitter Test <test@example.com> 1800000000 +0000\ndata 1\nx\nfrom {}\nmerge {}\n",
            parents[0], parents[1]
        ));
    };
    mark([revert.clone(), bumped.clone()], 1);
    mark([revert, bumped], 2);
    for n in (3..2000).step_by(2) {
        let (one, two) = (format!(":{}", n - 2), format!(":{}", n - 1));
        mark([one.clone(), two.clone()], n);
        mark([two, one], n + 1);
    }
    feed(&world.repo.dir, &format!("{input}done\n"));
    assert_eq!(
        told(&world.update("2.0.0", "1.0.0", &["--respect-reverts=10000"]))
            .1
            .len(),
        1
    );
}

#[test]
fn automations_ask_for_it_by_an_annotation() {
    let world = World::new();
    let url = format!("file://{}", world.repo.dir.display());
    let objects = |said: &str| {
        let automation = automation("fs", "all", "fleet", "", "");
        git_repository("fs", "fleet", &url, "  ref: {branch: main}\n")
            + &policy("fs", "app", "o/app", "2.0.0")
            + &automation.replace(
                "name: all,",
                &format!("name: all, annotations: {{bumpwright.dev/respect-reverts: {said}}},"),
            )
    };
    let run = |said: &str| {
        world.bench.write("a.yaml", objects(said));
        let (code, document) = world.bench.json(&["update", "-f", "a.yaml"]);
        (code, document["runs"][0].clone())
    };
    let first = run("'true'").1;
    world.reverts(first["commit"]["id"].as_str().unwrap());
    assert_eq!(run("'true'").1["skips"][0]["reason"], "Reverted");
    assert_eq!(run("'2'").1["skips"][0]["reason"], "Reverted");
    let (code, broken) = run("'yes'");
    assert_eq!(code, 2);
    assert!(
        broken["error"].as_str().unwrap().contains("respect-reverts"),
        "{broken:#}"
    );
    assert_eq!(run("'false'").1["changes"][0]["new"], "o/app:2.0.0");
}

/// The work tree of a person who runs the command.
struct Folder(World);

impl Folder {
    fn new() -> Self {
        let world = World::new();
        let policies = policy("fs", "app", "o/app", "2.0.0") + &policy("fs", "web", "o/web", "1.0.0");
        world.bench.write("p.yaml", policies);
        Self(world)
    }

    /// `update -f p.yaml clone MORE`: exit code, changes, skips and standard error.
    fn update(&self, target: &str, more: &[&str]) -> (i32, usize, usize, String) {
        let arguments = [&["update", "-f", "p.yaml", target], more, &["--output", "json"]].concat();
        let ran = self.0.bench.run(&arguments);
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let run = &document["runs"][0];
        let count = |key: &str| run[key].as_array().map_or(0, Vec::len);
        (ran.code, count("changes"), count("skips"), ran.err)
    }
}

#[test]
fn the_history_of_a_folder_counts() {
    let folder = Folder::new();
    let world = &folder.0;
    let respected = |target: &str, more: &[&str]| {
        let (code, changes, skips, _) = folder.update(target, &[&["--respect-reverts"], more].concat());
        (code, changes, skips)
    };
    // A commit with the settings of the person's own git, who then reverts it: who it was does not matter.
    let own = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    world.person(&["config", "user.name", "Test"]);
    world.person(&["config", "user.email", "test@example.com"]);
    assert_eq!(respected("clone", &["--commit"]), (0, 1, 0));
    world.person(&[&own[..], &["revert", "--no-edit", "HEAD"]].concat());
    assert_eq!(respected("clone", &[]), (0, 0, 1));
    assert_eq!(respected("clone/apps", &[]), (0, 0, 1));
    assert_eq!(respected("clone/apps/a.yaml", &[]), (0, 0, 1));
    // With an author it does, also without a commit.
    assert_eq!(
        respected("clone", &["--author", "Test <test@example.com>", "--dry-run"]),
        (0, 1, 0)
    );
    assert_eq!(folder.update("clone", &["--dry-run"]).1, 1);
    // A shallow clone knows nothing of it, and says so.
    let url = format!("file://{}", world.clone.display());
    run(git(&world.bench.dir).args(["clone", "-q", "--depth=1", &url, "shallow"]));
    let ran = world
        .bench
        .ok(&["update", "-f", "p.yaml", "shallow", "--respect-reverts", "--dry-run"]);
    assert!(
        ran.out.contains("o/app:2.0.0") && ran.out.contains("\nnote: the history is shallow"),
        "{}\n{}",
        ran.out,
        ran.err
    );
    // What is not committed yet counts, too.
    assert_eq!(
        respected("clone", &["--set", "fs:app=o/app:3.0.0", "--commit"]),
        (0, 1, 0)
    );
    std::fs::write(world.clone.join("apps/a.yaml"), file("1.0.0", "1.0.0")).unwrap();
    assert_eq!(
        respected("clone", &["--set", "fs:app=o/app:3.0.0"]),
        (0, 1, 0),
        "nobody has said that this was a person"
    );
}

#[test]
fn a_history_that_cannot_be_read_changes_nothing() {
    let folder = Folder::new();
    let world = &folder.0;
    world.bench.write("plain/apps/a.yaml", file("1.0.0", "1.0.0"));
    let refused = |target: &str, words: &str| {
        let before = world.bench.read(&format!("{target}/apps/a.yaml"));
        let ran = world
            .bench
            .run(&["update", "-f", "p.yaml", target, "--respect-reverts"]);
        assert!(ran.code == 2 && ran.err.contains(words), "{}\n{}", ran.out, ran.err);
        assert_eq!(world.bench.read(&format!("{target}/apps/a.yaml")), before);
    };
    refused("plain", "cannot be read: git refused: fatal: not a git repository");
    // An old version of the file is lost.
    let bumped = world.landed("2.0.0", "1.0.0");
    let lost = world.repo.rev("main:apps/a.yaml").unwrap();
    world.reverts(&bumped);
    std::fs::remove_file(world.clone.join(format!(".git/objects/{}/{}", &lost[..2], &lost[2..]))).unwrap();
    refused("clone", &format!("object {lost} is missing; nothing was written"));
}
