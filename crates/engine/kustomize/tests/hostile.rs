//! Hostile input: an error or a result, in bounded time and memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_budget::Memory;
use bumpwright_kustomize::tree::{
    Command, MemoryTree, PluginFile, RepoUrl, ResolvedPath, Sealed, Tree, TreeError, World, WorldError,
};
use bumpwright_kustomize::{Options, build};
use std::fmt::Write as _;
use std::sync::Arc;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm\ndata:\n  a: b\n";

fn tree(files: &[(&str, &str)]) -> MemoryTree {
    let mut tree = MemoryTree::new();
    files.iter().for_each(|(path, text)| tree.add_file(path, *text));
    tree
}

fn outcome(tree: &dyn Tree, world: &dyn World) -> Result<String, String> {
    let built = build(tree, "/app", &Options::default(), world).map_err(|error| error.to_string())?;
    built.to_yaml().map_err(|error| error.to_string())
}

/// The result of `/app/kustomization.yaml` over the ConfigMap `/app/cm.yaml`.
fn over_map(fields: &str) -> Result<String, String> {
    let top = format!("resources: [cm.yaml]\n{fields}");
    outcome(
        &tree(&[("app/kustomization.yaml", &top), ("app/cm.yaml", MAP)]),
        &Sealed,
    )
}

fn refused(outcome: Result<String, String>, wanted: &str) {
    let error = outcome.map(|text| text.len()).expect_err(wanted);
    assert!(
        error.contains(wanted),
        "{wanted}: {}",
        error.chars().take(500).collect::<String>()
    );
    assert!(error.len() < 5000, "{} bytes of error", error.len());
}

#[test]
fn nothing_outside_of_the_directory_is_read() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: hidden}\n";
    for fields in [
        "resources: [link.yaml]",
        "resources: [../secret.yaml]",
        "resources: [/secret.yaml]",
        "resources: [deep/../../secret.yaml]",
        "resources: [inner/secret.yaml]",
        "configMapGenerator: [{name: x, files: [link.yaml]}]",
        "configMapGenerator: [{name: x, envs: [../secret.yaml]}]",
        "secretGenerator: [{name: x, files: [a=/secret.yaml]}]",
        "generators: [link.yaml]",
        "transformers: [../secret.yaml]",
        "patches: [{path: link.yaml}]",
        "replacements: [{path: ../secret.yaml}]",
        "configurations: [link.yaml]",
        "crds: [../secret.yaml]",
        "openapi: {path: link.yaml}",
    ] {
        let mut tree = tree(&[
            ("app/kustomization.yaml", fields),
            ("secret.yaml", secret),
            ("app/deep/x", ""),
        ]);
        tree.add_link("app/link.yaml", "../secret.yaml");
        tree.add_link("app/inner", "..");
        refused(outcome(&tree, &Sealed), "is not in or below app");
    }
}

#[test]
fn links_in_a_circle_end() {
    let mut tree = tree(&[("app/kustomization.yaml", "resources: [a.yaml]")]);
    tree.add_link("app/a.yaml", "b.yaml");
    tree.add_link("app/b.yaml", "a.yaml");
    refused(outcome(&tree, &Sealed), "symbolic links");
}

#[test]
fn a_circle_of_kustomizations_ends() {
    for (field, other) in [
        ("resources", "resources: [../app]"),
        ("resources", "components: [../app]"),
        ("components", "kind: Component\ncomponents: [../app]"),
        ("transformers", "resources: [../app]"),
        ("generators", "transformers: [../app]"),
        ("validators", "generators: [../app]"),
    ] {
        let top = format!("{field}: [../other]\n");
        let tree = tree(&[("app/kustomization.yaml", &top), ("other/kustomization.yaml", other)]);
        refused(outcome(&tree, &Sealed), "cycle");
    }
}

/// Repositories that name the next one, endlessly.
struct Endless;

