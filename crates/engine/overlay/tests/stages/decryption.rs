//! Which files and objects are decrypted, and when.

use super::{Put, Rot, build, config_map};
use bumpwright_overlay::{OverlayError, SourceFormat, Stages};
use serde_json::{Value, json};

#[test]
fn sources_of_secrets_and_patches_are_decrypted_before_the_build() {
    let rot = Rot::default();
    let decrypt = Stages {
        decrypt: Some(&rot),
        ..Stages::default()
    };
    let built = build(
        &[
            (
                "app/kustomization.yaml",
                "resources: [a.yaml, ../base, 'https://example.invalid/x.yaml?ref=1']\ncomponents: [../comp]\npatches: [{path: p.yaml}, \
                 {path: 'https://example.invalid/p.yaml'}]\nsecretGenerator:\n- {name: s, files: [config.json=x.enc, y.txt], envs: \
                 [e.enc, f.json], env: g.env}\nconfigMapGenerator:\n- {name: c, files: [z.yaml]}\n",
            ),
            ("app/a.yaml", &config_map("a", "v")),
            ("app/p.yaml", &format!("ENC:{}", config_map("a", "patched"))),
            ("app/x.enc", "ENC:{}"),
            ("app/y.txt", "plain"),
            ("app/e.enc", "ENC:K=v"),
            ("app/f.json", "ENC:L=w"),
            ("app/z.yaml", "ENC:never"),
            (
                "base/kustomization.yaml",
                "resources: [../app]\nsecretGenerator: [{name: b, files: [../app/x.enc, i.ini]}]",
            ),
            ("base/i.ini", "x"),
            (
                "comp/kustomization.yaml",
                "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nsecretGenerator: [{name: k, envs: [k.env]}]",
            ),
            ("comp/k.env", "ENC:A=b"),
        ],
        &decrypt,
    );
    // The build is without network, but all sources were checked, each once, as the first entry says.
    assert!(matches!(built, Err(OverlayError::Build(_))), "{built:?}");
    let asked = [
        "app/x.enc Json",
        "app/y.txt Binary",
        "app/e.enc Dotenv",
        "app/f.json Json",
        "app/p.yaml Yaml",
        "base/i.ini Ini",
        "comp/k.env Dotenv",
    ];
    assert_eq!(*rot.files.lock(), asked);
}

#[test]
fn a_build_sees_what_was_decrypted() {
    let files = [
        (
            "app/kustomization.yaml",
            "resources: [a.yaml]\npatches: [{path: p.yaml}]\nconfigMapGenerator: [{name: c, files: [x]}]\nsecretGenerator: [{name: s, \
             files: [x]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n",
        ),
        ("app/a.yaml", &config_map("a", "v")),
        ("app/p.yaml", &format!("ENC:{}", config_map("a", "patched"))),
        ("app/x", "ENC:text"),
    ];
    let rot = Rot::default();
    let stages = Stages {
        decrypt: Some(&rot),
        ..Stages::default()
    };
    let built = build(&files, &stages).unwrap();
    let values: Vec<&Value> = built.objects.iter().map(|object| &object.value).collect();
    assert_eq!(values[0]["data"], json!({"secret": "patched"}));
    assert_eq!(values[1]["data"], json!({"x": "text"}));
    assert_eq!(values[2]["data"], json!({"x": "dGV4dA=="}));
    assert_eq!(*rot.objects.lock(), ["a", "c", "s"]);
}

#[test]
fn a_source_that_cannot_be_decrypted_stops_the_build() {
    let rot = Rot::default();
    let stages = Stages {
        decrypt: Some(&rot),
        ..Stages::default()
    };
    for (kustomization, wanted) in [
        ("secretGenerator: [{name: s, files: [bad]}]", "no key fits"),
        (
            "secretGenerator: [{name: s, files: [gone]}]",
            "lstat app/gone: no such file or directory",
        ),
        (
            "secretGenerator: [{name: s, envs: [bad/x]}]",
            "lstat app/bad/x: not a directory",
        ),
        (
            "secretGenerator: [{name: s, files: [../app]}]",
            "cannot decrypt irregular file as it has file mode type bits set (app)",
        ),
        ("resources: [../none]", "no kustomization file found (none)"),
        (
            "resources: [../odd]",
            "expected kustomization.yaml to be a regular file (odd)",
        ),
        ("resources: [../two]", "found multiple kustomization files (two)"),
        (
            "resources: [../broken]",
            "failed to unmarshal kustomization file from '/tmp/kustomization-0000000000/broken/kustomization.yaml': error unmarshaling JSON: \
             while decoding JSON: json: cannot unmarshal string into Go struct field Kustomization.resources of type []string \
             (broken/kustomization.yaml:1:12)",
        ),
    ] {
        let built = build(
            &[
                ("app/kustomization.yaml", kustomization),
                ("app/bad", "broken"),
                ("none/x.yaml", ""),
                ("odd/kustomization.yaml/x", ""),
                ("two/kustomization.yaml", ""),
                ("two/Kustomization", ""),
                ("broken/kustomization.yaml", "resources: x"),
            ],
            &stages,
        );
        let error = built.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("error decrypting sources: {wanted}"),
            "{kustomization}"
        );
        assert!(!error.is_missing_path());
    }
}

