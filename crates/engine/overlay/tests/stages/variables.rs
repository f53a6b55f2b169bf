//! Variables that are replaced in objects, and what objects are like afterwards.

use super::{Put, Rot, at, build, config_map, tree};
use bumpwright_kustomize::tree::Sealed;
use bumpwright_overlay::{Stages, prepare};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

#[test]
fn objects_are_decrypted_and_then_their_variables_replaced() {
    let (rot, put) = (Rot::default(), Put("1"));
    let stages = Stages {
        decrypt: Some(&rot),
        substitute: Some(&put),
    };
    let text = [config_map("a", "'ENC:${x}'"), config_map("b", "${x}${x}")].join("---\n");
    let built = build(&[("app/a.yaml", &text)], &stages).unwrap();
    let values: Vec<&Value> = built
        .objects
        .iter()
        .map(|object| &object.value["data"]["secret"])
        .collect();
    assert_eq!(values, [&json!(1), &json!(11)], "numbers are no texts any more (K-096)");
    let yaml = "apiVersion: v1\ndata:\n  secret: 1\nkind: ConfigMap\nmetadata:\n  name: a\n---\napiVersion: v1\ndata:\n  \
                secret: 11\nkind: ConfigMap\nmetadata:\n  name: b\n";
    let digest: String = Sha256::digest(yaml).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        built.digest,
        format!("sha256:{digest}"),
        "of what is applied, not of what was built"
    );
    assert_eq!(
        built.objects[1].origin.as_deref(),
        Some("app/a.yaml:8:1"),
        "places survive"
    );
}

#[test]
fn errors_of_stages_name_the_object() {
    let (rot, put) = (Rot::default(), Put("1"));
    let stages = Stages {
        decrypt: Some(&rot),
        substitute: Some(&put),
    };
    for (data, wanted) in [
        ("broken", "decryption failed for 'ConfigMap.v1.[noGrp]/a': no key fits"),
        (
            "${broken}",
            "post build failed for 'ConfigMap.v1.[noGrp]/a': envsubst error: variable not set",
        ),
    ] {
        let error = build(&[("app/a.yaml", &config_map("a", data))], &stages).unwrap_err();
        assert_eq!(error.to_string(), wanted);
    }
    let breaks = Put("[");
    let stages = Stages {
        substitute: Some(&breaks),
        ..Stages::default()
    };
    let error = build(&[("app/a.yaml", &config_map("a", "${x}"))], &stages).unwrap_err();
    let start = "post build failed for 'ConfigMap.v1.[noGrp]/a': envsubst error: YAMLToJSON: yaml: ";
    assert!(error.to_string().starts_with(start), "{error}");
}

/// K-093: by label or annotation.
#[test]
fn objects_can_opt_out_of_substitution() {
    let put = Put("1");
    let stages = Stages {
        substitute: Some(&put),
        ..Stages::default()
    };
    for (field, value, wanted) in [
        ("labels", "disabled", json!("${x}")),
        ("annotations", "disabled", json!("${x}")),
        ("annotations", "Disabled", json!(1)),
    ] {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  {field}:\n    kustomize.toolkit.fluxcd.io/substitute: {value}\ndata:\n  x: ${{x}}\n"
        );
        let built = build(&[("app/a.yaml", &text)], &stages).unwrap();
        assert_eq!(built.objects[0].value["data"]["x"], wanted, "{field}: {value}");
    }
}

#[test]
fn a_substitution_cannot_give_two_objects_one_name() {
    let put = Put("b");
    let stages = Stages {
        substitute: Some(&put),
        ..Stages::default()
    };
    let text = [config_map("${x}", "v"), config_map("b", "v")].join("---\n");
    let error = build(&[("app/a.yaml", &text)], &stages).unwrap_err();
    assert_eq!(
        error.to_string(),
        "in Replace: id matched 2 resources: app/a.yaml:1:1: ConfigMap.v1.[noGrp]/b"
    );
    let text = [config_map("${x}", "v"), config_map("c", "v")].join("---\n");
    assert_eq!(build(&[("app/a.yaml", &text)], &stages).unwrap().objects.len(), 2);
}

