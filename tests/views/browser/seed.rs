//! Objects with statuses as controllers write them: no controller is there that would.

use std::time::{SystemTime, UNIX_EPOCH};

use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::world::{
    AUTOMATION, EVENT, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, ObjectKind,
};
use serde_json::{Value as Json, json};

/// What nobody of another namespace may see.
pub const SECRET: &str = "freeze until the audit is done";

/// An element, unless it is shown as text.
pub const MARKUP: &str = r#"<img src=x onerror="hit=1">"#;

/// Turns what follows it.
pub const TURNING: &str = "safe\u{202e}gpj.exe";

const COMMIT: &str = "47c1513d076ff31ddc1f414677bb7c287c718b71";
const OLDER: &str = "9f2c1e07b5a64d3388ce1f0a7d6b5c4e3f2a1b0c";

/// A namespace that is filled.
#[derive(Clone, Copy)]
pub struct Seed<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
    now: i64,
    label: Option<(&'a str, &'a str)>,
}

/// How long ago, in minutes.
type Ago = i64;

impl<'a> Seed<'a> {
    pub fn new(cluster: &'a Cluster, namespace: &'a str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        Self {
            cluster,
            namespace,
            now: i64::try_from(now).unwrap(),
            label: None,
        }
    }

    /// The same, with a label for its objects.
    pub fn labelled(self, name: &'a str, value: &'a str) -> Self {
        Self {
            label: Some((name, value)),
            ..self
        }
    }

    fn time(&self, ago: Ago) -> String {
        String::from_utf8(Time::unix(self.now - ago * 60, 0).format(RFC_3339)).unwrap()
    }

    fn conditions(&self, status: &str, reason: &str, message: &str, ago: Ago) -> Json {
        json!([{"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": 1,
            "lastTransitionTime": self.time(ago)}])
    }

    /// Creates an object and sets its status.
    fn put(&self, kind: ObjectKind, name: &str, annotations: &Json, spec: &Json, mut status: Json) {
        let list = format!(
            "/apis/{}/namespaces/{}/{}",
            kind.api_version, self.namespace, kind.plural
        );
        let mut object = json!({"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec,
            "metadata": {"name": name, "namespace": self.namespace, "annotations": annotations}});
        if let Some((label, value)) = self.label {
            object["metadata"]["labels"] = json!({ label: value });
        }
        let answer = self.cluster.request("POST", &list, "", &object.to_string());
        assert_eq!(answer.status, 201, "{name}: {}", answer.body);
        status["observedGeneration"] = json!(1);
        let answer = self
            .cluster
            .merge_patch(&format!("{list}/{name}/status"), &json!({ "status": status }));
        assert_eq!(answer.status, 200, "{name}: {}", answer.body);
    }

    fn source(&self, name: &str, url: &str, conditions: Json) {
        let spec = json!({"interval": "1m", "url": url, "ref": {"branch": "main"}});
        let artifact = json!({"revision": revision(COMMIT), "digest": format!("sha256:{:064}", 1), "path": "p",
            "url": "http://sources.invalid/p", "lastUpdateTime": self.time(12), "size": 5120});
        self.put(
            GIT_REPOSITORY,
            name,
            &json!({}),
            &spec,
            json!({"conditions": conditions, "artifact": artifact}),
        );
    }

