//! Pairs of objects and patches, and what kustomize's libraries made of them (`fixtures/kustomize`).

use serde_json::Value;

/// Compares every pair of `fixtures/kustomize/NAME.jsonl`, or of the file that the variable `instead` names.
/// `difference` tells what is wrong with one.
///
/// # Panics
///
/// Where something is: the shortest three are shown.
pub fn compare(name: &str, instead: &str, difference: impl Fn(&Value) -> Option<String>) {
    let ours = || {
        format!(
            "{}/../../../fixtures/kustomize/{name}.jsonl",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    let text = std::fs::read_to_string(std::env::var(instead).unwrap_or_else(|_| ours())).unwrap();
    let pairs: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
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
