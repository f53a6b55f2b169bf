//! The recorded scenarios of the real image-automation-controller, played through `bumpwright update -f`.
//!
//! Compared is what a command line can show: references, pushes, commits, the values of files, the result of each run.

mod files;
mod forge;
mod keys;
mod play;
mod recorded;
mod yaml_tree;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bumpwright_testkit::corpora::{corpora, floors};
use keys::Keys;
use parking_lot::Mutex;
use play::Play;
use recorded::{Comparison, Difference};
use serde_json::Value;

/// Scenarios that come out as recorded.
const FLOOR: usize = 131;

/// The scenarios that differ from the record on purpose, and the decision that each follows.
const BY_DECISION: &[(&str, &str)] = &[
    ("config-kubernetes-annotations", "kyaml annotations, kyaml limits"),
    (
        "config-kubernetes-annotations-legacy",
        "kyaml annotations, kyaml limits",
    ),
    (
        "config-kubernetes-annotations-mismatch",
        "kyaml annotations, kyaml limits",
    ),
    ("kind-list", "kind: List"),
    ("legacy-v1beta2-updated", "C32"),
    ("marker-no-digest", "tag and digest"),
    ("push-branch-again", "C30"),
    ("push-branch-main-moves", "C30"),
    ("push-branch-unrelated", "C30"),
    ("push-race-branch-unrelated", "C30"),
    ("push-refspec-equal-branch", "C31"),
    ("push-refspec-missing-source", "C31"),
    ("ssh-no-secret", "credentials"),
    ("tag-like-v", "new value's type"),
    ("template-imageresult", "C32"),
    ("template-updated-fixed", "C32"),
];

/// The scenarios that come out as recorded although they ask for something that is not built.
const ALREADY: &[&str] = &[
    "cross-namespace-denied-fixed",
    "cross-namespace-denied-same",
    "provider-github-nosecret",
];

/// Whether a scenario asks for something.
type Asks = fn(&Facts) -> bool;

/// A decision, the parts of a record that it may change, and the scenarios that it is about.
struct Decision {
    name: &'static str,
    parts: &'static [&'static str],
    concerns: Asks,
}

const DECISIONS: &[Decision] = &[
    Decision {
        name: "C30",
        parts: &["log", "files", "pushes", "refs", "last push", "values"],
        concerns: |facts| facts.switches,
    },
    Decision {
        name: "C31",
        parts: &["log", "files", "pushes", "refs", "last push", "status"],
        concerns: |facts| facts.text.contains("refspec:") && !facts.switches,
    },
    Decision {
        name: "C32",
        parts: &[
            "log",
            "files",
            "pushes",
            "refs",
            "last push",
            "status",
            "tree",
            "values",
        ],
        concerns: |facts| facts.expected.contains("RemovedTemplateField"),
    },
    Decision {
        name: "kind: List",
        parts: &["files", "tree"],
        concerns: |facts| facts.text.contains("kind: List") || facts.text.contains("kind: ResourceList"),
    },
    Decision {
        name: "kyaml annotations, kyaml limits",
        parts: &["log", "pushes", "refs", "status", "values", "last push"],
        concerns: |facts| facts.text.contains("config.kubernetes.io/") || facts.text.contains("%YAML"),
    },
    Decision {
        name: "tag and digest",
        parts: &["values"],
        concerns: |facts| {
            let is_marked = |part: &str| facts.text.contains(&format!(":{part}\"}}"));
            is_marked("tag") && is_marked("digest") && !facts.text.contains("digestReflectionPolicy")
        },
    },
    Decision {
        name: "push options unsupported",
        parts: &["log", "pushes", "refs", "status", "last push"],
        concerns: |facts| facts.text.contains("push_options: false"),
    },
    Decision {
        name: "empty repository",
        parts: &["status"],
        concerns: |facts| facts.text.contains("empty: true"),
    },
    // docs/cli.md, *Credentials on the command line*: no Secret means the credentials of the person who runs it.
    Decision {
        name: "credentials",
        parts: &["log", "pushes", "refs", "status", "last push"],
        concerns: |facts| {
            let lacks = |words: &str| facts.expected.contains(words);
            lacks("failed to get auth secret")
                || lacks("invalid 'ssh' auth option") && !facts.text.contains("secretRef:")
        },
    },
];

/// What a scenario asks for that a command line does not have, or has not yet.
const NOT_BUILT: &[(&str, Asks)] = &[
    ("provider logins", |facts| facts.text.contains("provider: ")),
    ("a controller's flag or gate", |facts| {
        ["nocross", "noforce", "onebranch"]
            .iter()
            .any(|variant| facts.scenario["variant"] == *variant)
    }),
    ("shown by a cluster alone", |facts| facts.compared == 0),
];

/// What is known of a scenario besides its differences.
struct Facts {
    text: String,
    expected: String,
    scenario: Value,
    switches: bool,
    compared: usize,
}

/// How one scenario came out.
struct Came {
    facts: Facts,
    differences: Vec<Difference>,
    /// Decisions that explain values that differ.
    decisions: Vec<&'static str>,
}

