//! The stages around a build: which files are decrypted before it, the order in which objects are decrypted and their
//! variables replaced, and the resulting names, places and digests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_budget::Share;
use bumpwright_kustomize::tree::{MemoryTree, RepoUrl, Sealed, Tree, World, WorldError};
use bumpwright_overlay::{
    Built, Decrypt, Fault, FaultKind, Overlay, OverlayError, SourceFile, SourceFormat, StageError, Stages, Substitute,
    Substituted, prepare,
};
use bumpwright_yaml::{FileId, Node, ReadOptions, read_first, write_sigs};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use zeroize::Zeroizing;

fn tree(files: &[(&str, &str)]) -> MemoryTree {
    let mut tree = MemoryTree::new();
    for (path, text) in files {
        tree.add_file(path, *text);
    }
    tree
}

fn at(path: &str) -> Overlay {
    Overlay {
        path: path.to_owned(),
        ..Overlay::default()
    }
}

fn build(files: &[(&str, &str)], stages: &Stages<'_>) -> Result<Built, OverlayError> {
    prepare(&tree(files), &at("app"))?.build(&Sealed, stages)
}

/// Removes `ENC:`, and records its calls.
#[derive(Default)]
struct Rot {
    files: Mutex<Vec<String>>,
    objects: Mutex<Vec<String>>,
}