    fn kustomization(&self, name: &str, more: &Json, conditions: Json, commit: &str, objects: &[&str]) {
        let mut spec = json!({"interval": "10m", "prune": true, "path": format!("./{name}"),
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let entries: Vec<Json> = objects.iter().map(|id| json!({"id": id, "v": "v1"})).collect();
        let outcome = conditions[0]["reason"].clone();
        let history = json!([{"digest": format!("sha256:{:064}", 2), "firstReconciled": self.time(11), "lastReconciled": self.time(2),
            "lastReconciledDuration": "1.4s", "lastReconciledStatus": outcome, "totalReconciliations": 2,
            "metadata": {"revision": revision(COMMIT)}}]);
        let status = json!({"conditions": conditions, "lastAppliedRevision": revision(commit), "lastAttemptedRevision": revision(COMMIT),
            "inventory": {"entries": entries}, "history": history});
        self.put(KUSTOMIZATION, name, &json!({}), &spec, status);
    }

    /// An image of `ghcr.io/acme` with its repository.
    fn image(&self, name: &str, tag: &str, tags: &[&str], annotations: &Json) {
        let image = format!("ghcr.io/acme/{name}");
        let scan = json!({"tagCount": tags.len(), "scanTime": self.time(1), "latestTags": tags, "revision": "x"});
        let ready = self.conditions("True", "Succeeded", "successful scan", 600);
        let status = json!({"conditions": ready, "lastScanResult": scan, "canonicalImageName": image});
        self.put(
            IMAGE_REPOSITORY,
            name,
            &json!({}),
            &json!({"image": image, "interval": "5m"}),
            status,
        );
        let spec = json!({"imageRepositoryRef": {"name": name}, "policy": {"semver": {"range": ">=1.0.0"}}});
        let message = format!("Latest image tag for {image} resolved to {tag}");
        let status = json!({"conditions": self.conditions("True", "Succeeded", &message, 35),
            "latestRef": {"name": image, "tag": tag}, "observedPreviousRef": {"name": image, "tag": tags.last()}});
        self.put(IMAGE_POLICY, name, annotations, &spec, status);
    }

    fn automation(&self, name: &str, source: &str, policies: &Json, conditions: Json) {
        let spec = json!({"interval": "5m", "sourceRef": {"kind": "GitRepository", "name": source}, "update": {"path": "./"},
            "git": {"commit": {"author": {"name": "bot", "email": "bot@example.com"}}}});
        let status = json!({"conditions": conditions, "lastAutomationRunTime": self.time(2), "lastPushCommit": COMMIT,
            "lastPushTime": self.time(13), "observedPolicies": policies, "observedSourceRevision": revision(COMMIT)});
        self.put(AUTOMATION, name, &json!({}), &spec, status);
    }

    fn event(&self, of: ObjectKind, name: &str, reason: &str, message: &str, ago: Ago) {
        let time = self.time(ago);
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": reason, "message": message,
            "metadata": {"name": format!("{name}.{ago}"), "namespace": self.namespace}, "firstTimestamp": time, "lastTimestamp": time,
            "involvedObject": {"apiVersion": of.api_version, "kind": of.kind, "name": name, "namespace": self.namespace},
        });
        self.cluster
            .create(&event, "")
            .unwrap_or_else(|error| panic!("{}: {error}", EVENT.kind));
    }

    /// A shop: an image of each stage, Kustomizations that depend on each other, and one that is broken.
    pub fn fleet(&self) {
        for name in ["fleet", "platform"] {
            let url = format!("https://github.com/acme/{name}");
            self.source(
                name,
                &url,
                self.conditions("True", "Succeeded", "stored artifact", 4000),
            );
        }
        self.images_of_the_fleet();
        let applied = || {
            self.conditions(
                "True",
                "ReconciliationSucceeded",
                "Applied revision: main@sha1:47c1513d",
                11,
            )
        };
        let message = "health check failed after 5m0s: Deployment/shop/checkout: 0 of 3 replicas are ready";
        let broken = self.conditions("False", "HealthCheckFailed", message, 38);
        let waits = self.conditions("False", "DependencyNotReady", "dependency 'shop/apps' is not ready", 37);
        let add = |name: &str, source: &str, after: &[&str], conditions: Json, commit: &str, objects: &[&str]| {
            let after: Vec<Json> = after.iter().map(|name| json!({ "name": name })).collect();
            let more = json!({"dependsOn": after, "suspend": name == "previews",
                "sourceRef": {"kind": "GitRepository", "name": source}});
            self.kustomization(name, &more, conditions, commit, objects);
        };
        add(
            "infra",
            "platform",
            &[],
            applied(),
            COMMIT,
            &["_shop__Namespace", "shop_web_apps_Deployment"],
        );
        add(
            "crds",
            "platform",
            &["infra"],
            applied(),
            COMMIT,
            &["_a__CustomResourceDefinition"],
        );
        add(
            "shop",
            "platform",
            &["infra"],
            applied(),
            COMMIT,
            &["shop_settings__ConfigMap"],
        );
        add(
            "monitoring",
            "platform",
            &["crds"],
            applied(),
            COMMIT,
            &["monitoring_agent_apps_DaemonSet"],
        );
        let orders = ["shop_orders_apps_StatefulSet", "shop_orders__Service"];
        add("databases", "fleet", &["crds"], applied(), COMMIT, &orders);
        let apps = ["shop_api_apps_Deployment", "shop_checkout_apps_Deployment"];
        add("apps", "fleet", &["databases"], broken, OLDER, &apps);
        add(
            "storefront",
            "fleet",
            &["apps", "monitoring"],
            waits,
            OLDER,
            &["shop_front_apps_Deployment"],
        );
        add(
            "previews",
            "fleet",
            &["databases"],
            applied(),
            OLDER,
            &["shop_preview_apps_Deployment"],
        );
        self.event(KUSTOMIZATION, "apps", "HealthCheckFailed", message, 38);
    }