#[test]
fn an_object_that_loses_its_name_is_left_out_and_told_about() {
    let put = Put("");
    let stages = Stages {
        substitute: Some(&put),
        ..Stages::default()
    };
    let built = build(&[("app/a.yaml", &config_map("${x}", "v"))], &stages).unwrap();
    assert_eq!(built.objects, []);
    assert_eq!(built.warnings.len(), 1);
    assert!(
        built.warnings[0].starts_with("app/a.yaml:1:1: ConfigMap "),
        "{:?}",
        built.warnings
    );
    let may_lack = |kind| bumpwright_overlay::may_lack(&built.left_out, "", kind);
    assert!(may_lack("ConfigMap") && !may_lack("Secret"));
}

#[test]
fn what_came_from_secrets_is_known() {
    let files = [
        ("app/a.yaml", config_map("one", "a-${x}-b").as_str()),
        ("app/b.yaml", config_map("two", "plain").as_str()),
    ]
    .map(|(path, text)| (path, text.to_owned()));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let stages = Stages {
        substitute: Some(&Put("s3cret-value")),
        ..Stages::default()
    };
    let built = prepare(&tree(&files), &at("app"))
        .unwrap()
        .build(&Sealed, &stages)
        .unwrap();
    let objects: Vec<_> = built.hidden.objects.iter().collect();
    assert_eq!(objects, [&["", "ConfigMap", "one"].map(str::to_owned)]);
    assert!(built.hidden.texts.contains("a-s3cret-value-b"));
    assert!(!built.hidden.texts.contains("plain"));
    assert!(!format!("{:?}", built.hidden).contains("s3cret"));
}

#[test]
fn values_of_a_secret_are_confidential_and_its_keys_are_not() {
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {username: postgres, password: hunter2}\n";
    let built = build(&[("app/a.yaml", secret)], &Stages::default()).unwrap();
    let texts: Vec<&str> = built.hidden.texts.iter().map(String::as_str).collect();
    assert_eq!(texts, ["hunter2", "postgres"]);
}

/// Flux loses all labels of an object for one of these. Each is reported at its place, and the other objects are built.
#[test]
fn labels_annotations_and_namespaces_are_texts() {
    let put = Put("1.10");
    let substituted = Stages {
        substitute: Some(&put),
        ..Stages::default()
    };
    let plain = Stages::default();
    let object = |metadata: &str, stages: &Stages<'_>| {
        let text = format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n{metadata}");
        build(&[("app/a.yaml", &text), ("app/b.yaml", &config_map("b", "v"))], stages).unwrap()
    };
    for (metadata, expected) in [
        (
            "  labels: {app: d, version: 1.10, tier: w}\n",
            "5:29: Service s: metadata.labels.version is a number",
        ),
        (
            "  labels:\n    a.io/on: true\n",
            "6:14: Service s: metadata.labels[a.io/on] is a boolean",
        ),
        ("  labels: {a: [b]}\n", "5:15: Service s: metadata.labels.a is a list"),
        ("  labels: [a]\n", "5:11: Service s: metadata.labels is a list"),
    ] {
        let built = object(metadata, &plain);
        assert_eq!(built.objects.len(), 2, "{metadata}");
        let error = built.without(|_| true).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("app/a.yaml:{expected} and has to be a text: ")),
            "{error}"
        );
        assert!(!error.contains("1.1 ") && !error.contains('\n'), "{error}");
    }
    for metadata in [
        "  labels: {a: \"1\", b: 'true', c: null, d: , e: \"v${x}\"}\n  annotations:\n",
        "  labels: null\n  annotations: {}\n  namespace:\n",
    ] {
        assert!(object(metadata, &substituted).without(|_| true).is_ok(), "{metadata}");
    }
    // kustomize makes a text of a number among annotations; a variable is replaced after it.
    for (metadata, field) in [
        ("  labels: {app: d, version: \"${x}\"}\n", "labels.version"),
        ("  annotations: {a: \"${x}\", b: x}\n", "annotations.a"),
    ] {
        let error = object(metadata, &substituted)
            .without(|_| true)
            .unwrap_err()
            .to_string();
        let expected = format!("app/a.yaml:1:1: Service s: metadata.{field} is a number");
        assert!(error.starts_with(&expected), "{error}");
    }
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a, labels: {n: x}}}\n\
                - {apiVersion: v1, kind: A, metadata: {name: b, labels: {n: 1}, namespace: 7}}\n";
    let error = build(&[("app/a.yaml", list)], &plain)
        .unwrap()
        .without(|_| true)
        .unwrap_err();
    let places: Vec<String> = error
        .to_string()
        .lines()
        .map(|line| line.chars().take(16).collect())
        .collect();
    assert_eq!(places, ["app/a.yaml:5:61:", "app/a.yaml:5:76:"]);
}
