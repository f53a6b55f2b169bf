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

const FIXES: [(&str, &str); 14] = [
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

const IMAGES: [(&str, &[&str], &str); 9] = [
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
        assert!(ran.err.contains("is no image"), "{}", ran.err);
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
        let flags = match recursive {
            true => vec!["create", "--autodetect", "--recursive"],
            false => vec!["create", "--autodetect"],
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
