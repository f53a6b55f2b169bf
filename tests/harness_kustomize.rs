//! The scenarios that were recorded from the real kustomize-controller, played against `bumpwright controller`, which serves
//! the sources as well. What differs on purpose is listed in `harness_differences.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "support/corpora.rs"]
mod corpora;
#[path = "harness/stage.rs"]
mod stage;
mod support;

use std::process::Command;

use stage::Stage;

/// As many scenarios pass at least; the others are listed.
const FLOOR: usize = 109;

#[test]
fn recorded_scenarios_of_kustomize_controller() {
    let Some(stage) = Stage::set("ksbox.py") else { return };
    let out = Command::new("python3")
        .arg(stage.harness.join("ksbox.py"))
        .arg("--profile")
        .arg(stage.profile())
        .arg("--differences")
        .arg(stage.tests().join("harness_differences.md"))
        .args(["--compare", "-j", "8", "--work"])
        .arg(stage.work.path().join("work"))
        .arg(stage.harness.join("scenarios/kustomize"))
        .env("KSBIN", &stage.bin)
        .env("KS_CRDS", stage.crds())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    let last = said.lines().last().unwrap_or_default();
    println!("harness (kustomize): {last}");
    let passed = last.split(' ').next().and_then(|count| count.parse::<usize>().ok());
    assert!(
        passed.unwrap_or_default() >= FLOOR && out.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
}
