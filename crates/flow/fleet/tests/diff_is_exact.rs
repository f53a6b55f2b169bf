//! A law over random repositories and random edits of them: builds that are known of the state before give the same
//! fleet as builds of all, and the comparison of two states is empty exactly when they have the same objects.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use bumpwright_budget::{BUILD_MEMORY, Memory, SINGLE};
use bumpwright_fleet::diff::{self, Presence};
use bumpwright_fleet::{
    Charts, Fleet, GivenSource, Memo, Outside, Repository, Settings, SourceError, SourceObject, view,
};
use bumpwright_kustomize::tree::{MemoryTree, Sealed, Tree, World};
use bumpwright_schemas::Schemas;

/// A xorshift generator: cases are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % most
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }

    fn is(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}

/// What is at a path.
#[derive(Clone, PartialEq, Eq)]
enum Entry {
    File(String),
    Link(String),
}

/// A state of a repository. Markdown files are left out by default, as images are; other rules keep them.
#[derive(Clone, Default)]
struct State(BTreeMap<String, Entry>);

impl State {
    fn tree_of(&self, is_kept: impl Fn(&str) -> bool) -> MemoryTree {
        let mut tree = MemoryTree::new();
        for (path, entry) in self.0.iter().filter(|(path, _)| is_kept(path)) {
            match entry {
                Entry::File(text) => tree.add_file(path, text.as_bytes().to_vec()),
                Entry::Link(target) => tree.add_link(path, target),
            }
        }
        tree
    }

    /// Adds an entry, unless a file is where it needs a folder, or the other way round.
    fn put(&mut self, path: &str, entry: Entry) {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let is_blocked = above.clone().any(|above| self.0.contains_key(above));
        let is_folder = self.0.keys().any(|other| other.starts_with(&format!("{path}/")));
        if !is_blocked && !is_folder {
            self.0.insert(path.to_owned(), entry);
        }
    }

    fn files_that_differ(&self, other: &Self) -> Vec<String> {
        let both = self
            .0
            .iter()
            .filter_map(|(path, one)| Some((path, one, other.0.get(path)?)));
        let differ = both.filter(|(_, one, other)| one != other);
        differ
            .map(|(path, ..)| path.trim_start_matches('/').to_owned())
            .collect()
    }
}

impl Repository for State {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(self.tree_of(|path| !path.ends_with(".md")))
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        let kept = self.0.iter().filter(|(path, _)| !path.contains(ignore));
        Ok(Box::new(Ignoring(Self(
            kept.map(|(path, entry)| (path.clone(), entry.clone())).collect(),
        ))))
    }
}

/// A state with the rules of a source, which keep everything else.
struct Ignoring(State);

impl Repository for Ignoring {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(self.0.tree_of(|_| true))
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        self.0.ignoring(ignore)
    }
}

/// No network.
struct Nothing;

impl Outside for Nothing {
    fn world(&self) -> Box<dyn World + '_> {
        Box::new(Sealed)
    }

    fn source(&self, source: &SourceObject, _: &[serde_json::Value]) -> Result<Arc<dyn Repository>, Arc<SourceError>> {
        Err(Arc::new(SourceError::NotFetched(source.shown())))
    }
}

fn settings() -> Settings {
    let mut settings = Settings::new(Memory::single(SINGLE, BUILD_MEMORY).of(""));
    settings.threads = 1;
    settings.charts = Some(Charts::new(String::new(), Schemas::bundled(None).unwrap()));
    let given = GivenSource::Folder("apps".to_owned());
    settings.sources = [("OCIRepository/flux-system/apps".to_owned(), given)].into();
    settings
}

const FOLDERS: [&str; 10] = [
    "/c",
    "/c/team",
    "/c/team/deep",
    "/apps",
    "/apps/x",
    "/apps/x/y",
    "/apps/new",
    "/base",
    "/base/z",
    "/more/and/more",
];

const NAMES: [&str; 8] = [
    "a.yaml",
    "b.yml",
    "kustomization.yaml",
    "kustomization.yml",
    "Kustomization",
    "notes.txt",
    "logo.md",
    "values.env",
];

