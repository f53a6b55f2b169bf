//! The scenarios that were recorded from the real image controllers, played against `bumpwright controller` with a real API
//! server by the black-box harness of the corpora. What differs on purpose is listed in `harness_differences.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "support/corpora.rs"]
mod corpora;
mod support;

use std::path::Path;
use std::process::Command;

/// As many scenarios pass at least; the others are listed.
const FLOOR: usize = 115;

#[test]
fn recorded_scenarios_of_the_image_controllers() {
    let harness = corpora::corpora().join("harness");
    if !harness.join("run.py").exists() {
        println!("harness: absent");
        return;
    }
    let programs = ["etcd", "kube-apiserver", "flux", "registry"].map(support::tool);
    let here = support::has("python3", "python3") && support::has("kubectl", "kubernetes-client");
    if !here || programs.iter().any(Option::is_none) || !has_yaml() {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let bin = work.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let mut links: Vec<(&str, &Path)> = vec![("bumpwright", Path::new(env!("CARGO_BIN_EXE_bumpwright")))];
    let found = programs.iter().flatten();
    links.extend(found.map(|program| (program.file_name().unwrap().to_str().unwrap(), program.as_path())));
    for (name, program) in links {
        std::os::unix::fs::symlink(program, bin.join(name)).unwrap();
    }
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tests = project.join("tests");
    let profile = std::fs::read_to_string(tests.join("harness/profile.yaml")).unwrap();
    let profile = profile.replace("CRDS", project.join("crds").to_str().unwrap());
    std::fs::write(work.path().join("profile.yaml"), profile).unwrap();
    let out = Command::new("python3")
        .arg(harness.join("run.py"))
        .arg("--profile")
        .arg(work.path().join("profile.yaml"))
        .arg("--scenarios")
        .arg(harness.join("scenarios/image"))
        .arg("--scenarios")
        .arg(harness.join("scenarios/e2e"))
        .args(["--skip-needs", "source,kustomize"])
        .arg("--differences")
        .arg(tests.join("harness_differences.md"))
        .args(["--compare", "--jobs", "5", "--work"])
        .arg(work.path().join("work"))
        .env("FLUXBOX_BIN", &bin)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    let last = said.lines().last().unwrap_or_default();
    println!("harness: {last}");
    let passed = last.split(' ').next().and_then(|count| count.parse::<usize>().ok());
    let passed = passed.unwrap_or_default();
    let listed = std::fs::read_to_string(tests.join("harness_differences.md")).unwrap();
    let unexpected: Vec<&str> = said.lines().filter(|line| is_unexpected(line, &listed)).collect();
    assert!(
        passed >= FLOOR && unexpected.is_empty(),
        "{unexpected:#?}\n{said}\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

/// A failure that no decision explains. The harness has no other word for a listed scenario that waits for what never comes.
fn is_unexpected(line: &str, listed: &str) -> bool {
    let Some((name, why)) = line.strip_prefix("FAIL ").and_then(|rest| rest.split_once(' ')) else {
        return false;
    };
    !(listed.contains(&format!("\n- `{name}`: ")) && why.contains("(wait)"))
}

/// Whether the harness can run.
fn has_yaml() -> bool {
    let yaml = Command::new("python3").args(["-c", "import yaml"]).status();
    if yaml.is_ok_and(|status| status.success()) {
        return true;
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "PyYAML is missing; install python3-yaml"
    );
    println!("skipped: PyYAML is missing; install python3-yaml");
    false
}
