//! Versions that charts and sources go to.

use super::*;

fn release(name: &str, version: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: n}}\nspec:\n  interval: 1h\n  \
         chart:\n    spec:\n      chart: web\n      version: '{version}'\n      sourceRef: {{kind: HelmRepository, name: r}}\n"
    )
}

/// The chart is not needed for that.
#[test]
fn a_chart_in_another_major_version_is_one_note_for_all_releases() {
    let state = |version: &str| {
        let releases = ["one", "two", "three"].map(|name| release(name, version));
        releases.join("---\n")
    };
    let change = |from: &str, to: &str| {
        found(
            [PRUNE, PRUNE],
            &[("a/x.yaml", &state(from))],
            &[("a/x.yaml", &state(to))],
        )
    };
    contains(
        &change("1.9.0", "2.0.0"),
        "note[major-version] HelmRelease n/one: chart web goes from 1.9.0 to 2.0.0, in 3 releases",
    );
    contains(&change("1.x", "2.x"), "chart web goes from 1.x to 2.x, in 3 releases");
    contains(&change("2.0.0", "1.9.0"), "warning[older-version] HelmRelease n/one");
    assert_eq!(change("1.9.0", "1.10.0"), [""; 0]);
}

/// Values with a tag alone do not name the image; the field does.
#[test]
fn a_tag_without_a_name_is_called_by_its_field() {
    let with = |tag: &str| {
        let spec = format!("spec: {{interval: 1h, values: {{image: {{tag: {tag}}}}}}}");
        object("helm.toolkit.fluxcd.io/v2", "HelmRelease", &spec)
    };
    contains(
        &one(&with("1.9.0"), &with("2.0.0")),
        "note[major-version] HelmRelease n/x: image spec.values.image goes from 1.9.0 to 2.0.0",
    );
    let (before, after) = (
        fleet(PRUNE, &[("a/x.yaml", &with("1.9.0"))]),
        fleet(PRUNE, &[("a/x.yaml", &with("2.0.0"))]),
    );
    let review = reviewed(&before, &after);
    let image = &review.impact.workloads[0].images[0];
    assert_eq!((image.old.as_str(), image.new.as_str()), ("1.9.0", "2.0.0"));
    let places = review
        .report
        .open()
        .filter(|finding| finding.rule.id() == "major-version");
    let places: Vec<(usize, usize)> = places
        .filter_map(|finding| finding.place.as_ref())
        .map(|place| (place.line, place.column))
        .collect();
    assert_eq!(places, [(4, 44)]);
}

#[test]
fn a_source_in_another_major_version_is_a_note_at_its_field() {
    let source = |kind: &str, url: &str, reference: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: {kind}\nmetadata: {{name: x, namespace: n}}\n\
             spec: {{interval: 1m, url: '{url}', ref: {{{reference}}}}}\n"
        )
    };
    let oci = |reference: &str| source("OCIRepository", "oci://r.io/o", reference);
    contains(
        &one(&oci("tag: 1.9.0"), &oci("tag: 2.0.0")),
        "note[major-version] OCIRepository n/x: the OCIRepository goes from 1.9.0 to 2.0.0",
    );
    contains(
        &one(&oci("semver: 1.x"), &oci("semver: 2.x")),
        "the OCIRepository goes from 1.x to 2.x",
    );
    let git = |url: &str, tag: &str| source("GitRepository", url, &format!("tag: {tag}"));
    contains(
        &one(&git("https://h/a", "v1.0.0"), &git("https://h/a", "v2.0.0")),
        "the GitRepository goes from v1.0.0 to v2.0.0",
    );
    for (from, to) in [
        (git("https://h/a", "v1.0.0"), git("https://h/b", "v2.0.0")),
        (oci("tag: 1.9.0"), oci("tag: 1.10.0")),
        (oci("tag: latest"), oci("tag: 2.0.0")),
    ] {
        assert_eq!(one(&from, &to), [""; 0], "{from}{to}");
    }
}
