//! A cluster with something of everything.

use bumpwright_api::ObjectName;
use bumpwright_overview::{FieldPlace, Id, World};
use serde_json::{Value, json};

/// 2026-11-26 12:00 UTC.
pub const NOW: i64 = 1_795_694_400;

/// Names that somebody may choose who wants to be more than text.
pub const HOSTILE: &str = "<img src=x onerror=alert(1)>\u{202e}\"'&{{ 1 }}";

pub fn at(seconds: i64) -> String {
    let time = bumpwright_gostd::Time::unix(NOW - seconds, 0);
    String::from_utf8(time.format(bumpwright_gostd::RFC_3339)).unwrap()
}

fn ready(status: &str, reason: &str, message: &str, ago: i64) -> Value {
    json!([{"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": 1,
        "lastTransitionTime": at(ago)}])
}

fn meta(namespace: &str, name: &str) -> Value {
    json!({"namespace": namespace, "name": name, "generation": 1})
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub fn commit(n: usize) -> String {
    format!("{:07x}{}", n * 7919 + 0x8c1e0f2, "a".repeat(33))
}

/// A world with so many objects of each kind, in the namespace `apps`; every tenth of them fails, and so on.
pub fn world(policies: usize, automations: usize, kustomizations: usize) -> World {
    let mut world = World {
        now: NOW,
        ..World::default()
    };
    let revision = |n: usize| format!("main@sha1:{}", commit(n));
    let source = json!({
        "metadata": meta("flux-system", "fleet"),
        "spec": {"url": "https://github.com/acme/fleet", "ref": {"branch": "main"}},
        "status": {"artifact": {"revision": revision(1), "lastUpdateTime": at(300), "size": 10}, "observedGeneration": 1,
            "conditions": ready("True", "Succeeded", "stored artifact for revision 'main@sha1:8c1e0f2'", 300)},
    });
    world.sources.insert(
        Id::new("GitRepository", ObjectName::new("flux-system", "fleet")),
        read(source),
    );
    let apps = json!({
        "metadata": meta("flux-system", "apps"),
        "spec": {"url": "ssh://git@gitlab.acme.io/acme/apps.git", "ref": {"branch": "main"}},
        "status": {"artifact": {"revision": revision(1), "lastUpdateTime": at(300), "size": 10}, "observedGeneration": 1,
            "conditions": ready("True", "Succeeded", "stored artifact for revision 'main@sha1:8c1e0f2'", 300)},
    });
    world.sources.insert(
        Id::new("GitRepository", ObjectName::new("flux-system", "apps")),
        read(apps),
    );
    let broken = json!({
        "metadata": meta("flux-system", "charts"),
        "spec": {"url": "oci://registry.acme.io/charts", "ref": {"tag": "latest"}},
        "status": {"observedGeneration": 1, "conditions": ready("False", "OCIArtifactPullFailed",
            "failed to determine artifact digest: GET https://registry.acme.io/v2/charts/manifests/latest: UNAUTHORIZED", 7200)},
    });
    world.sources.insert(
        Id::new("OCIRepository", ObjectName::new("flux-system", "charts")),
        read(broken),
    );
    for n in 0..automations {
        add_automation(&mut world, n, policies);
    }
    for n in 0..policies {
        add_policy(&mut world, n);
    }
    for n in 0..kustomizations {
        add_kustomization(&mut world, n, &revision);
    }
    add_release(&mut world);
    world
}

fn add_release(world: &mut World) {
    let history = |version: i64, status: &str| {
        json!({"name": "shop", "namespace": "apps", "version": version, "status": status, "chartName": "app",
            "chartVersion": format!("1.{version}.0"), "firstDeployed": at(90_000), "lastDeployed": at(8000)})
    };
    let release = json!({
        "metadata": {"namespace": "apps", "name": "shop", "generation": 1, "labels": {
            "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}},
        "spec": {"chart": {"spec": {"chart": "app", "version": "1.x", "sourceRef": {"kind": "HelmRepository", "name": "acme"}}},
            "dependsOn": [{"name": "db"}]},
        "status": {"helmChart": "apps/apps-shop", "history": [history(3, "failed"), history(2, "deployed"), history(1, "superseded")],
            "inventory": {"entries": [{"id": "apps_shop_apps_Deployment", "v": "v1"}]}, "lastAttemptedRevision": "1.3.0",
            "lastAttemptedReleaseAction": "upgrade", "failures": 2, "observedGeneration": 1,
            "conditions": ready("False", "UpgradeFailed", "Helm upgrade failed for release apps/shop with chart app@1.3.0", 8000)},
    });
    world.releases.insert(ObjectName::new("apps", "shop"), read(release));
}

fn add_automation(world: &mut World, n: usize, policies: usize) {
    let name = format!("images-{n}");
    let observed: serde_json::Map<String, Value> = (0..policies)
        .filter(|policy| policy % 20 == n % 20 && policy % 9 != 8)
        .map(|policy| {
            let tag = if policy % 5 == 0 { "1.0.0" } else { "1.1.0" };
            (
                format!("app-{policy}"),
                json!({"name": format!("ghcr.io/acme/app-{policy}"), "tag": tag}),
            )
        })
        .collect();
    let conditions = match n % 10 {
        3 => ready(
            "False",
            "GitOperationFailed",
            "failed to push to remote: authentication required: 403 for https://github.com/acme/fleet",
            4000,
        ),
        5 => ready(
            "True",
            "Succeeded",
            "repository up-to-date\napps/web.yaml:12: policy apps:nobody does not exist\napps/api.yaml:3: the value is no image",
            600,
        ),
        _ => ready("True", "Succeeded", "repository up-to-date", 600),
    };
    let automation = json!({
        "metadata": meta("apps", &name),
        "spec": {"sourceRef": {"kind": "GitRepository", "name": if n % 3 == 1 { "apps" } else { "fleet" }, "namespace": "flux-system"}, "suspend": n % 10 == 7,
            "git": {"push": {"branch": "main"}}, "update": {"path": "./apps"}},
        "status": {"lastAutomationRunTime": at(60), "lastPushCommit": commit(1), "lastPushTime": at(900), "observedGeneration": 1,
            "observedPolicies": observed, "conditions": conditions},
    });
    world
        .automations
        .insert(ObjectName::new("apps", &name), read(automation));
}

fn add_policy(world: &mut World, n: usize) {
    let name = format!("app-{n}");
    let image = format!("ghcr.io/acme/{name}");
    let mut metadata = meta("apps", &name);
    if n % 10 == 4 {
        metadata["annotations"] = json!({"bumpwright.dev/hold": "release freeze until Monday"});
    }
    let policy = json!({
        "metadata": metadata,
        "spec": {"imageRepositoryRef": {"name": name}, "policy": {"semver": {"range": ">=1.0.0 <2.0.0"}}},
        "status": {"latestRef": {"name": image, "tag": "1.1.0"}, "observedPreviousRef": {"name": image, "tag": "1.0.0"},
            "observedGeneration": 1, "conditions": ready("True", "Succeeded", "Latest image tag resolved to 1.1.0", 1800)},
    });
    world.policies.insert(ObjectName::new("apps", &name), read(policy));
    let repository = json!({
        "metadata": meta("apps", &name),
        "spec": {"image": image},
        "status": {"lastScanResult": {"tagCount": 12, "scanTime": at(120), "latestTags": ["1.1.0", "1.0.0"]},
            "observedGeneration": 1, "conditions": ready("True", "Succeeded", "successful scan: found 12 tags", 3600)},
    });
    world
        .repositories
        .insert(ObjectName::new("apps", &name), read(repository));
    let place = FieldPlace {
        repository: "flux-system/fleet".to_owned(),
        path: format!("apps/{name}/deployment.yaml"),
        line: 24,
        value: format!("{image}:1.0.0"),
        link: None,
    };
    world.fields.insert(ObjectName::new("apps", &name), vec![place]);
}

fn add_kustomization(world: &mut World, n: usize, revision: &dyn Fn(usize) -> String) {
    let names = ["infra", "ingress", "databases", "apps", "monitoring"];
    let name = match names.get(n) {
        Some(name) => (*name).to_owned(),
        None => format!("team-{n}"),
    };
    let depends_on: Vec<Value> = match n {
        0 => Vec::new(),
        1 | 2 | 4 => vec![json!({"name": "infra"})],
        3 => vec![json!({"name": "ingress"}), json!({"name": "databases"})],
        _ if n.is_multiple_of(3) => Vec::new(),
        _ => vec![json!({"name": "apps"})],
    };
    let conditions = match n % 10 {
        2 => ready(
            "False",
            "HealthCheckFailed",
            "health check failed after 30.1s: failed early due to stalled resources: [Deployment/apps/postgres status: 'Failed': Progress deadline exceeded]",
            5000,
        ),
        6 => ready(
            "False",
            "DependencyNotReady",
            "dependency 'flux-system/databases' is not ready",
            4900,
        ),
        8 => ready(
            "Unknown",
            "Progressing",
            "Building manifests for revision main@sha1:8c1e0f2 with a timeout of 9m30s",
            3000,
        ),
        _ => ready(
            "True",
            "ReconciliationSucceeded",
            "Applied revision: main@sha1:8c1e0f2",
            280,
        ),
    };
    let entries: Vec<Value> = (0..4)
        .flat_map(|k| {
            [
                json!({"id": format!("apps_{name}-{k}_apps_Deployment"), "v": "v1"}),
                json!({"id": format!("apps_{name}-{k}__Service"), "v": "v1"}),
                json!({"id": format!("_{name}__view-{k}_rbac.authorization.k8s.io_ClusterRole"), "v": "v1"}),
            ]
        })
        .chain(
            (n == 0).then(|| json!({"id": "flux-system_ingress_kustomize.toolkit.fluxcd.io_Kustomization", "v": "v1"})),
        )
        .collect();
    let applied = if n % 10 == 2 { revision(2) } else { revision(1) };
    let kustomization = json!({
        "metadata": meta("flux-system", &name),
        "spec": {"sourceRef": {"kind": "GitRepository", "name": "fleet"}, "path": format!("./{name}"), "dependsOn": depends_on,
            "suspend": n % 10 == 9},
        "status": {"lastAppliedRevision": applied, "lastAttemptedRevision": revision(1), "observedGeneration": 1,
            "inventory": {"entries": entries}, "conditions": conditions,
            "history": [
                {"firstReconciled": at(280), "lastReconciled": at(100), "lastReconciledDuration": "1.2s",
                 "lastReconciledStatus": if n % 10 == 2 { "HealthCheckFailed" } else { "ReconciliationSucceeded" },
                 "totalReconciliations": 3, "metadata": {"revision": revision(1)}},
                {"firstReconciled": at(80_000), "lastReconciled": at(300), "lastReconciledDuration": "900ms",
                 "lastReconciledStatus": "ReconciliationSucceeded", "totalReconciliations": 140, "metadata": {"revision": revision(2)}},
            ]},
    });
    world
        .kustomizations
        .insert(ObjectName::new("flux-system", &name), read(kustomization));
}

/// A world where every text is [`HOSTILE`], or 253 characters long.
pub fn hostile() -> World {
    let mut world = World {
        now: NOW,
        ..World::default()
    };
    let long = "n".repeat(253);
    let texts = |name: &str| {
        json!({
            "metadata": {"namespace": HOSTILE, "name": name, "generation": 1,
                "annotations": {"bumpwright.dev/hold": HOSTILE}},
            "spec": {"url": "https://github.com/acme/fleet", "ref": {"branch": HOSTILE}, "path": HOSTILE, "image": HOSTILE,
                "sourceRef": {"kind": "GitRepository", "name": HOSTILE}, "chart": HOSTILE, "version": HOSTILE, "imageRepositoryRef": {"name": name},
                "dependsOn": [{"name": HOSTILE}, {"name": long}], "git": {"push": {"branch": HOSTILE}}, "update": {"path": HOSTILE}},
            "status": {
                "latestRef": {"name": HOSTILE, "tag": HOSTILE}, "observedPreviousRef": {"name": HOSTILE, "tag": HOSTILE},
                "lastScanResult": {"tagCount": 10_000, "scanTime": at(9), "latestTags": [HOSTILE]},
                "lastPushCommit": HOSTILE, "lastPushTime": at(5), "lastAutomationRunTime": HOSTILE,
                "observedPolicies": {name: {"name": HOSTILE, "tag": "x"}},
                "lastAppliedRevision": HOSTILE, "lastAttemptedRevision": "other",
                "artifact": {"revision": HOSTILE, "lastUpdateTime": at(7)},
                "inventory": {"entries": [{"id": format!("a_{HOSTILE}_<b>_{HOSTILE}"), "v": HOSTILE}, {"id": format!("a_{long}__ConfigMap"), "v": "v1"}]},
                "history": [{"firstReconciled": at(80), "lastReconciledDuration": HOSTILE, "lastReconciledStatus": HOSTILE,
                    "metadata": {"revision": HOSTILE}}],
                "conditions": [{"type": "Ready", "status": "False", "reason": HOSTILE, "message": format!("{HOSTILE}\n{long}"),
                    "observedGeneration": 1, "lastTransitionTime": at(4000)}]},
        })
    };
    for name in [HOSTILE, long.as_str()] {
        let key = ObjectName::new(HOSTILE, name);
        world.policies.insert(key.clone(), read(texts(name)));
        world.repositories.insert(key.clone(), read(texts(name)));
        world.automations.insert(key.clone(), read(texts(name)));
        world.kustomizations.insert(key.clone(), read(texts(name)));
        let mut release = texts(name);
        release["spec"]["chart"] =
            json!({"spec": {"chart": HOSTILE, "version": HOSTILE, "sourceRef": {"kind": HOSTILE, "name": HOSTILE}}});
        release["status"]["history"] = json!([{"name": HOSTILE, "namespace": HOSTILE, "version": 1, "status": HOSTILE, "chartName": HOSTILE,
            "chartVersion": HOSTILE, "appVersion": HOSTILE, "lastDeployed": at(9)}]);
        world.releases.insert(key.clone(), read(release));
        world
            .sources
            .insert(Id::new("GitRepository", key.clone()), read(texts(name)));
        let place = FieldPlace {
            repository: format!("{HOSTILE}/{HOSTILE}"),
            path: HOSTILE.to_owned(),
            line: 1,
            value: HOSTILE.to_owned(),
            link: Some("javascript:alert(1)".to_owned()),
        };
        world.fields.insert(key, vec![place]);
    }
    world
}
