//! A small fleet for the image controllers: a registry with an application, a Git repository that names it, and the four objects
//! that keep one up to date with the other.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::apiserver::Cluster;
use super::controllers::wait_for;
use super::git_http::GitHttp;
use super::registry::Registry;
use super::repo::{Change, Repo};

/// The plural of the kind, for [`ImageFleet::ready`].
pub const REPOSITORY: &str = "imagerepositories";
pub const POLICY: &str = "imagepolicies";
pub const AUTOMATION: &str = "imageupdateautomations";

/// In a namespace of its own; everything in it is called `app`.
pub struct ImageFleet {
    pub cluster: &'static Cluster,
    pub namespace: String,
    pub registry: Registry,
    pub repo: Repo,
    pub git: GitHttp,
    pub folder: tempfile::TempDir,
}

impl ImageFleet {
    /// The registry has `app:1.0.0`, which the repository names. No object is there but the namespace. None without the programs.
    pub fn start(cluster: &'static Cluster, namespace: &str) -> Option<Self> {
        let registry = Registry::start()?;
        registry.images().tags("app", &["1.0.0"]);
        let folder = tempfile::tempdir().unwrap();
        let repo = Repo::init(folder.path().join("git/fleet.git"));
        let git = GitHttp::start(&folder.path().join("git"));
        let fleet = Self {
            cluster,
            namespace: namespace.to_owned(),
            registry,
            repo,
            git,
            folder,
        };
        let file = fleet.file("1.0.0");
        fleet
            .repo
            .commit("main", "first", &[Change::File("app.yaml", file.as_bytes())]);
        fleet.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        Some(fleet)
    }

    /// The file in Git when it names this tag.
    pub fn file(&self, tag: &str) -> String {
        format!(
            "image: {}:{tag} # {{\"$imagepolicy\": \"{}:app\"}}\n",
            self.image(),
            self.namespace
        )
    }

    pub fn image(&self) -> String {
        format!("{}/app", self.registry.host())
    }

    pub fn apply(&self, object: &Json) {
        self.cluster.apply(&object.to_string());
    }

    /// An object of the image group, as `app`.
    pub fn object(&self, version: &str, kind: &str, spec: Json) -> Json {
        json!({
            "apiVersion": format!("image.toolkit.fluxcd.io/{version}"), "kind": kind,
            "metadata": {"name": "app", "namespace": self.namespace}, "spec": spec,
        })
    }

    pub fn apply_repository(&self) {
        let spec = json!({"image": self.image(), "interval": "1h", "insecure": true});
        self.apply(&self.object("v1", "ImageRepository", spec));
    }

    pub fn apply_policy(&self) {
        let spec = json!({"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "*"}}});
        self.apply(&self.object("v1", "ImagePolicy", spec));
    }

    pub fn apply_source(&self) {
        self.apply(&json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "app", "namespace": self.namespace},
            "spec": {"interval": "1h", "url": self.git.url("fleet.git"), "ref": {"branch": "main"}},
        }));
    }

    pub fn apply_automation(&self) {
        let spec = json!({
            "interval": "1h", "sourceRef": {"kind": "GitRepository", "name": "app"},
            "git": {"commit": {"author": {"name": "bot", "email": "bot@example.com"}}}, "update": {"path": "./"},
        });
        self.apply(&self.object("v1", "ImageUpdateAutomation", spec));
    }

    /// All four.
    pub fn apply_all(&self) {
        self.apply_repository();
        self.apply_policy();
        self.apply_source();
        self.apply_automation();
    }

    /// Where the API server has the object `app` of a kind.
    pub fn path(&self, plural: &str) -> String {
        format!(
            "/apis/image.toolkit.fluxcd.io/v1/namespaces/{}/{plural}/app",
            self.namespace
        )
    }

    pub fn get(&self, plural: &str) -> Json {
        self.cluster.get(&self.path(plural))
    }

    /// Waits until the Ready condition of `app` is as `wanted` likes it: its status and its message. Gives the message.
    pub fn ready(&self, plural: &str, wanted: impl Fn(&str, &str) -> bool) -> String {
        let look = || {
            let object = self.get(plural);
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready")?;
            let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
            wanted(&text("status"), &text("message")).then(|| text("message"))
        };
        wait_for(look, || format!("{plural}: {:#}", self.get(plural)["status"]))
    }

    /// Asks for a reconciliation, as `flux reconcile` does.
    pub fn request(&self, plural: &str, token: &str) {
        let patch = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
        let answer = self.cluster.request(
            "PATCH",
            &self.path(plural),
            "application/merge-patch+json",
            &patch.to_string(),
        );
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    /// Waits until the branch names this tag.
    pub fn in_git(&self, tag: &str) {
        let wanted = self.file(tag);
        let shown = || String::from_utf8_lossy(&self.repo.show("main", "app.yaml")).into_owned();
        wait_for(
            || (shown() == wanted).then_some(()),
            || format!("{}\n{:#}", shown(), self.get(AUTOMATION)["status"]),
        );
    }

    /// A kubeconfig like the cluster's own, with another token.
    pub fn kubeconfig_with(&self, token: &str) -> PathBuf {
        let text = std::fs::read_to_string(self.cluster.kubeconfig()).unwrap();
        let mut config: Json = serde_json::from_str(&text).unwrap();
        config["users"][0]["user"] = json!({ "token": token });
        let path = self.folder.path().join("kubeconfig");
        std::fs::write(&path, config.to_string()).unwrap();
        path
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
