//! Previews of several automations of one repository: each starts from what the ones before it would push, as
//! the real runs do.

use std::process::Stdio;

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::git_http::GitHttp;
use bumpwright_testkit::repo::{self, Change, Repo};
use serde_json::{Value, json};

const MESSAGE: &str = "      messageTemplate: '{{ .AutomationObject }}: {{ range .Changed.Changes }}{{ .OldValue }}>{{ .NewValue }} {{ end }}{{ range $file, $_ := .Changed.FileChanges }}{{ $file }} {{ end }}'\n";

/// A repository and the manifests of its automations.
struct World {
    bench: Bench,
    repo: Repo,
}

impl World {
    /// `files` on `main`, and `automations` of policies `p0` to `p5` at 2.0.0.
    fn new(files: &[(String, String)], automations: &[String]) -> Self {
        let bench = Bench::new();
        let repo = bench.repository("fleet.git");
        let changes: Vec<Change<'_>> = (files.iter())
            .map(|(name, text)| Change::File(name, text.as_bytes()))
            .collect();
        repo.commit("main", "first", &changes);
        let world = Self { bench, repo };
        world.write(&format!("file://{}", world.repo.dir.display()), automations);
        world
    }

    fn write(&self, url: &str, automations: &[String]) {
        let policies: String = (0..6).map(|n| labelled(n, "2.0.0")).collect();
        let repository = git_repository("fs", "repo", url, "  ref: {branch: main}\n");
        let text = policies + &repository + &automations.concat();
        self.bench.write("m.yaml", text);
    }

    fn update(&self, more: &[&str]) -> Value {
        self.bench
            .json(&[&["update", "-f", "m.yaml", "--offline"], more].concat())
            .1
    }

    fn diff(&self) -> String {
        let arguments = ["update", "-f", "m.yaml", "--offline", "--dry-run", "--output", "diff"];
        self.bench.run(&arguments).out
    }

    /// The tree of `from` with the diff applied by git.
    fn applied(&self, from: &str, diff: &str) -> String {
        let clone = self.bench.path("clone");
        let _ = std::fs::remove_dir_all(&clone);
        let url = self.repo.dir.display().to_string();
        repo::run(repo::git(&self.bench.dir).args(["clone", "-q", "--branch", from, &url, "clone"]));
        if !diff.is_empty() {
            let file = self.bench.write("all.diff", diff);
            let out = repo::git(&clone)
                .args(["apply", "--index"])
                .arg(file)
                .stderr(Stdio::piped())
                .output()
                .unwrap();
            assert!(out.status.success(), "{}\n{diff}", String::from_utf8_lossy(&out.stderr));
        }
        repo::run_text(repo::git(&clone).args(["write-tree"])).trim().to_owned()
    }

    fn tree(&self, branch: &str) -> String {
        self.repo.rev(&format!("{branch}^{{tree}}")).unwrap()
    }
}

/// A policy of team `n % 3`.
fn labelled(n: usize, tag: &str) -> String {
    let team = format!("metadata: {{labels: {{team: t{}}}, ", n % 3);
    policy("fs", &format!("p{n}"), &format!("o/app-{n}"), tag).replace("metadata: {", &team)
}

/// An automation with a message that tells all of its changes; `git` and `rest` as in the testkit.
fn auto(name: &str, git: &str, rest: &str) -> String {
    automation("fs", name, "repo", &format!("{MESSAGE}{git}"), rest)
}

fn marked(lines: &[usize]) -> String {
    let line = |(n, p): (usize, &usize)| format!("k{n}: o/app-{p}:1.0.0 # {{\"$imagepolicy\": \"fs:p{p}\"}}\n");
    lines.iter().enumerate().map(line).collect()
}

fn file(name: &str, lines: &[usize]) -> (String, String) {
    (name.to_owned(), marked(lines))
}

/// What a preview and the real run have to agree on.
fn told(document: &Value) -> Vec<Value> {
    let runs = document["runs"].as_array().unwrap().iter();
    let told = runs.map(|run| {
        let mut run = run.clone();
        let keys = run.as_object_mut().unwrap();
        keys.remove("pushes");
        // A preview says in other words what it would do.
        keys.remove("notes");
        if let Some(commit) = keys["commit"].as_object_mut() {
            commit.remove("id");
        }
        run
    });
    told.collect()
}