impl Decrypt for Rot {
    fn file(&self, file: &SourceFile<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, StageError> {
        let asked = format!("{} {:?}", file.path, file.format);
        self.files.lock().push(asked);
        if file.bytes == b"broken" {
            return Err("no key fits".into());
        }
        Ok(file
            .bytes
            .strip_prefix(b"ENC:")
            .map(|plain| Zeroizing::new(plain.to_vec())))
    }

    fn object(&self, object: &Value) -> Result<Option<Value>, StageError> {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        self.objects.lock().push(name);
        let mut plain = object.clone();
        match object["data"]["secret"].as_str() {
            Some("broken") => return Err("no key fits".into()),
            Some(text) if text.starts_with("ENC:") => plain["data"]["secret"] = json!(&text[4..]),
            _ => return Ok(None),
        }
        Ok(Some(plain))
    }
}

/// Replaces `${x}` by a text.
struct Put(&'static str);

impl Substitute for Put {
    fn object(&self, object: &Node, _: Option<&Share>) -> Result<Option<Substituted>, StageError> {
        let mut yaml = String::new();
        write_sigs(object, &mut yaml).unwrap();
        if yaml.contains("${broken}") {
            return Err("envsubst error: variable not set".into());
        }
        let changed = yaml.replace("${x}", self.0);
        let read = read_first(changed.as_bytes(), &ReadOptions::sigs(FileId::NONE));
        let read = read.map_err(|error| format!("envsubst error: YAMLToJSON: {}", error.go()))?;
        Ok(read.map(|node| Substituted {
            node,
            has_secrets: self.0.starts_with("s3cret") && yaml.contains("${x}"),
            undefined: Vec::new(),
        }))
    }
}

fn config_map(name: &str, data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  secret: {data}\n")
}

#[test]
fn sources_of_secrets_and_patches_are_decrypted_before_the_build() {
    let rot = Rot::default();
    let decrypt = Stages {
        decrypt: Some(&rot),
        ..Stages::default()
    };
    let built = build(
        &[
            (
                "app/kustomization.yaml",
                "resources: [a.yaml, ../base, 'https://example.invalid/x.yaml?ref=1']\ncomponents: [../comp]\npatches: [{path: p.yaml}, \
                 {path: 'https://example.invalid/p.yaml'}]\nsecretGenerator:\n- {name: s, files: [config.json=x.enc, y.txt], envs: \
                 [e.enc, f.json], env: g.env}\nconfigMapGenerator:\n- {name: c, files: [z.yaml]}\n",
            ),
            ("app/a.yaml", &config_map("a", "v")),
            ("app/p.yaml", &format!("ENC:{}", config_map("a", "patched"))),
            ("app/x.enc", "ENC:{}"),
            ("app/y.txt", "plain"),
            ("app/e.enc", "ENC:K=v"),
            ("app/f.json", "ENC:L=w"),
            ("app/z.yaml", "ENC:never"),
            (
                "base/kustomization.yaml",
                "resources: [../app]\nsecretGenerator: [{name: b, files: [../app/x.enc, i.ini]}]",
            ),
            ("base/i.ini", "x"),
            (
                "comp/kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nsecretGenerator: [{name: k, envs: [k.env]}]",
            ),
            ("comp/k.env", "ENC:A=b"),
        ],
        &decrypt,
    );
    // The build is without network, but all sources were checked, each once, as the first entry says.
    assert!(matches!(built, Err(OverlayError::Build(_))), "{built:?}");
    let asked = [
        "app/x.enc Json",
        "app/y.txt Binary",
        "app/e.enc Dotenv",
        "app/f.json Json",
        "app/p.yaml Yaml",
        "base/i.ini Ini",
        "comp/k.env Dotenv",
    ];
    assert_eq!(*rot.files.lock(), asked);
}

#[test]
fn a_build_sees_what_was_decrypted() {
    let files = [
        (
            "app/kustomization.yaml",
            "resources: [a.yaml]\npatches: [{path: p.yaml}]\nconfigMapGenerator: [{name: c, files: [x]}]\nsecretGenerator: [{name: s, \
             files: [x]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n",
        ),
        ("app/a.yaml", &config_map("a", "v")),
        ("app/p.yaml", &format!("ENC:{}", config_map("a", "patched"))),
        ("app/x", "ENC:text"),
    ];
    let rot = Rot::default();
    let stages = Stages {
        decrypt: Some(&rot),
        ..Stages::default()
    };
    let built = build(&files, &stages).unwrap();
    let values: Vec<&Value> = built.objects.iter().map(|object| &object.value).collect();
    assert_eq!(values[0]["data"], json!({"secret": "patched"}));
    assert_eq!(values[1]["data"], json!({"x": "text"}));
    assert_eq!(values[2]["data"], json!({"x": "dGV4dA=="}));
    assert_eq!(*rot.objects.lock(), ["a", "c", "s"]);
}

#[test]
fn a_source_that_cannot_be_decrypted_stops_the_build() {
    let rot = Rot::default();
    let stages = Stages {
        decrypt: Some(&rot),
        ..Stages::default()
    };
    for (kustomization, wanted) in [
        ("secretGenerator: [{name: s, files: [bad]}]", "no key fits"),
        (
            "secretGenerator: [{name: s, files: [gone]}]",
            "lstat app/gone: no such file or directory",
        ),
        (
            "secretGenerator: [{name: s, envs: [bad/x]}]",
            "lstat app/bad/x: not a directory",
        ),
        (
            "secretGenerator: [{name: s, files: [../app]}]",
            "cannot decrypt irregular file as it has file mode type bits set (app)",
        ),
        ("resources: [../none]", "no kustomization file found (none)"),
        (
            "resources: [../odd]",
            "expected kustomization.yaml to be a regular file (odd)",
        ),
        ("resources: [../two]", "found multiple kustomization files (two)"),
        (
            "resources: [../broken]",
            "failed to unmarshal kustomization file from '/tmp/kustomization-0000000000/broken/kustomization.yaml': error unmarshaling JSON: \
             while decoding JSON: json: cannot unmarshal string into Go struct field Kustomization.resources of type []string \
             (broken/kustomization.yaml:1:12)",
        ),
    ] {
        let built = build(
            &[
                ("app/kustomization.yaml", kustomization),
                ("app/bad", "broken"),
                ("none/x.yaml", ""),
                ("odd/kustomization.yaml/x", ""),
                ("two/kustomization.yaml", ""),
                ("two/Kustomization", ""),
                ("broken/kustomization.yaml", "resources: x"),
            ],
            &stages,
        );
        let error = built.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("error decrypting sources: {wanted}"),
            "{kustomization}"
        );
        assert!(!error.is_missing_path());
    }
}

#[test]
fn sources_outside_of_the_artifact_are_looked_for_inside() {
    let rot = Rot::default();
    let stages = Stages {
        decrypt: Some(&rot),
        ..Stages::default()
    };
    let built = build(
        &[
            (
                "app/kustomization.yaml",
                "secretGenerator: [{name: s, files: [../../../../etc/x, /tmp/kustomization-0000000000/app/y]}]",
            ),
            ("etc/x", "inside"),
            ("app/y", "inside"),
        ],
        &stages,
    );
    assert_eq!(*rot.files.lock(), ["etc/x Binary", "app/y Binary"]);
    let error = built.unwrap_err().to_string();
    assert!(error.starts_with("kustomize build failed: "), "{error}");
    assert!(error.contains("/etc/x"), "{error}");
}

#[test]
fn objects_are_decrypted_and_then_their_variables_replaced() {
    let (rot, put) = (Rot::default(), Put("1"));
    let stages = Stages {
        decrypt: Some(&rot),
        substitute: Some(&put),
    };
    let text = [config_map("a", "'ENC:${x}'"), config_map("b", "${x}${x}")].join("---\n");
    let built = build(&[("app/a.yaml", &text)], &stages).unwrap();
    let values: Vec<&Value> = built
        .objects
        .iter()
        .map(|object| &object.value["data"]["secret"])
        .collect();
    assert_eq!(values, [&json!(1), &json!(11)], "numbers are no texts any more (K-096)");
    let yaml = "apiVersion: v1\ndata:\n  secret: 1\nkind: ConfigMap\nmetadata:\n  name: a\n---\napiVersion: v1\ndata:\n  \
                secret: 11\nkind: ConfigMap\nmetadata:\n  name: b\n";
    let digest: String = Sha256::digest(yaml).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        built.digest,
        format!("sha256:{digest}"),
        "of what is applied, not of what was built"
    );
    assert_eq!(
        built.objects[1].origin.as_deref(),
        Some("app/a.yaml:8:1"),
        "places survive"
    );
}

