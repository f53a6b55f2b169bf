//! `bumpwright kustomize`, beside kustomize itself: the same documents, and no other bytes.

use std::process::Command;

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::tool;
use serde_json::Value as Json;

/// What a file holds, as go-yaml reads it.
fn document(text: &str) -> Json {
    let read = bumpwright_yaml::read_first(
        text.as_bytes(),
        &bumpwright_yaml::ReadOptions::sigs(bumpwright_yaml::FileId::NONE),
    );
    let node = read.unwrap_or_else(|error| panic!("{error}\n{text}")).unwrap();
    let mut out = String::new();
    bumpwright_yaml::write_json(&node, &mut out).unwrap();
    serde_json::from_str(&out).unwrap()
}

/// The same file after kustomize's own command; none where it fails.
fn peer(text: &str, arguments: &[&str]) -> Option<Json> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kustomization.yaml"), text).unwrap();
    std::fs::write(folder.path().join("patch.yaml"), "kind: A\n").unwrap();
    let mut command = Command::new(tool("kustomize")?);
    let ran = command.args(arguments).current_dir(&folder).output().unwrap();
    if !ran.status.success() {
        return None;
    }
    let text = std::fs::read_to_string(folder.path().join("kustomization.yaml")).unwrap();
    Some(document(&text))
}

const FIXES: [(&str, &str); 15] = [
    (
        "# only\nresources: [a]\n",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n# only\nresources: [a]\n",
    ),
    (
        "kind: Kustomization\n\n# ours\nbases: # b\n- ../base # one\n- x",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\n# ours\nresources: # b\n- ../base # one\n- x",
    ),
    (
        "HEAD# theirs\nbases:\n  - ../base # one\n# ours\nresources:\n- a.yaml\n# last\nnamePrefix: x\n",
        "HEAD# ours\nresources:\n- a.yaml\n# theirs\n- ../base # one\n# last\nnamePrefix: x\n",
    ),
    ("HEADresources: [a, b]\nbases: [c]\n", "HEADresources:\n- a\n- b\n- c\n"),
    (
        "HEADimageTags:\n- name: a\n  newTag: '1.0' # c\n",
        "HEADimages:\n- name: a\n  newTag: '1.0' # c\n",
    ),
    (
        "HEADpatchesStrategicMerge:\n  - patch.yaml # c\n  - |-\n    kind: B\n    metadata:\n      name: x\n# end\nnamePrefix: x\n",
        "HEADpatches:\n  - path: patch.yaml # c\n  - patch: |-\n      kind: B\n      metadata:\n        name: x\n# end\nnamePrefix: x\n",
    ),
    (
        "HEADpatchesStrategicMerge:\n- patch.yaml\npatchesJson6902:\n- target: {kind: A, name: x, version: v1}\n  path: patch.yaml\npatches:\n- path: patch.yaml\n  target: {kind: C}\n",
        "HEADpatches:\n- path: patch.yaml\n  target: {kind: C}\n- target: {kind: A, name: x, version: v1}\n  path: patch.yaml\n- path: patch.yaml\n",
    ),
    ("HEADpatches:\n- patch.yaml\n", "HEADpatches:\n- path: patch.yaml\n"),
    (
        "HEADpatchesStrategicMerge:\n- |-\n  {kind: B, metadata: {name: x}}\n- patch.yaml\n",
        "HEADpatches:\n- patch: |-\n    {kind: B, metadata: {name: x}}\n- path: patch.yaml\n",
    ),
    (
        "HEADcommonLabels: # c\n  app: web # d\n  'b': \"c\"\n",
        "HEADlabels: # c\n- includeSelectors: true\n  pairs:\n    app: web # d\n    'b': \"c\"\n",
    ),
    (
        "HEADcommonLabels: {app: web}\nlabels:\n  - pairs:\n      a: b\n",
        "HEADlabels:\n  - pairs:\n      a: b\n  - includeSelectors: true\n    pairs: {app: web}\n",
    ),
    (
        "HEADconfigMapGenerator:\n- name: a\n  env: a.env # c\n  literals: [x=y]\n- name: b\n  env: b.env\n  envs:\n  - c.env\n",
        "HEADconfigMapGenerator:\n- name: a\n  envs:\n  - a.env # c\n  literals: [x=y]\n- name: b\n  envs:\n  - c.env\n  - b.env\n",
    ),
    (
        "HEADsecretGenerator:\n- {name: a, env: a.env}\n",
        "HEADsecretGenerator:\n- {name: a, envs: [a.env]}\n",
    ),
    (
        "kind: Component\nbases:\r\n- a\r\n",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources:\r\n- a\r\n",
    ),
    ("HEADresources:\n- a\n", "HEADresources:\n- a\n"),
];