impl World for Endless {
    fn repository(&self, url: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError> {
        let number: usize = url.reference.parse().unwrap_or_default();
        let next = format!("resources: [\"https://h.xz/o/r.git?ref={}\"]", number + 1);
        Ok(Arc::new(tree(&[("kustomization.yaml", &next)])))
    }
    fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError> {
        Sealed.fetch(url)
    }
    fn plugin(&self, group: &str, version: &str, kind: &str) -> PluginFile {
        Sealed.plugin(group, version, kind)
    }
    fn run(&self, command: &Command<'_>) -> Result<Vec<u8>, WorldError> {
        Sealed.run(command)
    }
}

#[test]
fn repositories_that_lead_to_ever_other_ones_end() {
    let tree = tree(&[("app/kustomization.yaml", "resources: [\"https://h.xz/o/r.git?ref=1\"]")]);
    refused(outcome(&tree, &Endless), "deep");
}

#[test]
fn levels_that_include_the_next_one_twice_end() {
    let mut tree = MemoryTree::new();
    for level in 0..40 {
        let next = format!("../{:02}", level + 1);
        tree.add_file(
            &format!("/{level:02}/kustomization.yaml"),
            format!("namePrefix: x\nresources: [{next}, {next}/.]"),
        );
    }
    tree.add_file("/40/kustomization.yaml", "resources: []\nnamePrefix: z");
    tree.add_file("/app/kustomization.yaml", "resources: [../00]");
    refused(outcome(&tree, &Sealed), "more than 20000 kustomizations");
}

/// Counts the kustomizations that are read.
struct Counted(MemoryTree, std::cell::Cell<usize>);

impl Tree for Counted {
    fn read(&self, path: &str) -> Result<std::borrow::Cow<'_, [u8]>, TreeError> {
        self.1.set(self.1.get() + 1);
        self.0.read(path)
    }
    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        self.0.canonical(path)
    }
    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        self.0.list(directory)
    }
}

/// Among 200 there are far too many cycles to visit.
#[test]
fn many_that_include_each_other_end_soon() {
    for (field, kind) in [("resources", "Kustomization"), ("components", "Component")] {
        let names: Vec<String> = (0..200).map(|number| format!("../{number:03}")).collect();
        let list = names.join(", ");
        let text = format!("kind: {kind}\n{field}: [{list}]\n");
        let mut tree = MemoryTree::new();
        for name in &names {
            tree.add_file(
                &format!("{}/kustomization.yaml", name.trim_start_matches("..")),
                text.clone(),
            );
        }
        tree.add_file("/app/kustomization.yaml", format!("{field}: [../000]\n"));
        let tree = Counted(tree, std::cell::Cell::new(0));
        refused(outcome(&tree, &Sealed), "cycle");
        assert!(tree.1.get() < 1000, "{field}: {}", tree.1.get());
    }
}

#[test]
fn aliases_that_multiply_are_refused_wherever_they_stand() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..10 {
        let alias = format!("*a{}, ", level - 1).repeat(10);
        writeln!(bomb, "a{level}: &a{level} [{alias}]").unwrap();
    }
    let object = format!("{MAP}{bomb}");
    for files in [
        [
            ("app/kustomization.yaml", "resources: [x.yaml]"),
            ("app/x.yaml", object.as_str()),
        ],
        [("app/kustomization.yaml", bomb.as_str()), ("app/x.yaml", "")],
        [
            ("app/kustomization.yaml", "configurations: [x.yaml]"),
            ("app/x.yaml", &bomb),
        ],
        [
            ("app/kustomization.yaml", "patches: [{path: x.yaml}]"),
            ("app/x.yaml", &object),
        ],
        [
            ("app/kustomization.yaml", "transformers: [x.yaml]"),
            ("app/x.yaml", &object),
        ],
    ] {
        refused(outcome(&tree(&files), &Sealed), "alias");
    }
}

#[test]
fn ten_thousand_levels_are_refused_wherever_they_stand() {
    let list = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let blocks: String = (0..10_000).fold(String::new(), |text, _| text + "- ") + "x\n";
    let object = format!("{MAP}x: {list}\n");
    let block = format!("{MAP}x:\n  {blocks}");
    for (top, text) in [
        ("resources: [x.yaml]", object.as_str()),
        ("resources: [x.yaml]", block.as_str()),
        (list.as_str(), ""),
        ("configurations: [x.yaml]", blocks.as_str()),
        ("crds: [x.yaml]", &list),
        ("openapi: {path: x.yaml}", &list),
        ("patches: [{path: x.yaml, target: {kind: X}}]", &list),
        ("patches: [{path: x.yaml, target: {kind: X}}]", &blocks),
        ("replacements: [{path: x.yaml}]", &list),
        ("transformers: [x.yaml]", &object),
    ] {
        let tree = tree(&[("app/kustomization.yaml", top), ("app/x.yaml", text)]);
        let error = outcome(&tree, &Sealed).expect_err(top);
        assert!(
            error.contains("depth") || error.contains("deep"),
            "{top:.50}: {error:.300}"
        );
    }
}