/// The source of the entry, with and without rules of its own, and an artifact that is made of it.
fn sync(dice: &mut Dice) -> String {
    let ignore = dice.one(&["", "", ", ignore: b.yml", ", ignore: /apps/x/"]);
    let from = dice.one(&["apps/**", "base/*", "apps/*.yaml"]);
    let own = kustomization("flux-system", "./c", "GitRepository, name: flux-system", "");
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: flux-system, namespace: flux-system}}\nspec: \
         {{interval: 1m, url: ssh://git@example.com/org/fleet{ignore}}}\n---\napiVersion: source.extensions.fluxcd.io/v1beta1\nkind: \
         ArtifactGenerator\nmetadata: {{name: made, namespace: flux-system}}\nspec:\n  sources: [{{alias: repo, kind: GitRepository, name: \
         flux-system}}]\n  artifacts:\n  - name: made\n    copy:\n    - {{from: '@repo/{from}', to: '@artifact/out/'}}\n    - {{from: \
         '@repo/base/a.yaml', to: '@artifact/out/a.yaml', strategy: Merge}}\n---\n{own}"
    )
}

fn kustomization(name: &str, path: &str, source: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\nspec: \
         {{interval: 1m, prune: true, path: '{path}', sourceRef: {{kind: {source}}}{more}}}\n"
    )
}

/// A Kustomization of the cluster.
fn reconciled(dice: &mut Dice) -> String {
    let name = format!("k{}", dice.below(6));
    let more = dice.one(&[
        "",
        "",
        ", targetNamespace: other",
        ", postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}",
        ", postBuild: {substituteFrom: [{kind: Secret, name: vars, optional: true}]}",
        ", components: [../base]",
        ", components: [../none], ignoreMissingComponents: true",
    ]);
    match dice.below(6) {
        0 => kustomization(
            &name,
            dice.one(&["./", "./x", "./new"]),
            "OCIRepository, name: apps",
            more,
        ),
        1 => kustomization(&name, dice.one(&["./out", "./"]), "ExternalArtifact, name: made", more),
        _ => kustomization(&name, dice.one(&FOLDERS), "GitRepository, name: flux-system", more),
    }
}

/// A manifest.
fn manifest(dice: &mut Dice) -> String {
    let value = dice.below(3);
    let name = dice.one(&["one", "two", "three", "vars"]);
    match dice.below(13) {
        12 => release(dice),
        0 => "a: [\n".to_owned(),
        1 => String::new(),
        2 => format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: flux-system}}\nstringData: {{v: '{value}'}}\n"
        ),
        3 | 4 => reconciled(dice),
        5 => format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}-h5b6g7mt2k, namespace: d}}\ndata: {{v: '{value}'}}\n"
        ),
        6 => format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{}]}}\n",
            containers(value)
        ),
        _ => format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: flux-system}}\ndata: {{v: '{value}', w: '${{v:=none}}'}}\n"
        ),
    }
}

/// A release of a chart in the repository.
fn release(dice: &mut Dice) -> String {
    let (name, value) = (dice.one(&["one", "two"]), dice.below(3));
    let values = dice.one(&[
        "",
        "values: {w: none}",
        "valuesFrom: [{kind: ConfigMap, name: vars, valuesKey: v, targetPath: v}]",
    ]);
    let files = dice.one(&["", ", valuesFiles: [./chart/more.yaml], ignoreMissingValuesFiles: true"]);
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: flux-system}}\nspec:\n  interval: \
         1h\n  chart: {{spec: {{chart: ./chart, sourceRef: {{kind: GitRepository, name: flux-system}}{files}}}}}\n  releaseName: r{value}\n  {values}\n"
    )
}

/// Two containers in one or the other order.
fn containers(value: usize) -> &'static str {
    ["{name: a}, {name: b}", "{name: b}, {name: a}", "{name: a}"][value]
}