#[test]
fn deprecated_fields_are_rewritten_as_kustomize_does() {
    let head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";
    for (before, after) in FIXES.map(|(before, after)| (before.replace("HEAD", head), after.replace("HEAD", head))) {
        let bench = Bench::new();
        bench.write("kustomization.yaml", &before);
        bench.write("patch.yaml", "kind: A\n");
        bench.ok(&["kustomize", "fix", "--write"]);
        assert_eq!(bench.read("kustomization.yaml"), after);
        if let Some(theirs) = peer(&before, &["edit", "fix"]) {
            assert_eq!(document(&after), theirs, "{before}");
        }
        let again = bench.ok(&["kustomize", "fix"]);
        assert_eq!(again.out, "", "{after}");
    }
}

#[test]
fn what_cannot_be_rewritten_is_told_and_stays() {
    for (text, told) in [
        (
            "commonLabels: {a: b}\nlabels:\n- pairs: {a: c}\n",
            "1:16: label name 'a' exists in both",
        ),
        ("imageTags: []\nimages: []\n", "1:1: imageTags is images now"),
        ("bases: &a [x]\n", "1:"),
        ("{bases: [x]}\n", "1:1: the kustomization is written in a way"),
        ("bases: [\n", "does not parse"),
        (
            "helmChartInflationGenerator: []\n",
            "1:1: helmChartInflationGenerator is deprecated",
        ),
        ("a: b\n---\nbases: [x]\n", "1:1: a kustomization file has one document"),
    ] {
        let bench = Bench::new();
        bench.write("kustomization.yaml", text);
        let ran = bench.run(&["kustomize", "fix", "--write"]);
        assert_eq!((ran.code, bench.read("kustomization.yaml").as_str()), (2, text));
        assert!(
            ran.err.contains("kustomization.yaml:") && (told == "does not parse" || ran.err.contains(told)),
            "{text}{}",
            ran.err
        );
    }
}

const NAMED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: old}\ndata: {a: b}\n";

/// A field with which an object would differ stays; the others are rewritten. Each file with the fields that stay,
/// and what is said.
#[test]
fn fields_that_would_change_an_object_stay() {
    let head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";
    let json = |target: &str, path: &str| {
        format!(
            "patchesJson6902:\n- target: {{version: v1, kind: ConfigMap, name: c{target}}}\n  \
             patch: '[{{\"op\": \"replace\", \"path\": \"{path}\", \"value\": \"x\"}}]'\n"
        )
    };
    for (fields, kept, told) in [
        // Patches of this field come after the namespace, those of `patches` before it.
        (format!("namespace: global\n{}", json("", "/metadata/namespace")), "patchesJson6902", "ConfigMap global/c in the place of ConfigMap x/c"),
        (format!("namePrefix: p-\n{}", json("", "/metadata/name")), "patchesJson6902", "ConfigMap old/p-x in the place of ConfigMap old/x"),
        (format!("commonLabels: {{l: m}}\n{}", json("", "/metadata/labels/l")), "patchesJson6902", "the build would fail"),
        // Nothing differs.
        (format!("namespace: global\n{}", json("", "/data/a")), "", ""),
        (json("", "/metadata/namespace"), "", ""),
        // One that comes before `patches` now, which changes the same value.
        (
            "patchesStrategicMerge:\n- '{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: old}, data: {a: one}}'\n\
             patches:\n- patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: old}, data: {a: two}}'\n"
                .to_owned(),
            "patchesStrategicMerge",
            "ConfigMap old/c would be another one",
        ),
    ] {
        let bench = Bench::new();
        bench.write("r.yaml", NAMED);
        bench.write("kustomization.yaml", format!("{head}resources: [r.yaml]\nbases: []\n{fields}"));
        let before = bench.ok(&["build"]).out;
        let ran = bench.run(&["kustomize", "fix", "--write"]);
        let text = bench.read("kustomization.yaml");
        assert_eq!(bench.ok(&["build"]).out, before, "{text}");
        assert_eq!(ran.code, if kept.is_empty() { 0 } else { 2 }, "{fields}{}", ran.err);
        assert!(kept.is_empty() || (ran.err.contains(&format!("{kept} stays as it is: ")) && ran.err.contains(told)), "{told}: {}", ran.err);
        for field in ["patchesJson6902:", "patchesStrategicMerge:", "commonLabels:", "bases:"] {
            assert_eq!(text.contains(field), !kept.is_empty() && field.starts_with(kept), "{field}: {text}");
        }
    }
}