#[test]
fn errors_of_stages_name_the_object() {
    let (rot, put) = (Rot::default(), Put("1"));
    let stages = Stages {
        decrypt: Some(&rot),
        substitute: Some(&put),
    };
    for (data, wanted) in [
        ("broken", "decryption failed for 'ConfigMap.v1.[noGrp]/a': no key fits"),
        (
            "${broken}",
            "post build failed for 'ConfigMap.v1.[noGrp]/a': envsubst error: variable not set",
        ),
    ] {
        let error = build(&[("app/a.yaml", &config_map("a", data))], &stages).unwrap_err();
        assert_eq!(error.to_string(), wanted);
    }
    let breaks = Put("[");
    let stages = Stages {
        substitute: Some(&breaks),
        ..Stages::default()
    };
    let error = build(&[("app/a.yaml", &config_map("a", "${x}"))], &stages).unwrap_err();
    let start = "post build failed for 'ConfigMap.v1.[noGrp]/a': envsubst error: YAMLToJSON: yaml: ";
    assert!(error.to_string().starts_with(start), "{error}");
}

/// Many are decrypted in parallel, and the error is the one of sequential work.
#[test]
fn many_objects_and_sources_come_in_order() {
    let (rot, put) = (Rot::default(), Put("1"));
    let stages = Stages {
        decrypt: Some(&rot),
        substitute: Some(&put),
    };
    let told = |odd: &[(usize, &str)]| {
        let data = |at| match odd.iter().find(|(odd, _)| *odd == at) {
            Some((_, data)) => (*data).to_owned(),
            None => format!("ENC:v{at}"),
        };
        let texts: Vec<String> = (0..100).map(|at| config_map(&format!("a{at}"), &data(at))).collect();
        let built = build(&[("app/a.yaml", &texts.join("---\n"))], &stages)?;
        Ok(built
            .objects
            .into_iter()
            .map(|object| object.value["data"]["secret"].clone())
            .collect())
    };
    let plain: Result<Vec<Value>, OverlayError> = told(&[]);
    assert_eq!(
        plain.unwrap(),
        (0..100).map(|at| json!(format!("v{at}"))).collect::<Vec<_>>()
    );
    for (odd, wanted) in [
        (
            &[(17, "broken"), (31, "broken"), (99, "${broken}")][..],
            "decryption failed for 'ConfigMap.v1.[noGrp]/a17': no key fits",
        ),
        (
            &[(9, "${broken}"), (17, "broken")],
            "post build failed for 'ConfigMap.v1.[noGrp]/a9': envsubst error: variable not set",
        ),
    ] {
        assert_eq!(told(odd).unwrap_err().to_string(), wanted);
    }
    let names = |last: &str| {
        format!(
            "secretGenerator: [{{name: s, files: [{}{last}]}}]",
            (0..40).map(|at| format!("f{at}, ")).collect::<String>()
        )
    };
    let sources: Vec<(String, String)> = (0..40).map(|at| (format!("app/f{at}"), format!("ENC:{at}"))).collect();
    for (last, wanted) in [
        ("bad, gone", "no key fits"),
        ("gone, bad", "lstat app/gone: no such file or directory"),
    ] {
        let kustomization = names(last);
        let mut files: Vec<(&str, &str)> = sources
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        files.extend([
            ("app/kustomization.yaml", kustomization.as_str()),
            ("app/bad", "broken"),
        ]);
        let error = build(&files, &stages).unwrap_err();
        assert_eq!(error.to_string(), format!("error decrypting sources: {wanted}"));
    }
}

