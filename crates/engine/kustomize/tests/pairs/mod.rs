//! Pairs of objects and patches with the results of kustomize's libraries (`fixtures/kustomize`).

use bumpwright_corpora::{named_or_fixture, rows};
use serde_json::Value;

/// Compares every pair of `fixtures/kustomize/NAME.jsonl`, or of the file that the variable `instead` names.
/// `difference` returns what is wrong with one.
///
/// # Panics
///
/// If there is a difference: the shortest three are shown.
pub fn compare(name: &str, instead: &str, difference: impl Fn(&Value) -> Option<String>) {
    let pairs = rows(named_or_fixture(instead, &format!("kustomize/{name}.jsonl")));
    let mut faults: Vec<String> = pairs.iter().filter_map(difference).collect();
    println!("{name}: {} of {}", pairs.len() - faults.len(), pairs.len());
    faults.sort_by_key(String::len);
    faults.truncate(3);
    assert!(
        faults.is_empty() && !pairs.is_empty(),
        "{}",
        faults.join("\n########\n")
    );
}
