//! All that image updates need, in a namespace of its own: a registry, a repository with a marked image, and an
//! ImageRepository, an ImagePolicy and an ImageUpdateAutomation, all called `app`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::apiserver::Cluster;
use super::controller_process::{Controller, until};
use super::git_http::GitHttp;
use super::reply::Reply;
use super::repo::{Change, Repo};
use super::stub_http::StubHttp;

/// What the registry has, and how it is.
#[derive(Default)]
struct Shelf {
    tags: BTreeMap<String, BTreeSet<String>>,
    is_down: bool,
    /// Whoever asks for this one has to wait.
    held: Option<String>,
    waiting: usize,
}

pub struct ImageWorld<'a> {
    pub cluster: &'a Cluster,
    pub namespace: String,
    pub folder: tempfile::TempDir,
    pub git: GitHttp,
    pub repo: Repo,
    pub registry: StubHttp,
    shelf: Arc<Mutex<Shelf>>,
}

/// Makes the kinds known; once for a cluster is enough.
pub fn define(cluster: &Cluster) {
    let definitions = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    for file in std::fs::read_dir(definitions).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap();
        if name.starts_with("image.") || name.ends_with("_gitrepositories.yaml") {
            cluster.apply(&std::fs::read_to_string(file).unwrap());
        }
    }
}

