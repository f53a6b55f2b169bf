//! Kinds of CustomResourceDefinitions, what is served, and which minor versions there are.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use bumpwright_schemas::{CrdError, Known, Schemas, When};
use serde_json::{Value, json};

fn definition(schema: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}},
            {"name": "v1beta1", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}},
            {"name": "v1alpha1", "served": false, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}}]}})
}

fn said(spec: &Value, object: &Value) -> Vec<String> {
    let mut schemas = Schemas::bundled(None).unwrap();
    let properties = json!({"spec": spec, "status": {"type": "object", "properties": {"x": {"type": "integer"}}}});
    schemas
        .add_crd(&definition(&json!({"type": "object", "properties": properties})))
        .unwrap();
    let mut whole = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
    for (name, value) in object.as_object().unwrap() {
        whole[name] = value.clone();
    }
    let found = schemas.check(&whole).into_iter();
    found.map(|one| format!("{} {}", one.pointer, one.text)).collect()
}

#[test]
fn rules_are_told_in_the_words_of_the_server() {
    for (schema, value, wanted) in [
        (
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            "Invalid value: 0: should be greater than or equal to 1",
        ),
        (
            json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
            json!(0),
            "Invalid value: 0: should be greater than 0",
        ),
        (
            json!({"type": "number", "maximum": 1.5}),
            json!(2),
            "Invalid value: 2: should be less than or equal to 1.5",
        ),
        (
            json!({"type": "integer", "multipleOf": 2}),
            json!(3),
            "Invalid value: 3: should be a multiple of 2",
        ),
        (
            json!({"type": "string", "pattern": "^[a-z]+$"}),
            json!("A"),
            "Invalid value: \"A\": should match '^[a-z]+$'",
        ),
        (
            json!({"type": "string", "minLength": 2}),
            json!("ä"),
            "Invalid value: \"ä\": should be at least 2 chars long",
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("äöü"),
            "Too long: may not be more than 2 bytes",
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!(""),
            r#"Unsupported value: "": supported values: "a", "b""#,
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!("x"),
            r#"Invalid value: "x": must be of type date-time"#,
        ),
        (
            json!({"type": "array", "minItems": 1, "items": {}}),
            json!([]),
            "Invalid value: 0: should have at least 1 items",
        ),
        (
            json!({"type": "array", "maxItems": 1, "items": {}}),
            json!([1, 2]),
            "Too many: 2: must have at most 1 items",
        ),
        (
            json!({"type": "object", "minProperties": 1, "additionalProperties": true}),
            json!({}),
            "Invalid value: 0: should have at least 1 properties",
        ),
        (
            json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"type": "string"}, "b": {}}}),
            json!({"a": null, "b": null}),
            r#"Invalid value: "object": must validate one and only one schema (oneOf): found none valid"#,
        ),
        (
            json!({"type": "string", "anyOf": [{"pattern": "^a"}, {"pattern": "^b"}]}),
            json!("c"),
            r#"Invalid value: "c": must validate at least one schema (anyOf)"#,
        ),
        (
            json!({"type": "string", "not": {"enum": ["a"]}}),
            json!("a"),
            r#"Invalid value: "a": must not validate the schema (not)"#,
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(1.5),
            "Invalid value: 1.5: must be of type integer or string",
        ),
    ] {
        let found = said(
            &json!({"type": "object", "properties": {"v": schema}}),
            &json!({"spec": {"v": value}}),
        );
        assert_eq!(found, [format!("/spec/v spec.v: {wanted}")], "{schema}");
    }
}

#[test]
fn what_is_in_lists_and_objects_has_its_own_place() {
    let schema = json!({"type": "object", "required": ["need"], "properties": {"need": {"type": "string"},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"v": {"type": "string"}}},
        "resource": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}});
    let object = json!({"spec": {"list": [{"name": "a"}, {"name": "a"}, null, {"nam": "b"}], "free": {"any": [null], "v": 1},
        "resource": {"kind": "A", "metadata": {"label": {}}, "more": 1}}});
    let mut found = said(&schema, &object);
    found.sort();
    assert_eq!(
        found,
        [
            "/spec spec.need: Required value",
            r#"/spec/free/v spec.free.v: Invalid value: 1: must be of type string: put it in quotes"#,
            r#"/spec/list/1 spec.list[1]: Duplicate value: "object""#,
            r#"/spec/list/2 spec.list[2]: Invalid value: "null": must be of type object"#,
            r#"/spec/list/3/nam unknown field "spec.list[3].nam": did you mean "name"?"#,
            "/spec/resource spec.resource.apiVersion: Required value",
            r#"/spec/resource/metadata/label unknown field "spec.resource.metadata.label": did you mean "labels"?"#,
        ]
    );
}

