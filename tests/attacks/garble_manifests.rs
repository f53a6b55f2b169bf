//! Manifests that are mutated at random, with fixed seeds, and some that expand: in repositories that are built,
//! and in those that are scanned for markers.

use serde_json::json;

use crate::garble::garbled;
use crate::siege::siege;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, KUSTOMIZATION, World, automation, condition_of, git_repository,
};

/// So many folders are built, each from another seed.
const SEEDS: u64 = 24;

const KUSTOMIZATION_YAML: &str = "\
resources: [app.yaml, more.yaml]
namePrefix: x-
commonLabels: {app: x}
configMapGenerator:
- name: settings
  literals: [a=1, b=2]
patches:
- target: {kind: Deployment}
  patch: |
    - {op: replace, path: /spec/replicas, value: 3}
images:
- {name: ghcr.io/acme/app, newTag: '2'} # {\"$imagepolicy\": \"apps:app:tag\"}
";

const APP_YAML: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, annotations: {a: \"1\", b: |
  text
  more}}
spec:
  replicas: 1
  selector: &labels {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec:
      containers:
      - name: app
        image: ghcr.io/acme/app:1 # {\"$imagepolicy\": \"apps:app\"}
        env: [{name: A, value: '${VALUE:=1}'}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: map}
data: {key: \"value\", folded: >-
  one
  two}
";

/// Problematic texts for parsers.
const WORDS: &[&str] = &[
    "&a ",
    "*a",
    "<<: *labels",
    "!!binary ",
    "!!str ",
    "\t",
    "\n---\n",
    "\n...\n",
    "{",
    "}",
    "[",
    "]",
    "? ",
    ": ",
    "- ",
    "|2\n",
    ">-\n",
    "\"\\u0000\"",
    "\u{feff}",
    "\r",
    "%YAML 1.1\n",
    "0x7fffffffffffffff",
    "1e999",
    "~",
    "null",
    ".inf",
    "'",
    "\"",
    "${",
    "${VALUE:-${VALUE}}",
    "# {\"$imagepolicy\": \"apps:app\"}\n",
    "$patch: delete\n",
    "kind: List\nitems:\n",
    "metadata: {name: ../../x}\n",
];

/// Small texts that are large once they are read.
fn unfolding() -> Vec<(&'static str, String)> {
    let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let map = |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: map}}\n{data}");
    let mut merges = "m0: &m0 {k: v}\n".to_owned();
    for level in 1..200 {
        merges.push_str(&format!(
            "m{level}: &m{level} {{<<: [*m{0}, *m{0}], k{level}: v}}\n",
            level - 1
        ));
    }
    vec![
        ("laughs", map(&laughs)),
        ("merges", map(&merges)),
        ("deep", map(&format!("data: {}", "[".repeat(60_000)))),
        ("deeper", map(&format!("data:\n{}x", "- ".repeat(60_000)))),
        ("maps", map(&format!("data: {}", "{a: ".repeat(60_000)))),
        ("circle", map("data: &a {key: *a}\n")),
        ("documents", "---\na: 1\n".repeat(200_000)),
        (
            "keys",
            map(&format!(
                "data:\n{}",
                (0..150_000).map(|n| format!("  k{n}: v\n")).collect::<String>()
            )),
        ),
        ("line", map(&format!("data: {{key: {}}}", "x".repeat(6 << 20)))),
    ]
}

/// Whatever is in a repository: reconciliations of its Kustomizations and automations end, and other
/// objects are not affected.
#[test]
fn by_chance_and_by_design() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-garbles");
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        for (name, text) in [("kustomization", KUSTOMIZATION_YAML), ("app", APP_YAML), ("more", "")] {
            // Not all of them at once, or no parser would get beyond the first.
            let garble = match name {
                "kustomization" => seed % 3 == 0,
                _ => seed % 3 != 0,
            };
            let text = if garble {
                garbled(text.as_bytes(), WORDS, &mut random)
            } else {
                text.as_bytes().to_vec()
            };
            files.push((format!("seed-{seed}/{name}.yaml"), text));
        }
    }
    for (name, text) in unfolding() {
        files.push((format!("{name}/app.yaml"), text.into_bytes()));
        files.push((
            format!("{name}/kustomization.yaml"),
            b"resources: [app.yaml]\nnamePrefix: x-\n".to_vec(),
        ));
    }
    let changes: Vec<Change<'_>> = files.iter().map(|(path, text)| Change::File(path, text)).collect();
    world.repository("garbled.git").commit("main", "first", &changes);
    world.add(GIT_REPOSITORY, "garbled", git_repository(&world.git.url("garbled.git")));
    let mut names: Vec<String> = (0..SEEDS).map(|seed| format!("seed-{seed}")).collect();
    names.extend(unfolding().into_iter().map(|(name, _)| name.to_owned()));
    for name in &names {
        let spec = json!({
            "interval": "1h", "path": format!("./{name}"), "prune": true, "timeout": "20s", "targetNamespace": world.namespace,
            "sourceRef": {"kind": "GitRepository", "name": "garbled"},
            "postBuild": {"substitute": {"VALUE": "${VALUE}"}},
        });
        world.add(KUSTOMIZATION, name, spec);
    }
    world.add(AUTOMATION, "garbled", automation("garbled"));
    let kinds = names.iter().map(|name| (KUSTOMIZATION, name.as_str()));
    for (kind, name) in kinds.chain([(AUTOMATION, "garbled")]) {
        let ended = || {
            let object = world.get(kind, name);
            let ready = condition_of(&object, "Ready")?;
            (ready["status"] != "Unknown" && ready["reason"] != "DependencyNotReady").then_some(())
        };
        wait_for(ended, || format!("{name}: {:#}", world.get(kind, name)["status"]));
    }
    siege.stands();
}
