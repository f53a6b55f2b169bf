//! Previews of a Kustomization's changes: `diff -k`, `bumpwright.dev/reconcile: report`,
//! `bumpwright.dev/max-prune`; against a real API server.
//!
//! Takes about ten seconds.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::{Bench, Ran};
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{EVENT, GIT_REPOSITORY, KUSTOMIZATION, World, git_repository};
use serde_json::{Value as Json, json};

fn map(name: &str, value: &str) -> String {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}});
    format!("---\n{map}\n")
}

fn secret(value: &str) -> String {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": value}});
    format!("---\n{secret}\n")
}

/// A source, a Kustomization for it, and our controllers.
struct Applied<'a> {
    // Before the folder that has their log and storage goes.
    _ours: Controller,
    world: World<'a>,
    repo: Repo,
    name: &'static str,
}

impl<'a> Applied<'a> {
    fn start(cluster: &'a Cluster, namespace: &str, name: &'static str, files: &str) -> Self {
        cluster.define();
        let world = World::new(cluster, namespace);
        let address = format!("127.0.0.1:{}", free_port());
        let flags = [
            "--controllers=source,kustomize".to_owned(),
            format!("--storage-addr={address}"),
            format!("--storage-adv-addr={address}"),
        ];
        let applied = Self {
            _ours: world.starter("ours").flags(&flags).start(),
            repo: world.repository("app.git"),
            world,
            name,
        };
        applied.publish(files);
        let url = applied.world.git.url("app.git");
        applied.world.add(GIT_REPOSITORY, "git", git_repository(&url));
        applied
    }

    /// Publishes files; returns the revision.
    fn publish(&self, files: &str) -> String {
        let commit = self
            .repo
            .commit("main", "change", &[Change::File("deploy/all.yaml", files.as_bytes())]);
        format!("main@sha1:{commit}")
    }

    /// Requests reconciliations of the source until it has this revision.
    fn fetched(&self, revision: &str) {
        self.world.request(GIT_REPOSITORY, "git", revision);
        let made = || self.world.get(GIT_REPOSITORY, "git")["status"]["artifact"]["revision"] == revision;
        wait_for(made, || {
            format!("{:#}", self.world.get(GIT_REPOSITORY, "git")["status"])
        });
    }

    fn put(&self, annotations: &Json) {
        let spec = json!({
            "interval": "1h", "retryInterval": "1h", "path": "./deploy", "prune": true,
            "targetNamespace": self.world.namespace, "sourceRef": {"kind": "GitRepository", "name": "git"},
        });
        let metadata = json!({ "annotations": annotations });
        self.world
            .put(KUSTOMIZATION, self.name, json!({ "metadata": metadata, "spec": spec }));
    }

    fn ready(&self, status: &str, reason: &str, words: &str) -> String {
        self.world.ready(KUSTOMIZATION, self.name, status, |is, message| {
            is == reason && message.contains(words)
        })
    }

    fn config_map(&self, name: &str) -> bumpwright_testkit::apiserver::Answer {
        let path = format!("/api/v1/namespaces/{}/configmaps/{name}", self.world.namespace);
        self.world.cluster.request("GET", &path, "", "")
    }

    fn inventory(&self) -> usize {
        let object = self.world.get(KUSTOMIZATION, self.name);
        object["status"]["inventory"]["entries"].as_array().map_or(0, Vec::len)
    }
}

