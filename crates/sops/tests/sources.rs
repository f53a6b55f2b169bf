//! Files that a kustomization reads are decrypted before the build (K-152, K-154), in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod support;

use bumpwright_sops::{Item, LocalKeys, MAX_FILE_SIZE, SourceTree, decrypt_sources};
use std::collections::BTreeMap;
use support::{case_named, keys};
use zeroize::Zeroizing;

#[derive(Default)]
struct Tree(BTreeMap<String, Vec<u8>>);

impl SourceTree for Tree {
    fn item(&self, path: &str) -> Option<Item<'_>> {
        if let Some(bytes) = self.0.get(path) {
            return Some(Item::File(bytes));
        }
        let below =
            |file: &String| path.is_empty() || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        self.0.keys().any(below).then_some(Item::Directory)
    }

    fn replace(&mut self, path: &str, bytes: Zeroizing<Vec<u8>>) {
        self.0.insert(path.to_owned(), bytes.to_vec());
    }
}

fn tree(files: &[(&str, &[u8])]) -> Tree {
    Tree(
        files
            .iter()
            .map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()))
            .collect(),
    )
}

fn age1() -> LocalKeys {
    keys(&["age1".to_owned()])
}

fn refusal(files: &[(&str, &[u8])]) -> String {
    decrypt_sources(&mut tree(files), "app", &age1())
        .unwrap_err()
        .to_string()
}

#[test]
fn files_of_generators_and_patches_are_decrypted_in_all_directories() {
    let (env, yaml, json) = (
        case_named("dotenv/basic"),
        case_named("yaml/comments-spaced"),
        case_named("json/docker"),
    );
    let binary = case_named("binary/text");
    let kustomization = b"secretGenerator:\n- name: a\n  envs: [config.env.encrypted]\n  files:\n  - \
                          .dockerconfigjson=docker.json.encrypted\n  - token.encrypted\npatches:\n- path: \
                          ../patches/p.yaml\n- path: https://example.com/p.yaml\n- patch: x\nresources: [../base, \
                          deployment.yaml, https://example.com/x, ../../../outside]\ncomponents: [../component]\n";
    let mut tree = tree(&[
        ("app/kustomization.yaml", kustomization),
        ("app/config.env.encrypted", &env.file),
        ("app/docker.json.encrypted", &json.file),
        ("app/token.encrypted", &binary.file),
        ("app/deployment.yaml", b"kind: Deployment"),
        ("patches/p.yaml", &yaml.file),
        (
            "base/kustomization.yml",
            b"secretGenerator:\n- files: [x.yaml]\nresources: [../app]",
        ),
        ("base/x.yaml", &yaml.file),
        (
            "component/Kustomization",
            b"secretGenerator: [{name: b, files: [k.json=/base/raw]}]",
        ),
        ("base/raw", &json.file),
        ("base/untouched.yaml", &yaml.file),
    ]);
    decrypt_sources(&mut tree, "./app/", &age1()).unwrap();
    for (path, plain) in [
        ("app/config.env.encrypted", &env.want),
        ("app/docker.json.encrypted", &json.want),
        ("app/token.encrypted", &binary.want),
        ("patches/p.yaml", &yaml.want),
        ("base/x.yaml", &yaml.want),
        ("base/raw", &json.want),
        ("base/untouched.yaml", &Ok(yaml.file.clone())),
    ] {
        assert_eq!(&tree.0[path], plain.as_ref().unwrap(), "{path}");
    }
}

#[test]
fn a_plain_file_stays_as_it_is() {
    let mut tree = tree(&[
        ("app/kustomization.yaml", b"secretGenerator: [{envs: [a.env]}]"),
        ("app/a.env", b"A=1\nno equals"),
    ]);
    decrypt_sources(&mut tree, "app", &age1()).unwrap();
    assert_eq!(tree.0["app/a.env"], b"A=1\nno equals");
}

#[test]
fn refusals_say_what_upstream_says() {
    let large = vec![b'x'; MAX_FILE_SIZE + 1];
    let generator = b"secretGenerator: [{files: [a.yaml]}]".as_slice();
    let changed = case_named("tampered plain changed");
    for (files, wanted) in [
        (
            vec![("app/kustomization.yaml", generator)],
            "lstat app/a.yaml: no such file or directory",
        ),
        (
            vec![("app/kustomization.yaml", generator), ("app/a.yaml/b", b"")],
            "cannot decrypt irregular file as it has file mode type bits set",
        ),
        (
            vec![("app/kustomization.yaml", generator), ("app/a.yaml", &large)],
            "cannot decrypt file with size (5242881 bytes) exceeding limit (5242880)",
        ),
        (
            vec![("app/kustomization.yaml", generator), ("app/a.yaml", &changed.file)],
            "failed to verify sops data integrity: MAC mismatch",
        ),
        (vec![("app/x", b"".as_slice())], "no kustomization file found"),
        (
            vec![("app/kustomization.yaml", b"".as_slice()), ("app/Kustomization", b"")],
            "found multiple kustomization files",
        ),
        (
            vec![("app/kustomization.yaml/x", b"".as_slice())],
            "expected kustomization.yaml to be a regular file",
        ),
        (
            vec![
                ("app/kustomization.yaml", b"resources: [../other]".as_slice()),
                ("other/x", b""),
            ],
            "no kustomization file found",
        ),
        (
            vec![("app/kustomization.yaml", b"a: [".as_slice())],
            "failed to unmarshal kustomization file from 'app/kustomization.yaml': error converting YAML to JSON: yaml: \
             line 1: did not find expected node content",
        ),
    ] {
        assert_eq!(refusal(&files), wanted);
    }
}