/// A component is no build: those that use it say what it changes. What nothing builds is rewritten
/// where it cannot matter.
#[test]
fn components_are_proven_by_those_that_use_them() {
    let patch = "namespace: global\npatchesJson6902:\n- target: {version: v1, kind: ConfigMap, name: c}\n  \
                 patch: '[{\"op\": \"replace\", \"path\": \"/metadata/namespace\", \"value\": \"x\"}]'\n";
    let component = format!("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n{patch}");
    let bench = Bench::new();
    bench.write("app/r.yaml", NAMED);
    bench.write("app/kustomization.yaml", "resources: [r.yaml]\ncomponents: [../part]\n");
    bench.write("part/kustomization.yaml", &component);
    let ran = bench.run(&["kustomize", "fix", "--write"]);
    assert_eq!(
        (ran.code, bench.read("part/kustomization.yaml")),
        (2, component.clone()),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("part/kustomization.yaml:4:1: patchesJson6902 stays"),
        "{}",
        ran.err
    );

    let remote = format!("resources: ['https://example.com/base?ref=v1']\n{patch}bases: [x]\n");
    bench.write("far/kustomization.yaml", &remote);
    let ran = bench.run(&["kustomize", "fix", "--write", "far"]);
    let text = bench.read("far/kustomization.yaml");
    assert!(
        ran.code == 2 && text.contains("patchesJson6902:") && !text.contains("bases:"),
        "{text}{}",
        ran.err
    );
    assert!(ran.err.contains("not compared with its build before"), "{}", ran.err);
}

const IMAGES: [(&str, &[&str], &str); 14] = [
    (
        "namePrefix: x # c\n",
        &["a:2.0"],
        "namePrefix: x # c\nimages:\n- name: a\n  newTag: \"2.0\"\n",
    ),
    (
        "images: # c\n  - name: a\n    newTag: '1.0' # d\nend: 1",
        &["a:2.0", "b=c@sha256:0a"],
        "images: # c\n  - name: a\n    newTag: '2.0' # d\n  - name: b\n    newName: c\n    digest: sha256:0a\nend: 1",
    ),
    (
        "images:\n- newTag: v1\n  newName: x # c\n  name: a\n",
        &["a=z:*"],
        "images:\n- newTag: v1\n  newName: z # c\n  name: a\n",
    ),
    (
        "images:\n- newTag: v1\n  newName: x # c\n  name: a\n",
        &["a:v2"],
        "images:\n- newTag: v2\n  name: a\n",
    ),
    (
        "images:\n- name: a\n  digest: sha256:0\n",
        &["a:v2"],
        "images:\n- name: a\n  newTag: v2\n",
    ),
    (
        "images: [{name: a, newTag: v1}, {name: b}]\n",
        &["a:v2", "b:v3"],
        "images: [{name: a, newTag: v2}, {name: b, newTag: v3}]\n",
    ),
    (
        "images: []\n",
        &["a=localhost:5000/a:1"],
        "images:\n- name: a\n  newName: localhost:5000/a\n  newTag: \"1\"\n",
    ),
    (
        "images:\n- name: a\n  newTag: v1\n",
        &["a:v1"],
        "images:\n- name: a\n  newTag: v1\n",
    ),
    // As kustomize itself writes it.
    (
        "images:\n- digest: sha256:0\n  # ours\n  name: a\n  newName: old\n  newTag: '1'\n",
        &["a:2"],
        "images:\n  # ours\n- name: a\n  newTag: '2'\n",
    ),
    (
        "images:\n- name: a\n  newTag: x\n# b\n- name: a\n  newTag: y\n",
        &["a:z"],
        "images:\n- name: a\n  newTag: z\n# b\n",
    ),
    (
        "images:\n- name: a\n  newTag: v1\n",
        &["a:v2", "a=b:v3"],
        "images:\n- name: a\n  newTag: v3\n  newName: b\n",
    ),
    (
        "images: [{name: a, newName: x, newTag: v1}]\n",
        &["a@sha256:0a", "b:v1"],
        "images: [{name: a, digest: sha256:0a}, {name: b, newTag: v1}]\n",
    ),
    (
        "imageTags: # c\n- name: a\n  newTag: v1\n",
        &["a:v2"],
        "images: # c\n- name: a\n  newTag: v2\n",
    ),
    (
        "resources:\r\n- a\r\n",
        &["a:v1"],
        "resources:\r\n- a\r\nimages:\r\n- name: a\r\n  newTag: v1\r\n",
    ),
];