/// Several fields on neighbouring lines, of different teams' policies, in whole references and in tags.
fn generated_file(random: &mut fastrand::Rng) -> String {
    let mut text = String::from("spec:\n");
    for n in 0..random.usize(2..24) {
        let p = random.usize(0..7);
        text += &match random.usize(0..4) {
            0 => format!("  plain{n}: \"x # y\"\n"),
            1 => format!("  k{n}: '1.0.0' # {{\"$imagepolicy\": \"fs:p{p}:tag\"}}\n"),
            2 => format!("  k{n}:   o/app-{p}:1.{n}.0   # {{\"$imagepolicy\": \"fs:p{p}\"}}\r\n"),
            _ => format!("  - k{n}: \"o/app-{p}:2.0.0\" # {{\"$imagepolicy\": \"fs:p{p}\"}}\n").replace("  - k", "  k"),
        };
    }
    text
}

fn pick<'a>(random: &mut fastrand::Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(0..of.len())]
}

fn generated(random: &mut fastrand::Rng) -> World {
    let names = [
        "apps/web/a.yaml",
        "apps/web/b.yaml",
        "apps/c.yaml",
        "infra/d.yaml",
        "e.yaml",
    ];
    let files: Vec<_> = names.map(|name| (name.to_owned(), generated_file(random))).into();
    let automations: Vec<String> = (0..random.usize(2..5))
        .map(|n| {
            let path = pick(random, &["", "", "./apps", "apps/web", "apps/web/a.yaml", "e.yaml"]);
            let path = match path {
                "" => String::new(),
                path => format!("  update: {{path: {path}, strategy: Setters}}\n"),
            };
            let selector = pick(
                random,
                &[
                    "",
                    "  policySelector: {matchLabels: {team: t0}}\n",
                    "  policySelector: {matchLabels: {team: t1}}\n",
                    "  policySelector: {matchExpressions: [{key: team, operator: In, values: [t1, t2]}]}\n",
                ],
            );
            auto(&format!("a{n}"), "", &format!("{path}{selector}"))
        })
        .collect();
    World::new(&files, &automations)
}

/// How many files more than one run changes.
fn overlaps(document: &Value) -> usize {
    let runs = document["runs"].as_array().unwrap().iter();
    let mut paths: Vec<&str> = runs
        .flat_map(|run| {
            let changes = run["changes"].as_array().unwrap().iter();
            let mut paths: Vec<&str> = changes.map(|change| change["path"].as_str().unwrap()).collect();
            paths.dedup();
            paths
        })
        .collect();
    let all = paths.len();
    paths.sort_unstable();
    paths.dedup();
    all - paths.len()
}

#[test]
fn diffs_of_generated_fleets_apply_on_top_of_each_other_and_give_what_the_runs_push() {
    let mut random = fastrand::Rng::with_seed(25);
    let (mut overlapping, mut idle) = (0, 0);
    for case in 0..24 {
        let world = generated(&mut random);
        let before = world.repo.refs();
        let diff = world.diff();
        let preview = world.update(&["--dry-run"]);
        assert_eq!(world.repo.refs(), before, "case {case}: a preview pushes nothing");
        let applied = world.applied("main", &diff);
        let real = world.update(&[]);
        assert_eq!(told(&preview), told(&real), "case {case}");
        assert_eq!(applied, world.tree("main"), "case {case}\n{diff}");
        overlapping += overlaps(&preview);
        let runs = preview["runs"].as_array().unwrap();
        idle += runs.iter().filter(|run| run["changes"] == json!([])).count();
    }
    assert!(overlapping > 10 && idle > 3, "{overlapping} {idle}");
}

#[test]
fn every_output_shows_what_is_left_for_the_second() {
    let automations = [
        auto("a", "", "  policySelector: {matchLabels: {team: t0}}\n"),
        auto("b", "", ""),
        auto("c", "", ""),
    ];
    let world = World::new(&[file("apps/a.yaml", &[0, 1, 0])], &automations);
    let text = |output: &str| {
        world
            .bench
            .ok(&["update", "-f", "m.yaml", "--offline", "--dry-run", "--output", output])
            .out
    };
    let diff = text("diff");
    assert_eq!(diff.matches("+k").count(), 3, "{diff}");
    assert!(
        diff.contains(" k0: o/app-0:2.0.0"),
        "the first's result is the second's context\n{diff}"
    );
    let shown = text("text");
    assert_eq!(shown.matches('→').count(), 3, "{shown}");
    assert!(
        shown.contains(
            "would commit on main as fluxbot <flux@example.com>: fs/b: o/app-1:1.0.0>o/app-1:2.0.0 apps/a.yaml"
        ),
        "{shown}"
    );
    assert_eq!(shown.matches("nothing to change").count(), 1, "{shown}");
    let markdown = text("markdown");
    assert_eq!(
        markdown.matches("`apps/a.yaml:").count(),
        3,
        "two changes and one; what the first automation takes is no skip of the second\n{markdown}"
    );
    assert!(markdown.contains("## fs/c\n\nNothing to change."), "{markdown}");
    let preview = world.update(&["--dry-run"]);
    let count = |n: usize| preview["runs"][n]["changes"].as_array().unwrap().len();
    assert_eq!([count(0), count(1), count(2)], [2, 1, 0]);
    assert_eq!(told(&preview), told(&world.update(&[])));
}