#[test]
fn a_large_prune_waits_for_an_approval() {
    let Some(cluster) = Cluster::shared() else { return };
    let all = [map("a", "1"), map("b", "1"), map("c", "1"), map("d", "1")].concat();
    let applied = Applied::start(cluster, "max-prune", "apps", &all);
    applied.put(&json!({"bumpwright.dev/max-prune": "25%"}));
    applied.ready("True", "ReconciliationSucceeded", "Applied revision");
    // One of four may go.
    let revision = applied.publish(&[map("a", "1"), map("b", "1"), map("c", "1")].concat());
    applied.fetched(&revision);
    applied.ready("True", "ReconciliationSucceeded", &revision);
    assert_eq!((applied.config_map("d").status, applied.inventory()), (404, 3));
    // Two of three may not; what is new is applied all the same.
    let revision = applied.publish(&[map("a", "2")].concat());
    applied.fetched(&revision);
    let message = applied.ready("False", "PruneRefused", "");
    let expected = format!(
        "refused to prune 2 of 3 objects: bumpwright.dev/max-prune: 25% allows 0; to have them deleted, annotate the \
         Kustomization with bumpwright.dev/approve-prune: {revision}"
    );
    assert_eq!(message, expected);
    assert_eq!(applied.config_map("a").body["data"]["key"], "2");
    assert_eq!(
        (applied.config_map("b").status, applied.config_map("c").status),
        (200, 200)
    );
    assert_eq!(applied.inventory(), 3);
    // An approval of another revision does not count.
    applied.put(&json!({"bumpwright.dev/max-prune": "2 %"}));
    applied.ready(
        "False",
        "InvalidAnnotation",
        "annotation bumpwright.dev/max-prune: \"2 %\" is not",
    );
    let annotations =
        |revision: &str| json!({"bumpwright.dev/max-prune": "25%", "bumpwright.dev/approve-prune": revision});
    applied.put(&annotations("main@sha1:0"));
    applied.ready("False", "PruneRefused", "");
    assert_eq!(applied.config_map("b").status, 200);
    applied.put(&annotations(&revision));
    applied.ready("True", "ReconciliationSucceeded", &revision);
    assert_eq!(
        (applied.config_map("b").status, applied.config_map("c").status),
        (404, 404)
    );
    assert_eq!(applied.inventory(), 1);
}

#[test]
fn a_report_changes_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let applied = Applied::start(
        cluster,
        "report",
        "apps",
        &[map("a", "1"), map("b", "1"), secret("hush-1")].concat(),
    );
    applied.put(&json!({}));
    applied.ready("True", "ReconciliationSucceeded", "Applied revision");
    applied.put(&json!({"bumpwright.dev/reconcile": "report"}));
    applied.ready(
        "True",
        "ReconciliationSucceeded",
        "No object differs from revision main@sha1:",
    );
    let revision = applied.publish(&[map("a", "2"), map("c", "1"), secret("hush-2")].concat());
    applied.fetched(&revision);
    let message = applied.ready("False", "DriftDetected", &revision);
    let expected = format!(
        "4 objects differ from revision {revision}, nothing was changed (bumpwright.dev/reconcile: report)\n\
         ~ ConfigMap report/a\n    data.key: \"1\" → \"2\"\n+ ConfigMap report/c\n~ Secret report/s\n    \
         data.key: ** (changed)\n- ConfigMap report/b"
    );
    assert_eq!(message, expected);
    assert_eq!(applied.config_map("a").body["data"]["key"], "1");
    assert_eq!(
        (applied.config_map("b").status, applied.config_map("c").status),
        (200, 404)
    );
    assert_eq!(applied.inventory(), 3);
    let told = || {
        let events = applied.world.list(EVENT);
        events.into_iter().any(|event| {
            event["reason"] == "DriftDetected" && event["message"].as_str().is_some_and(|m| m.contains("data.key"))
        })
    };
    wait_for(told, || format!("{:#?}", applied.world.list(EVENT)));
    applied.put(&json!({"bumpwright.dev/reconcile": "off"}));
    applied.ready("False", "InvalidAnnotation", "\"off\" is not \"report\"");
    applied.put(&json!({}));
    applied.ready("True", "ReconciliationSucceeded", &revision);
    assert_eq!(applied.config_map("c").status, 200);
}

/// `diff -k` with more arguments, of a Kustomization `apps` of this namespace.
pub(crate) fn diff(bench: &Bench, cluster: &Cluster, more: &[&str]) -> Ran {
    let kubeconfig = cluster.kubeconfig();
    let mut arguments = vec!["diff", "-k", "ks.yaml", "--path", "fleet"];
    arguments.extend(["--kubeconfig", kubeconfig.to_str().unwrap()]);
    bench.run(&[&arguments[..], more].concat())
}

