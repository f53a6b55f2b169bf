//! Builds as a whole: errors and their places, remote bases, memory.

use super::{at, build, config_map, tree};
use bumpwright_kustomize::tree::{MemoryTree, RepoUrl, Sealed, Tree, World, WorldError};
use bumpwright_overlay::{Fault, FaultKind, Overlay, Stages, prepare};
use serde_json::json;
use std::sync::Arc;

#[test]
fn errors_of_a_rewritten_kustomization_name_places_in_the_file_of_the_user() {
    let files = tree(&[
        (
            "app/kustomization.yaml",
            "# first\nnamespace: ns\n\nresources:\n- a.yaml\npatches:\n- patch: |\n    - op: remove\n      path: /data/gone\n  target: {kind: ConfigMap}\n",
        ),
        ("app/a.yaml", &config_map("a", "v")),
    ]);
    let overlay = Overlay {
        name_prefix: "p-".to_owned(),
        ..at("app")
    };
    let error = prepare(&files, &overlay)
        .unwrap()
        .build(&Sealed, &Stages::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("app/kustomization.yaml:8"), "{error}");
    let files = tree(&[
        ("app/kustomization.yaml", "resources:\n- a.yaml\n- gone.yaml\n"),
        ("app/a.yaml", "a: ["),
    ]);
    let prepared = prepare(&files, &at("app")).unwrap();
    let error = prepared.build(&Sealed, &Stages::default()).unwrap_err().to_string();
    assert!(error.contains("app/kustomization.yaml:3:3"), "{error}");
    assert!(error.contains("app/a.yaml:"), "{error}");
    assert!(error.starts_with("kustomize build failed: "), "{error}");
}

