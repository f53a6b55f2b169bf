//! A world with sources of the test: their archives are served from memory, so a controller fetches exactly the test's
//! files, including links, and no other process writes to the source.
//!
//! ```ignore
//! let world = KustomizeWorld::new(cluster, "apps");
//! let controller = world.controller(&[]);
//! world.publish("app", "1", &[("map.yaml", &map("one", "1"))]);
//! world.kustomize("app", json!({}));
//! world.applied("app", "1");
//! ```

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use bumpwright_artifact::Algorithm;
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

use crate::apiserver::Cluster;
use crate::controller::Controller;
use crate::http_server::HttpServer;
use crate::reply::Reply;
use crate::tarball::archive;
use crate::waiting::wait_for;
use crate::world::{CONFIG_MAP, GIT_REPOSITORY, KUSTOMIZATION, World};

/// A controller of Kustomizations alone, with short retries of dependencies.
const FLAGS: [&str; 2] = ["--controllers=kustomize", "--requeue-dependency=1s"];

type Archives = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A namespace with sources from memory, and Kustomizations of them.
pub struct KustomizeWorld<'a> {
    world: World<'a>,
    archives: Archives,
    server: HttpServer,
    /// The labels of sources.
    labels: Json,
}

impl<'a> Deref for KustomizeWorld<'a> {
    type Target = World<'a>;

    fn deref(&self) -> &World<'a> {
        &self.world
    }
}

impl<'a> KustomizeWorld<'a> {
    pub fn new(cluster: &'a Cluster, namespace: &str) -> Self {
        Self::of(World::new(cluster, namespace))
    }

    /// In an existing namespace.
    pub fn of(world: World<'a>) -> Self {
        world.cluster.define();
        let archives = Archives::default();
        let served = Arc::clone(&archives);
        let server = HttpServer::start(None, move |request, out| {
            let found = served.lock().get(request.path.trim_start_matches('/')).cloned();
            let reply = found.map(|bytes| Reply::bytes(200, "application/gzip", bytes));
            reply.unwrap_or_else(|| Reply::status(404)).send(request, out)
        });
        Self {
            world,
            archives,
            server,
            labels: json!({}),
        }
    }

    /// Sets labels of its sources, by which a controller of sources ignores them.
    #[must_use]
    pub fn with_labels(mut self, labels: Json) -> Self {
        self.labels = labels;
        self
    }

    /// The address of the archive of a revision while it is the newest one.
    pub fn address(&self, source: &str, revision: &str) -> String {
        self.server.url(&format!("{source}/{revision}.tar.gz"))
    }

    /// A controller for this namespace, which leads from the start.
    pub fn controller(&self, flags: &[&str]) -> Controller {
        self.starter("controller").flags(&FLAGS).flags(flags).start()
    }

    /// As [`KustomizeWorld::controller`], with another way to the API server and its own folder.
    pub fn controller_through(&self, kubeconfig: &Path, folder: &str, flags: &[&str]) -> Controller {
        let starter = self.starter(folder).kubeconfig(kubeconfig);
        starter.flags(&FLAGS).flags(flags).start()
    }

    /// Publishes a new revision of a source with these files, in place of the old one.
    pub fn publish(&self, source: &str, revision: &str, files: &[(&str, &str)]) {
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        self.publish_archive(source, revision, archive(&files));
    }

    /// As [`KustomizeWorld::publish`], with the bytes of an archive.
    pub fn publish_archive(&self, source: &str, revision: &str, bytes: Vec<u8>) {
        let path = format!("{source}/{revision}.tar.gz");
        let artifact = json!({
            "path": path,
            "url": self.server.url(&path),
            "revision": self::revision(revision),
            "digest": Algorithm::Sha256.digest(&bytes).to_string(),
            "size": bytes.len(),
            "lastUpdateTime": "2026-01-02T03:04:05Z",
        });
        let mut archives = self.archives.lock();
        archives.retain(|old, _| !old.starts_with(&format!("{source}/")));
        archives.insert(path, bytes);
        drop(archives);
        let spec = json!({"interval": "1h", "url": "https://git.example.com/app.git", "ref": {"branch": "main"}});
        let metadata = json!({ "labels": self.labels });
        self.put(GIT_REPOSITORY, source, json!({ "spec": spec, "metadata": metadata }));
        self.patch_status(GIT_REPOSITORY, source, &json!({ "artifact": artifact }));
    }

    /// Adds a Kustomization of the source with its name, for this namespace; `spec` is merged into the default one,
    /// with null for removed fields.
    pub fn kustomize(&self, name: &str, spec: Json) {
        let mut whole = json!({
            "interval": "1h", "retryInterval": "1s", "path": "./", "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": name}, "targetNamespace": self.namespace,
        });
        let fields = whole.as_object_mut().unwrap();
        fields.extend(spec.as_object().unwrap().clone());
        fields.retain(|_, value| !value.is_null());
        self.add(KUSTOMIZATION, name, whole);
    }

    /// Waits until a revision is applied.
    pub fn applied(&self, name: &str, revision: &str) {
        let wanted = format!("Applied revision: {}", self::revision(revision));
        self.ready(KUSTOMIZATION, name, "True", |_, message| message == wanted);
    }

    /// Waits until it is not ready for this reason; returns the message.
    pub fn refused(&self, name: &str, reason: &str) -> String {
        self.ready(KUSTOMIZATION, name, "False", |why, _| why == reason)
    }

    /// Requests a reconciliation and waits for its end.
    pub fn again(&self, name: &str, at: &str) {
        self.request(KUSTOMIZATION, name, at);
        wait_for(
            || self.get(KUSTOMIZATION, name)["status"]["lastHandledReconcileAt"] == at,
            || format!("{:#}", self.get(KUSTOMIZATION, name)),
        );
    }

    /// The ids of a Kustomization's inventory.
    pub fn inventory(&self, name: &str) -> Vec<String> {
        let status = self.get(KUSTOMIZATION, name)["status"].take();
        let entries = status["inventory"]["entries"].as_array().cloned().unwrap_or_default();
        let ids = entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned());
        ids.collect()
    }

    /// The names of the ConfigMaps, without those of the cluster itself.
    pub fn maps(&self) -> Vec<String> {
        let maps = self.list(CONFIG_MAP);
        let names = maps
            .iter()
            .map(|map| map["metadata"]["name"].as_str().unwrap().to_owned());
        names.filter(|name| name != "kube-root-ca.crt").collect()
    }

    /// A key of a ConfigMap's data; null when there is none.
    pub fn value(&self, map: &str, key: &str) -> Json {
        let answer = self.cluster.request("GET", &self.path(CONFIG_MAP, map), "", "");
        answer.body["data"][key].clone()
    }
}

/// A revision in the format of artifacts and statuses.
pub fn revision(short: &str) -> String {
    format!("main@sha1:{short:0>40}")
}

/// The manifest of a ConfigMap whose `key` has this value.
pub fn map(name: &str, value: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}}).to_string()
}

/// Manifests as one file.
pub fn documents(objects: &[String]) -> String {
    objects.join("\n---\n")
}
