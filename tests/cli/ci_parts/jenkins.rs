//! The Jenkinsfile: its stages for installing and checking. tests/update/gerrit.rs runs the one that pushes, at a real Gerrit.

use std::collections::BTreeMap;

use super::{MARKED, Machine, equipped, policies, releases, text};

/// What the pipeline's `environment` says.
fn environment(text: &str) -> BTreeMap<String, String> {
    let (_, block) = text.split_once("environment {").unwrap();
    let lines = block.split_once('}').unwrap().0.lines();
    let pairs = lines.filter_map(|line| line.trim().split_once(" = "));
    pairs
        .map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned()))
        .collect()
}

#[test]
fn a_patch_set_is_checked_with_a_release() {
    if !equipped() {
        return;
    }
    let pipeline = text("ci/jenkins/Jenkinsfile");
    // In other quotes Groovy replaces variables, and would write secrets into scripts.
    assert!(!pipeline.contains("\"\"\"") && pipeline.matches("sh '''").count() == 3);
    let scripts: Vec<&str> = pipeline.split("'''").skip(1).step_by(2).collect();
    let served = releases(None);
    let machine = Machine::new();
    let mut variables = environment(&pipeline);
    assert_eq!(variables["BUMPWRIGHT_VERSION"], "v0.1.0");
    let temporary = machine.outside("job@tmp");
    variables.insert("WORKSPACE_TMP".to_owned(), temporary.to_str().unwrap().to_owned());
    variables.insert(
        "BUMPWRIGHT_RELEASES".to_owned(),
        served.url("bumpwright/bumpwright/releases"),
    );
    let raw = "https://raw.githubusercontent.com/bumpwright/bumpwright/";
    let install = scripts[0].replace(raw, &served.url("raw/"));
    assert_ne!(install, scripts[0]);
    let ran = machine.shell(&["sh", "-xe"], &install, &variables);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    machine.bench.write("p.yaml", policies());
    for (marker, code, report) in [("fs:app", 0, "2.0.0"), ("fs:ap", 3, "UnknownPolicy")] {
        machine.bench.write("a.yaml", MARKED.replace("fs:app", marker));
        let ran = machine.shell(&["sh", "-xe"], scripts[1], &variables);
        assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
        assert!(machine.bench.read("bumpwright.md").contains(report));
    }
}