/// C30: the push branch is the checkout plus one commit, so the second run replaces the first one's.
#[test]
fn a_push_branch_that_two_automations_replace_ends_with_the_second() {
    let push = "    push: {branch: auto}\n";
    let automations = [
        auto("a", push, "  policySelector: {matchLabels: {team: t0}}\n"),
        auto("b", push, "  policySelector: {matchLabels: {team: t1}}\n"),
    ];
    let world = World::new(&[file("a.yaml", &[0, 1])], &automations);
    let preview = world.update(&["--dry-run"]);
    let text = world
        .bench
        .ok(&["update", "-f", "m.yaml", "--offline", "--dry-run"])
        .out;
    assert!(
        text.contains("note: fs/b would replace this commit on auto, since it does not start from there"),
        "{text}"
    );
    let diff = world.diff();
    assert!(diff.contains("+k1") && !diff.contains("+k0"), "{diff}");
    let applied = world.applied("main", &diff);
    assert_eq!(told(&preview), told(&world.update(&[])));
    assert_eq!(applied, world.tree("auto"));
    assert_eq!(world.repo.log("auto").len(), 2);
}

/// C30: an equal commit is found, and not made again.
#[test]
fn a_push_branch_with_the_same_edits_is_shown_once() {
    let push = "    push: {branch: auto}\n";
    let world = World::new(&[file("a.yaml", &[0, 1])], &[auto("a", push, ""), auto("b", push, "")]);
    let diff = world.diff();
    assert_eq!(diff.matches("+k").count(), 2, "{diff}");
    let text = world
        .bench
        .ok(&["update", "-f", "m.yaml", "--offline", "--dry-run"])
        .out;
    assert!(!text.contains("replace"), "{text}");
    let applied = world.applied("main", &diff);
    world.update(&[]);
    assert_eq!(applied, world.tree("auto"));
}

#[test]
fn an_automation_that_starts_from_the_push_branch_goes_on_from_there() {
    let onto = "    checkout: {ref: {branch: auto}}\n    push: {branch: auto}\n";
    let automations = [
        auto(
            "a",
            "    push: {branch: auto}\n",
            "  policySelector: {matchLabels: {team: t0}}\n",
        ),
        auto("b", onto, "  policySelector: {matchLabels: {team: t1}}\n"),
        auto("c", onto, ""),
    ];
    // The branch exists already, or only because of the first run.
    for exists in [true, false] {
        let world = World::new(&[file("a.yaml", &[0, 1, 2])], &automations);
        if exists {
            world.repo.git(&["branch", "auto", "main"]);
        }
        let preview = world.update(&["--dry-run"]);
        let applied = world.applied("main", &world.diff());
        assert_eq!(told(&preview), told(&world.update(&[])), "{exists}");
        assert_eq!(applied, world.tree("auto"));
        assert_eq!(world.repo.log("auto").len(), 4);
    }
}

#[test]
fn automations_of_different_branches_do_not_see_each_other() {
    let to = |branch: &str| format!("    push: {{branch: {branch}}}\n");
    let automations = [auto("a", &to("one"), ""), auto("b", &to("two"), "")];
    let world = World::new(&[file("a.yaml", &[0, 1])], &automations);
    let preview = world.update(&["--dry-run"]);
    assert_eq!(preview["runs"][0]["changes"], preview["runs"][1]["changes"]);
    assert_eq!(world.diff().matches("+k").count(), 4, "each branch has its own");
    assert_eq!(told(&preview), told(&world.update(&[])));
}

/// Each change for review stands by itself, on the branch as it is.
#[test]
fn changes_for_review_do_not_see_each_other() {
    let review = "    push: {refspec: 'refs/heads/main:refs/for/main'}\n";
    let world = World::new(
        &[file("a.yaml", &[0, 1])],
        &[auto("a", review, ""), auto("b", review, "")],
    );
    let preview = world.update(&["--dry-run"]);
    assert_eq!(preview["runs"][0]["changes"], preview["runs"][1]["changes"]);
    assert_eq!(world.diff().matches("+k").count(), 4);
    let text = world
        .bench
        .ok(&["update", "-f", "m.yaml", "--offline", "--dry-run"])
        .out;
    assert!(!text.contains("note: fs/"), "{text}");
}

