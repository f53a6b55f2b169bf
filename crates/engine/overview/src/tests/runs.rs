//! What objects in the cluster have, against what policies have chosen.

use super::*;

const UNKNOWN: &str = "in Git at the last run of ImageUpdateAutomation fs/auto; which version runs is not known";

/// Answers the doubt about a Kustomization: its Deployment has this image.
fn answer(world: &mut World, of: &str, image: &str) {
    let (by, doubts) = (name(of), world.doubts());
    let doubt = &doubts[&by];
    let labels =
        json!({"kustomize.toolkit.fluxcd.io/name": by.name, "kustomize.toolkit.fluxcd.io/namespace": by.namespace});
    let object = json!({"kind": "Deployment", "metadata": {"namespace": "web", "name": by.name, "labels": labels},
        "spec": {"template": {"spec": {"containers": [{"image": image}]}}}});
    let mut uses = doubt.unanswered();
    uses.add(doubt.found_in(&object));
    world.uses.insert(by, uses);
}

/// Somebody has pushed another commit since the automation ran, and the Kustomizations have applied it.
fn another_commit(world: &mut World) {
    let revision = format!("main@sha1:{OLDER}");
    let source = world.sources.values_mut().next().unwrap();
    source.status.artifact.revision.clone_from(&revision);
    source.status.artifact.last_update_time = "2026-01-01T11:00:00Z".to_owned();
    for one in world.kustomizations.values_mut() {
        one.status.last_applied_revision.clone_from(&revision);
    }
}

#[test]
fn an_image_is_current_where_an_object_has_it() {
    let mut world = world();
    assert_eq!(stage(&world), (Stage::Current, UNKNOWN.to_owned()), "nothing was read");
    answer(&mut world, "fs/apps", "ghcr.io/acme/web:1.1.0");
    assert_eq!(stage(&world), (Stage::Current, String::new()));
    another_commit(&mut world);
    assert_eq!(stage(&world), (Stage::Current, String::new()));
    // A mirror has the name in part, and a digest says no less.
    answer(&mut world, "fs/apps", "mirror.example/acme/web:1.1.0@sha256:00");
    assert_eq!(stage(&world), (Stage::Current, String::new()));
}

#[test]
fn an_image_is_behind_where_an_object_has_another_version() {
    let mut world = world();
    answer(&mut world, "fs/apps", "ghcr.io/acme/web:1.0.0");
    let unexplained = "Deployment web/apps has 1.0.0, and the last run of ImageUpdateAutomation fs/auto had 1.1.0: \
        a marker may be missing, or somebody changed the object";
    assert_eq!(stage(&world), (Stage::Behind, unexplained.to_owned()));
    assert_eq!(world.overview().counts.behind, 1);
    another_commit(&mut world);
    let missed =
        "Deployment web/apps has 1.0.0, and ImageUpdateAutomation fs/auto has not run with commit '0123456' yet";
    assert_eq!(stage(&world), (Stage::Behind, missed.to_owned()));
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    automation.spec.suspend = true;
    let paused = "Deployment web/apps has 1.0.0, and ImageUpdateAutomation fs/auto is suspended";
    assert_eq!(stage(&world).1, paused);
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    automation.status.observed_source_revision = format!("main@sha1:{OLDER}");
    assert_eq!(stage(&world), (Stage::Behind, unexplained.to_owned()));
    // What is not applied yet is on its way.
    let apps = world.kustomizations.get_mut(&name("fs/apps")).unwrap();
    apps.status.last_applied_revision = format!("main@sha1:{COMMIT}");
    let why = "Kustomization fs/apps has not applied it yet";
    assert_eq!(stage(&world), (Stage::OnTheWay, why.to_owned()));
}

/// A suspended Kustomization holds back what its objects do not have yet, and nothing else.
#[test]
fn a_suspended_kustomization_may_have_the_choice_already() {
    let mut world = world();
    answer(&mut world, "fs/apps", "ghcr.io/acme/web:1.1.0");
    let apps = world.kustomizations.get_mut(&name("fs/apps")).unwrap();
    apps.spec.suspend = true;
    apps.status.last_applied_revision = format!("main@sha1:{OLDER}");
    assert_eq!(stage(&world), (Stage::Current, String::new()));
    answer(&mut world, "fs/apps", "ghcr.io/acme/web:1.0.0");
    let why = "Kustomization fs/apps is suspended";
    assert_eq!(stage(&world), (Stage::OnTheWay, why.to_owned()));
    world.uses.clear();
    assert_eq!(stage(&world), (Stage::OnTheWay, why.to_owned()), "nothing was read");
}

/// Where the automation has run with all there is, an object with another version has no marker.
#[test]
fn of_two_versions_the_other_counts_until_the_automation_has_run() {
    let mut world = world();
    answer(&mut world, "fs/apps", "ghcr.io/acme/web:1.1.0");
    answer(&mut world, "fs/infra", "ghcr.io/acme/web:1.0.0");
    let why = "Deployment web/infra has 1.0.0: no marker of this policy may be there, or somebody changed it";
    assert_eq!(stage(&world), (Stage::Current, why.to_owned()));
    another_commit(&mut world);
    assert_eq!(stage(&world).0, Stage::Behind);
}

