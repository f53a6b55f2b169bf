//! What is counted: objects that go, and large changes.

use super::*;

fn named(api: &str, kind: &str, name: &str) -> String {
    object(api, kind, "").replace("name: x", &format!("name: {name}"))
}

#[test]
fn objects_that_go_are_one_note_for_each_owner() {
    let gone = [
        named("apps/v1", "Deployment", "one"),
        named("apps/v1", "Deployment", "two"),
        named("v1", "Service", "one"),
        named("networking.k8s.io/v1", "Ingress", "one"),
    ]
    .join("---\n");
    contains(
        &one(&gone, ""),
        "note[deletion] Kustomization f/a: 4 objects go: 2 Deployments, 1 Ingress, 1 Service",
    );
    // They have moved.
    assert_eq!(
        found([PRUNE, PRUNE], &[("a/x.yaml", &gone)], &[("b/x.yaml", &gone)]),
        [""; 0]
    );
}

#[test]
fn a_definition_that_no_longer_serves_a_version_is_found() {
    let definition = |versions: &str| {
        object(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &format!("spec: {{group: e.io, versions: [{versions}]}}"),
        )
    };
    let version = |name: &str, served: bool| format!("{{name: {name}, served: {served}}}");
    let both = format!("{}, {}", version("v1beta1", true), version("v1", true));
    for after in [
        version("v1", true),
        format!("{}, {}", version("v1beta1", false), version("v1", true)),
    ] {
        contains(
            &one(&definition(&both), &definition(&after)),
            "warning[deletion] CustomResourceDefinition n/x: it no longer serves v1beta1: manifests and clients of this version fail",
        );
    }
    assert_eq!(one(&definition(&version("v1", true)), &definition(&both)), [""; 0]);
}

#[test]
fn a_change_of_many_objects_is_a_note() {
    let maps = |count: usize, data: &str| {
        let one = |n: usize| named("v1", "ConfigMap", &format!("m{n}")) + &format!("data: {{a: {data}}}\n");
        (0..count).map(one).collect::<Vec<_>>().join("---\n")
    };
    let change = |count: usize| one(&maps(count, "b"), &maps(count, "c"));
    contains(
        &change(60),
        "note[large-change] : 60 objects of 1 Kustomization or HelmRelease change",
    );
    assert_eq!(change(59), [""; 0]);
}
