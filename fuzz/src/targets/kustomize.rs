//! Builds: a tree in memory, through kustomize and with the spec of a Kustomization over it.

use bumpwright_budget::{BUILD_MEMORY, Budgets, Memory};
use bumpwright_kustomize::tree::{MemoryTree, RepoUrl, Sealed};
use bumpwright_kustomize::{Options, build};
use bumpwright_overlay::{Image, Overlay, Patch, Stages, prepare};

/// Files follow each other, each with its path on the line above it: `-- base/app.yaml --`.
pub fn tree(input: &[u8]) -> MemoryTree {
    let mut tree = MemoryTree::new();
    let (mut path, mut text) = ("kustomization.yaml".to_owned(), Vec::new());
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        let trimmed = line.trim_ascii();
        match trimmed.strip_prefix(b"-- ").and_then(|rest| rest.strip_suffix(b" --")) {
            Some(name) => {
                tree.add_file(&path, std::mem::take(&mut text));
                path = String::from_utf8_lossy(name).into_owned();
                match path.split_once(" -> ") {
                    Some((link, target)) => {
                        tree.add_link(link, target);
                        path = "rest.yaml".to_owned();
                    }
                    None if path.starts_with('/') || path.split('/').any(|part| matches!(part, "" | "." | "..")) => {
                        path = "other.yaml".to_owned();
                    }
                    None => {}
                }
            }
            None => text.extend_from_slice(line),
        }
    }
    tree.add_file(&path, text);
    tree
}

/// Any files.
pub fn check(input: &[u8]) {
    let tree = tree(input);
    let memory = Memory::single(256 << 20, BUILD_MEMORY);
    let budget = Budgets::new(memory.clone(), 10_000, 64 << 20).of("");
    let options = Options {
        memory: Some(budget.memory.clone()),
        ..Options::default()
    };
    if let Ok(built) = build(&tree, ".", &options, &Sealed)
        && let Ok(text) = built.to_yaml()
    {
        let again = build(&tree, ".", &Options::default(), &Sealed).expect("built once, so built twice");
        assert!(again.to_yaml().is_ok_and(|again| again == text), "two builds differ");
    }
    assert_eq!(memory.held(), 0, "memory is still held");
    let overlay = Overlay {
        target_namespace: "apps".to_owned(),
        name_prefix: "x-".to_owned(),
        patches: vec![Patch {
            patch: "- {op: add, path: /metadata/labels, value: {a: b}}".to_owned(),
            ..Patch::default()
        }],
        images: vec![Image {
            name: "o/app".to_owned(),
            new_tag: "2".to_owned(),
            ..Image::default()
        }],
        ..Overlay::default()
    };
    if let Ok(prepared) = prepare(&tree, &overlay) {
        let _ = prepared.build(&Sealed, &Stages::default());
    }
    if let Ok(text) = std::str::from_utf8(input)
        && let Ok(url) = RepoUrl::parse(text.lines().next().unwrap_or_default())
    {
        let _ = url.clone_url();
    }
}
