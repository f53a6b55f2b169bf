//! `bumpwright reconcile`, `suspend` and `resume` without a controller: the test writes what one would.

use super::run;
use crate::seed::{ready, seeded};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Ran;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{AUTOMATION, IMAGE_POLICY, KUSTOMIZATION, ObjectKind, World};
use serde_json::json;

const REQUESTED: &str = "reconcile.fluxcd.io/requestedAt";

fn at(world: &World<'_>, arguments: &[&str]) -> Ran {
    run(world.cluster, &[arguments, &["-n", &world.namespace]].concat())
}

/// Handles a request once it is there, and leaves this condition.
fn handle(world: &World<'_>, kind: ObjectKind, name: &str, (status, reason): (&str, &str)) {
    let look = || {
        world.get(kind, name)["metadata"]["annotations"][REQUESTED]
            .as_str()
            .map(str::to_owned)
    };
    let request = wait_for(look, || "nothing is requested".to_owned());
    let told = format!("{status} after {request}");
    let status = json!({"lastHandledReconcileAt": request, "conditions": ready(status, reason, &told, 0)});
    world.patch_status(kind, name, &status);
}

#[test]
fn a_reconciliation_ends_as_its_controller_says() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "reconcile-a");
    let run = |arguments: &[&str], condition: (&str, &str)| {
        std::thread::scope(|scope| {
            let handled = scope.spawn(|| handle(&world, KUSTOMIZATION, "root", condition));
            let ran = at(&world, arguments);
            handled.join().unwrap();
            ran
        })
    };
    let ran = run(&["reconcile", "ks", "root"], ("True", "ReconciliationSucceeded"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "► Kustomization/reconcile-a/root annotated",
            "◎ waiting for Kustomization/reconcile-a/root"
        ]
    );
    assert!(
        lines[2].starts_with("✔ Kustomization/reconcile-a/root is ready: True after 2"),
        "{}",
        ran.err
    );
    world.patch(
        KUSTOMIZATION,
        "root",
        &json!({"metadata": {"annotations": {REQUESTED: null}}}),
    );
    let ran = run(&["reconcile", "kustomization/root"], ("False", "BuildFailed"));
    assert_eq!(ran.code, 1, "{}", ran.err);
    let [.., last, hint] = ran.err.lines().collect::<Vec<_>>()[..] else {
        panic!("{}", ran.err)
    };
    assert_eq!(hint, "  bumpwright explain BuildFailed");
    assert!(
        last.starts_with("✗ Kustomization/reconcile-a/root is not ready: BuildFailed: False after"),
        "{}",
        ran.err
    );
}

/// A policy chooses from what was scanned, however long ago.
#[test]
fn a_policy_that_is_reconciled_does_not_scan_and_says_so() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "reconcile-policy");
    let ran = std::thread::scope(|scope| {
        let handled = scope.spawn(|| handle(&world, IMAGE_POLICY, "web", ("True", "Succeeded")));
        let ran = at(&world, &["reconcile", "policy", "web"]);
        handled.join().unwrap();
        ran
    });
    assert_eq!(ran.code, 0, "{}", ran.err);
    let note = "note: the tags are those of the last scan; scan first with: \
        bumpwright reconcile policy web -n reconcile-policy --with-source";
    assert_eq!(ran.err.lines().last(), Some(note), "{}", ran.err);
}

#[test]
fn what_cannot_be_reconciled_is_told() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "reconcile-b");
    let ran = at(&world, &["reconcile", "image", "update", "all", "--timeout", "1s"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let last = ran.err.lines().last().unwrap();
    let expected = "✗ ImageUpdateAutomation/reconcile-b/all is not ready in time: no controller has handled the request; \
                    Ready is True: Succeeded: repository up-to-date";
    assert_eq!(last, expected);
    for (arguments, error) in [
        (
            ["reconcile", "automation", "team"].as_slice(),
            "ImageUpdateAutomation/reconcile-b/team is suspended: `bumpwright resume automation team -n reconcile-b`",
        ),
        (
            &["reconcile", "ks", "none"],
            "there is no Kustomization none in the namespace reconcile-b",
        ),
        (
            &["reconcile", "kustomisation", "apps"],
            "unknown kind \"kustomisation\"; did you mean kustomization?",
        ),
        (
            &["reconcile", "gitrepo", "fleet", "--with-source"],
            "--with-source: a GitRepository has no source",
        ),
        (&["reconcile", "ks"], "give one object: KIND NAME, or KIND/NAME"),
    ] {
        let ran = at(&world, arguments);
        assert_eq!((ran.code, ran.err), (2, format!("error: {error}\n")));
    }
}

#[test]
fn a_name_that_is_not_there_has_one_that_is_near() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "near-a");
    let meant = "error: there is no Kustomization rot in the namespace near-a; did you mean root?\n";
    for arguments in [
        ["reconcile", "ks", "rot"].as_slice(),
        &["suspend", "ks", "rot"],
        &["resume", "ks", "apps", "rot"],
        &["get", "ks", "rot"],
        &["tree", "ks", "rot"],
    ] {
        let ran = at(&world, arguments);
        assert_eq!((ran.code, ran.err.as_str()), (2, meant), "{arguments:?}");
    }
    let ran = at(&world, &["trace", "ks/rot"]);
    assert!(ran.err.ends_with("; did you mean root?\n"), "{}", ran.err);
    let ran = at(&world, &["get", "images", "wep"]);
    assert!(
        ran.err.ends_with("in the namespace near-a; did you mean web?\n"),
        "{}",
        ran.err
    );
}

#[test]
fn objects_are_suspended_and_resumed() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "suspend-a");
    let is_suspended = |kind, name: &str| world.get(kind, name)["spec"]["suspend"] == true;
    let ran = at(&world, &["suspend", "ks", "root", "apps"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        ran.err,
        "✔ Kustomization/suspend-a/root suspended\n✔ Kustomization/suspend-a/apps suspended\n"
    );
    assert!(is_suspended(KUSTOMIZATION, "root") && !is_suspended(KUSTOMIZATION, "jobs"));
    let ran = at(&world, &["suspend", "image", "policy", "--all"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ["api", "cache", "db", "web"]
            .iter()
            .all(|name| is_suspended(IMAGE_POLICY, name))
    );
    let ran = at(&world, &["resume", "ks/root", "automation/team"]);
    assert_eq!(
        ran.err,
        "✔ Kustomization/suspend-a/root resumed\n✔ ImageUpdateAutomation/suspend-a/team resumed\n"
    );
    assert!(!is_suspended(KUSTOMIZATION, "root") && !is_suspended(AUTOMATION, "team"));
    let ran = at(&world, &["resume", "ks", "root"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, "✔ Kustomization/suspend-a/root is not suspended\n")
    );
    for arguments in [["suspend", "ks"].as_slice(), &["suspend", "ks", "root", "--all"]] {
        let ran = at(&world, arguments);
        assert_eq!(
            (ran.code, ran.err.as_str()),
            (2, "error: give the names of objects, or a kind and --all\n")
        );
    }
    // Before anything is changed, all of them have to be there.
    let ran = at(&world, &["suspend", "ks", "jobs", "none"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(!is_suspended(KUSTOMIZATION, "jobs"));
}
