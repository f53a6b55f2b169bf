//! What an image waits for.

use super::*;

/// What a Kustomization with the revision waits for is what it says; to be healthy only while it checks that.
#[test]
fn an_image_waits_for_what_its_kustomization_says() {
    let unknown = |message: &str| {
        json!([{"type": "Ready", "status": "Unknown", "reason": "Progressing", "message": message, "observedGeneration": 1},
            {"type": "Reconciling", "status": "True", "reason": "Progressing", "message": message}])
    };
    let check = "Running health checks for revision main@sha1:c0ffee0 with a timeout of 5m0s";
    let failed = ready("False", "BuildFailed", "no such file\nmore");
    let fine = ready("True", "ReconciliationSucceeded", "Applied");
    let rows = [
        (unknown(check), false, 1, "waits for its objects to be healthy"),
        (
            unknown("Building manifests"),
            false,
            1,
            "applies it again: Building manifests",
        ),
        (failed.clone(), false, 1, "fails: BuildFailed: no such file"),
        (
            failed,
            true,
            2,
            "is suspended, and was not ready before: BuildFailed: no such file",
        ),
        (fine.clone(), false, 2, "has not reconciled its newest spec yet"),
        (json!([]), true, 1, "is suspended"),
        // To suspend it is a new generation.
        (
            fine,
            true,
            2,
            "in Git at the last run of ImageUpdateAutomation fs/auto; which version runs is not known",
        ),
    ];
    for (conditions, suspended, generation, wanted) in rows {
        let mut world = world();
        let apps = world.kustomizations.get_mut(&name("fs/apps")).unwrap();
        apps.status.conditions = read(conditions);
        (apps.spec.suspend, apps.metadata.generation) = (suspended, generation);
        let why = stage(&world).1;
        let why = why.strip_prefix("Kustomization fs/apps ").unwrap_or(&why);
        assert_eq!(why, wanted);
    }
}