#[test]
fn all_files_that_are_no_manifests_are_told_at_once() {
    let files: Vec<(String, &str)> = (0..13).map(|at| (format!("app/{at:02}.yaml"), "foo: bar\n")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let error = build(&files, &Stages::default()).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    let first =
        "failed to decode Kubernetes YAML from /tmp/kustomization-0000000000/app/00.yaml: missing Resource metadata";
    assert_eq!(
        (lines.len(), lines[0], lines[10]),
        (11, first, "and 3 more files that are not manifests")
    );
}

/// A world with one repository.
struct Remote(Arc<MemoryTree>);

impl World for Remote {
    fn repository(&self, _: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError> {
        Ok(self.0.clone())
    }

    fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError> {
        Ok(config_map(url.rsplit('/').next().unwrap().trim_end_matches(".yaml"), "v").into())
    }

    fn plugin(&self, _: &str, _: &str, _: &str) -> bumpwright_kustomize::tree::PluginFile {
        panic!("nobody asks for plugins")
    }

    fn run(&self, _: &bumpwright_kustomize::tree::Command<'_>) -> Result<Vec<u8>, WorldError> {
        panic!("nothing is run")
    }
}

/// A StatefulSet of Flux has them, and no API server allows a change.
#[test]
fn labels_of_templates_go_to_claims_as_with_flux() {
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  volumeClaimTemplates:\n  - metadata: \
               {name: data}\n  template: {spec: {}}\n";
    let kustomization = "resources: [set.yaml]\nlabels:\n- pairs: {app: db}\n  includeTemplates: true\n";
    let files = [("app/kustomization.yaml", kustomization), ("app/set.yaml", set)];
    let built = build(&files, &Stages::default()).unwrap();
    let claims = &built.objects[0].value["spec"]["volumeClaimTemplates"];
    assert_eq!(claims[0]["metadata"], json!({"name": "data", "labels": {"app": "db"}}));
}

#[test]
fn remote_bases_can_be_refused_repositories_and_files_alike() {
    let remote = Remote(Arc::new(tree(&[
        ("kustomization.yaml", "resources: [a.yaml]"),
        ("a.yaml", &config_map("far", "v")),
    ])));
    let files = tree(&[(
        "app/kustomization.yaml",
        "resources: ['https://example.invalid/o/r.git?ref=v1', 'https://example.invalid/file.yaml']",
    )]);
    let mut overlay = at("app");
    let built = prepare(&files, &overlay).unwrap().build(&remote, &Stages::default());
    assert_eq!(built.unwrap().objects.len(), 2);
    for (resource, place) in [
        ("https://example.invalid/o/r.git?ref=v1", None),
        (
            "https://example.invalid/file.yaml",
            Some("https://example.invalid/file.yaml:1:1: ConfigMap file"),
        ),
        (
            "http://example.invalid/file.yaml",
            Some("http://example.invalid/file.yaml:1:1: ConfigMap file"),
        ),
    ] {
        let files = tree(&[("app/kustomization.yaml", &format!("resources: ['{resource}']"))]);
        overlay.no_remote_bases = false;
        let built = prepare(&files, &overlay).unwrap().build(&remote, &Stages::default());
        let shown = built.unwrap().objects[0].shown();
        assert!(place.is_none_or(|place| shown == place), "{shown}");
        overlay.no_remote_bases = true;
        let built = prepare(&files, &overlay).unwrap().build(&remote, &Stages::default());
        let error = built.unwrap_err().to_string();
        assert!(
            error.contains(resource) && error.contains("--no-remote-bases"),
            "{error}"
        );
    }
}

#[test]
fn many_kustomizations_share_one_tree() {
    let mut tree = MemoryTree::new();
    for app in 0..50 {
        tree.add_file(&format!("apps/{app}/a.yaml"), config_map(&format!("c{app}"), "v"));
    }
    tree.add_file(
        "comp/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: p-\n",
    );
    let prepared: Vec<_> = (0..50)
        .map(|app| {
            let overlay = Overlay {
                components: vec!["../../comp".to_owned()],
                ..at(&format!("apps/{app}"))
            };
            prepare(&tree, &overlay).unwrap()
        })
        .collect();
    for (app, prepared) in prepared.into_iter().enumerate() {
        let built = prepared.build(&Sealed, &Stages::default()).unwrap();
        assert_eq!(built.objects[0].value["metadata"]["name"], json!(format!("p-c{app}")));
    }
}

/// Memory is reserved for all of a build, and released with its result.
#[test]
fn a_build_takes_room_and_gives_it_back() {
    use bumpwright_budget::Memory;
    use bumpwright_overlay::prepare_within;
    let map = config_map("one", "1");
    let tree = tree(&[("app/a.yaml", map.as_str())]);
    let memory = Memory::single(1 << 20, "--build-memory");
    let built = prepare_within(&tree, &at("app"), Some(&memory.of("apps")))
        .unwrap()
        .build(&Sealed, &Stages::default())
        .unwrap();
    assert!((1..100_000).contains(&memory.held()), "{}", memory.held());
    drop(built);
    assert_eq!(memory.held(), 0);
    let little = Memory::single(1000, "--build-memory");
    let error = prepare_within(&tree, &at("app"), Some(&little.of("apps")))
        .and_then(|prepared| prepared.build(&Sealed, &Stages::default()))
        .unwrap_err()
        .to_string();
    assert!(error.contains("--build-memory raises the bound"), "{error}");
    assert_eq!(little.held(), 0);
}

/// A build reports all errors at once; who reads them has to know which are of what kind.
#[test]
fn faults_have_kinds_and_their_texts_are_the_message() {
    let base = "resources: [../app]\n";
    let kustomization = "resources: ['https://example.invalid/o/r.git?ref=v1', gone.yaml, ../base]\n\
                         configMapGenerator: [{name: c, files: ['https://example.invalid/x.txt']}]\n";
    let no_kind = "apiVersion: v1\nmetadata: {name: a}\n";
    for (files, kinds) in [
        (
            vec![
                ("app/kustomization.yaml", kustomization),
                ("base/kustomization.yaml", base),
            ],
            vec![FaultKind::Sealed, FaultKind::Other, FaultKind::Cycle, FaultKind::Sealed],
        ),
        (
            vec![("app/kustomization.yaml", "resources: [")],
            vec![FaultKind::Manifest],
        ),
        (
            vec![("app/kustomization.yaml", "resources: {a: b}")],
            vec![FaultKind::Other],
        ),
        (
            vec![("app/a.yaml", no_kind), ("app/b.yaml", "a: [")],
            vec![FaultKind::Manifest, FaultKind::Manifest],
        ),
    ] {
        let error = build(&files, &Stages::default()).unwrap_err();
        let (found, texts): (Vec<FaultKind>, Vec<String>) = error
            .faults()
            .into_iter()
            .map(|Fault { kind, text }| (kind, text))
            .unzip();
        assert_eq!(found, kinds, "{error}");
        assert_eq!(texts.join("\n"), error.to_string());
    }
}