    fn images_of_the_fleet(&self) {
        let failed = json!({"2.8.0": {"image": "ghcr.io/acme/checkout", "kustomization": format!("{}/apps", self.namespace),
            "message": "Deployment/shop/checkout: 0 of 3 replicas are ready: CrashLoopBackOff", "commit": OLDER, "at": self.now - 7200}});
        let failed = json!({"state.bumpwright.dev/failed-versions": failed.to_string()});
        let held = json!({ "bumpwright.dev/hold": SECRET });
        let none = json!({});
        // The automation, the image, its tags, and the one that is written.
        let images: [(&str, &str, &[&str], &str, &Json); 9] = [
            ("shop", "web", &["1.24.0", "1.23.1"], "1.24.0", &none),
            ("shop", "api", &["3.2.1", "3.2.0", "3.1.4"], "3.2.1", &none),
            ("shop", "worker", &["4.1.0", "4.0.3"], "4.0.3", &none),
            ("shop", "checkout", &["2.8.0", "2.7.5"], "2.7.5", &failed),
            ("shop", "payments", &["5.0.0", "4.9.9"], "4.9.9", &held),
            ("shop", "mailer", &["1.0.1", "1.0.0"], "1.0.0", &none),
            ("platform", "search", &["1.9.2", "1.9.1"], "1.9.2", &none),
            ("platform", "gateway", &["2.2.0", "2.1.7"], "2.2.0", &none),
            ("platform", "agent", &["7.4.1", "7.4.0"], "7.4.1", &none),
        ];
        for (automation, source) in [("shop", "fleet"), ("platform", "platform")] {
            let mut observed = serde_json::Map::new();
            for (_, name, tags, written, annotations) in images.iter().filter(|one| one.0 == automation) {
                self.image(name, tags[0], tags, annotations);
                observed.insert(
                    (*name).to_owned(),
                    json!({"name": format!("ghcr.io/acme/{name}"), "tag": written}),
                );
            }
            let conditions = self.conditions("True", "Succeeded", "repository up-to-date", 13);
            self.automation(automation, source, &observed.into(), conditions);
        }
    }

    /// What somebody might write who wants to reach the readers of pages. Returns a name of 253 characters.
    pub fn hostile(&self) -> String {
        let text = format!(
            "{MARKUP} {TURNING} </script><script>hit=1</script> javascript:hit=1\n{}",
            "w".repeat(3000)
        );
        let long = format!("{}x", "a1-".repeat(84));
        let fails = || self.conditions("False", "BuildFailed", &text, 5);
        self.source("markup", "https://github.com/acme/fleet", fails());
        let entries = [
            format!("ns_{MARKUP}_apps_Deployment"),
            format!("{MARKUP}_name__ConfigMap"),
            format!("ns_name_{MARKUP}_Kind"),
            format!("ns_{TURNING}__{MARKUP}"),
            format!("ns_{}__Service", "n".repeat(253)),
        ];
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        for name in ["markup", &long] {
            let more = json!({"path": format!("./{MARKUP}/{TURNING}"), "dependsOn": [{"name": "gone"}]});
            self.kustomization(name, &more, fails(), COMMIT, &entries);
        }
        self.event(KUSTOMIZATION, "markup", "BuildFailed", &text, 3);
        let hold = json!({"bumpwright.dev/hold": text});
        self.image("markup", TURNING, &[MARKUP, TURNING], &hold);
        let observed =
            json!({"markup": {"name": MARKUP, "tag": TURNING}, "other/markup": {"name": "a", "tag": MARKUP}});
        self.automation("markup", "fleet", &observed, fails());
        long
    }

    /// So many Kustomizations, policies and automations, of which each tenth is broken.
    pub fn many(&self, count: usize) {
        self.source(
            "fleet",
            "https://github.com/acme/fleet",
            self.conditions("True", "Succeeded", "stored", 4000),
        );
        let lanes = 4;
        std::thread::scope(|scope| {
            for lane in 0..lanes {
                scope.spawn(move || (lane..count).step_by(lanes).for_each(|number| self.one_of_many(number)));
            }
        });
    }

    fn one_of_many(&self, number: usize) {
        let name = format!("team-{number:03}-storefront");
        let message =
            "Deployment/shop/web: 0 of 3 replicas are ready: the container crashes again and again, see its log";
        let ready = match number % 10 {
            0 => self.conditions("False", "HealthCheckFailed", message, 60),
            _ => self.conditions(
                "True",
                "ReconciliationSucceeded",
                "Applied revision: main@sha1:47c1513d",
                11,
            ),
        };
        let before = match number % 25 {
            0 => json!({}),
            _ => json!({"dependsOn": [{"name": format!("team-{:03}-storefront", number - 1)}]}),
        };
        self.kustomization(
            &name,
            &before,
            ready.clone(),
            COMMIT,
            &["shop_web_apps_Deployment", "shop_web__Service"],
        );
        let tag = "1.24.0";
        self.image(&name, tag, &[tag, "1.23.1"], &json!({}));
        let observed = json!({&name: {"name": format!("ghcr.io/acme/{name}"), "tag": if number.is_multiple_of(3) { "1.23.1" } else { tag }}});
        self.automation(&name, "fleet", &observed, ready);
    }
}

fn revision(commit: &str) -> String {
    format!("main@sha1:{commit}")
}