/// K-093: by label or annotation.
#[test]
fn objects_can_opt_out_of_substitution() {
    let put = Put("1");
    let stages = Stages {
        substitute: Some(&put),
        ..Stages::default()
    };
    for (field, value, wanted) in [
        ("labels", "disabled", json!("${x}")),
        ("annotations", "disabled", json!("${x}")),
        ("annotations", "Disabled", json!(1)),
    ] {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  {field}:\n    kustomize.toolkit.fluxcd.io/substitute: {value}\ndata:\n  x: ${{x}}\n"
        );
        let built = build(&[("app/a.yaml", &text)], &stages).unwrap();
        assert_eq!(built.objects[0].value["data"]["x"], wanted, "{field}: {value}");
    }
}

#[test]
fn a_substitution_cannot_give_two_objects_one_name() {
    let put = Put("b");
    let stages = Stages {
        substitute: Some(&put),
        ..Stages::default()
    };
    let text = [config_map("${x}", "v"), config_map("b", "v")].join("---\n");
    let error = build(&[("app/a.yaml", &text)], &stages).unwrap_err();
    assert_eq!(
        error.to_string(),
        "in Replace: id matched 2 resources: app/a.yaml:1:1: ConfigMap.v1.[noGrp]/b"
    );
    let text = [config_map("${x}", "v"), config_map("c", "v")].join("---\n");
    assert_eq!(build(&[("app/a.yaml", &text)], &stages).unwrap().objects.len(), 2);
}

#[test]
fn an_object_that_loses_its_name_is_left_out_and_told_about() {
    let put = Put("");
    let stages = Stages {
        substitute: Some(&put),
        ..Stages::default()
    };
    let built = build(&[("app/a.yaml", &config_map("${x}", "v"))], &stages).unwrap();
    assert_eq!(built.objects, []);
    assert_eq!(built.warnings.len(), 1);
    assert!(
        built.warnings[0].starts_with("app/a.yaml:1:1: ConfigMap "),
        "{:?}",
        built.warnings
    );
    let may_lack = |kind| bumpwright_overlay::may_lack(&built.left_out, "", kind);
    assert!(may_lack("ConfigMap") && !may_lack("Secret"));
}

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