#[test]
fn sources_outside_of_the_artifact_are_looked_for_inside() {
    let rot = Rot::default();
    let stages = Stages {
        decrypt: Some(&rot),
        ..Stages::default()
    };
    let built = build(
        &[
            (
                "app/kustomization.yaml",
                "secretGenerator: [{name: s, files: [../../../../etc/x, /tmp/kustomization-0000000000/app/y]}]",
            ),
            ("etc/x", "inside"),
            ("app/y", "inside"),
        ],
        &stages,
    );
    assert_eq!(*rot.files.lock(), ["etc/x Binary", "app/y Binary"]);
    let error = built.unwrap_err().to_string();
    assert!(error.starts_with("kustomize build failed: "), "{error}");
    assert!(error.contains("/etc/x"), "{error}");
}

/// Many are decrypted in parallel, and the error is the one of sequential work.
#[test]
fn many_objects_and_sources_come_in_order() {
    let (rot, put) = (Rot::default(), Put("1"));
    let stages = Stages {
        decrypt: Some(&rot),
        substitute: Some(&put),
    };
    let told = |odd: &[(usize, &str)]| {
        let data = |at| match odd.iter().find(|(odd, _)| *odd == at) {
            Some((_, data)) => (*data).to_owned(),
            None => format!("ENC:v{at}"),
        };
        let texts: Vec<String> = (0..100).map(|at| config_map(&format!("a{at}"), &data(at))).collect();
        let built = build(&[("app/a.yaml", &texts.join("---\n"))], &stages)?;
        Ok(built
            .objects
            .into_iter()
            .map(|object| object.value["data"]["secret"].clone())
            .collect())
    };
    let plain: Result<Vec<Value>, OverlayError> = told(&[]);
    assert_eq!(
        plain.unwrap(),
        (0..100).map(|at| json!(format!("v{at}"))).collect::<Vec<_>>()
    );
    for (odd, wanted) in [
        (
            &[(17, "broken"), (31, "broken"), (99, "${broken}")][..],
            "decryption failed for 'ConfigMap.v1.[noGrp]/a17': no key fits",
        ),
        (
            &[(9, "${broken}"), (17, "broken")],
            "post build failed for 'ConfigMap.v1.[noGrp]/a9': envsubst error: variable not set",
        ),
    ] {
        assert_eq!(told(odd).unwrap_err().to_string(), wanted);
    }
    let names = |last: &str| {
        format!(
            "secretGenerator: [{{name: s, files: [{}{last}]}}]",
            (0..40).map(|at| format!("f{at}, ")).collect::<String>()
        )
    };
    let sources: Vec<(String, String)> = (0..40).map(|at| (format!("app/f{at}"), format!("ENC:{at}"))).collect();
    for (last, wanted) in [
        ("bad, gone", "no key fits"),
        ("gone, bad", "lstat app/gone: no such file or directory"),
    ] {
        let kustomization = names(last);
        let mut files: Vec<(&str, &str)> = sources
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        files.extend([
            ("app/kustomization.yaml", kustomization.as_str()),
            ("app/bad", "broken"),
        ]);
        let error = build(&files, &stages).unwrap_err();
        assert_eq!(error.to_string(), format!("error decrypting sources: {wanted}"));
    }
}

#[test]
fn formats_follow_names() {
    for (name, format) in [
        ("x.yaml", SourceFormat::Yaml),
        ("x.yml", SourceFormat::Yaml),
        ("x.json", SourceFormat::Json),
        (".dockerconfigjson", SourceFormat::Json),
        ("x.env", SourceFormat::Dotenv),
        ("x.ini", SourceFormat::Ini),
        ("x.yaml.enc", SourceFormat::Binary),
        ("x", SourceFormat::Binary),
    ] {
        assert_eq!(SourceFormat::of_name(name), format, "{name}");
    }
}
