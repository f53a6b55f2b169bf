//! Hostile trees and specs: nothing panics, nothing leaves the artifact, nothing takes long.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_kustomize::tree::{MemoryTree, Sealed};
use bumpwright_overlay::{Decrypt, Image, Overlay, Patch, SourceFile, StageError, Stages, prepare};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use zeroize::Zeroizing;

fn outcome(tree: &MemoryTree, overlay: &Overlay, stages: &Stages<'_>) -> String {
    match prepare(tree, overlay).and_then(|prepared| prepared.build(&Sealed, stages)) {
        Ok(built) => built.digest,
        Err(error) => error.to_string(),
    }
}

fn at(path: &str) -> Overlay {
    Overlay {
        path: path.to_owned(),
        ..Overlay::default()
    }
}

/// K-040.
#[test]
fn a_path_never_leaves_the_artifact() {
    let mut tree = MemoryTree::new();
    tree.add_file("app/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    tree.add_link("up", "../../..");
    tree.add_link("far", "/../../etc");
    for path in ["../../..", "/", "../app/../..", "up", "up/up/up", "up/../up/app/.."] {
        let told = outcome(&tree, &at(path), &Stages::default());
        assert_eq!(
            told,
            outcome(&tree, &at(""), &Stages::default()),
            "{path}: the root itself"
        );
    }
    for path in ["far", "../etc/passwd", "up/etc", "\0", "app/a.yaml/..\0"] {
        let told = outcome(&tree, &at(path), &Stages::default());
        assert!(
            told.starts_with("kustomization path not found: stat /tmp/kustomization-0000000000/"),
            "{path}: {told}"
        );
    }
}

#[test]
fn a_deep_tree_takes_no_stack() {
    let mut tree = MemoryTree::new();
    let deep = "d/".repeat(300);
    tree.add_file(
        &format!("app/{deep}a.yaml"),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    );
    let prepared = prepare(&tree, &at("app")).unwrap();
    assert!(prepared.kustomization().contains(&deep));
}

/// Counts files, and rejects the last one.
#[derive(Default)]
struct Count(AtomicUsize);

impl Decrypt for Count {
    fn file(&self, file: &SourceFile<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, StageError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        match file.bytes {
            b"last" => Err("seen".into()),
            _ => Ok(None),
        }
    }

    fn object(&self, _: &Value) -> Result<Option<Value>, StageError> {
        Ok(None)
    }
}

#[test]
fn sources_of_kustomizations_in_a_circle_are_looked_at_once() {
    let mut tree = MemoryTree::new();
    let all: Vec<String> = (0..40).map(|other| format!("../k{other}")).collect();
    for at in 0..40 {
        let text = format!("resources: [{}]\nsecretGenerator: [{{files: [f]}}]\n", all.join(", "));
        tree.add_file(&format!("k{at}/kustomization.yaml"), text);
        tree.add_file(&format!("k{at}/f"), if at == 39 { "last" } else { "" });
    }
    let count = Count::default();
    let stages = Stages {
        decrypt: Some(&count),
        ..Stages::default()
    };
    let told = outcome(&tree, &at("k0"), &stages);
    assert_eq!(
        (told.as_str(), count.0.load(Ordering::Relaxed)),
        ("error decrypting sources: seen", 40)
    );
}

#[test]
fn odd_kustomizations_are_errors_and_nothing_worse() {
    let nested = format!("{}x{}", "[".repeat(1001), "]".repeat(1001));
    let bomb: String = (0..30)
        .map(|at| format!("a{at}: &a{at} [*a{0}, *a{0}]\n", at - 1))
        .collect();
    let values = [
        nested.as_str(),
        "{? [a] : b}",
        "!!binary AAAA",
        "!!binary =",
        "&a [*a]",
        "!!set {a}",
        "'\\0'",
        "\"\\u0000\"",
        "-.inf",
        ".nan",
        "99999999999999999999",
        "0b11",
        "1_0",
        "2001-01-01",
        "!custom x",
        "*gone",
        "{<<: [1]}",
        "\u{85}",
        "%x",
        "@y",
        "`z`",
        "|\n",
        ">+\n",
    ];
    let fields = [
        "resources",
        "namePrefix",
        "commonLabels",
        "labels",
        "patches",
        "images",
        "replicas",
        "configMapGenerator",
        "helmCharts",
        "metadata",
        "replacements",
        "vars",
        "kind",
        "openapi",
        "sortOptions",
    ];
    for field in fields {
        for value in values {
            for text in [
                format!("{field}: {value}"),
                format!("{field}: [{value}]"),
                format!("{field}: {{a: {value}, name: {value}}}"),
            ] {
                let mut tree = MemoryTree::new();
                tree.add_file("app/kustomization.yaml", text.as_bytes());
                outcome(&tree, &at("app"), &Stages::default());
            }
        }
    }
    let mut tree = MemoryTree::new();
    tree.add_file(
        "app/kustomization.yaml",
        format!("a-1: &a-1 [x]\n{bomb}commonLabels: *a29\n"),
    );
    let told = outcome(&tree, &at("app"), &Stages::default());
    assert!(told.starts_with("error "), "{told}");
    for bytes in [
        &b"\xff\xfe"[..],
        b"\xff\xfea\0:\0",
        b"\xc3\x28",
        b"\0",
        b"\xef\xbb\xbfnamespace: x",
        b"a: \xf0\x9f",
    ] {
        for file in ["app/kustomization.yaml", "app/a.yaml"] {
            let mut tree = MemoryTree::new();
            tree.add_file(file, bytes);
            outcome(&tree, &at("app"), &Stages::default());
        }
    }
}

#[test]
fn odd_specs_are_errors_and_nothing_worse() {
    let odd = [
        "",
        " ",
        "\n",
        "\0",
        "../..",
        "{{ x }}",
        "a: [",
        "---\n---",
        "\u{feff}",
        "!!binary x",
        "${x}",
        "*",
        "&a *a",
    ];
    for text in odd {
        let text = text.to_owned();
        let overlay = Overlay {
            target_namespace: text.clone(),
            name_prefix: text.clone(),
            name_suffix: text.clone(),
            patches: vec![Patch {
                patch: text.clone(),
                target: None,
            }],
            patches_strategic_merge: vec![Value::from(text.as_str())],
            images: vec![Image {
                name: text.clone(),
                new_tag: text.clone(),
                ..Image::default()
            }],
            components: vec![text.clone()],
            build_metadata: vec![text],
            ..at("app")
        };
        let mut tree = MemoryTree::new();
        tree.add_file("app/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
        let told = outcome(&tree, &overlay, &Stages::default());
        assert!(!told.starts_with("sha256:"), "{overlay:?}");
    }
}
