//! What cannot be built before and after a change is not said to be unchanged.

use super::*;

const BROKEN: &str = "resources: [missing.yaml]\n";

fn map(data: &str) -> String {
    object("v1", "ConfigMap", &format!("data: {{a: {data}}}"))
}

#[test]
fn a_change_in_what_does_not_build_is_not_nothing() {
    let state = |data: &str| fleet(PRUNE, &[("a/kustomization.yaml", BROKEN), ("a/x.yaml", &map(data))]);
    let changed = reviewed(&state("b"), &state("c"));
    assert_eq!((changed.impact.unknown, changed.is_empty()), (1, false));
    assert_eq!(changed.changes(), "1 could not be compared");
    let title = "What changes in the clusters is not known: 1 could not be compared";
    assert!(
        changed.markdown().starts_with(&format!("## {title}\n")),
        "{}",
        changed.markdown()
    );
    for text in [changed.gerrit(None, &std::collections::BTreeSet::new()), changed.json()] {
        assert!(
            text.contains("not-compared") && !text.contains("othing changes"),
            "{text}"
        );
    }
    let same = reviewed(&state("b"), &state("b"));
    assert!(same.is_empty() && same.impact.unknown == 0, "{:#?}", same.report);
}

/// A difference alone does not say that nothing differs either.
#[test]
fn a_difference_has_what_it_does_not_know() {
    let state = |data: &str| fleet(PRUNE, &[("a/kustomization.yaml", BROKEN), ("a/x.yaml", &map(data))]);
    let shown = |before: &(Files, Fleet), after: &(Files, Fleet)| {
        let (old, new) = ([before.1.clone()], [after.1.clone()]);
        let before = State {
            fleets: &old,
            repository: &before.0,
        };
        let after = State {
            fleets: &new,
            repository: &after.0,
        };
        bumpwright_fleet::diff::to_markdown(&bumpwright_fleet::diffs(before, after))
    };
    let text = shown(&state("b"), &state("c"));
    for wanted in [
        "1 could not be compared.",
        "Kustomization f/a: what changes in it is not known: it could not be built, before the change either",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(!text.contains("othing differs"), "{text}");
    let same = shown(&state("b"), &state("b"));
    assert!(same.contains("Nothing differs."), "{same}");
}

/// Where the root cannot be built any more, nothing below it has gone.
#[test]
fn what_is_below_an_unbuilt_root_is_not_gone() {
    let before = fleet(PRUNE, &[("a/x.yaml", &map("b"))]);
    let after = fleet(PRUNE, &[("a/x.yaml", &map("b")), ("c/kustomization.yaml", BROKEN)]);
    let review = reviewed(&before, &after);
    let text = bumpwright_fleet::diff::to_text(&review.differences());
    assert!(!text.contains("no objects differ") && !text.contains("f/a"), "{text}");
    assert!(
        text.contains("not compared") && text.contains("could not be compared"),
        "{text}"
    );
}

#[test]
fn it_is_found_by_files_variables_and_the_spec() {
    let broken = |more: &[(&str, &str)]| -> Vec<String> {
        let mut files = vec![("a/kustomization.yaml", "resources: [../base/x.yaml, missing.yaml]\n")];
        files.extend(more);
        let before = [("a/kustomization.yaml", "resources: [../base/x.yaml, missing.yaml]\n")];
        found([PRUNE, PRUNE], &before, &files)
    };
    let text = map("b");
    contains(
        &broken(&[("base/x.yaml", &text)]),
        "warning[not-compared] Kustomization f/a: what changes in it is not known: it could not be built, before the change either: ",
    );
    // Another folder's files are not among its inputs.
    assert_eq!(broken(&[("other/x.yaml", &text)]), [""; 0]);
    let files = [("a/kustomization.yaml", BROKEN)];
    let spec = found([PRUNE, ", prune: true, timeout: 5m"], &files, &files);
    contains(&spec, "warning[not-compared] Kustomization f/a");
    let values = ", prune: true, postBuild: {substitute: {v: w}}";
    contains(&found([PRUNE, values], &files, &files), "Kustomization f/a");
}

/// That it fails with the change is a finding of its own.
#[test]
fn what_breaks_with_the_change_is_counted_and_found_once() {
    let before = fleet(PRUNE, &[("a/x.yaml", &map("b"))]);
    let after = fleet(PRUNE, &[("a/x.yaml", &map("b")), ("a/kustomization.yaml", BROKEN)]);
    let broken = reviewed(&before, &after);
    let rules: Vec<&str> = broken.report.open().map(|finding| finding.rule.id()).collect();
    assert_eq!((rules, broken.impact.unknown), (vec!["build-failed"], 1));
    assert!(
        broken.headline().ends_with(": 1 could not be compared"),
        "{}",
        broken.headline()
    );
}

#[test]
fn what_goes_with_an_unbuilt_kustomization_is_not_known() {
    let owned = kustomization("d", PRUNE);
    let files = [("c/d.yaml", owned.as_str()), ("d/kustomization.yaml", BROKEN)];
    let gone = found([PRUNE, PRUNE], &files, &[("d/kustomization.yaml", BROKEN)]);
    assert!(
        gone.iter()
            .any(|text| text
                .starts_with("warning[not-compared] Kustomization f/d: it is removed and could not be built")),
        "{gone:#?}"
    );
}