#[test]
fn a_diff_with_a_cluster_writes_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "diffed");
    let bench = Bench::new();
    let kustomization = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "apps", "namespace": "diffed"},
        "spec": {"interval": "1h", "prune": true, "path": "./", "targetNamespace": "diffed",
                 "sourceRef": {"kind": "GitRepository", "name": "git"}},
    });
    bench.write("ks.yaml", kustomization.to_string());
    bench.write(
        "fleet/all.yaml",
        [map("a", "1"), map("b", "1"), secret("hush")].concat(),
    );
    let ran = diff(&bench, cluster, &[]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{}", ran.out);
    assert_eq!(
        ran.out,
        "+ ConfigMap diffed/a\n+ ConfigMap diffed/b\n+ Secret diffed/s\n"
    );
    let maps = cluster.get("/api/v1/namespaces/diffed/configmaps");
    let is_ours = |one: &&Json| matches!(one["metadata"]["name"].as_str(), Some("a" | "b"));
    assert_eq!(maps["items"].as_array().unwrap().iter().filter(is_ours).count(), 0);

    // What the controller would have made of it.
    let built = bench.ok(&["build", "-k", "ks.yaml", "--path", "fleet"]).out;
    for object in built.split("---\n") {
        let object: Json = serde_saphyr::from_str(object).unwrap();
        let path = format!(
            "{}?fieldManager=kustomize-controller&force=true",
            cluster.path_of(&object)
        );
        let answer = cluster.request("PATCH", &path, "application/apply-patch+yaml", &object.to_string());
        assert!(matches!(answer.status, 200 | 201), "{}", answer.body);
    }
    let ran = diff(&bench, cluster, &[]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));

    // One goes, one changes, one comes with its namespace and one with its kind; the inventory says what may go.
    world.put(KUSTOMIZATION, "apps", json!({"spec": kustomization["spec"]}));
    let entries = json!([{"id": "diffed_a__ConfigMap", "v": "v1"}, {"id": "diffed_b__ConfigMap", "v": "v1"},
                         {"id": "diffed_long-gone__ConfigMap", "v": "v1"}]);
    world.patch_status(KUSTOMIZATION, "apps", &json!({"inventory": {"entries": entries}}));
    bench.write("fleet/all.yaml", [map("a", "2"), secret("hush-hush")].concat());
    let ran = diff(&bench, cluster, &[]);
    let expected = "~ ConfigMap diffed/a\n    data.key: \"1\" → \"2\"\n~ Secret diffed/s\n    data.key: ** (changed)\n\
                    - ConfigMap diffed/b\n";
    assert_eq!((ran.code, ran.out.as_str()), (1, expected), "{}", ran.err);
    let ran = diff(&bench, cluster, &["--output", "json"]);
    let document: Json = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (ran.code, document["objects"].as_array().unwrap().len()),
        (1, 3),
        "{document}"
    );
    assert_eq!(
        document["objects"][0]["fields"][0],
        json!({"path": "data.key", "old": "1", "new": "2"})
    );
    assert!(!ran.out.contains("aHVzaC"), "{}", ran.out);
}

#[test]
fn a_diff_knows_what_comes_first_and_says_what_is_refused() {
    let Some(cluster) = Cluster::shared() else { return };
    let bench = Bench::new();
    let kustomization = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "new", "namespace": "default"},
        "spec": {"interval": "1h", "prune": true, "path": "./", "sourceRef": {"kind": "GitRepository", "name": "git"}},
    });
    bench.write("ks.yaml", kustomization.to_string());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "to-come"}});
    let inside = map("inside", "1").replace("\"name\":\"inside\"", "\"name\":\"inside\",\"namespace\":\"to-come\"");
    bench.write("fleet/new.yaml", format!("{namespace}\n{inside}"));
    let ran = diff(&bench, cluster, &[]);
    assert_eq!(
        ran.out, "+ Namespace to-come\n+ ConfigMap to-come/inside\n",
        "{}",
        ran.err
    );
    assert_eq!(ran.code, 1);

    let nobody =
        json!({"apiVersion": "no.example/v1", "kind": "Nobody", "metadata": {"name": "n", "namespace": "default"}});
    let broken = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"},
                        "spec": {"ports": [{"port": 70000}]}});
    bench.write("fleet/bad.yaml", format!("{nobody}\n---\n{broken}\n"));
    let ran = diff(&bench, cluster, &[]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.out.contains("+ Namespace to-come"), "{}", ran.out);
    for words in [
        "bad.yaml:1:1: Nobody/default/n",
        "no matches for kind",
        "bad.yaml:3:1: Service/default/s",
        "70000",
    ] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    let ran = bench.run(&["diff", "-k", "ks.yaml", "--path", "fleet", "--kubeconfig", "nowhere"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
}
