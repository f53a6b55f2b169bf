//! Custom schemas, and which schema a build uses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_kustomize::merge::{Changes, Merged, apply, merge, prepare};
use bumpwright_kustomize::schema::{Schema, SchemaChoice, SchemaError};
use bumpwright_yaml::{FileId, Node, ReadOptions, read_first, write_sigs};

const CUSTOM: &str = r##"
definitions:
  com.example.v1.Gang:
    properties:
      spec: {$ref: "#/definitions/com.example.v1.GangSpec"}
    x-kubernetes-group-version-kind:
    - {group: example.com, version: v1, kind: Gang}
  com.example.v1.GangSpec:
    properties:
      members:
        type: array
        items: {$ref: "#/definitions/com.example.v1.Member"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: id
      # A list by nothing but its map keys is replaced: the strategy counts.
      others:
        type: array
        items: {type: object}
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [id]
      # Map keys go before the merge key.
      routes:
        type: array
        items: {type: object}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: none
        x-kubernetes-list-map-keys: [from, to]
  com.example.v1.Member:
    type: object
paths:
  /apis/example.com/v1/namespaces/{namespace}/gangs/{name}:
    get: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: Gang}}
  /apis/example.com/v1/gangs:
    get: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: Gang}}
  /apis/example.com/v1/worlds/{name}:
    get: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: World}}
"##;

fn node(text: &str) -> Node {
    let options = ReadOptions::kyaml(FileId::NONE);
    read_first(text.as_bytes(), &options).unwrap().unwrap()
}

fn merged(schema: &Schema, object: &str, patch: &str) -> String {
    let mut object = node(object);
    assert_eq!(merge(&mut object, node(patch), schema), Ok(Merged::Kept));
    shown(&object)
}

fn shown(object: &Node) -> String {
    let mut text = String::new();
    write_sigs(object, &mut text).unwrap();
    text
}

fn custom() -> SchemaChoice {
    let mut choice = SchemaChoice::default();
    choice.choose(None, Some(&node(CUSTOM))).unwrap();
    choice
}

#[test]
fn a_custom_schema_tells_how_lists_merge() {
    let object = "{apiVersion: example.com/v1, kind: Gang, spec: {members: [{id: a, x: 1}, {id: b}], others: [{id: a}], \
                  routes: [{from: a, to: b}, {from: a, to: c}]}}";
    let patch = "{apiVersion: example.com/v1, kind: Gang, spec: {members: [{id: b, y: 2}], others: [{id: b}], \
                 routes: [{from: a, to: c, via: d}]}}";
    let expected = "apiVersion: example.com/v1\nkind: Gang\nspec:\n  members:\n  - id: b\n    \"y\": 2\n  - id: a\n    x: 1\n  \
                    others:\n  - id: b\n  routes:\n  - from: a\n    to: b\n  - from: a\n    to: c\n    via: d\n";
    assert_eq!(merged(custom().schema(), object, patch), expected);
}

#[test]
fn a_custom_schema_takes_the_place_of_the_built_in_one() {
    let object = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}]}}";
    let patch = "{apiVersion: v1, kind: Pod, spec: {containers: [{name: b}]}}";
    let replaced = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: b\n";
    assert_eq!(merged(custom().schema(), object, patch), replaced);

    // One that comes after the built-in schema was used is added on top of it.
    let mut choice = SchemaChoice::default();
    let with_both = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: b\n  - name: a\n";
    assert_eq!(merged(choice.schema(), object, patch), with_both);
    choice.choose(None, Some(&node(CUSTOM))).unwrap();
    assert_eq!(merged(choice.schema(), object, patch), with_both);
    assert!(choice.schema().kind("example.com/v1", "Gang").is_some());
}

#[test]
fn scopes_come_from_paths() {
    let choice = custom();
    assert_eq!(choice.namespaced("example.com/v1", "Gang"), Some(true));
    assert_eq!(choice.namespaced("example.com/v1", "World"), Some(false));
    assert_eq!(choice.namespaced("example.com/v1", "Other"), None);
    assert_eq!(choice.namespaced("v1", "Namespace"), Some(false));
}

#[test]
fn the_first_choice_counts() {
    let mut choice = SchemaChoice::default();
    choice.choose(None, None).unwrap();
    assert_eq!(
        choice.choose(Some("v1.99.0"), None),
        Err(SchemaError::Version("v1.99.0".into()))
    );
    assert_eq!(
        choice.choose(Some("v1.21.2"), Some(&node(CUSTOM))),
        Err(SchemaError::Both)
    );
    choice.choose(Some("v1.21.2"), None).unwrap();
    choice.choose(None, Some(&node(CUSTOM))).unwrap();
    assert!(choice.schema().kind("example.com/v1", "Gang").is_none());
}

