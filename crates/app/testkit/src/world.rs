//! A namespace in a test's cluster, with a folder, a Git server and the objects of a test: the base of every suite
//! about controllers. Suites wrap it with more parts, as in [`crate::image_world`].
//!
//! ```ignore
//! let Some(cluster) = Cluster::shared() else { return };
//! cluster.define();
//! let world = World::new(cluster, "apps"); // one for each test: what it does is seen by nobody else
//! let repo = world.repository("app.git");
//! repo.commit("main", "first", &[Change::File("a.yaml", b"a: 1\n")]);
//! world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
//! let controller = world.controller(&["--controllers=source"]);
//! world.ready(GIT_REPOSITORY, "app", "True", |reason, _| reason == "Succeeded");
//! ```

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::apiserver::{Answer, Cluster};
use crate::controller::{Controller, Starter};
use crate::git_http::{GitHttp, Options};
use crate::repo::Repo;
use crate::waiting::wait_for;

/// A kind with its path in the API.
#[derive(Clone, Copy, Debug)]
pub struct ObjectKind {
    pub api_version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
}

const fn kind(api_version: &'static str, kind: &'static str, plural: &'static str) -> ObjectKind {
    ObjectKind {
        api_version,
        kind,
        plural,
    }
}

const IMAGES: &str = "image.toolkit.fluxcd.io/v1";
pub const IMAGE_REPOSITORY: ObjectKind = kind(IMAGES, "ImageRepository", "imagerepositories");
pub const IMAGE_POLICY: ObjectKind = kind(IMAGES, "ImagePolicy", "imagepolicies");
pub const AUTOMATION: ObjectKind = kind(IMAGES, "ImageUpdateAutomation", "imageupdateautomations");
pub const GIT_REPOSITORY: ObjectKind = kind("source.toolkit.fluxcd.io/v1", "GitRepository", "gitrepositories");
pub const BUCKET: ObjectKind = kind("source.toolkit.fluxcd.io/v1", "Bucket", "buckets");
pub const OCI_REPOSITORY: ObjectKind = kind("source.toolkit.fluxcd.io/v1", "OCIRepository", "ocirepositories");
pub const HELM_REPOSITORY: ObjectKind = kind("source.toolkit.fluxcd.io/v1", "HelmRepository", "helmrepositories");
pub const HELM_CHART: ObjectKind = kind("source.toolkit.fluxcd.io/v1", "HelmChart", "helmcharts");
pub const KUSTOMIZATION: ObjectKind = kind("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "kustomizations");
pub const HELM_RELEASE: ObjectKind = kind("helm.toolkit.fluxcd.io/v2", "HelmRelease", "helmreleases");
pub const LEASE: ObjectKind = kind("coordination.k8s.io/v1", "Lease", "leases");
pub const EVENT: ObjectKind = kind("v1", "Event", "events");
pub const CONFIG_MAP: ObjectKind = kind("v1", "ConfigMap", "configmaps");
pub const SECRET: ObjectKind = kind("v1", "Secret", "secrets");
pub const SERVICE_ACCOUNT: ObjectKind = kind("v1", "ServiceAccount", "serviceaccounts");

/// The annotation of `flux reconcile`.
const REQUESTED: &str = "reconcile.fluxcd.io/requestedAt";

/// Flags of ours: only its namespace, and short retries without jitter.
pub const QUICK: [&str; 3] = [
    "--watch-all-namespaces=false",
    "--interval-jitter-percentage=0",
    "--max-retry-delay=1s",
];

/// A namespace. Its folder is removed when it is dropped; its objects stay as long as the cluster.
pub struct World<'a> {
    pub cluster: &'a Cluster,
    pub namespace: String,
    pub folder: tempfile::TempDir,
    /// Serves [`World::repository`].
    pub git: GitHttp,
    /// The labels of [`World::put`].
    labels: serde_json::Map<String, Json>,
    /// The version of Flux's kinds.
    version: &'static str,
}

impl<'a> World<'a> {
    pub fn new(cluster: &'a Cluster, namespace: &str) -> Self {
        Self::with_git(cluster, namespace, Options::default())
    }

    /// With a Git server with login or TLS.
    pub fn with_git(cluster: &'a Cluster, namespace: &str, git: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let git = GitHttp::with(&folder.path().join("git"), git);
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        cluster.apply(&object.to_string());
        Self {
            cluster,
            namespace: namespace.to_owned(),
            folder,
            git,
            labels: serde_json::Map::new(),
            version: "v1",
        }
    }

    /// The same, with Flux's kinds at an older version.
    pub fn at_version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    /// The `apiVersion` of a kind in this world.
    pub fn api_version(&self, kind: ObjectKind) -> String {
        match kind.api_version.split_once('/') {
            Some((group, "v1")) if group.ends_with(".toolkit.fluxcd.io") => format!("{group}/{}", self.version),
            _ => kind.api_version.to_owned(),
        }
    }

    /// The same, with a label for its objects.
    pub fn labelled(mut self, name: &str, value: &str) -> Self {
        self.labels.insert(name.to_owned(), json!(value));
        self
    }

    /// An empty repository, at this path of the Git server.
    pub fn repository(&self, path: &str) -> Repo {
        Repo::init(self.folder.path().join("git").join(path))
    }

    /// `bumpwright controller` for this namespace, which leads from the start.
    pub fn controller(&self, flags: &[&str]) -> Controller {
        self.starter("controller").flags(flags).start()
    }

    /// As [`World::controller`], with another kubeconfig and folder.
    pub fn controller_at(&self, kubeconfig: &Path, folder: &str, flags: &[&str]) -> Controller {
        self.starter(folder).kubeconfig(kubeconfig).flags(flags).start()
    }

