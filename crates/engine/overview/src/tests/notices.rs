//! What is not a failure and is reported all the same.

use super::*;

/// Only an event tells of fields that the cluster does not have, and of the last build alone.
#[test]
fn fields_that_were_left_out_are_a_notice() {
    let mut world = world();
    let event = |at: &str, message: &str| {
        read::<EventFacts>(
            json!({"metadata": meta("fs/e"), "type": "Warning", "reason": "UnknownFields", "message": message,
            "lastTimestamp": at, "involvedObject": {"kind": "Kustomization", "namespace": "fs", "name": "apps"}}),
        )
    };
    let told = |world: &World| -> Vec<(Severity, String)> {
        let of_fields = |one: Attention| (one.reason == "UnknownFields").then_some((one.severity, one.message));
        world.attention().into_iter().filter_map(of_fields).collect()
    };
    world.events = vec![
        event("2026-01-01T10:30:00Z", "(combined from similar events): new"),
        event("2026-01-01T10:20:00Z", "old"),
    ];
    assert_eq!(told(&world), [(Severity::Notice, "new".to_owned())]);
    world.events = vec![event("2026-01-01T09:30:00Z", "before the last build")];
    assert!(told(&world).is_empty());
}

/// `status.observedPolicies` has policies that no marker names.
#[test]
fn a_current_image_that_no_commit_shows_says_so() {
    let mut world = world();
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    automation.status.last_push_commit.clear();
    automation.status.last_push_time.clear();
    let why = "ImageUpdateAutomation fs/auto has pushed nothing yet: the files had it already, or no marker names this policy";
    assert_eq!(stage(&world), (Stage::Current, why.to_owned()));
    assert_eq!(world.overview().counts.current, 1);
}

#[test]
fn a_commit_that_took_images_back_is_part_of_a_trace() {
    let mut world = world();
    let record = json!({"putBack": {"commit": OLDER, "pushed": true, "images": {"fs/web": "ghcr.io/acme/web:1.1.0"}}});
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    let annotation = ("state.bumpwright.dev/rollout".to_owned(), record.to_string());
    automation.metadata.annotations.0.extend([annotation]);
    let object = Entry {
        kind: "Deployment".to_owned(),
        namespace: "web".to_owned(),
        name: "apps".to_owned(),
        ..Entry::default()
    };
    let trace = world.trace(&object, None).remove(0);
    let put_back = trace.automations[0].put_back.as_ref().unwrap();
    assert_eq!(put_back.pushed.commit, OLDER);
    assert!(put_back.pushed.link.as_ref().is_some_and(|link| link.ends_with(OLDER)));
    assert_eq!(put_back.images, ["ghcr.io/acme/web:1.1.0"]);
}

/// A Kustomization that fails holds back the images that its objects have, and all of them as long as
/// that is not known.
#[test]
fn an_image_waits_for_those_alone_that_have_it() {
    let mut world = world();
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    infra.status.last_applied_revision = format!("main@sha1:{OLDER}");
    infra.status.conditions = read(ready("False", "BuildFailed", "no such file"));
    let waits = (
        Stage::OnTheWay,
        "Kustomization fs/infra fails: BuildFailed: no such file".to_owned(),
    );
    assert_eq!(stage(&world), waits);
    let doubts = world.doubts();
    let doubt = &doubts[&name("fs/infra")];
    let objects: Vec<String> = doubt.objects.iter().map(ToString::to_string).collect();
    assert_eq!(objects, ["Deployment/web/infra"]);
    let answer = |image: &str| {
        let mut uses = doubt.unanswered();
        uses.add(doubt.found_in(&json!({"spec": {"template": {"spec": {"containers": [{"image": image}]}}}})));
        [(name("fs/infra"), uses)].into()
    };
    world.uses = answer("ghcr.io/acme/proxy:1.0.0");
    assert_eq!(stage(&world).0, Stage::Current);
    world.uses = answer("ghcr.io/acme/web:1.0.0");
    assert_eq!(stage(&world), waits);
    world.uses = [(name("fs/infra"), doubt.unanswered())].into();
    assert_eq!(stage(&world), waits, "its object could not be read");
    // In another cluster nothing is read.
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    infra.spec.kube_config = Some(read(json!({})));
    assert!(!world.doubts().contains_key(&name("fs/infra")));
}

/// A process without leader election renews no lease.
#[test]
fn a_controller_without_a_lease_is_seen_by_what_changes() {
    let mut world = world();
    world.controllers = vec![Controller {
        name: "kustomize-controller".to_owned(),
        lease: Id::new("Lease", name("fs/kustomize-controller-leader-election")),
        kinds: vec!["Kustomization".to_owned()],
        leadership: Leadership::Expired {
            holder: "pod-1".to_owned(),
            renewed: 1_767_261_570, // 30 s before they were ready
        },
    }];
    let found = |world: &World| {
        let one = world
            .attention()
            .into_iter()
            .find(|one| one.id.kind == "Lease")
            .unwrap();
        (one.reason, one.severity, one.blocks.len(), one.message)
    };
    let (reason, severity, blocks, _) = found(&world);
    assert_eq!(
        (reason.as_str(), severity, blocks),
        ("NoController", Severity::Broken, 2)
    );
    world.controllers[0].leadership = Leadership::Free {
        renewed: Some(1_767_258_000),
    };
    let (reason, severity, blocks, message) = found(&world);
    assert_eq!((reason.as_str(), severity, blocks), ("NoLease", Severity::Notice, 0));
    let expected = "nobody holds its lease, but Kustomization/fs/infra has changed since then";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn an_automation_goes_on_with_its_other_policies() {
    let mut world = world();
    let mut failed = policy("1.0.0");
    failed["metadata"] = meta("fs/db");
    failed["status"]["conditions"] = ready("False", "Failure", "version list argument cannot be empty");
    world.policies.insert(name("fs/db"), read(failed));
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    let observed = read(json!({"name": "ghcr.io/acme/db", "tag": "1.0.0"}));
    automation.status.observed_policies.insert("db".to_owned(), observed);
    let blocked = |world: &World| {
        let all = world.attention();
        let of_policy = all.iter().find(|one| one.id.name.name == "db").unwrap();
        of_policy.blocks.clone()
    };
    assert_eq!(blocked(&world), []);
    world.policies.remove(&name("fs/web"));
    assert_eq!(blocked(&world), [Id::new("ImageUpdateAutomation", name("fs/auto"))]);
}