#[test]
fn moves_that_put_an_object_into_itself_end() {
    let mut patch = String::new();
    for _ in 0..5000 {
        patch += r#"{"op":"add","path":"/b","value":{}},{"op":"move","from":"/data","path":"/b/data"},"#;
        patch += r#"{"op":"move","from":"/b","path":"/data"},"#;
    }
    let fields = format!(
        "patches:\n- target: {{kind: ConfigMap}}\n  patch: '[{}]'\n",
        patch.trim_end_matches(',')
    );
    refused(over_map(&fields), "nested more than 1000 deep");
}

#[test]
fn copies_that_double_an_object_end() {
    let copy = r#"{"op":"copy","from":"/data","path":"/data/x"},{"op":"copy","from":"/data","path":"/data/y"},"#;
    let one = format!(
        "- target: {{kind: ConfigMap}}\n  patch: '[{}]'\n",
        copy.repeat(40).trim_end_matches(',')
    );
    refused(
        over_map(&format!("patches:\n{one}")),
        "copied values take more than 64 MiB",
    );
    let each = format!(
        "- target: {{kind: ConfigMap}}\n  patch: '[{}]'\n",
        copy.trim_end_matches(',')
    );
    refused(
        over_map(&format!("patches:\n{}", each.repeat(40))),
        "copied values take more than 64 MiB",
    );
}

#[test]
fn replacements_that_double_a_value_end() {
    let one = "- source: {kind: ConfigMap, fieldPath: data.a}
  targets:
  - select: {kind: ConfigMap}
    fieldPaths: [data.a]
    options: {delimiter: ',', index: 99}
";
    refused(
        over_map(&format!("replacements:\n{}", one.repeat(60))),
        "copied values take more than 64 MiB",
    );
}

#[test]
fn paths_without_end_are_refused() {
    let path = "a.".repeat(10_000) + "a";
    let one = format!(
        "replacements:\n- source: {{kind: ConfigMap}}\n  targets:\n  - select: {{kind: ConfigMap}}\n    fieldPaths: [{path}]\n    options: {{create: true}}\n"
    );
    refused(over_map(&one), "more than 500 parts");
    let fields = format!(
        "labels:\n- pairs: {{x: z}}\n  fields:\n  - path: {}\n    create: true\n",
        path.replace('.', "/")
    );
    refused(over_map(&fields), "more than 500 parts");
}

#[test]
fn expressions_are_matched_in_bounded_time() {
    let name = "a".repeat(200_000) + "!";
    let map = MAP.replace("name: cm", &format!("name: {name}"));
    for pattern in ["(a+)+", "(a|a)*b", "((a*)*)*c", "(a{1,30}){1,30}"] {
        let fields = format!(
            "resources: [cm.yaml]\nimages: [{{name: '{pattern}', newTag: x}}]\npatches: [{{patch: '[]', target: {{name: '{pattern}'}}}}]\n"
        );
        let tree = tree(&[("app/kustomization.yaml", &fields), ("app/cm.yaml", &map)]);
        match outcome(&tree, &Sealed) {
            Ok(text) => assert!(text.contains(&name)),
            Err(error) => assert!(error.contains("steps") || error.contains("too large"), "{error:.300}"),
        }
    }
    let target = "patches: [{patch: '[]', target: {name: '((a{1000}){1000}){1000}'}}]";
    refused(over_map(target), "not a valid regular expression");
}

#[test]
fn a_line_of_a_hundred_megabytes_is_a_value() {
    let size = 100 << 20;
    let long = format!("{MAP}  long: {}\n", "x".repeat(size));
    let tree = tree(&[
        ("app/kustomization.yaml", "resources: [cm.yaml]"),
        ("app/cm.yaml", &long),
    ]);
    assert!(outcome(&tree, &Sealed).unwrap().len() > size);
}