/// Such as one policy for tests and one for production.
#[test]
fn what_another_policy_has_chosen_says_nothing() {
    let mut world = world();
    let mut other = policy("1.0.0");
    other["metadata"] = meta("fs/web-prod");
    world.policies.insert(name("fs/web-prod"), read(other));
    answer(&mut world, "fs/apps", "ghcr.io/acme/web:1.0.0");
    assert_eq!(stage(&world).0, Stage::Behind, "no automation writes it there");
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    let observed = json!({"name": "ghcr.io/acme/web", "tag": "1.0.0"});
    automation
        .status
        .observed_policies
        .insert("web-prod".to_owned(), read(observed));
    answer(&mut world, "fs/apps", "ghcr.io/acme/web:1.0.0");
    assert_eq!(stage(&world), (Stage::Current, UNKNOWN.to_owned()));
    answer(&mut world, "fs/apps", "ghcr.io/acme/web:0.9.0");
    assert_eq!(stage(&world).0, Stage::Behind);
    // Nor does an image of another name.
    answer(&mut world, "fs/apps", "ghcr.io/other/web:0.9.0");
    assert_eq!(stage(&world).0, Stage::Current);
}

#[test]
fn a_current_image_that_no_object_has_says_so() {
    let mut world = world();
    answer(&mut world, "fs/apps", "ghcr.io/acme/proxy:1.0.0");
    let why = "no workload that was read has this image: a marker may be missing";
    assert_eq!(stage(&world), (Stage::Current, why.to_owned()));
    let policy = world.policies.get_mut(&name("fs/web")).unwrap();
    policy.status.conditions = read(ready("False", "InvalidPolicy", "no such range\nmore"));
    let why = "chosen before the policy failed: InvalidPolicy: no such range";
    assert_eq!(stage(&world), (Stage::Current, why.to_owned()));
}

#[test]
fn a_kustomization_that_never_applied_anything_holds_back_what_no_other_has() {
    let mut world = world();
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    infra.status = read(json!({"conditions": ready("False", "ReconciliationFailed", "no matches for kind")}));
    let why = "Kustomization fs/infra fails: ReconciliationFailed: no matches for kind";
    assert_eq!(stage(&world), (Stage::OnTheWay, why.to_owned()));
    answer(&mut world, "fs/apps", "ghcr.io/acme/web:1.1.0");
    assert_eq!(stage(&world), (Stage::Current, String::new()));
    answer(&mut world, "fs/apps", "ghcr.io/acme/proxy:1.1.0");
    assert_eq!(stage(&world), (Stage::OnTheWay, why.to_owned()));
}

/// A commit on a branch of its own has some images, and a status does not say which.
#[test]
fn a_commit_to_merge_is_waited_for_by_the_images_that_objects_do_not_have() {
    let mut world = world();
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    automation.spec.git.push.branch = "bump/images".to_owned();
    automation.status.last_push_commit = OLDER.to_owned();
    automation.status.last_push_time = "2026-01-01T11:30:00Z".to_owned();
    let why = "commit '0123456' is on branch 'bump/images', which nothing reconciles until it is merged";
    let unknown = format!("{why}; whether it changes this image is not known");
    assert_eq!(stage(&world), (Stage::OnTheWay, unknown));
    answer(&mut world, "fs/apps", "ghcr.io/acme/web:1.0.0");
    assert_eq!(stage(&world), (Stage::OnTheWay, why.to_owned()));
    answer(&mut world, "fs/apps", "ghcr.io/acme/web:1.1.0");
    assert_eq!(stage(&world), (Stage::Current, String::new()));
}

#[test]
fn a_traced_object_with_another_version_is_behind() {
    let world = world();
    let object = Entry {
        kind: "Deployment".to_owned(),
        namespace: "web".to_owned(),
        name: "apps".to_owned(),
        ..Entry::default()
    };
    let traced = |images: &[&str]| {
        let images: Vec<String> = images.iter().map(|image| (*image).to_owned()).collect();
        let image = world.trace(&object, Some(&images)).remove(0).images.remove(0);
        (image.stage, image.why)
    };
    let behind = (Stage::Behind, "the object has 1.0.0".to_owned());
    assert_eq!(traced(&["ghcr.io/acme/web:1.0.0"]), behind);
    assert_eq!(traced(&["ghcr.io/acme/web:1.1.0"]).0, Stage::Current);
    assert_eq!(
        traced(&["ghcr.io/acme/web:1.0.0", "ghcr.io/acme/web:1.1.0"]).0,
        Stage::Current
    );
}

/// Of Kustomizations that are well the workloads are read, and again once another revision is applied.
#[test]
fn an_answer_is_about_one_revision() {
    let mut world = world();
    let before = world.doubts();
    let asked: Vec<String> = before.keys().map(ToString::to_string).collect();
    assert_eq!(asked, ["fs/apps", "fs/infra"]);
    assert_eq!(before, world.doubts());
    // A version that is chosen next is nothing new to ask.
    let mut next = world.clone();
    next.policies.insert(name("fs/web"), read(policy("1.2.0")));
    assert_eq!(before, next.doubts());
    another_commit(&mut world);
    assert_ne!(before[&name("fs/apps")], world.doubts()[&name("fs/apps")]);
    world.automations.clear();
    assert!(world.doubts().is_empty(), "no automation has written anything");
}

/// Where Argo CD applies what is pushed, the way ends in Git.
#[test]
fn an_image_is_current_once_it_is_pushed_to_what_nobody_reconciles() {
    let mut world = world();
    world.kustomizations.clear();
    world.uses.clear();
    let source = world.sources.values_mut().next().unwrap();
    source.status.artifact.revision.clear();
    source.status.artifact.last_update_time.clear();
    let (stage_is, why) = stage(&world);
    assert_eq!(stage_is, Stage::Current, "{why}");
    assert!(
        why.starts_with("in Git at the last run of ImageUpdateAutomation fs/auto"),
        "{why}"
    );
}
