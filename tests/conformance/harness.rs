//! The scenarios recorded from the real image controllers, played against `bumpwright controller` with a real API
//! server by the black-box harness of the corpora. Intended differences are listed in `harness_differences.md`.

use std::process::Command;

use crate::stage::Stage;

/// As many scenarios pass at least; the others are listed.
const FLOOR: usize = 115;

#[test]
fn recorded_scenarios_of_the_image_controllers() {
    let Some(stage) = Stage::set("run.py") else { return };
    let Stage { harness, .. } = &stage;
    let tests = stage.tests();
    let out = Command::new("python3")
        .arg(tests.join("harness/since.py"))
        .arg(harness.join("run.py"))
        .arg("--profile")
        .arg(stage.profile())
        .arg("--scenarios")
        .arg(harness.join("scenarios/image"))
        .arg("--scenarios")
        .arg(harness.join("scenarios/e2e"))
        .args(["--skip-needs", "source,kustomize"])
        .arg("--differences")
        .arg(tests.join("harness_differences.md"))
        .args(["--compare", "--jobs", "5", "--work"])
        .arg(stage.work.path().join("work"))
        .env("FLUXBOX_BIN", &stage.bin)
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

/// A failure that no decision explains. The harness reports listed scenarios that time out in the same way.
fn is_unexpected(line: &str, listed: &str) -> bool {
    let Some((name, why)) = line.strip_prefix("FAIL ").and_then(|rest| rest.split_once(' ')) else {
        return false;
    };
    !(listed.contains(&format!("\n- `{name}`: ")) && why.contains("(wait)"))
}