    /// As [`World::controller`], not started yet; its log and storage will be in this folder of the world.
    pub fn starter(&self, folder: &str) -> Starter {
        let folder = self.folder_of(folder);
        Controller::ours(&self.cluster.kubeconfig(), &self.namespace, &folder).flags(&QUICK)
    }

    /// The folder with the `log` and the storage, `data`, of a controller.
    pub fn folder_of(&self, controller: &str) -> PathBuf {
        self.folder.path().join(controller)
    }

    /// Applies any object.
    pub fn apply(&self, object: &Json) {
        self.cluster.apply_object(object);
    }

    /// Applies an object with this spec.
    pub fn add(&self, kind: ObjectKind, name: &str, spec: Json) {
        self.put(kind, name, json!({ "spec": spec }));
    }

    /// Applies an object with these annotations and this spec.
    pub fn annotated(&self, kind: ObjectKind, name: &str, annotations: &Json, spec: Json) {
        let fields = json!({"metadata": {"annotations": annotations}, "spec": spec});
        self.put(kind, name, fields);
    }

    /// Applies an object with these fields, which may include metadata.
    pub fn put(&self, kind: ObjectKind, name: &str, mut fields: Json) {
        fields["apiVersion"] = json!(self.api_version(kind));
        fields["kind"] = json!(kind.kind);
        fields["metadata"]["name"] = json!(name);
        fields["metadata"]["namespace"] = json!(self.namespace);
        for (label, value) in &self.labels {
            fields["metadata"]["labels"][label] = value.clone();
        }
        self.apply(&fields);
    }

    /// The path of an object.
    pub fn path(&self, kind: ObjectKind, name: &str) -> String {
        format!("{}/{name}", self.list_path(kind))
    }

    /// The path of all objects of a kind in this namespace.
    pub fn list_path(&self, kind: ObjectKind) -> String {
        let root = if kind.api_version.contains('/') { "apis" } else { "api" };
        format!(
            "/{root}/{}/namespaces/{}/{}",
            self.api_version(kind),
            self.namespace,
            kind.plural
        )
    }

    pub fn get(&self, kind: ObjectKind, name: &str) -> Json {
        self.cluster.get(&self.path(kind, name))
    }

    /// All objects of a kind in this namespace.
    pub fn list(&self, kind: ObjectKind) -> Vec<Json> {
        let mut list = self.cluster.get(&self.list_path(kind));
        serde_json::from_value(list["items"].take()).unwrap()
    }

    /// Changes an object by a merge patch.
    pub fn patch(&self, kind: ObjectKind, name: &str, patch: &Json) {
        self.patch_at(&self.path(kind, name), patch);
    }

    /// Changes an object's status, as its controller would.
    pub fn patch_status(&self, kind: ObjectKind, name: &str, status: &Json) {
        let path = format!("{}/status", self.path(kind, name));
        self.patch_at(&path, &json!({ "status": status }));
    }

    fn patch_at(&self, path: &str, patch: &Json) {
        let answer = self.cluster.merge_patch(path, patch);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }

    /// Requests a reconciliation, as `flux reconcile`; `at` must differ each time.
    pub fn request(&self, kind: ObjectKind, name: &str, at: &str) {
        self.patch(kind, name, &json!({"metadata": {"annotations": {REQUESTED: at}}}));
    }

    /// Deletes an object.
    pub fn delete(&self, kind: ObjectKind, name: &str) -> Answer {
        self.cluster.request("DELETE", &self.path(kind, name), "", "")
    }

    /// Waits until an object is gone.
    pub fn gone(&self, kind: ObjectKind, name: &str) {
        self.cluster.gone(&self.path(kind, name));
    }

    /// Waits until Ready has this status, and `liked` accepts reason and message; returns the message.
    pub fn ready(&self, kind: ObjectKind, name: &str, status: &str, liked: impl Fn(&str, &str) -> bool) -> String {
        self.condition(kind, name, "Ready", status, liked)
    }

    /// As [`World::ready`], for another condition.
    pub fn condition(
        &self,
        kind: ObjectKind,
        name: &str,
        condition: &str,
        status: &str,
        liked: impl Fn(&str, &str) -> bool,
    ) -> String {
        let look = || {
            let object = self.get(kind, name);
            let found = condition_of(&object, condition)?;
            let text = |field: &str| found[field].as_str().unwrap_or_default();
            (text("status") == status && liked(text("reason"), text("message"))).then(|| text("message").to_owned())
        };
        wait_for(look, || {
            let object = self.get(kind, name);
            format!("{condition} {status} of {}/{name}: {:#}", kind.plural, object["status"])
        })
    }
}

/// The fields of two maps; those of the second one count.
pub fn with(mut fields: Json, more: &Json) -> Json {
    let all = fields.as_object_mut().unwrap();
    all.extend(more.as_object().unwrap().clone());
    fields
}

/// A condition of an object, if it has it.
pub fn condition_of<'a>(object: &'a Json, condition: &str) -> Option<&'a Json> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|one| one["type"] == condition)
}

/// The spec of a GitRepository: the branch main at this address.
pub fn git_repository(url: &str) -> Json {
    json!({"interval": "1h", "url": url, "ref": {"branch": "main"}})
}

/// The spec of an ImageUpdateAutomation for all files of a GitRepository.
pub fn automation(git_repository: &str) -> Json {
    json!({
        "interval": "1h", "sourceRef": {"kind": "GitRepository", "name": git_repository}, "update": {"path": "./"},
        "git": {"commit": {"author": {"name": "bot", "email": "bot@example.com"}}},
    })
}

/// The spec of an ImagePolicy for the newest version in an ImageRepository.
pub fn newest(image_repository: &str) -> Json {
    json!({"imageRepositoryRef": {"name": image_repository}, "policy": {"semver": {"range": "*"}}})
}
