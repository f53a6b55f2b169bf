//! The Jenkinsfile: its stages for installing and checking. tests/update/gerrit.rs runs the one that pushes,
//! at a real Gerrit.

use std::collections::BTreeMap;
use std::process::Command;

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
    assert!(!pipeline.contains("\"\"\"") && pipeline.matches("sh '''").count() == 4);
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

    let git = |arguments: &[&str]| {
        let user = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
        let mut command = Command::new("git");
        command.args(user).args(arguments).current_dir(&machine.bench.dir);
        assert!(command.status().unwrap().success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    machine
        .bench
        .write("clusters/a/kustomization.yaml", "resources: [claim.yaml]\n");
    for (size, code) in [("10Gi", None), ("12Gi", Some(0)), ("8Gi", Some(1))] {
        machine
            .bench
            .write("clusters/a/claim.yaml", CLAIM.replace("10Gi", size));
        git(&["add", "clusters"]);
        git(&["commit", "--quiet", "-m", size]);
        let Some(code) = code else { continue };
        let ran = machine.shell(&["sh", "-xe"], scripts[2], &variables);
        assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
        let page = machine.bench.read("bumpwright-review.html");
        assert!(page.contains("PersistentVolumeClaim"), "{page}");
    }
}

const CLAIM: &str = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: db}\nspec:\n  accessModes: [ReadWriteOnce]\n  \
                     resources: {requests: {storage: 10Gi}}\n";
