//! Builds that amplify their input: generators, patches, labels and names that copy a value to many places.

use serde_json::json;

use crate::siege::siege;
use crate::swell_an_artifact::outside;
use bumpwright_testkit::kustomize_world::{documents, map};
use bumpwright_testkit::world::CONFIG_MAP;

/// Each of these files is small.
fn built(namespace: &str, files: &[(&str, &str)]) {
    let Some(siege) = siege() else { return };
    let world = outside(siege.cluster, namespace);
    world.publish("app", "1", &[("map.yaml", &map("one", "1"))]);
    world.kustomize("app", json!({}));
    world.applied("app", "1");
    world.publish("app", "2", files);
    world.again("app", "bomb");
    let message = world.refused("app", "BuildFailed");
    assert!(message.contains("--build-memory raises the bound"), "{message:.2000}");
    assert_eq!(world.maps(), ["one"]);
    assert_eq!(world.inventory("app").len(), 1);
    world.publish("app", "3", &[("map.yaml", &map("one", "3"))]);
    world.again("app", "good");
    world.applied("app", "3");
    assert_eq!(world.get(CONFIG_MAP, "one")["data"]["key"], "3");
    siege.stands();
}

/// Ten megabytes in each of two hundred ConfigMaps.
#[test]
fn a_file_in_two_hundred_config_maps() {
    let generators: String = (0..200)
        .map(|number| format!("- {{name: m{number}, files: [big]}}\n"))
        .collect();
    let top = format!("configMapGenerator:\n{generators}");
    built(
        "mallory-maps",
        &[("kustomization.yaml", &top), ("big", &"x".repeat(10 << 20))],
    );
}

/// The same for Secrets, whose base64 is a third longer, out of a file of variables.
#[test]
fn a_variable_in_two_hundred_secrets() {
    let generators: String = (0..200)
        .map(|number| format!("- {{name: s{number}, envs: [big]}}\n"))
        .collect();
    let top = format!("secretGenerator:\n{generators}");
    let big = format!("KEY={}", "x".repeat(10 << 20));
    built("mallory-secrets", &[("kustomization.yaml", &top), ("big", &big)]);
}

fn many_maps(count: usize) -> String {
    let maps: Vec<String> = (0..count).map(|number| map(&format!("m{number}"), "1")).collect();
    documents(&maps)
}

/// A patch of a megabyte for each of a thousand objects.
#[test]
fn a_patch_for_a_thousand_objects() {
    let patch = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"big": "x".repeat(1 << 20)}});
    let top = "resources: [maps.yaml]\npatches: [{path: patch.yaml, target: {kind: ConfigMap}}]\n";
    let files = [
        ("kustomization.yaml", top),
        ("maps.yaml", &many_maps(1000)),
        ("patch.yaml", &patch.to_string()),
    ];
    built("mallory-patches", &files);
}

/// The same as a list of operations.
#[test]
fn an_operation_for_a_thousand_objects() {
    let patch = json!([{"op": "add", "path": "/data/big", "value": "x".repeat(1 << 20)}]);
    let top = "resources: [maps.yaml]\npatches: [{path: patch.yaml, target: {kind: ConfigMap}}]\n";
    let files = [
        ("kustomization.yaml", top),
        ("maps.yaml", &many_maps(1000)),
        ("patch.yaml", &patch.to_string()),
    ];
    built("mallory-operations", &files);
}

/// An annotation of a megabyte on each of a thousand objects, and a label wherever one object has room for labels.
#[test]
fn an_annotation_on_a_thousand_objects() {
    let top = format!(
        "resources: [maps.yaml]\ncommonAnnotations: {{big: {}}}\n",
        "x".repeat(1 << 20)
    );
    built(
        "mallory-notes",
        &[("kustomization.yaml", &top), ("maps.yaml", &many_maps(1000))],
    );
}

#[test]
fn a_label_in_a_hundred_thousand_places_of_one_object() {
    let claims: String = "  - {metadata: {name: a}}\n".repeat(50_000);
    let set = format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: a}}\nspec:\n  volumeClaimTemplates:\n{claims}"
    );
    let top = format!(
        "resources: [set.yaml]\ncommonLabels: {{big: {}}}\n",
        "x".repeat(100 << 10)
    );
    built("mallory-labels", &[("kustomization.yaml", &top), ("set.yaml", &set)]);
}

/// A prefix of a hundred kilobytes on five thousand names.
#[test]
fn a_prefix_on_five_thousand_names() {
    let top = format!("resources: [maps.yaml]\nnamePrefix: {}\n", "x".repeat(100 << 10));
    built(
        "mallory-names",
        &[("kustomization.yaml", &top), ("maps.yaml", &many_maps(5000))],
    );
}

/// Four million numbers in eight megabytes.
#[test]
fn a_list_of_four_million_numbers() {
    let list = format!(
        "{{kind: A, apiVersion: v1, metadata: {{name: a}}, list: [{}1]}}",
        "1,".repeat(4 << 20)
    );
    built(
        "mallory-numbers",
        &[("kustomization.yaml", "resources: [list.yaml]\n"), ("list.yaml", &list)],
    );
}

/// A million items, each on a line that begins a thousand levels deep.
#[test]
fn a_list_that_is_printed_a_thousand_levels_deep() {
    let (open, close) = ("[".repeat(900), "]".repeat(900));
    let list = format!(
        "{{kind: ConfigMap, apiVersion: v1, metadata: {{name: a}}, list: {open}{}1{close}}}",
        "1,".repeat(300_000)
    );
    built(
        "mallory-levels",
        &[("kustomization.yaml", "resources: [list.yaml]\n"), ("list.yaml", &list)],
    );
}