#[test]
fn formats_follow_names() {
    for (name, format) in [
        ("x.yaml", SourceFormat::Yaml),
        ("x.yml", SourceFormat::Yaml),
        ("x.json", SourceFormat::Json),
        (".dockerconfigjson", SourceFormat::Json),
        ("x.env", SourceFormat::Dotenv),
        ("x.ini", SourceFormat::Ini),
        ("x.yaml.enc", SourceFormat::Binary),
        ("x", SourceFormat::Binary),
    ] {
        assert_eq!(SourceFormat::of_name(name), format, "{name}");
    }
}

#[test]
fn what_came_from_secrets_is_known() {
    let files = [
        ("app/a.yaml", config_map("one", "a-${x}-b").as_str()),
        ("app/b.yaml", config_map("two", "plain").as_str()),
    ]
    .map(|(path, text)| (path, text.to_owned()));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let stages = Stages {
        substitute: Some(&Put("s3cret-value")),
        ..Stages::default()
    };
    let built = prepare(&tree(&files), &at("app"))
        .unwrap()
        .build(&Sealed, &stages)
        .unwrap();
    let objects: Vec<_> = built.hidden.objects.iter().collect();
    assert_eq!(objects, [&["", "ConfigMap", "one"].map(str::to_owned)]);
    assert!(built.hidden.texts.contains("a-s3cret-value-b"));
    assert!(!built.hidden.texts.contains("plain"));
    assert!(!format!("{:?}", built.hidden).contains("s3cret"));
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

/// Flux loses all labels of an object for one of these. Each is told at its place, and the other objects are built.
#[test]
fn labels_annotations_and_namespaces_are_texts() {
    let put = Put("1.10");
    let substituted = Stages {
        substitute: Some(&put),
        ..Stages::default()
    };
    let plain = Stages::default();
    let object = |metadata: &str, stages: &Stages<'_>| {
        let text = format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n{metadata}");
        build(&[("app/a.yaml", &text), ("app/b.yaml", &config_map("b", "v"))], stages).unwrap()
    };
    for (metadata, expected) in [
        (
            "  labels: {app: d, version: 1.10, tier: w}\n",
            "5:29: Service s: metadata.labels.version is a number",
        ),
        (
            "  labels:\n    a.io/on: true\n",
            "6:14: Service s: metadata.labels[a.io/on] is a boolean",
        ),
        ("  labels: {a: [b]}\n", "5:15: Service s: metadata.labels.a is a list"),
        ("  labels: [a]\n", "5:11: Service s: metadata.labels is a list"),
    ] {
        let built = object(metadata, &plain);
        assert_eq!(built.objects.len(), 2, "{metadata}");
        let error = built.without(|_| true).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("app/a.yaml:{expected} and has to be a text: ")),
            "{error}"
        );
        assert!(!error.contains("1.1 ") && !error.contains('\n'), "{error}");
    }
    for metadata in [
        "  labels: {a: \"1\", b: 'true', c: null, d: , e: \"v${x}\"}\n  annotations:\n",
        "  labels: null\n  annotations: {}\n  namespace:\n",
    ] {
        assert!(object(metadata, &substituted).without(|_| true).is_ok(), "{metadata}");
    }
    // kustomize makes a text of a number among annotations; a variable is replaced after it.
    for (metadata, field) in [
        ("  labels: {app: d, version: \"${x}\"}\n", "labels.version"),
        ("  annotations: {a: \"${x}\", b: x}\n", "annotations.a"),
    ] {
        let error = object(metadata, &substituted)
            .without(|_| true)
            .unwrap_err()
            .to_string();
        let expected = format!("app/a.yaml:1:1: Service s: metadata.{field} is a number");
        assert!(error.starts_with(&expected), "{error}");
    }
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a, labels: {n: x}}}\n\
                - {apiVersion: v1, kind: A, metadata: {name: b, labels: {n: 1}, namespace: 7}}\n";
    let error = build(&[("app/a.yaml", list)], &plain)
        .unwrap()
        .without(|_| true)
        .unwrap_err();
    let places: Vec<String> = error
        .to_string()
        .lines()
        .map(|line| line.chars().take(16).collect())
        .collect();
    assert_eq!(places, ["app/a.yaml:5:61:", "app/a.yaml:5:76:"]);
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