#[test]
fn a_destination_that_would_not_take_the_second_is_told() {
    let copy = "    push: {refspec: 'refs/heads/main:refs/heads/copy'}\n";
    let automations = [
        auto("a", copy, "  policySelector: {matchLabels: {team: t0}}\n"),
        auto("b", copy, "  policySelector: {matchLabels: {team: t1}}\n"),
    ];
    let world = World::new(&[file("a.yaml", &[0, 1])], &automations);
    let text = world
        .bench
        .ok(&["update", "-f", "m.yaml", "--offline", "--dry-run"])
        .out;
    assert!(text.contains("note: copy would not take this commit"), "{text}");
    let applied = world.applied("main", &world.diff());
    let real = world.update(&[]);
    let error = real["runs"][1]["error"].as_str().unwrap_or_default();
    assert!(error.contains("refs/heads/copy: non-fast-forward update"), "{real:#}");
    assert_eq!(applied, world.tree("copy"));
}

/// The policies of the repository are read as the first run would leave them.
#[test]
fn policies_that_an_earlier_run_changes_count_as_changed() {
    let inner = policy("fs", "inner", "o/inner", "1.0.0").replace(
        "status: {latestRef: {name: o/inner, tag: \"1.0.0\"}}",
        "status:\n  latestRef:\n    name: o/inner\n    tag: 1.0.0 # {\"$imagepolicy\": \"fs:p0:tag\"}",
    );
    let files = [
        ("policies/inner.yaml".to_owned(), inner),
        (
            "apps/a.yaml".to_owned(),
            "image: o/inner:0.9.0 # {\"$imagepolicy\": \"fs:inner\"}\n".to_owned(),
        ),
    ];
    let automations = [
        auto("a", "", "  update: {path: policies}\n"),
        auto("b", "", "  update: {path: apps}\n"),
    ];
    let world = World::new(&files, &automations);
    let preview = world.update(&["--dry-run"]);
    assert_eq!(preview["runs"][1]["changes"][0]["new"], "o/inner:2.0.0", "{preview:#}");
    let applied = world.applied("main", &world.diff());
    assert_eq!(told(&preview), told(&world.update(&[])));
    assert_eq!(applied, world.tree("main"));
}

/// A preview that only its annotation asks for is not what a real run starts from, nor what a preview
/// after that starts from.
#[test]
fn a_real_run_among_previews_starts_from_what_is_there() {
    let dry = |text: String| {
        text.replacen(
            "namespace: fs}",
            "namespace: fs, annotations: {bumpwright.dev/dry-run: 'true'}}",
            1,
        )
    };
    let of = |team: &str| format!("  policySelector: {{matchLabels: {{team: {team}}}}}\n");
    let automations = [
        dry(auto("a", "", &of("t0"))),
        auto("b", "", &of("t1")),
        dry(auto("c", "", "")),
    ];
    let world = World::new(&[file("a.yaml", &[0, 1, 2])], &automations);
    let counts = |document: &Value| {
        let runs = document["runs"].as_array().unwrap();
        assert!(runs.iter().all(|run| run["error"].is_null()), "{document:#}");
        runs.iter()
            .map(|run| run["changes"].as_array().unwrap().len())
            .collect::<Vec<_>>()
    };
    assert_eq!(counts(&world.update(&[])), [1, 1, 2]);
    let text = String::from_utf8(world.repo.show("main", "a.yaml")).unwrap();
    assert!(text.contains("app-0:1.0.0") && text.contains("app-1:2.0.0"), "{text}");
    // The same in a folder.
    world.bench.write("folder/a.yaml", marked(&[0, 1, 2]));
    assert_eq!(counts(&world.update(&["folder"])), [1, 1, 2]);
    assert_eq!(world.bench.read("folder/a.yaml"), text);
}

#[test]
fn previews_of_one_branch_fetch_once() {
    let automations = [auto("a", "", ""), auto("b", "", ""), auto("c", "", "")];
    let world = World::new(&[file("a.yaml", &[0, 1])], &automations);
    let server = GitHttp::start(&world.bench.dir);
    world.write(&server.url("fleet.git"), &automations);
    world.update(&["--dry-run"]);
    server.clear();
    world.update(&["--dry-run"]);
    assert_eq!(server.requests().len(), 1);
}
