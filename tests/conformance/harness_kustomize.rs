//! The scenarios recorded from the real kustomize-controller, played against `bumpwright controller`, which serves
//! the sources as well. Intended differences are listed in `harness_differences.md`.

use std::process::Command;

use crate::stage::Stage;

/// As many scenarios pass at least; the others are listed.
const FLOOR: usize = 121;

#[test]
fn recorded_scenarios_of_kustomize_controller() {
    let Some(stage) = Stage::set("ksbox.py") else { return };
    let out = Command::new("python3")
        .arg(stage.tests().join("harness/since.py"))
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
    let passed = passed.unwrap_or_default();
    let listed = std::fs::read_to_string(stage.tests().join("harness_differences.md")).unwrap();
    let unexpected = said.lines().filter(|line| is_unexpected(line, &listed));
    // Out of time, the flux CLI says either; which one depends on when it asks last.
    let by_its_limit =
        |line: &&str| OUT_OF_TIME.iter().any(|name| line.contains(name)) && SAYS.iter().any(|text| said.contains(text));
    let unexpected: Vec<&str> = unexpected.filter(|line| !by_its_limit(line)).collect();
    assert!(
        passed >= FLOOR && unexpected.is_empty(),
        "{unexpected:#?}\n{said}\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

/// What client-go says instead of "context deadline exceeded" alone, when the wait for its own rate limiter would end
/// later, and in the middle of a request.
const SAYS: [&str; 2] = [
    "client rate limiter Wait returned an error",
    "\\\": context deadline exceeded",
];

/// The scenarios in which the flux CLI runs out of time.
const OUT_OF_TIME: [&str; 2] = ["flux-create-export-delete DIFF", "flux-reconcile DIFF"];

/// `flux events` sorts by whole seconds: ours are often within one, where the real controllers took longer. `flux diff`
/// compares several objects at once and ends with the first that it cannot.
const BY_CHANCE: [&str; 2] = ["flux-trace-debug-events", "flux-diff"];

/// `[  12s] NAME DIFF 3.4s` and its like, unless chance has it so. The runner has no other word for a listed scenario
/// that waits for what never comes.
fn is_unexpected(line: &str, listed: &str) -> bool {
    let Some((_, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once("s] ")) else {
        return false;
    };
    let mut words = rest.split(' ');
    let (name, verdict) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let waits_in_vain = verdict == "FAIL" && listed.contains(&format!("\n- `{name}`: "));
    !BY_CHANCE.contains(&name) && !["ok", "accepted"].contains(&verdict) && !waits_in_vain
}
