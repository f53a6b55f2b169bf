//! `bumpwright fleet` in a repository that is applied with `kubectl apply -k`.

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::repo::{git, run};

use crate::fleet_review::commit;

fn deployment(name: &str, tag: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  \
         template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec: {{containers: [{{name: {name}, image: 'ghcr.io/acme/{name}:{tag}'}}]}}\n"
    )
}

/// Two overlays of a base, and the values of a chart from elsewhere.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("base/kustomization.yaml", "resources: [web.yaml, api.yaml]\n");
    bench.write("base/web.yaml", deployment("web", "1.0.0"));
    bench.write("base/api.yaml", deployment("api", "1.0.0"));
    for overlay in ["prod", "test"] {
        let text = format!("namespace: {overlay}\nresources: [../../base]\n");
        bench.write(&format!("overlays/{overlay}/kustomization.yaml"), text);
    }
    bench.write("helm/values.yaml", "tag: 1.0.0 # {\"$imagepolicy\": \"a:cache:tag\"}\n");
    bench.write("notes.yaml", "a: 1\n");
    run(git(&bench.dir).args(["init", "--quiet", "-b", "main"]));
    commit(&bench);
    bench
}

#[test]
fn overlays_are_named_where_no_folder_is_a_cluster() {
    let bench = bench();
    for arguments in [&["fleet"][..], &["fleet", "review", "--from", "HEAD", "--images=false"]] {
        let ran = bench.run(arguments);
        assert_eq!(ran.code, 2, "{}", ran.err);
        let hint =
            "without Flux, name the folders that are applied with `kubectl apply -k`: overlays/prod, overlays/test\n";
        assert!(ran.err.contains(hint), "{}", ran.err);
    }
}

#[test]
fn an_overlay_is_checked_without_a_kustomization_of_flux() {
    let bench = bench();
    let ran = bench.run(&["fleet", "check", "--offline", "overlays/prod"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "no findings in 1 folder\n"),
        "{}",
        ran.err
    );
    let ran = bench.run(&["fleet", "check", "--offline", "overlays/prod", "overlays/test"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "no findings in 2 folders\n"),
        "{}",
        ran.err
    );
    // A folder without objects, and one that is not there.
    bench.write("empty/notes.txt", "nothing\n");
    let ran = bench.run(&["fleet", "check", "--offline", "empty"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
}

#[test]
fn a_review_of_an_overlay_says_what_it_does_not_know() {
    let bench = bench();
    bench.write("base/kustomization.yaml", "resources: [web.yaml]\n");
    bench.write("helm/values.yaml", "tag: 2.0.0 # {\"$imagepolicy\": \"a:cache:tag\"}\n");
    bench.write("notes.yaml", "a: 2\n");
    let arguments = ["fleet", "review", "--offline", "--from", "HEAD", "overlays/prod"];
    for _ in 0..2 {
        let ran = bench.run(&arguments);
        for part in [
            "Deployment prod/api stays in the cluster: it is no longer in Kustomization overlays/prod, and `kubectl apply` deletes nothing",
            "helm/values.yaml:1:1: note[not-compared]: helm/values.yaml has marked fields, and nothing that is reviewed here is built from it",
            "in 1 folder\n",
        ] {
            assert!(ran.out.contains(part), "{part}\n{}{}", ran.out, ran.err);
        }
        assert!(!ran.out.contains("notes.yaml"), "{}", ran.out);
        // The same between two commits.
        commit(&bench);
        let ran = bench.run(&[&arguments[..3], &["--from", "HEAD~1", "--to", "HEAD", "overlays/prod"]].concat());
        assert!(
            ran.out.contains("helm/values.yaml has marked fields"),
            "{}{}",
            ran.out,
            ran.err
        );
        run(git(&bench.dir).args(["reset", "--quiet", "HEAD~1"]));
    }
}

/// `overlays/*` of a shell names what is there after the change.
#[test]
fn an_overlay_that_goes_is_not_passed_over() {
    let bench = bench();
    std::fs::remove_dir_all(bench.path("overlays/test")).unwrap();
    let arguments = ["fleet", "review", "--offline", "--from", "HEAD"];
    let ran = bench.run(&[&arguments[..], &["overlays/prod"]].concat());
    let gone = "warning[not-compared]: overlays/test is gone with this change, and what was applied from there is not reviewed";
    assert!(ran.out.contains(gone), "{}{}", ran.out, ran.err);
    let ran = bench.run(&[&arguments[..], &["overlays/prod", "overlays/test"]].concat());
    assert!(!ran.out.contains(gone), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("Deployment test/web"), "{}{}", ran.out, ran.err);
}
