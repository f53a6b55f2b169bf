//! Sources from which nothing new comes.

use super::*;

#[test]
fn objects_whose_source_is_suspended_are_not_applied() {
    let suspended = SOURCE.replace("interval: 1m,", "interval: 1m, suspend: true,");
    let [running, paused] = [SOURCE, suspended.as_str()].map(|source| entry(source, PRUNE));
    let map = |data: &str| object("v1", "ConfigMap", &format!("data: {{a: {data}}}"));
    let (old, new) = (map("b"), map("c"));
    let change = |from: &str, to: &str| {
        found(
            [PRUNE, PRUNE],
            &[("c/entry.yaml", from), ("a/x.yaml", &old)],
            &[("c/entry.yaml", to), ("a/x.yaml", &new)],
        )
    };
    contains(
        &change(&paused, &paused),
        "warning[suspended-change] Kustomization f/a: its source GitRepository f/f is suspended: the object of it that changes is not applied",
    );
    assert_eq!(change(&running, &running), [""; 0]);
    // The commit that suspends the source has been fetched.
    contains(
        &change(&running, &paused),
        "note[suspended-change] GitRepository f/f: the GitRepository is suspended",
    );
}
