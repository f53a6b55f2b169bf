//! A small world, told from all sides.

use bumpwright_api::ObjectName;
use serde_json::{Value, json};

use super::*;

mod events;
mod notices;
mod releases;
mod runs;
mod waits;

const COMMIT: &str = "c0ffee0c0ffee0c0ffee0c0ffee0c0ffee0c0ffe";
const OLDER: &str = "0123456789012345678901234567890123456789";

fn name(text: &str) -> ObjectName {
    let (namespace, name) = text.split_once('/').unwrap();
    ObjectName::new(namespace, name)
}

fn meta(name: &str) -> Value {
    let (namespace, name) = name.split_once('/').unwrap();
    json!({"namespace": namespace, "name": name, "generation": 1})
}

fn ready(status: &str, reason: &str, message: &str) -> Value {
    json!([{"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T10:00:00Z"}])
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// One source with two Kustomizations, the second after the first; one image, which an automation has written.
fn world() -> World {
    let revision = format!("main@sha1:{COMMIT}");
    let mut world = World {
        now: 1_767_268_800, // 2026-01-01T12:00:00Z
        ..World::default()
    };
    let source = json!({"metadata": meta("fs/fleet"), "spec": {"url": "https://github.com/acme/fleet", "ref": {"branch": "main"}},
        "status": {"observedGeneration": 1, "conditions": ready("True", "Succeeded", "stored"),
            "artifact": {"revision": revision, "lastUpdateTime": "2026-01-01T10:00:30Z", "size": 5}}});
    world
        .sources
        .insert(Id::new("GitRepository", name("fs/fleet")), read(source));
    for (one, before) in [("infra", json!([])), ("apps", json!([{"name": "infra"}]))] {
        let entry = format!("web_{one}_apps_Deployment");
        let object = json!({"metadata": meta(&format!("fs/{one}")),
            "spec": {"path": format!("./{one}"), "dependsOn": before, "sourceRef": {"kind": "GitRepository", "name": "fleet"}},
            "status": {"observedGeneration": 1, "conditions": ready("True", "ReconciliationSucceeded", "Applied"),
                "lastAppliedRevision": revision, "inventory": {"entries": [{"id": entry, "v": "v1"}]},
                "history": [{"firstReconciled": "2026-01-01T10:01:00Z", "lastReconciled": "2026-01-01T11:00:00Z",
                    "lastReconciledDuration": "1.5s", "lastReconciledStatus": "ReconciliationSucceeded",
                    "totalReconciliations": 3, "metadata": {"revision": revision}}]}});
        world.kustomizations.insert(name(&format!("fs/{one}")), read(object));
    }
    let repository = json!({"metadata": meta("fs/web"), "spec": {"image": "ghcr.io/acme/web"},
        "status": {"observedGeneration": 1, "conditions": ready("True", "Succeeded", "2 tags"),
            "lastScanResult": {"tagCount": 2, "scanTime": "2026-01-01T11:59:00Z", "latestTags": ["1.1.0", "1.0.0"]}}});
    world.repositories.insert(name("fs/web"), read(repository));
    world.policies.insert(name("fs/web"), read(policy("1.1.0")));
    let automation = json!({"metadata": meta("fs/auto"), "spec": {"sourceRef": {"kind": "GitRepository", "name": "fleet"}},
        "status": {"observedGeneration": 1, "conditions": ready("True", "Succeeded", "repository up-to-date"),
            "lastPushCommit": COMMIT, "lastPushTime": "2026-01-01T10:00:00Z",
            "observedPolicies": {"web": {"name": "ghcr.io/acme/web", "tag": "1.1.0"}}}});
    world.automations.insert(name("fs/auto"), read(automation));
    world
}

fn policy(tag: &str) -> Value {
    json!({"metadata": meta("fs/web"), "spec": {"imageRepositoryRef": {"name": "web"}, "policy": {"semver": {"range": "1.x"}}},
        "status": {"observedGeneration": 1, "conditions": ready("True", "Succeeded", "resolved"),
            "latestRef": {"name": "ghcr.io/acme/web", "tag": tag}}})
}

fn stage(world: &World) -> (Stage, String) {
    let image = world.images().remove(0);
    (image.stage, image.why)
}

#[test]
fn an_image_runs_when_all_kustomizations_are_ready_at_its_revision() {
    let world = world();
    assert_eq!(stage(&world).0, Stage::Current);
    let image = world.images().remove(0);
    let pushed = image.pushed.unwrap();
    assert_eq!(
        pushed.link.unwrap(),
        format!("https://github.com/acme/fleet/commit/{COMMIT}")
    );
    assert_eq!(image.kustomizations.len(), 2);
    let overview = world.overview();
    assert_eq!((overview.counts.current, overview.counts.kustomizations.ready), (1, 2));
    assert!(overview.attention.is_empty(), "{:?}", overview.attention);
}

#[test]
fn an_image_is_on_its_way_until_it_is_fetched_and_applied() {
    let mut world = world();
    let apps = world.kustomizations.get_mut(&name("fs/apps")).unwrap();
    apps.status.last_applied_revision = format!("main@sha1:{OLDER}");
    assert_eq!(
        stage(&world),
        (
            Stage::OnTheWay,
            "Kustomization fs/apps has not applied it yet".to_owned()
        )
    );
    let source = world.sources.values_mut().next().unwrap();
    source.status.artifact.revision = format!("main@sha1:{OLDER}");
    source.status.artifact.last_update_time = "2026-01-01T09:00:00Z".to_owned();
    let (stage_is, why) = stage(&world);
    assert_eq!(stage_is, Stage::OnTheWay);
    assert_eq!(why, "GitRepository/fs/fleet has not fetched commit 'c0ffee0' yet");
}

#[test]
fn an_image_is_behind_until_an_automation_has_run_with_it() {
    let mut world = world();
    world.policies.insert(name("fs/web"), read(policy("1.2.0")));
    let behind = (
        Stage::Behind,
        "ImageUpdateAutomation fs/auto has not run with it yet".to_owned(),
    );
    assert_eq!(stage(&world), behind);
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    automation.spec.suspend = true;
    assert_eq!(stage(&world).1, "ImageUpdateAutomation fs/auto is suspended");
    world.automations.clear();
    assert_eq!(stage(&world).0, Stage::Unused);
    let mut none = policy("");
    none["status"] = json!({"conditions": ready("False", "DependencyNotReady", "no tags")});
    world.policies.insert(name("fs/web"), read(none));
    assert_eq!(stage(&world), (Stage::Unknown, "no tags".to_owned()));
}

#[test]
fn a_written_image_is_behind_only_where_its_fields_were_left_out() {
    let mut world = world();
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    automation.status.conditions = read(ready("False", "GitOperationFailed", "no route"));
    assert_eq!(stage(&world).0, Stage::Current);
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    let told = "repository up-to-date\napps/a.yaml:3: policy fs/web2 is not ready";
    automation.status.conditions = read(ready("True", "Succeeded", told));
    assert_eq!(stage(&world).0, Stage::Current);
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    let told = "repository up-to-date\napps/a.yaml:3: the image of policy fs/web is too young";
    automation.status.conditions = read(ready("True", "Succeeded", told));
    let why = "apps/a.yaml:3: the image of policy fs/web is too young";
    assert_eq!(stage(&world), (Stage::Behind, why.to_owned()));
}

#[test]
fn an_image_is_held_by_a_person_or_by_its_failure() {
    let mut world = world();
    let policy = world.policies.get_mut(&name("fs/web")).unwrap();
    let failed = json!({"1.1.0": {"image": "ghcr.io/acme/web", "kustomization": "fs/apps", "message": "crashed\nlines",
        "commit": COMMIT, "at": 1_767_268_000}});
    policy
        .metadata
        .annotations
        .0
        .insert("state.bumpwright.dev/failed-versions".to_owned(), failed.to_string());
    assert_eq!(stage(&world).0, Stage::Held);
    let changes = world.changes();
    assert_eq!(changes[0].kind, ChangeKind::Held);
    assert_eq!(changes[0].message, "1.1.0 failed in Kustomization fs/apps: crashed");
    let policy = world.policies.get_mut(&name("fs/web")).unwrap();
    policy.metadata.annotations.0 = [("bumpwright.dev/hold".to_owned(), "release week".to_owned())].into();
    let (stage, why) = stage(&world);
    assert_eq!(stage, Stage::Held);
    assert!(why.contains("release week"), "{why}");
}

#[test]
fn attention_is_for_causes_with_what_they_block() {
    let mut world = world();
    let set = |world: &mut World, one: &str, reason: &str, message: &str| {
        let facts = world.kustomizations.get_mut(&name(one)).unwrap();
        facts.status.conditions = read(ready("False", reason, message));
    };
    set(&mut world, "fs/infra", "BuildFailed", "no such file");
    set(
        &mut world,
        "fs/apps",
        "DependencyNotReady",
        "dependency 'fs/infra' is not ready",
    );
    let attention = world.attention();
    assert_eq!(attention.len(), 1, "{attention:?}");
    assert_eq!(attention[0].id.to_string(), "Kustomization/fs/infra");
    assert_eq!(attention[0].blocks, [Id::new("Kustomization", name("fs/apps"))]);
    // What blocks more is first, and what is suspended is last.
    let source = world.sources.values_mut().next().unwrap();
    source.status.conditions = read(ready("False", "GitOperationFailed", "no route"));
    world.automations.get_mut(&name("fs/auto")).unwrap().spec.suspend = true;
    let ids: Vec<String> = world.attention().iter().map(|one| one.id.to_string()).collect();
    assert_eq!(
        ids,
        [
            "GitRepository/fs/fleet",
            "Kustomization/fs/infra",
            "ImageUpdateAutomation/fs/auto"
        ]
    );
    // Succeeded is about the time before somebody suspended it.
    let paused = world.attention().remove(2);
    assert_eq!((paused.severity, paused.reason.as_str()), (Severity::Paused, ""));
}

fn fail(world: &mut World, one: &str, reason: &str, message: &str) {
    let facts = world.kustomizations.get_mut(&name(one)).unwrap();
    facts.status.conditions = read(ready("False", reason, message));
}

fn told(world: &World) -> Vec<(String, Severity, Vec<String>, Vec<String>)> {
    let names = |ids: &[Id]| ids.iter().map(Id::to_string).collect();
    let all = world.attention().into_iter();
    all.map(|one| (one.id.to_string(), one.severity, names(&one.blocks), names(&one.also)))
        .collect()
}

/// Each of a circle is a consequence of the next one, and the circle itself is the cause.
#[test]
fn a_circle_is_told_with_its_way() {
    let mut world = world();
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    infra.spec.depends_on = read(json!([{"name": "apps"}]));
    let third = world.kustomizations[&name("fs/apps")].clone();
    world.kustomizations.insert(name("fs/late"), third);
    let late = world.kustomizations.get_mut(&name("fs/late")).unwrap();
    late.metadata.name = "late".to_owned();
    late.spec.depends_on = read(json!([{"name": "apps"}]));
    for one in ["fs/infra", "fs/apps", "fs/late"] {
        fail(&mut world, one, "DependencyNotReady", "a dependency is not ready");
    }
    let apps = "Kustomization/fs/apps".to_owned();
    let (infra, late) = ("Kustomization/fs/infra".to_owned(), "Kustomization/fs/late".to_owned());
    assert_eq!(told(&world), [(apps, Severity::Broken, vec![late], vec![infra])]);
    let message = &world.attention()[0].message;
    assert!(message.ends_with("fs/apps -> fs/infra -> fs/apps"), "{message}");
}

/// One cause, one entry: what waits for something that is at work, or for what cannot be fetched.
#[test]
fn what_waits_is_told_with_its_cause() {
    let mut world = world();
    fail(
        &mut world,
        "fs/apps",
        "DependencyNotReady",
        "dependency 'fs/infra' is not ready",
    );
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    infra.status.conditions = read(
        json!([{"type": "Ready", "status": "Unknown", "reason": "Progressing", "message": "Running",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T11:57:00Z"}]),
    );
    let apps = vec!["Kustomization/fs/apps".to_owned()];
    let infra = "Kustomization/fs/infra".to_owned();
    assert_eq!(told(&world), [(infra, Severity::InProgress, apps, Vec::new())]);

    let mut world = self::world();
    let source = world.sources.values_mut().next().unwrap();
    source.status.conditions = read(ready("False", "GitOperationFailed", "dial tcp: no route"));
    fail(
        &mut world,
        "fs/infra",
        "ArtifactFailed",
        "Source artifact not found, retrying in 30s",
    );
    fail(
        &mut world,
        "fs/apps",
        "DependencyNotReady",
        "dependency 'fs/infra' is not ready",
    );
    let automation = world.automations.get_mut(&name("fs/auto")).unwrap();
    automation.status.conditions = read(ready("False", "GitOperationFailed", "dial tcp: no route"));
    let all = told(&world);
    assert_eq!(
        (all.len(), all[0].0.as_str(), all[0].2.len()),
        (1, "GitRepository/fs/fleet", 3),
        "{all:?}"
    );
    // A path that is not there is a fault of its own.
    fail(
        &mut world,
        "fs/infra",
        "ArtifactFailed",
        "kustomization path not found: ./infra",
    );
    assert_eq!(told(&world).len(), 2);
}

#[test]
fn a_missing_secret_is_one_entry() {
    let mut world = world();
    let missing = "failed to get secret 'fs/auth': secrets \"auth\" not found";
    let source = world.sources.values_mut().next().unwrap();
    source.status.conditions = read(ready("False", "AuthenticationFailed", missing));
    let repository = world.repositories.get_mut(&name("fs/web")).unwrap();
    repository.status.conditions = read(ready("False", "AuthenticationFailed", "secret 'fs/auth' not found"));
    fail(
        &mut world,
        "fs/infra",
        "BuildFailed",
        "decryption: secrets \"auth\" not found",
    );
    let all = told(&world);
    assert_eq!((all.len(), all[0].0.as_str()), (1, "GitRepository/fs/fleet"), "{all:?}");
    assert_eq!(all[0].3, ["ImageRepository/fs/web", "Kustomization/fs/infra"]);
}

/// Nothing works, and nobody says so.
#[test]
fn what_no_controller_has_touched_is_told() {
    let mut world = world();
    for one in world.kustomizations.values_mut() {
        one.status = read(json!({}));
        one.metadata.creation_timestamp = Some("2026-01-01T11:00:00Z".to_owned());
    }
    let all = told(&world);
    assert_eq!((all.len(), all[0].0.as_str()), (1, "Kustomization/fs/apps"), "{all:?}");
    assert_eq!(
        (world.attention()[0].reason.as_str(), all[0].3.len()),
        ("NotReconciled", 1)
    );
    // The controller that does not run is the cause.
    world.controllers = vec![Controller {
        name: "kustomize-controller".to_owned(),
        lease: Id::new("Lease", name("fs/kustomize-controller-leader-election")),
        kinds: vec!["Kustomization".to_owned()],
        leadership: Leadership::Expired {
            holder: "pod-1".to_owned(),
            renewed: 1_767_260_000,
        },
    }];
    let one = world.attention().remove(0);
    assert_eq!((world.attention().len(), one.reason.as_str()), (1, "NoController"));
    assert!(one.message.contains("pod-1"), "{}", one.message);
    assert_eq!(one.blocks.len(), 2);
    world.controllers[0].leadership = Leadership::Held("pod-2".to_owned());
    assert_eq!(world.attention()[0].reason, "NotReconciled");
    // A new one has some time.
    for one in world.kustomizations.values_mut() {
        one.metadata.creation_timestamp = Some("2026-01-01T11:59:00Z".to_owned());
    }
    assert!(world.attention().is_empty());
}

/// Ready changes with each attempt; the failure began with the first of them.
#[test]
fn since_is_when_it_began() {
    let mut world = world();
    fail(&mut world, "fs/infra", "HealthCheckFailed", "timeout");
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    let entry = |outcome: &str, first: &str| {
        read(json!({"firstReconciled": first, "lastReconciled": first, "lastReconciledStatus": outcome}))
    };
    infra.status.history.few = vec![
        entry("HealthCheckFailed", "2026-01-01T09:30:00Z"),
        entry("BuildFailed", "2026-01-01T09:00:00Z"),
        entry("ReconciliationSucceeded", "2026-01-01T08:00:00Z"),
        entry("BuildFailed", "2026-01-01T07:00:00Z"),
    ];
    assert_eq!(world.attention()[0].since, Some(1_767_258_000));
}

#[test]
fn changes_come_from_statuses_where_no_event_tells_them() {
    let mut world = world();
    let told: Vec<(ChangeKind, String)> = world.changes().into_iter().map(|one| (one.kind, one.message)).collect();
    let applied = format!("revision main@sha1:{COMMIT} in 1.5s");
    assert_eq!(
        told,
        [
            (ChangeKind::Applied, applied.clone()),
            (ChangeKind::Applied, applied),
            (ChangeKind::Pushed, "pushed commit 'c0ffee0'".to_owned()),
        ]
    );
    let event = |object: &str, message: &str| {
        read::<EventFacts>(
            json!({"metadata": meta("fs/e"), "type": "Normal", "reason": "Succeeded", "message": message,
            "lastTimestamp": "2026-01-01T10:00:01Z",
            "involvedObject": {"kind": "ImageUpdateAutomation", "namespace": "fs", "name": object}}),
        )
    };
    let text = "pushed commit 'c0ffee0' to branch 'main'\nImages:\n- 1.1.0";
    // One about an object that is not there is left out.
    world.events = vec![event("auto", text), event("other", "anything")];
    let changes = world.changes();
    assert_eq!(changes.len(), 3);
    assert_eq!(
        (changes[2].kind, changes[2].message.as_str()),
        (ChangeKind::Pushed, text)
    );
    // The event has the short id: the status has the whole one.
    assert_eq!(changes[2].commit, COMMIT);
    assert!(changes[2].link.as_ref().is_some_and(|link| link.ends_with(COMMIT)));
    assert_eq!(world.runs(&name("fs/auto")).len(), 1);
    assert!(world.runs(&name("fs/other")).is_empty());
    for text in ["pushed commit 'abcdef0' to", "pushed commit '../x' to", "pushed commit"] {
        world.events = vec![event("auto", text)];
        let runs = world.runs(&name("fs/auto"));
        let told = runs.iter().find(|run| run.message == text).unwrap();
        assert_eq!(told.commit, if text.contains("abc") { "abcdef0" } else { "" });
    }
    world.now += 86_400;
    assert!(world.changes().is_empty());
    // The last commit is reported, however old.
    assert!(world.runs(&name("fs/auto")).iter().any(|run| run.commit == COMMIT));
}

#[test]
fn nothing_of_other_namespaces_is_told() {
    let mut world = world();
    let mut other = policy("9.9.9");
    other["metadata"] = meta("secret-team/web");
    other["spec"]["imageRepositoryRef"]["namespace"] = json!("fs");
    world.policies.insert(name("secret-team/web"), read(other));
    let seen = world.clone().only(|namespace| namespace == "fs");
    let text = serde_json::to_string(&seen.overview()).unwrap();
    assert!(!text.contains("secret-team") && !text.contains("9.9.9"), "{text}");
    let seen = world.only(|namespace| namespace == "secret-team");
    let text = serde_json::to_string(&seen.overview()).unwrap();
    assert!(!text.contains("1.1.0") && !text.contains(COMMIT), "{text}");
}

#[test]
fn dependencies_are_in_columns_also_in_a_cycle() {
    let mut world = world();
    let graph = world.graph(9);
    let columns = |graph: &Graph| -> Vec<(String, usize)> {
        let mut all: Vec<_> = graph
            .nodes
            .iter()
            .map(|node| (node.id.name.name.clone(), node.column))
            .collect();
        all.sort();
        all
    };
    assert_eq!(columns(&graph), [("apps".to_owned(), 1), ("infra".to_owned(), 0)]);
    assert_eq!((graph.columns, graph.rows, graph.edges.len()), (2, 1, 1));
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    infra.spec.depends_on = read(json!([{"name": "apps"}, {"name": "gone"}]));
    let graph = world.graph(9);
    assert_eq!((graph.nodes.len(), graph.edges.len()), (3, 3));
    assert!(graph.columns <= 3 && graph.nodes.iter().any(|node| !node.exists));
}

#[test]
fn a_tree_and_a_trace_of_an_applied_object() {
    let mut world = world();
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    let own = json!({"entries": [{"id": "fs_apps_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"},
        {"id": "fs_infra_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"}, {"id": "_a__b_rbac.authorization.k8s.io_ClusterRole", "v": "v1"}]});
    infra.status.inventory = read(own);
    let tree = world.tree(&Id::new("Kustomization", name("fs/infra"))).unwrap();
    let children: Vec<String> = tree.children.iter().map(|child| child.object.to_string()).collect();
    assert_eq!(
        children,
        ["Kustomization/fs/apps", "Kustomization/fs/infra", "ClusterRole/a:b"]
    );
    assert_eq!(tree.children[0].children[0].object.to_string(), "Deployment/web/apps");
    assert!(tree.children[1].children.is_empty(), "it applies itself");
    let object = Entry {
        kind: "Deployment".to_owned(),
        namespace: "web".to_owned(),
        name: "apps".to_owned(),
        ..Entry::default()
    };
    let trace = world
        .trace(&object, Some(&["ghcr.io/acme/web:1.1.0".to_owned()]))
        .remove(0);
    assert_eq!(trace.kustomization.id.to_string(), "Kustomization/fs/apps");
    assert_eq!(trace.source.unwrap().reference, "main");
    assert_eq!((trace.images.len(), trace.images[0].is_known), (1, true));
    let other = world
        .trace(&object, Some(&["ghcr.io/acme/other:1".to_owned()]))
        .remove(0);
    assert!(other.images.is_empty());
}

#[test]
fn the_last_differences_are_those_of_events_and_of_the_status() {
    let mut world = world();
    let event = |about: &str, at: &str, reason: &str, message: &str| {
        read::<EventFacts>(
            json!({"metadata": meta("fs/e"), "type": about, "reason": reason, "message": message, "lastTimestamp": at,
            "involvedObject": {"kind": "Kustomization", "namespace": "fs", "name": "apps"}}),
        )
    };
    let (infra, apps) = (name("fs/infra"), name("fs/apps"));
    world.events = vec![
        event(
            "Normal",
            "2026-01-01T10:00:00Z",
            "Progressing",
            "Deployment/web/apps created",
        ),
        event(
            "Normal",
            "2026-01-01T11:00:00Z",
            "Progressing",
            "Deployment/web/apps configured\nService/web/a created",
        ),
        event(
            "Normal",
            "2026-01-01T11:00:02Z",
            "Progressing",
            "ConfigMap/web/old deleted",
        ),
        event(
            "Normal",
            "2026-01-01T11:30:00Z",
            "Progressing",
            "Health check passed in 3s",
        ),
        event(
            "Warning",
            "2026-01-01T11:40:00Z",
            "DriftDetected",
            "1 object differs\n~ ConfigMap web/a",
        ),
        event(
            "Warning",
            "2026-01-01T11:50:00Z",
            "DriftDetected",
            "2 objects differ\n~ ConfigMap web/b",
        ),
    ];
    assert_eq!(world.differences(&infra), Differences::default());
    let last = world.differences(&apps);
    let (applied, drift) = (last.applied.unwrap(), last.drift.unwrap());
    assert_eq!(
        applied.message,
        "Deployment/web/apps configured\nService/web/a created\nConfigMap/web/old deleted"
    );
    assert_eq!((applied.at, drift.at), (1_767_265_202, 1_767_268_200));
    assert!(drift.message.starts_with("2 objects differ"), "{}", drift.message);
    // What is not corrected stays in the status when events are gone.
    world.events.clear();
    let facts = world.kustomizations.get_mut(&apps).unwrap();
    facts.status.conditions = read(ready("False", "DriftDetected", "3 objects differ\n~ ConfigMap web/c"));
    let last = world.differences(&apps);
    assert_eq!(
        (last.applied, last.drift.map(|drift| drift.at)),
        (None, Some(1_767_261_600))
    );
}

/// The other cluster has a Kustomization of the same name as one of this cluster.
fn apps_has_a_namesake(world: &mut World) {
    let apps = world.kustomizations.get_mut(&name("fs/apps")).unwrap();
    let own = json!({"entries": [{"id": "fs_infra_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"}]});
    apps.status.inventory = read(own);
}

#[test]
fn expressions_for_health_are_those_of_the_kustomization_that_applied() {
    let mut world = world();
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    infra.spec.health_check_exprs = read(json!([
        {"apiVersion": "acme.io/v1", "kind": "Widget", "current": "status.phase == 'Up'"},
        {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "current": "true"},
    ]));
    let own = json!({"entries": [{"id": "fs_apps_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"}, {"id": "fs_w_acme.io_Widget", "v": "v1"}]});
    infra.status.inventory = read(own);
    let tree = world.tree(&Id::new("Kustomization", name("fs/infra"))).unwrap();
    let has_check = |(entry, checks): &(Entry, std::sync::Arc<bumpwright_cel::HealthChecks>)| {
        let check = checks.find(&entry.api_version(), &entry.kind);
        (entry.to_string(), check.is_some())
    };
    let silent: Vec<(String, bool)> = world.silent(&tree).iter().map(has_check).collect();
    // What tells how it stands is looked at for the sake of the expression.
    let expected = [
        ("Kustomization/fs/apps", true),
        ("Widget/fs/w", true),
        ("Deployment/web/apps", false),
    ];
    assert_eq!(silent, expected.map(|(entry, has)| (entry.to_owned(), has)));
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    infra.spec.health_check_exprs.few[0].current = "(".to_owned();
    let checks = world.health_checks(&Id::new("Kustomization", name("fs/infra")));
    assert!(checks.find("acme.io/v1", "Widget").is_none(), "they are not valid");
}

#[test]
fn of_many_kustomizations_those_around_what_is_not_ready_are_drawn() {
    let mut world = world();
    let like = world.kustomizations[&name("fs/apps")].clone();
    for n in 0..40 {
        let mut one = like.clone();
        one.metadata.name = format!("n{n:02}");
        one.spec.depends_on = match n % 10 {
            0 => read(json!([])),
            _ => read(json!([{"name": format!("n{:02}", n - 1)}])),
        };
        world.kustomizations.insert(one.metadata.id(), one);
    }
    let drawn = |graph: &Graph| -> Vec<String> {
        let mut all: Vec<String> = graph.nodes.iter().map(|node| node.id.name.name.clone()).collect();
        all.sort();
        all
    };
    let left = |graph: &Graph| (graph.all, graph.left_out, graph.left_unready);
    assert_eq!(left(&world.graph(42)), (42, 0, 0));
    let none = world.graph(20);
    assert_eq!((left(&none), none.nodes.len()), ((42, 42, 0), 0), "all are ready");
    let break_it = |world: &mut World, one: &str, reason: &str| {
        let one = world.kustomizations.get_mut(&name(one)).unwrap();
        one.status.conditions = read(ready("False", reason, "why"));
    };
    break_it(&mut world, "fs/n25", "BuildFailed");
    break_it(&mut world, "fs/n26", "DependencyNotReady");
    let some = world.graph(20);
    assert_eq!(drawn(&some), ["fleet", "n24", "n25", "n26", "n27"]);
    assert_eq!((left(&some), some.edges.len()), ((42, 38, 0), 5));
    let column = |name: &str| some.nodes.iter().find(|node| node.id.name.name == name).unwrap().column;
    assert_eq!(
        [column("fleet"), column("n24"), column("n25"), column("n27")],
        [0, 0, 1, 3]
    );
    // The cause is drawn before what only waits for it.
    let few = world.graph(2);
    assert_eq!(
        (drawn(&few), left(&few)),
        (vec!["fleet".to_owned(), "n25".to_owned()], (42, 41, 1))
    );
}

#[test]
fn silent_objects_are_the_nearest_first_and_none_of_another_cluster() {
    let mut world = world();
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    let own = json!({"entries": [{"id": "fs_apps_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"},
        {"id": "fs_cm__ConfigMap", "v": "v1"}, {"id": "web_apps_apps_Deployment", "v": "v1"}]});
    infra.status.inventory = read(own);
    let silent = |world: &World| -> Vec<String> {
        let tree = world.tree(&Id::new("Kustomization", name("fs/infra"))).unwrap();
        world.silent(&tree).iter().map(|(entry, _)| entry.to_string()).collect()
    };
    assert_eq!(silent(&world), ["ConfigMap/fs/cm", "Deployment/web/apps"]);
    let infra = world.kustomizations.get_mut(&name("fs/infra")).unwrap();
    infra.status.inventory.entries.few.truncate(1);
    assert_eq!(silent(&world), ["Deployment/web/apps"]);
    let apps = world.kustomizations.get_mut(&name("fs/apps")).unwrap();
    apps.spec = read(json!({"kubeConfig": {"secretRef": {"name": "other"}}}));
    assert!(silent(&world).is_empty() && world.is_elsewhere(&Id::new("Kustomization", name("fs/apps"))));
    // Nor does a namesake here tell anything of it.
    apps_has_a_namesake(&mut world);
    let tree = world.tree(&Id::new("Kustomization", name("fs/infra"))).unwrap();
    let apps = &tree.children[0];
    assert!(apps.readiness.is_some() && !apps.elsewhere);
    let remote = &apps.children[0];
    assert!(remote.elsewhere && remote.readiness.is_none() && remote.children.is_empty());
    let (_, by) = world.applied(&remote.object).unwrap();
    assert_eq!(by, Id::new("Kustomization", name("fs/apps")));
    assert!(world.trace(&remote.object, None)[0].kustomization.elsewhere);
    let entry = Entry {
        kind: "Kustomization".to_owned(),
        ..Entry::default()
    };
    let mut tree = world.tree(&Id::new("Kustomization", name("fs/infra"))).unwrap();
    tree.note(&[(entry, Health::unread("why"))].into());
    assert!(tree.children[0].health.is_none());
}

/// A tenant may name the same dependency, or a hundred thousand others: no page shows them.
#[test]
fn of_many_dependencies_a_few_are_kept_and_the_rest_is_counted() {
    let mut world = world();
    let like = world.kustomizations[&name("fs/apps")].clone();
    for n in 0..30 {
        let mut one = like.clone();
        one.metadata.name = format!("n{n:02}");
        let many: Vec<Value> = (0..50_000)
            .map(|other| json!({"name": format!("n{:02}", other % 30)}))
            .collect();
        one.spec.depends_on = read(Value::Array(many));
        world.kustomizations.insert(one.metadata.id(), one);
    }
    let one = world.kustomization(&name("fs/n00"), &world.kustomizations[&name("fs/n00")]);
    assert_eq!((one.depends_on.len(), one.depends_on_left_out), (100, 49_900));
    assert_eq!(world.kustomizations[&name("fs/n00")].spec.depends_on.count(), 50_000);
    let graph = world.graph(40);
    assert_eq!((graph.edges.len(), graph.left_edges), (400, 30 * 30 + 1 - 400));
    let few = world.kustomization(&name("fs/apps"), &world.kustomizations[&name("fs/apps")]);
    assert_eq!(few.depends_on_left_out, 0);
    assert!(
        !serde_json::to_string(&few).unwrap().contains("LeftOut"),
        "told only where it is so"
    );
}