enum Verdict {
    AsRecorded,
    Decided(&'static str),
    NotBuilt,
    Wrong,
}

impl Came {
    fn verdict(&self) -> Verdict {
        if self.differences.is_empty() && self.facts.compared > 0 {
            return self
                .decisions
                .first()
                .map_or(Verdict::AsRecorded, |name| Verdict::Decided(name));
        }
        if NOT_BUILT.iter().any(|(_, asks)| asks(&self.facts)) {
            return Verdict::NotBuilt;
        }
        let allows = |decision: &&Decision| {
            let all = self
                .differences
                .iter()
                .all(|difference| decision.parts.contains(&difference.part));
            all && (decision.concerns)(&self.facts)
        };
        DECISIONS
            .iter()
            .find(allows)
            .map_or(Verdict::Wrong, |decision| Verdict::Decided(decision.name))
    }
}

fn play(keys: &Keys, folder: &Path) -> Came {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let text = read("scenario.yaml");
    let scenario = yaml_tree::value(&text);
    let expected: Value = serde_json::from_str(&read("expected.json")).unwrap();
    let mut play = Play::new(keys, folder, &text);
    let played = catch_unwind(AssertUnwindSafe(|| play.play(&scenario)));
    let switches = play.switching();
    let mut comparison = Comparison::new(&play);
    match played.and_then(|()| catch_unwind(AssertUnwindSafe(|| comparison.compare(&expected)))) {
        Ok(()) => one_commit_ahead(&play, &switches, &mut comparison.differences),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .unwrap_or_else(|| "it panicked".to_owned());
            comparison.differences.push(Difference { part: "play", text });
        }
    }
    let facts = Facts {
        text,
        expected: expected.to_string(),
        scenario,
        switches: !switches.is_empty(),
        compared: comparison.compared,
    };
    Came {
        facts,
        differences: comparison.differences,
        decisions: comparison.decisions.into_iter().collect(),
    }
}

/// C30, whatever the record says: what the binary made of a push branch is one commit on a commit of the start branch.
fn one_commit_ahead(play: &Play<'_>, switches: &[play::Pushes], differences: &mut Vec<Difference>) {
    for push in switches {
        let repo = play.forge.repo(&push.repo);
        let log = repo
            .rev(&push.branch)
            .map(|_| repo.log(&push.branch))
            .unwrap_or_default();
        let Some(tip) = log.first().filter(|tip| !tip.author.starts_with("test ")) else {
            continue;
        };
        let starts = repo.rev(&push.start).map(|_| repo.log(&push.start)).unwrap_or_default();
        if !tip
            .parents
            .iter()
            .all(|parent| starts.iter().any(|start| start.id == *parent))
        {
            let text = format!("{} is not one commit ahead of {}", push.branch, push.start);
            differences.push(Difference { part: "C30", text });
        }
    }
}

/// Plays all scenarios side by side; at least four at a time, since some only wait.
fn play_all(keys: &Keys, folders: &[PathBuf]) -> BTreeMap<String, Came> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let workers = std::thread::available_parallelism().map_or(4, |n| n.get().max(4));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(folder) = folders.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
                    let came = play(keys, folder);
                    results.lock().insert(name, came);
                }
            });
        }
    });
    results.into_inner()
}

/// The scenarios with a record whose names hold `BUMPWRIGHT_SCENARIO`.
fn recorded_folders() -> Option<Vec<PathBuf>> {
    let entries = std::fs::read_dir(corpora().join("harness/scenarios/image")).ok()?;
    let only = std::env::var("BUMPWRIGHT_SCENARIO").unwrap_or_default();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| {
        let named = folder
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.contains(&only));
        named && folder.join("expected.json").exists()
    });
    folders.sort();
    Some(folders)
}

#[test]
fn scenarios() {
    let Some(folders) = recorded_folders() else {
        return println!("scenarios: absent");
    };
    let results = play_all(&Keys::make(), &folders);
    let (mut as_recorded, mut decided, mut not_built) = (0, 0, 0);
    let mut faults = Vec::new();
    for (name, came) in &results {
        let listed = BY_DECISION
            .iter()
            .find(|(listed, _)| listed == name)
            .map(|(_, decision)| *decision);
        let verdict = came.verdict();
        match verdict {
            Verdict::AsRecorded => {
                as_recorded += 1;
                let ready = NOT_BUILT
                    .iter()
                    .find(|(_, asks)| asks(&came.facts))
                    .filter(|_| !ALREADY.contains(&&**name));
                faults.extend(ready.map(|(what, _)| format!("{name}: works, yet {what:?} is said not to be built")));
            }
            Verdict::Decided(_) => decided += 1,
            Verdict::NotBuilt => not_built += 1,
            Verdict::Wrong => {
                let texts = came.differences.iter().map(|one| format!("{}: {}", one.part, one.text));
                faults.push(format!("{name}: {}", texts.collect::<Vec<_>>().join("\n    ")));
            }
        }
        let decision = if let Verdict::Decided(decision) = verdict {
            Some(decision)
        } else {
            None
        };
        if decision != listed {
            faults.push(format!("{name}: the list says {listed:?}, it came out as {decision:?}"));
        }
    }
    faults.iter().for_each(|fault| println!("{fault}"));
    let total = results.len();
    println!("scenarios: {as_recorded} of {total} ({decided} differ by decision, {not_built} not built)");
    let floors = floors();
    let whole = std::env::var_os("BUMPWRIGHT_SCENARIO").is_none();
    assert!(!floors || faults.is_empty(), "{}", faults.join("\n"));
    assert!(
        !floors || !whole || as_recorded >= FLOOR.min(total),
        "{as_recorded} of {total}, the floor is {FLOOR}"
    );
}