impl<'a> ImageWorld<'a> {
    /// With tag 1.0.0 in the registry and in Git; everything is looked at again after `interval`.
    pub fn new(cluster: &'a Cluster, namespace: &str, interval: &str) -> Self {
        define(cluster);
        let folder = tempfile::tempdir().unwrap();
        let shelf: Arc<Mutex<Shelf>> = Arc::default();
        let serving = Arc::clone(&shelf);
        let registry = StubHttp::start(move |request| answer(&serving, &request.path));
        let repo = Repo::init(folder.path().join("git/app.git"));
        let git = GitHttp::start(&folder.path().join("git"));
        let world = Self {
            cluster,
            namespace: namespace.to_owned(),
            folder,
            git,
            repo,
            registry,
            shelf,
        };
        world.publish("app", "1.0.0");
        let file = world.marked("1.0.0");
        world
            .repo
            .commit("main", "first", &[Change::File("app.yaml", file.as_bytes())]);
        cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).to_string());
        world.image("app", interval);
        world.apply(
            "source.toolkit.fluxcd.io/v1",
            "GitRepository",
            "app",
            json!({"interval": "1h", "url": world.git.url("app.git"), "ref": {"branch": "main"}}),
        );
        world.apply(
            IMAGES,
            "ImageUpdateAutomation",
            "app",
            json!({
                "interval": interval, "sourceRef": {"kind": "GitRepository", "name": "app"}, "update": {"path": "./"},
                "git": {"commit": {"author": {"name": "bot", "email": "bot@example.com"}}},
            }),
        );
        world
    }

    /// An ImageRepository and an ImagePolicy for an image of the registry.
    pub fn image(&self, name: &str, interval: &str) {
        self.image_repository(name, name, interval);
        let policy = json!({"imageRepositoryRef": {"name": name}, "policy": {"semver": {"range": "*"}}});
        self.apply(IMAGES, "ImagePolicy", name, policy);
    }

    pub fn image_repository(&self, name: &str, image: &str, interval: &str) {
        let image = format!("{}/{image}", self.registry.host());
        let spec = json!({"image": image, "interval": interval, "insecure": true});
        self.apply(IMAGES, "ImageRepository", name, spec);
    }

    pub fn apply(&self, api_version: &str, kind: &str, name: &str, spec: Json) {
        let metadata = json!({"name": name, "namespace": self.namespace});
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec});
        self.cluster.apply(&object.to_string());
    }

    /// The file in Git when it has this tag.
    pub fn marked(&self, tag: &str) -> String {
        let marker = json!({"$imagepolicy": format!("{}:app", self.namespace)});
        format!("image: {}/app:{tag} # {marker}\n", self.registry.host())
    }

    /// A controller of its own for this namespace.
    pub fn controller(&self, flags: &[&str]) -> Controller {
        self.controller_at(&self.cluster.kubeconfig(), "controller", flags)
    }

    /// As [`ImageWorld::controller`], with another kubeconfig and its own folder.
    pub fn controller_at(&self, kubeconfig: &Path, folder: &str, flags: &[&str]) -> Controller {
        Controller::start(kubeconfig, &self.namespace, &self.folder.path().join(folder), flags)
    }

    /// Puts a tag into the registry.
    pub fn publish(&self, image: &str, tag: &str) {
        let mut shelf = self.shelf();
        shelf.tags.entry(image.to_owned()).or_default().insert(tag.to_owned());
    }

    /// Whether the registry answers 503.
    pub fn registry_down(&self, is_down: bool) {
        self.shelf().is_down = is_down;
    }

    /// Lets whoever asks for an image wait until [`ImageWorld::release`].
    pub fn hold(&self, image: &str) {
        self.shelf().held = Some(image.to_owned());
    }

    /// Waits until somebody asks for what is held.
    pub fn await_held(&self) {
        until("somebody asks for what is held", || {
            (self.shelf().waiting > 0).then_some(())
        });
    }

    pub fn release(&self) {
        self.shelf().held = None;
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap()
    }

    pub fn path(&self, plural: &str, name: &str) -> String {
        format!("/apis/{IMAGES}/namespaces/{}/{plural}/{name}", self.namespace)
    }

    pub fn object(&self, plural: &str, name: &str) -> Json {
        self.cluster.get(&self.path(plural, name))
    }

    /// Changes an object by a merge patch.
    pub fn patch(&self, plural: &str, name: &str, patch: &Json) {
        let path = self.path(plural, name);
        let answer = self
            .cluster
            .request("PATCH", &path, "application/merge-patch+json", &patch.to_string());
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }

    /// Asks for a reconciliation at once.
    pub fn request(&self, plural: &str, name: &str, at: &str) {
        let patch = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": at}}});
        self.patch(plural, name, &patch);
    }

    /// Waits until Ready has this status, and a reason and message that are liked; gives the message.
    pub fn await_ready(&self, plural: &str, name: &str, status: &str, liked: impl Fn(&str, &str) -> bool) -> String {
        until(&format!("{plural}/{name} is {status}"), || {
            let object = self.object(plural, name);
            let ready = condition(&object, "Ready")?;
            let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
            (text("status") == status && liked(&text("reason"), &text("message"))).then(|| text("message"))
        })
    }

    /// Waits until Git has this tag; then it has so many commits.
    pub fn await_commit(&self, tag: &str, commits: usize) {
        let wanted = self.marked(tag);
        until(&format!("{tag} is in Git"), || {
            (self.repo.show("main", "app.yaml") == wanted.as_bytes()).then_some(())
        });
        assert_eq!(self.repo.log("main").len(), commits, "{:#?}", self.repo.log("main"));
    }
}

pub const IMAGES: &str = "image.toolkit.fluxcd.io/v1";

pub fn condition<'a>(object: &'a Json, kind: &str) -> Option<&'a Json> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

fn answer(shelf: &Mutex<Shelf>, path: &str) -> Reply {
    let image = path
        .strip_prefix("/v2/")
        .and_then(|path| path.strip_suffix("/tags/list"));
    let is_held = |image: &str| shelf.lock().unwrap().held.as_deref() == Some(image);
    if let Some(image) = image.filter(|image| is_held(image)) {
        shelf.lock().unwrap().waiting += 1;
        while is_held(image) {
            std::thread::sleep(Duration::from_millis(5));
        }
        shelf.lock().unwrap().waiting -= 1;
    }
    let shelf = shelf.lock().unwrap();
    match image {
        _ if shelf.is_down => Reply::text(503, "closed for repairs\n"),
        Some(image) => match shelf.tags.get(image) {
            Some(tags) => Reply::json(&json!({"name": image, "tags": tags})),
            None => Reply::registry_error(404, "NAME_UNKNOWN", "repository name not known to registry"),
        },
        None => Reply::json(&json!({})),
    }
}
