//! `bumpwright.dev/window` on automations and policies of `-f` (docs/guides/policies.md, *Windows*).

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::windows;
use serde_json::{Value, json};

const MARKED: &str = "web: o/web:1.0.0 # {\"$imagepolicy\": \"fs:web\"}\n\
    api: o/api:1.0.0 # {\"$imagepolicy\": \"fs:api\"}\nsame: o/web:2.0.0 # {\"$imagepolicy\": \"fs:web\"}\n";

/// A manifest of this name with a window.
fn within(manifest: &str, name: &str, window: &str) -> String {
    let named = format!("metadata: {{name: {name}, ");
    let annotated = format!("{named}annotations: {{bumpwright.dev/window: {window:?}}}, ");
    let manifest = manifest.replace(&named, &annotated);
    assert!(manifest.contains(window));
    manifest
}

struct Fleet {
    bench: Bench,
    repo: Repo,
}

impl Fleet {
    /// With windows on the automation and on the policy `web`.
    fn new(automation_window: Option<&str>, policy_window: Option<&str>) -> Self {
        let bench = Bench::new();
        let repo = bench.repository("app.git");
        repo.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
        let url = format!("file://{}", repo.dir.display());
        let (mut all, mut web) = (
            automation("fs", "all", "repo", "", ""),
            policy("fs", "web", "o/web", "2.0.0"),
        );
        if let Some(window) = automation_window {
            all = within(&all, "all", window);
        }
        if let Some(window) = policy_window {
            web = within(&web, "web", window);
        }
        let others =
            policy("fs", "api", "o/api", "2.0.0") + &git_repository("fs", "repo", &url, "  ref: {branch: main}\n");
        bench.write("m.yaml", all + &web + &others);
        Self { bench, repo }
    }

    fn run(&self, code: i32, more: &[&str]) -> Value {
        let (ended, mut document) = self
            .bench
            .json(&[&["update", "-f", "m.yaml", "--exit-code"], more].concat());
        assert_eq!(ended, code, "{document:#}");
        document["runs"][0].take()
    }

    fn commits(&self) -> usize {
        self.repo.log("main").len()
    }
}

#[test]
fn a_closed_automation_asks_for_nothing_and_is_nothing_to_do() {
    let closed = windows::closed();
    let fleet = Fleet::new(Some(&closed), None);
    let run = fleet.run(0, &[]);
    let said = format!("nothing is written: the automation is outside of the window {closed}, which opens at 20");
    let note = fleet.bench.ok(&["update", "-f", "m.yaml"]).out;
    assert!(note.contains(&said), "{note}");
    assert_eq!(
        (&run["changes"], &run["pushes"], &run["skips"]),
        (&json!([]), &json!([]), &json!([]))
    );
    assert_eq!(fleet.commits(), 1);
    // Not even the repository is looked for.
    std::fs::remove_dir_all(&fleet.repo.dir).unwrap();
    fleet.run(0, &[]);
}

#[test]
fn a_preview_of_a_closed_automation_shows_what_waits() {
    let fleet = Fleet::new(Some(&windows::closed()), None);
    let run = fleet.run(1, &["--dry-run"]);
    assert_eq!(run["changes"].as_array().unwrap().len(), 2, "{run:#}");
    let text = fleet.bench.ok(&["update", "-f", "m.yaml", "--dry-run"]).out;
    assert!(text.contains("the automation is outside of the window"), "{text}");
    assert_eq!(fleet.commits(), 1);
}

#[test]
fn an_open_automation_pushes() {
    let fleet = Fleet::new(
        Some("daily 00:00-12:00; daily 12:00-24:00 UTC"),
        Some("daily 00:00-24:00"),
    );
    let run = fleet.run(1, &[]);
    assert_eq!(run["changes"].as_array().unwrap().len(), 2, "{run:#}");
    assert_eq!(fleet.commits(), 2);
}

#[test]
fn only_fields_that_would_change_wait_for_the_window_of_their_policy() {
    let closed = windows::closed();
    let fleet = Fleet::new(None, Some(&closed));
    // What is set is no exception, as with a hold.
    for more in [&["--dry-run"][..], &["--dry-run", "--set", "fs:web=o/web:3.0.0"], &[]] {
        let run = fleet.run(1, more);
        let changed: Vec<&Value> = run["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["policy"])
            .collect();
        assert_eq!(changed, ["fs/api"], "{run:#}");
        let waits = if more.len() > 1 { 2 } else { 1 };
        let skips = run["skips"].as_array().unwrap();
        assert_eq!(skips.len(), waits, "{run:#}");
        assert_eq!(
            (&skips[0]["reason"], &skips[0]["line"]),
            (&json!("OutsideWindow"), &json!(1))
        );
        let message = skips[0]["message"].as_str().unwrap();
        let said = format!("ImagePolicy fs/web is outside of the window {closed}, which opens at 20");
        assert!(message.starts_with(&said), "{message}");
    }
    assert_eq!(fleet.commits(), 2);
    let strict = fleet.bench.run(&["update", "-f", "m.yaml", "--strict"]);
    assert_eq!(strict.code, 3, "{}", strict.out);
    assert_eq!(fleet.bench.run(&["update", "-f", "m.yaml", "--strict=markers"]).code, 0);
}

#[test]
fn windows_hold_in_folders_too() {
    let closed = windows::closed();
    for (automation, policy, code, changed) in
        [(Some(closed.as_str()), None, 0, 0), (None, Some(closed.as_str()), 1, 1)]
    {
        let fleet = Fleet::new(automation, policy);
        fleet.bench.write("folder/a.yaml", MARKED);
        let run = fleet.run(code, &["folder"]);
        assert_eq!(run["changes"].as_array().unwrap().len(), changed, "{run:#}");
        assert!(fleet.bench.read("folder/a.yaml").contains("o/web:1.0.0"));
    }
}

#[test]
fn a_window_that_does_not_parse_closes_its_object() {
    let fleet = Fleet::new(Some("Mo-Fr 09:00-16:00"), None);
    let run = fleet.run(2, &[]);
    let said = "annotation bumpwright.dev/window: \"Mo-Fr\" is no day";
    assert!(run["error"].as_str().unwrap().starts_with(said), "{run:#}");
    let fleet = Fleet::new(None, Some("daily 09:00-16:00 Europe/Berln"));
    let run = fleet.run(1, &[]);
    let skip = &run["skips"][0];
    assert_eq!(skip["reason"], "PolicyNotReady");
    assert!(
        skip["message"]
            .as_str()
            .unwrap()
            .contains("did you mean Europe/Berlin?"),
        "{run:#}"
    );
}

#[test]
fn policy_tells_the_window_of_a_choice() {
    let closed = windows::closed();
    let fleet = Fleet::new(None, Some(&closed));
    let text = fleet.bench.ok(&["policy", "-f", "m.yaml", "--offline", "web"]).out;
    assert!(
        text.contains(&format!("guard: outside of the window {closed}, which opens at ")),
        "{text}"
    );
    let (_, document) = fleet.bench.json(&["policy", "-f", "m.yaml", "--offline"]);
    let guards: Vec<&Value> = document["policies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["guards"])
        .collect();
    assert_eq!(
        (&guards[0], guards[1][0]["reason"].as_str()),
        (&&json!([]), Some("OutsideWindow"))
    );
}