#[test]
fn what_is_no_schema_is_told_with_its_place() {
    let mut choice = SchemaChoice::default();
    let error = choice
        .choose(None, Some(&node("definitions:\n  a:\n    properties: []\n")))
        .unwrap_err();
    assert_eq!(error.to_string(), "invalid schema file: properties: expected a mapping");
    assert_eq!(error.place().line, 3);
    // References in a cycle, or to nothing, have no fields.
    let circle = r##"{definitions: {a: {$ref: "#/definitions/b"}, b: {$ref: "#/definitions/a"}, c: {properties: {x:
        {$ref: "#/definitions/a"}, y: {$ref: "#/definitions/none"}}, x-kubernetes-group-version-kind: [{version: v1, kind: C}]}}}"##;
    choice.choose(None, Some(&node(circle))).unwrap();
    let kind = choice.schema().kind("v1", "C").unwrap();
    assert!(kind.field("x").is_none() && kind.field("y").is_none());
}

#[test]
fn a_patch_leaves_the_identity_alone() {
    let object = "{apiVersion: v1, kind: A, metadata: {name: a, namespace: ns}}";
    let patch = "{apiVersion: v1, kind: B, metadata: {name: b, namespace: m, labels: {x: y}}}";
    let with = |changes| {
        let mut object = node(object);
        assert_eq!(
            apply(&mut object, node(patch), Schema::builtin(), changes),
            Ok(Merged::Kept)
        );
        shown(&object)
    };
    let expected = |kind, name| {
        format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  labels:\n    x: \"y\"\n  name: {name}\n  namespace: ns\n")
    };
    assert_eq!(with(Changes::default()), expected("A", "a"));
    assert_eq!(
        with(Changes {
            name: true,
            kind: false
        }),
        expected("A", "b")
    );
    assert_eq!(
        with(Changes {
            name: false,
            kind: true
        }),
        expected("B", "a")
    );
}

#[test]
fn a_patch_with_a_target_sets_labels_as_strings() {
    let mut object = node("{apiVersion: v1, kind: A, metadata: {name: a, labels: {a: b, c: d}}}");
    let mut patch = node("{apiVersion: v2, kind: A, metadata: {labels: {a: null, n: 5}, annotations: {}}}");
    prepare(&mut patch, &object);
    assert_eq!(
        apply(&mut object, patch, Schema::builtin(), Changes::default()),
        Ok(Merged::Kept)
    );
    let expected =
        "apiVersion: v1\nkind: A\nmetadata:\n  labels:\n    a: \"null\"\n    c: d\n    \"n\": \"5\"\n  name: a\n";
    assert_eq!(shown(&object), expected);
}

#[test]
fn a_patch_that_takes_metadata_away_leaves_the_name() {
    let mut object = node("{kind: A, metadata: {name: \"80\", labels: {a: b}}}");
    let patch = node("{metadata: null}");
    assert_eq!(
        apply(&mut object, patch, Schema::builtin(), Changes::default()),
        Ok(Merged::Kept)
    );
    assert_eq!(shown(&object), "kind: A\nmetadata:\n  name: \"80\"\n");
}

#[test]
fn errors_tell_field_and_place() {
    let mut object = node("spec:\n  a:\n    b: c\n");
    let error = merge(&mut object, node("spec:\n  a:\n  - x\n"), Schema::builtin()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "spec.a: wrong node kind: expected MappingNode but got SequenceNode"
    );
    assert_eq!((error.place().line, error.place().column), (3, 3));
}

#[test]
fn long_lists_merge_in_linear_time() {
    // Quadratic work over 40,000 elements would take minutes.
    use std::fmt::Write;
    let list = |from: usize| {
        let mut text = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    env:\n".to_owned();
        for number in from..from + 40_000 {
            writeln!(text, "    - name: V{number}\n      value: v").unwrap();
        }
        node(&text)
    };
    let mut object = list(0);
    merge(&mut object, list(20_000), Schema::builtin()).unwrap();
    let containers = object.lookup(&["spec", "containers"]).and_then(Node::as_items).unwrap();
    assert_eq!(containers[0].get("env").and_then(Node::as_items).unwrap().len(), 60_000);
}