/// What a kustomization says.
fn fields(dice: &mut Dice) -> String {
    let mut text = String::new();
    if dice.is(8) {
        text.push_str("kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\n");
    }
    let resources = [
        "a.yaml",
        "b.yml",
        "x",
        "y",
        "new",
        "team",
        "z",
        "../base",
        "../x",
        "../../base",
        "deep",
        "notes.txt",
    ];
    let resources: Vec<&str> = (0..1 + dice.below(3)).map(|_| dice.one(&resources)).collect();
    let _ = writeln!(text, "resources: [{}]", resources.join(", "));
    if dice.is(4) {
        let _ = writeln!(
            text,
            "configMapGenerator: [{{name: made, files: [{}]}}]",
            dice.one(&["notes.txt", "logo.md", "k=a.yaml"])
        );
    }
    if dice.is(6) {
        let _ = writeln!(text, "secretGenerator: [{{name: made, envs: [values.env]}}]");
    }
    if dice.is(6) {
        let _ = writeln!(text, "components: [{}]", dice.one(&["../base", "z", "y"]));
    }
    if dice.is(6) {
        let _ = writeln!(text, "patches: [{{path: {}}}]", dice.one(&["b.yml", "notes.txt"]));
    }
    text
}

fn content(dice: &mut Dice, name: &str) -> String {
    match name {
        "notes.txt" | "logo.md" => format!("text {}", dice.below(3)),
        "values.env" => format!("KEY={}\n", dice.below(3)),
        "Chart.yaml" => format!("{{apiVersion: v2, name: chart, version: 1.0.{}}}", dice.below(2)),
        "values.yaml" | "more.yaml" => format!("v: {}\n", dice.below(3)),
        "map.yaml" => format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {{{{ .Release.Name }}}}}}\ndata: {{v: '{{{{ .Values.v }}}}', n: '{}'}}\n",
            dice.below(2)
        ),
        name if name.to_lowercase().starts_with("kustomization") => fields(dice),
        _ => manifest(dice),
    }
}

fn add(dice: &mut Dice, state: &mut State) {
    let folder = dice.one(&FOLDERS);
    // Folders without a kustomization are as common as those with one.
    let name = if dice.is(2) {
        dice.one(&NAMES[..2])
    } else {
        dice.one(&NAMES)
    };
    let path = format!("{folder}/{name}");
    let entry = if dice.is(20) {
        Entry::Link(
            dice.one(&["../base", "a.yaml", "../x", "/base/z/b.yml", "none"])
                .to_owned(),
        )
    } else {
        Entry::File(content(dice, name))
    };
    state.put(&path, entry);
}

fn random(dice: &mut Dice) -> State {
    let mut state = State::default();
    state.put("/c/flux-system/sync.yaml", Entry::File(sync(dice)));
    for _ in 0..1 + dice.below(4) {
        let path = format!("/c/{}.yaml", dice.one(&["k", "l", "m", "n"]));
        state.put(&path, Entry::File(reconciled(dice)));
    }
    for name in ["Chart.yaml", "values.yaml", "more.yaml", "templates/map.yaml"] {
        let text = content(dice, name.rsplit('/').next().unwrap());
        state.put(&format!("/chart/{name}"), Entry::File(text));
    }
    state.put("/c/release.yaml", Entry::File(release(dice)));
    for _ in 0..dice.below(14) {
        add(dice, &mut state);
    }
    state
}

/// Edits a state as people do: folders appear, move and vanish, files change and become folders.
fn edit(dice: &mut Dice, state: &mut State) {
    let paths: Vec<String> = state.0.keys().cloned().collect();
    let folder = dice.one(&FOLDERS);
    let is_below = |path: &String| path.starts_with(&format!("{folder}/"));
    match dice.below(10) {
        0 => state.0.retain(|path, _| !is_below(path)),
        1 => {
            let to = dice.one(&FOLDERS);
            let moved: Vec<String> = paths.into_iter().filter(is_below).collect();
            for path in moved {
                let entry = state.0.remove(&path).unwrap();
                state.put(&path.replacen(folder, to, 1), entry);
            }
        }
        2 if !paths.is_empty() => {
            state.0.remove(&paths[dice.below(paths.len())]);
        }
        3 => {
            // A file in the place of a folder, and a folder in the place of a file.
            state.0.retain(|path, _| !is_below(path));
            state.put(folder, Entry::File(manifest(dice)));
        }
        4 | 5 if !paths.is_empty() => {
            let path = &paths[dice.below(paths.len())];
            let text = match path.as_str() {
                "/c/flux-system/sync.yaml" => sync(dice),
                path => content(dice, path.rsplit('/').next().unwrap()),
            };
            state.0.insert(path.clone(), Entry::File(text));
        }
        6 => state.put("/c/new.yaml", Entry::File(reconciled(dice))),
        _ => add(dice, state),
    }
}