#[test]
fn images_are_set_as_kustomize_does() {
    for (before, images, after) in IMAGES {
        let bench = Bench::new();
        bench.write("kustomization.yaml", before);
        let set = [&["kustomize", "edit", "set", "image"], images].concat();
        bench.ok(&set);
        assert_eq!(bench.read("kustomization.yaml"), after);
        // It also writes what files lack, and sorts the images.
        if let Some(theirs) = peer(before, &set[1..]) {
            let sorted = |document: &Json| {
                let mut images = document["images"].as_array().unwrap().clone();
                images.sort_by_key(|image| image["name"].to_string());
                images
            };
            assert_eq!(sorted(&document(after)), sorted(&theirs), "{before}");
        }
    }
    // kustomize takes some of these, and writes what no build reads.
    for wrong in ["a", "a=", "=b:1", "a:b c", ":1"] {
        let bench = Bench::new();
        bench.write("kustomization.yaml", "resources: []\n");
        let ran = bench.run(&["kustomize", "edit", "set", "image", wrong]);
        assert_eq!(
            (ran.code, bench.read("kustomization.yaml").as_str()),
            (2, "resources: []\n"),
            "{wrong}"
        );
        assert!(ran.err.contains("is not an image"), "{}", ran.err);
    }
}

#[test]
fn a_kustomization_is_made_of_what_is_there() {
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let bench = Bench::new();
    for (path, text) in [
        ("b.yaml", object),
        ("a.yml", object),
        ("values.yaml", "a: 1\n"),
        ("sub/deep/c.yaml", object),
        ("made/kustomization.yaml", "resources: [d.yaml]\n"),
        ("made/d.yaml", object),
        (
            "z.json",
            r#"{"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}}"#,
        ),
    ] {
        bench.write(path, text);
    }
    for recursive in [false, true] {
        let flags = if recursive {
            vec!["create", "--autodetect", "--recursive"]
        } else {
            vec!["create", "--autodetect"]
        };
        bench.ok(&[&["kustomize"], flags.as_slice()].concat());
        let ours = bench.read("kustomization.yaml");
        std::fs::remove_file(bench.path("kustomization.yaml")).unwrap();
        if let Some(kustomize) = tool("kustomize") {
            let ran = Command::new(kustomize)
                .args(&flags)
                .current_dir(bench.path(""))
                .output()
                .unwrap();
            assert!(ran.status.success());
            assert_eq!(ours, bench.read("kustomization.yaml"));
            std::fs::remove_file(bench.path("kustomization.yaml")).unwrap();
        }
    }
    bench.write("Kustomization", "");
    let ran = bench.run(&["kustomize", "create"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("kustomization file already exists"), "{}", ran.err);
}