/// A status that is thrown away when the object is created is not looked at, but for the names of its fields.
#[test]
fn the_status_of_a_custom_resource_has_known_fields() {
    let free = json!({"type": "object"});
    assert_eq!(said(&free, &json!({"status": {"x": "no number"}})), [""; 0]);
    assert_eq!(
        said(&free, &json!({"status": {"y": 1}})),
        [r#"/status/y unknown field "status.y": did you mean "x"?"#]
    );
}

#[test]
fn a_definition_has_a_group_a_kind_and_an_end() {
    let mut schemas = Schemas::bundled(None).unwrap();
    let mut without = definition(&json!({"type": "object"}));
    without["spec"]["group"] = Value::Null;
    let error = schemas.add_crd(&without).unwrap_err();
    assert_eq!(
        error.to_string(),
        "CustomResourceDefinition widgets.example.com: spec.group: Required value"
    );
    let old = json!({"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition"});
    assert!(matches!(schemas.add_crd(&old), Err(CrdError::Other { .. })));
    let mut deep = json!({"type": "string"});
    for _ in 0..110 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    assert!(matches!(
        schemas.add_crd(&definition(&deep)),
        Err(CrdError::TooLarge { .. })
    ));
}

/// Each level doubles what the level below costs, and nothing ends before the last one.
#[test]
fn rules_that_explode_are_cut_short() {
    let mut rules = json!({"properties": {"z": {"enum": ["never"]}}});
    for _ in 0..40 {
        rules = json!({"anyOf": [rules, rules]});
        if rules.to_string().len() > 1 << 17 {
            break;
        }
    }
    let items =
        json!({"type": "array", "items": {"type": "object", "properties": {"z": {"type": "string"}}, "not": rules}});
    let list: Vec<Value> = (0..2_000).map(|_| json!({"z": "x"})).collect();
    let found = said(
        &json!({"type": "object", "properties": {"v": items}}),
        &json!({"spec": {"v": list}}),
    );
    assert!(found.last().unwrap().contains("too many"), "{:?}", found.last());
}

#[test]
fn versions_that_are_not_served_have_a_way_out() {
    let mut schemas = Schemas::bundled(Some("1.33")).unwrap();
    schemas.add_crd(&definition(&json!({"type": "object"}))).unwrap();
    for (group, version, kind, wanted) in [
        ("", "v1", "Pod", ""),
        ("apps", "v1", "Deployment", ""),
        ("example.com", "v1", "Widget", ""),
        ("example.org", "v1", "Widget", ""),
        ("", "v1", "Deployment", "v1 has no kind Deployment"),
        (
            "policy",
            "v1beta1",
            "PodDisruptionBudget",
            "policy/v1beta1 PodDisruptionBudget is not served since Kubernetes 1.25; write it as policy/v1",
        ),
        (
            "extensions",
            "v1beta1",
            "Ingress",
            "extensions/v1beta1 Ingress is not served since Kubernetes 1.22; write it as networking.k8s.io/v1",
        ),
        (
            "policy",
            "v1beta1",
            "PodSecurityPolicy",
            "policy/v1beta1 PodSecurityPolicy is not served since Kubernetes 1.25",
        ),
        (
            "apps",
            "v7",
            "Deployment",
            "apps/v7 Deployment is not served; write it as apps/v1",
        ),
        (
            "apps",
            "v1",
            "Deploymnet",
            "apps/v1 has no kind Deploymnet: did you mean Deployment?",
        ),
        (
            "resource.k8s.io",
            "v1",
            "DeviceClass",
            "resource.k8s.io/v1 DeviceClass is served from Kubernetes 1.34 on, and not before; write it as resource.k8s.io/v1beta2",
        ),
        (
            "authentication.k8s.io",
            "v1beta1",
            "SelfSubjectReview",
            "authentication.k8s.io/v1beta1 SelfSubjectReview is not served since Kubernetes 1.33; write it as authentication.k8s.io/v1",
        ),
        (
            "example.com",
            "v1alpha1",
            "Widget",
            "example.com/v1alpha1 Widget is not served; write it as example.com/v1",
        ),
    ] {
        let said = schemas.unserved(group, version, kind).unwrap_or_default();
        assert_eq!(said, wanted, "{group}/{version} {kind}");
    }
    assert_eq!(schemas.knows("apps", "v1", "Deployment"), Known::Served);
    assert_eq!(schemas.knows("example.org", "v1", "Widget"), Known::Unknown);
    assert_eq!(
        schemas.knows("batch", "v1beta1", "CronJob"),
        Known::OtherVersion {
            served: vec!["batch/v1".to_owned()],
            when: When::Before("1.25".to_owned())
        }
    );
    assert_eq!(
        schemas.knows("example.com", "v2", "Widget"),
        Known::OtherVersion {
            served: vec!["example.com/v1".to_owned(), "example.com/v1beta1".to_owned()],
            when: When::Never
        }
    );
}

#[test]
fn scopes_are_known() {
    let mut schemas = Schemas::bundled(None).unwrap();
    schemas.add_crd(&definition(&json!({"type": "object"}))).unwrap();
    for (group, kind, wanted) in [
        ("", "Namespace", Some(false)),
        ("", "ConfigMap", Some(true)),
        ("rbac.authorization.k8s.io", "ClusterRole", Some(false)),
        ("example.com", "Widget", Some(true)),
        ("example.org", "Widget", None),
    ] {
        assert_eq!(schemas.is_namespaced(group, kind), wanted, "{group} {kind}");
    }
}

#[test]
fn a_minor_version_is_named_in_several_ways() {
    let newest = Schemas::bundled(None).unwrap();
    assert_eq!(Some(&newest.minor()), newest.minors().last());
    for (wanted, minor) in [
        ("1.34", "1.34"),
        ("v1.32.5", "1.32"),
        ("1.33.2+k3s1", "1.33"),
        (" v1.35+", "1.35"),
    ] {
        assert_eq!(Schemas::bundled(Some(wanted)).unwrap().minor(), minor);
    }
    let error = Schemas::bundled(Some("1.20")).unwrap_err();
    assert_eq!(error.nearest, "1.32");
    assert!(
        error
            .to_string()
            .starts_with(r#"there are no schemas of Kubernetes "1.20"; there are 1.32, 1.33, "#)
    );
    for (wanted, nearest) in [
        ("1.99", newest.minor()),
        ("latest", newest.minor()),
        ("", newest.minor()),
    ] {
        assert_eq!(Schemas::bundled(Some(wanted)).unwrap_err().nearest, nearest);
    }
}