fn seen(state: &State, memo: &Memo) -> Fleet {
    let mut none = Fleet::default();
    none.entry = "c".to_owned();
    view(state, "c", &Nothing, &settings(), memo).unwrap_or(none)
}

/// What a cluster would have: the objects of each Kustomization, or why there are none.
fn objects(fleet: &Fleet) -> Vec<(String, Result<Vec<String>, String>)> {
    let mut all: Vec<_> = fleet
        .nodes
        .iter()
        .enumerate()
        .map(|(at, node)| {
            let objects = node.product.as_ref().map_err(ToString::to_string).map(|product| {
                let mut values: Vec<String> = product.objects.iter().map(|object| object.value.to_string()).collect();
                values.sort();
                values
            });
            // The entry is the same one whatever reconciles it.
            let name = if at == 0 { "entry".to_owned() } else { node.shown() };
            (name, objects)
        })
        .collect();
    all.sort();
    all
}

fn shown(state: &State) -> String {
    let mut text = String::new();
    for (path, entry) in &state.0 {
        let _ = match entry {
            Entry::File(content) => writeln!(text, "{path}:\n{content}"),
            Entry::Link(target) => writeln!(text, "{path} -> {target}"),
        };
    }
    text
}

/// Builds that were taken over, and those that could have been.
#[derive(Default)]
struct Counts {
    reused: usize,
    equal: usize,
    same: usize,
    differ: usize,
}

fn check(one: &State, other: &State, counts: &mut Counts) -> Result<(), String> {
    let memo = Memo::default();
    let (before, after) = (seen(one, &memo), seen(other, &Memo::default()));
    let changed = one.files_that_differ(other);
    for known in [memo.after(&changed), memo.after_state(Arc::new(one.clone()))] {
        let with = seen(other, &known);
        if objects(&with) != objects(&after) {
            return Err("another fleet with builds that are known".to_owned());
        }
        for node in &with.nodes {
            let before = before.nodes.iter().find(|one| one.shown() == node.shown());
            if let (Some(Ok(one)), Ok(other)) = (before.map(|node| &node.product), &node.product) {
                counts.equal += usize::from(one.objects == other.objects);
                counts.reused += usize::from(Arc::ptr_eq(one, other));
            }
        }
        let is_same = objects(&before) == objects(&with);
        let difference = diff::compare(&before, &with);
        if is_same != difference.is_empty() {
            return Err(format!("the fleets are the same: {is_same}, but: {difference:#?}"));
        }
        let both = difference
            .kustomizations
            .iter()
            .filter(|one| one.presence == Presence::Both);
        if both
            .into_iter()
            .any(|one| one.objects.is_empty() && one.problems[0] == one.problems[1])
        {
            return Err(format!(
                "nothing is said of a Kustomization that differs: {difference:#?}"
            ));
        }
        if is_same { counts.same += 1 } else { counts.differ += 1 }
    }
    Ok(())
}

#[test]
fn the_comparison_is_empty_exactly_when_the_builds_are_equal() {
    let mut counts = Counts::default();
    for seed in 1..=500_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let one = random(&mut dice);
        let mut other = one.clone();
        for _ in 0..1 + dice.below(3) {
            edit(&mut dice, &mut other);
        }
        if let Err(error) = check(&one, &other, &mut counts) {
            panic!(
                "case {seed}: {error}\nbefore:\n{}\nafter:\n{}",
                shown(&one),
                shown(&other)
            );
        }
    }
    // Else the law would hold for nothing.
    let Counts {
        reused,
        equal,
        same,
        differ,
    } = counts;
    assert!(same > 100 && differ > 100, "{same} {differ}");
    assert!(reused * 10 > equal * 8, "{reused} of {equal}");
}
