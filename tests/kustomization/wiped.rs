//! Decrypted values and their keys in the memory of a controller that has applied them: their memory is freed,
//! and freed memory is wiped.

use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::tool;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::SECRET;
use serde_json::json;

/// The plain values. Both are long enough for a unique Base64.
const VALUE: &str = "correct-horse-battery-staple-1";
const LINE: &str = "correct-horse-battery-staple-2";

const KUSTOMIZATION: &str = "resources: [map.yaml, secret.yaml]\nsecretGenerator:\n- name: files\n  envs: [a.env]\n\
    generatorOptions: {disableNameSuffixHash: true}\n";

fn run(program: &Path, folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(folder).env("HOME", folder).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// K-128, K-134, K-150: a Secret, and a file that a generator reads.
#[test]
fn nothing_secret_stays_in_memory() {
    let Some(cluster) = Cluster::shared() else { return };
    let (Some(sops), Some(age_keygen)) = (tool("sops"), tool("age-keygen")) else {
        return;
    };
    let world = KustomizeWorld::new(cluster, "wiped");
    let folder = world.folder.path();
    run(&age_keygen, folder, &["-o", "age.txt"]);
    let recipient = run(&age_keygen, folder, &["-y", "age.txt"]).trim().to_owned();
    let encrypted = |name: &str, text: &str, flags: &[&str]| {
        std::fs::write(folder.join(name), text).unwrap();
        run(
            &sops,
            folder,
            &[&["--encrypt", "--age", &recipient], flags, &[name]].concat(),
        )
    };
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: whole}}\ndata: {{key: {}}}\n",
        STANDARD.encode(VALUE)
    );
    let secret = encrypted("secret.yaml", &secret, &["--encrypted-regex", "^data$"]);
    let env = encrypted("a.env", &format!("KEY={LINE}\n"), &[]);
    let key = std::fs::read_to_string(folder.join("age.txt")).unwrap();
    world.put(SECRET, "keys", json!({"stringData": {"a.agekey": key}}));

    let controller = world.controller(&[]);
    world.kustomize(
        "app",
        json!({"decryption": {"provider": "sops", "secretRef": {"name": "keys"}}}),
    );
    for revision in ["1", "2"] {
        let map = map("map", revision);
        let files = [
            ("kustomization.yaml", KUSTOMIZATION),
            ("map.yaml", &map),
            ("secret.yaml", &secret),
            ("a.env", &env),
        ];
        world.publish("app", revision, &files);
        world.applied("app", revision);
    }
    let value = |name: &str, key: &str| world.get(SECRET, name)["data"][key].as_str().unwrap().to_owned();
    assert_eq!(value("whole", "key"), STANDARD.encode(VALUE));
    assert_eq!(value("files", "KEY"), STANDARD.encode(LINE));

    // A control: a text that is surely there is found.
    let Some(known) = controller.places_in_memory("kustomize-controller") else {
        return;
    };
    assert_ne!(known, [""; 0]);
    let key = key.lines().last().unwrap().to_owned();
    let texts = [
        VALUE.to_owned(),
        STANDARD.encode(VALUE),
        LINE.to_owned(),
        STANDARD.encode(LINE),
        STANDARD.encode(&key),
        key,
    ];
    let found = || -> Vec<(&String, Vec<String>)> {
        let found = texts
            .iter()
            .map(|text| (text, controller.places_in_memory(text).unwrap()));
        found.filter(|(_, places)| !places.is_empty()).collect()
    };
    wait_for(|| found().is_empty(), || format!("{:#?}", found()));
}
