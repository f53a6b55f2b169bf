//! Small fleets (`fixtures/fleets`) as we build them, beside `flux build kustomization` of the real CLI: the same
//! objects, Kustomization by Kustomization.

mod flux;
mod normal;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use bumpwright_testkit::cli::{Bench, files};
use bumpwright_testkit::repo::{git, run};
use flux::{Flux, Reality};

/// Objects by the `NAMESPACE/NAME` of their Kustomization.
type Groups = BTreeMap<String, Vec<Value>>;

/// A fixture, the folder in it that a cluster reconciles, and the GitRepository in flux-system that stands for
/// the whole of it.
const FLEETS: [(&str, &str, &str); 5] = [
    ("overlays", "clusters/live/00", "estate"),
    ("overlays", "clusters/build/00", "estate"),
    ("bootstrap", "clusters/production", "flux-system"),
    ("nested", "cluster", "flux-system"),
    ("sealed", "entry", "home"),
];

/// A fixture in a Git repository, and what the real CLI builds of it.
struct Fleet {
    bench: Bench,
    entry: &'static str,
    reality: Reality,
}

impl Fleet {
    fn new((fixture, entry, source): (&'static str, &'static str, &'static str), program: &Path) -> Self {
        let bench = Bench::new();
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures/fleets")
            .join(fixture);
        for (name, bytes) in files(&from) {
            bench.write(&format!("repo/{name}"), bytes);
        }
        let root = bench.path("repo");
        run(git(&root).args(["init", "--quiet"]));
        let reality = Flux::new(program, root).walk(entry, source);
        Self { bench, entry, reality }
    }

    /// All fleets; none without the real CLI.
    fn all() -> Vec<Self> {
        let program: Option<PathBuf> = bumpwright_testkit::tool("flux");
        let fleets = program
            .iter()
            .flat_map(|program| FLEETS.map(|fleet| Self::new(fleet, program)));
        fleets.collect()
    }

    /// `bumpwright fleet`, in the root of the repository.
    fn fleet(&self, arguments: &[&str]) -> String {
        // As `flux build kustomization`, which is not strict.
        let arguments = [&["fleet", self.entry, "--strict-substitute=false"], arguments].concat();
        let output = self
            .bench
            .command(&arguments)
            .current_dir(self.bench.path("repo"))
            .output()
            .unwrap();
        let ran = bumpwright_testkit::cli::ran(output);
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
        ran.out
    }

    /// Fails with all differences.
    fn expect(&self, theirs: &Groups, ours: &Groups) {
        let found = differences(theirs, ours);
        assert!(found.is_empty(), "{}:\n{}", self.entry, found.join("\n"));
    }
}

/// Each Kustomization alone, as the controller builds it. Without keys, as the real CLI: encrypted values are masked.
#[test]
fn a_kustomization_is_built_as_flux_builds_it() {
    for fleet in Fleet::all() {
        let mut ours = Groups::new();
        for (name, kustomization) in &fleet.reality.kustomizations {
            fleet.bench.write("one.yaml", kustomization.to_string());
            let built = fleet
                .bench
                .ok(&[
                    "build",
                    "-k",
                    "one.yaml",
                    "--path",
                    "repo",
                    "--redact",
                    "--strict-substitute=false",
                ])
                .out;
            ours.insert(name.clone(), documents(&built));
        }
        let mut theirs = fleet.reality.groups.clone();
        // Without an entry that no Kustomization syncs.
        theirs.retain(|name, _| ours.contains_key(name));
        fleet.expect(&theirs, &ours);
    }
}

#[test]
fn a_fleet_has_the_objects_that_flux_builds() {
    for fleet in Fleet::all() {
        let ours = groups(&fleet.fleet(&["--output", "yaml"]));
        fleet.expect(&fleet.reality.groups, &ours);
        let names = fleet.fleet(&["--output", "names"]);
        let mut names: Vec<&str> = names.lines().collect();
        names.sort_unstable();
        let mut expected: Vec<String> = ours.iter().flat_map(|(group, objects)| lines(group, objects)).collect();
        expected.sort_unstable();
        assert_eq!(names, expected, "{}", fleet.entry);
        // One of them, which may be anywhere in the tree.
        let (name, objects) = ours.iter().next_back().unwrap();
        let one = groups(&fleet.fleet(&["--output", "yaml", "--kustomization", name]));
        assert_eq!(one, Groups::from([(name.clone(), objects.clone())]), "{}", fleet.entry);
    }
}

/// A comparison that cannot fail says nothing.
#[test]
fn a_difference_is_seen() {
    let map = |value: &str| serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": value}});
    let groups = |objects: &[Value]| Groups::from([("flux-system/apps".to_owned(), objects.to_vec())]);
    assert!(differences(&groups(&[map("1")]), &groups(&[map("1")])).is_empty());
    for (ours, told) in [
        (
            groups(&[map("2")]),
            "flux-system/apps: v1/ConfigMap//a: /data/k: flux \"1\", ours \"2\"",
        ),
        (groups(&[]), "flux-system/apps: v1/ConfigMap//a: only flux has it"),
        (Groups::new(), "flux-system/apps: only flux has it"),
        (
            groups(&[map("1"), map("1")]),
            "flux-system/apps: v1/ConfigMap//a: twice in ours",
        ),
    ] {
        assert_eq!(differences(&groups(&[map("1")]), &ours), [told]);
    }
    let more = differences(&Groups::new(), &groups(&[]));
    assert_eq!(more, ["flux-system/apps: only ours has it"]);
}

/// The groups of `--output yaml`, each headed by a comment with its Kustomization.
fn groups(printed: &str) -> Groups {
    const HEAD: &str = "# Kustomization ";
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut current = None;
    for line in printed.lines() {
        match line.strip_prefix(HEAD) {
            Some(name) => {
                assert!(!texts.contains_key(name), "{name} is there twice");
                texts.insert(name.to_owned(), String::new());
                current = Some(name);
            }
            None => match current.and_then(|name| texts.get_mut(name)) {
                Some(text) => text.extend([line, "\n"]),
                None => assert!(
                    line.is_empty() || line == "---",
                    "{line:?} is before the first Kustomization"
                ),
            },
        }
    }
    texts.into_iter().map(|(name, text)| (name, documents(&text))).collect()
}

/// The lines of `--output names`: `NAMESPACE/NAME<TAB>group/version/kind/namespace/name`.
fn lines(group: &str, objects: &[Value]) -> Vec<String> {
    let line = |object: &Value| {
        let key = normal::key(object);
        let is_core = !object["apiVersion"].as_str().unwrap().contains('/');
        format!("{group}\t{}{key}", if is_core { "/" } else { "" })
    };
    objects.iter().map(line).collect()
}

fn documents(text: &str) -> Vec<Value> {
    let all = serde_saphyr::from_multiple::<Value>(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    all.into_iter().filter(|one| !one.is_null()).collect()
}

/// What differs, a line each, after both sides are brought to the normal form.
fn differences(theirs: &Groups, ours: &Groups) -> Vec<String> {
    let mut found = Vec::new();
    for (name, objects) in theirs {
        match ours.get(name) {
            Some(others) => found.extend(normal::differences(objects, others).map(|one| format!("{name}: {one}"))),
            // Without objects there is nothing to print.
            None if objects.is_empty() => {}
            None => found.push(format!("{name}: only flux has it")),
        }
    }
    let more = ours.keys().filter(|name| !theirs.contains_key(*name));
    found.extend(more.map(|name| format!("{name}: only ours has it")));
    found
}