#[test]
fn a_million_entries_are_entries() {
    let list = "- x\n".repeat(1_000_000);
    let object = format!("{MAP}list:\n{list}");
    let files = tree(&[
        ("app/kustomization.yaml", "resources: [x.yaml]"),
        ("app/x.yaml", &object),
    ]);
    assert_eq!(outcome(&files, &Sealed).unwrap().matches("- x\n").count(), 1_000_000);
    let names = format!("resources:\n{list}");
    refused(
        outcome(&tree(&[("app/kustomization.yaml", &names)]), &Sealed),
        "and 10 more errors",
    );
}

#[test]
fn many_keys_are_merged_in_linear_time() {
    let keys = |name: &str| {
        (0..50_000).fold(MAP.to_owned(), |mut text, number| {
            writeln!(text, "  {name}{number}: x").unwrap();
            text
        })
    };
    let files = tree(&[
        (
            "app/kustomization.yaml",
            "resources: [cm.yaml]\npatches: [{path: p.yaml}]",
        ),
        ("app/cm.yaml", &keys("k")),
        ("app/p.yaml", &keys("p")),
    ]);
    assert_eq!(outcome(&files, &Sealed).unwrap().lines().count(), 100_000 + 6);
}

/// All that copies a value reserves memory for the copy first, and releases it.
#[test]
fn whatever_copies_takes_room() {
    let big = "x".repeat(100 << 10);
    let maps: String = (0..100)
        .map(|number| format!("{}---\n", MAP.replace("cm", &format!("m{number}"))))
        .collect();
    let patch = format!("kind: ConfigMap\napiVersion: v1\nmetadata: {{name: x}}\ndata: {{big: {big}}}\n");
    let operation = format!("- {{op: add, path: /data/big, value: {big}}}\n");
    let generators = |kind: &str, source: &str| {
        let all = (0..100).map(|number| format!("- {{name: g{number}, {source}: [big]}}\n"));
        format!("{kind}:\n{}", all.collect::<String>())
    };
    let target = "target: {kind: ConfigMap}";
    for fields in [
        generators("configMapGenerator", "files"),
        generators("secretGenerator", "files"),
        generators("configMapGenerator", "envs"),
        format!(
            "generatorOptions: {{labels: {{big: {big}}}}}\n{}",
            generators("configMapGenerator", "envs").replace("big]", "none]")
        ),
        format!("patches: [{{path: patch.yaml, {target}}}]"),
        format!("patches: [{{path: operation.yaml, {target}}}]"),
        format!("commonAnnotations: {{big: {big}}}"),
        format!("commonLabels: {{big: {big}}}"),
        format!("namePrefix: {big}"),
        format!("nameSuffix: {big}"),
        format!("namespace: {big}"),
    ] {
        let top = format!("resources: [maps.yaml]\n{fields}\n");
        let files = tree(&[
            ("app/kustomization.yaml", &top),
            ("app/maps.yaml", &maps),
            ("app/patch.yaml", &patch),
            ("app/operation.yaml", &operation),
            ("app/big", &big),
            ("app/none", ""),
        ]);
        let run = |memory: &Memory| {
            let options = Options {
                memory: Some(memory.of("apps")),
                ..Options::default()
            };
            build(&files, "/app", &options, &Sealed).map_err(|error| error.to_string())
        };
        let little = Memory::single(4 << 20, "--build-memory");
        if let Err(error) = run(&little) {
            assert!(
                error.contains("--build-memory raises the bound"),
                "{top:.80}: {error:.300}"
            );
        } else {
            panic!("{top:.80}");
        }
        assert_eq!(little.held(), 0);
    }
}

/// Ordinary manifests take a dozen times their length.
#[test]
fn plain_manifests_find_room() {
    let maps: String = (0..1000)
        .map(|number| format!("{}---\n", MAP.replace("cm", &format!("m{number}"))))
        .collect();
    let files = tree(&[
        ("app/kustomization.yaml", "resources: [maps.yaml]"),
        ("app/maps.yaml", &maps),
    ]);
    let memory = Memory::single(64 * maps.len() as u64, "--build-memory");
    let options = Options {
        memory: Some(memory.of("apps")),
        ..Options::default()
    };
    let built = build(&files, "/app", &options, &Sealed).unwrap();
    assert_eq!(built.objects.len(), 1000);
    assert!(memory.held() > 0);
    drop(built);
    assert_eq!(memory.held(), 0);
}
