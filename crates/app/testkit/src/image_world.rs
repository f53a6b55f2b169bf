//! A [`World`] for image updates: with a registry, a repository with a marked image, and an ImageRepository, an
//! ImagePolicy, a GitRepository and an ImageUpdateAutomation, all called `app`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value as Json, json};

use crate::apiserver::Cluster;
use crate::reply::Reply;
use crate::repo::{Change, Repo};
use crate::stub_http::StubHttp;
use crate::waiting::{until, wait_for};
use crate::world::{
    AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, ObjectKind, World, automation, git_repository, newest,
};

/// The state of the registry.
#[derive(Default)]
struct RegistryState {
    tags: BTreeMap<String, BTreeSet<String>>,
    is_down: bool,
    /// Requests for this image wait.
    held: Option<String>,
    waiting: usize,
}

/// A [`World`] for image updates.
pub struct ImageWorld<'a> {
    world: World<'a>,
    pub repo: Repo,
    pub registry: StubHttp,
    state: Arc<Mutex<RegistryState>>,
}

impl<'a> Deref for ImageWorld<'a> {
    type Target = World<'a>;

    fn deref(&self) -> &World<'a> {
        &self.world
    }
}

impl<'a> ImageWorld<'a> {
    /// With its kinds and objects; images and Git are checked again after `interval`.
    pub fn new(cluster: &'a Cluster, namespace: &str, interval: &str) -> Self {
        Self::at_work(World::new(cluster, namespace), interval)
    }

    /// As [`ImageWorld::new`], in an existing namespace.
    pub fn at_work(world: World<'a>, interval: &str) -> Self {
        world.cluster.define();
        let world = Self::of(world);
        world.add_all(interval);
        world
    }

    /// With tag 1.0.0 in the registry and in Git, and no objects: their kinds are not required.
    pub fn bare(cluster: &'a Cluster, namespace: &str) -> Self {
        Self::of(World::new(cluster, namespace))
    }

    /// As [`ImageWorld::bare`], in an existing namespace.
    pub fn of(world: World<'a>) -> Self {
        let state: Arc<Mutex<RegistryState>> = Arc::default();
        let serving = Arc::clone(&state);
        let registry = StubHttp::start(move |request| answer(&serving, &request.path));
        let world = Self {
            repo: world.repository("app.git"),
            world,
            registry,
            state,
        };
        world.publish("app", "1.0.0");
        let file = world.marked("1.0.0");
        world
            .repo
            .commit("main", "first", &[Change::File("app.yaml", file.as_bytes())]);
        world
    }

    /// Adds the four objects.
    pub fn add_all(&self, interval: &str) {
        self.add_image("app", interval);
        self.add_source();
        let mut spec = automation("app");
        spec["interval"] = json!(interval);
        self.add(AUTOMATION, "app", spec);
    }

    /// Adds an ImageRepository and an ImagePolicy for an image of the registry.
    pub fn add_image(&self, name: &str, interval: &str) {
        self.add_image_repository(name, name, interval);
        self.add(IMAGE_POLICY, name, newest(name));
    }

    pub fn add_image_repository(&self, name: &str, image: &str, interval: &str) {
        let mut spec = self.scanning(image);
        spec["interval"] = json!(interval);
        self.add(IMAGE_REPOSITORY, name, spec);
    }

    /// Adds the GitRepository.
    pub fn add_source(&self) {
        self.add(GIT_REPOSITORY, "app", git_repository(&self.git.url("app.git")));
    }

    /// The spec of an ImageRepository for an image of the registry.
    pub fn scanning(&self, image: &str) -> Json {
        json!({"image": self.image(image), "interval": "1h", "insecure": true})
    }

    /// The name of an image of the registry.
    pub fn image(&self, name: &str) -> String {
        format!("{}/{name}", self.registry.host())
    }

    /// The file in Git with this tag.
    pub fn marked(&self, tag: &str) -> String {
        let marker = json!({"$imagepolicy": format!("{}:app", self.namespace)});
        format!("image: {}:{tag} # {marker}\n", self.image("app"))
    }

    /// Adds a tag to the registry.
    pub fn publish(&self, image: &str, tag: &str) {
        let mut state = self.state();
        state.tags.entry(image.to_owned()).or_default().insert(tag.to_owned());
    }

    /// Adds a tag of the image to the registry, and requests a scan.
    pub fn release(&self, tag: &str) {
        self.publish("app", tag);
        self.request(IMAGE_REPOSITORY, "app", tag);
    }

    /// Sets whether the registry answers 503.
    pub fn registry_down(&self, is_down: bool) {
        self.state().is_down = is_down;
    }

    /// Holds requests for an image until [`ImageWorld::resume`].
    pub fn hold(&self, image: &str) {
        self.state().held = Some(image.to_owned());
    }

    /// Waits for a request for the held image.
    pub fn await_held(&self) {
        until("the held image is requested", || self.state().waiting > 0);
    }

    pub fn resume(&self) {
        self.state().held = None;
    }

    fn state(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock()
    }

    /// Waits until `app` of this kind is ready.
    pub fn app_ready(&self, kind: ObjectKind) {
        self.ready(kind, "app", "True", |_, _| true);
    }

    /// Waits until the automation has nothing to do.
    pub fn settled(&self) {
        self.ready(AUTOMATION, "app", "True", |_, message| {
            message == "repository up-to-date"
        });
    }

    /// Waits until the tag is in Git.
    pub fn in_git(&self, tag: &str) {
        let wanted = self.marked(tag);
        let shown = || String::from_utf8_lossy(&self.repo.show("main", "app.yaml")).into_owned();
        wait_for(
            || shown() == wanted,
            || {
                format!(
                    "{tag} is in Git: {}\n{:#}",
                    shown(),
                    self.get(AUTOMATION, "app")["status"]
                )
            },
        );
    }

    /// As [`ImageWorld::in_git`], and checks the number of commits.
    pub fn committed(&self, tag: &str, commits: usize) {
        self.in_git(tag);
        assert_eq!(self.repo.log("main").len(), commits, "{:#?}", self.repo.log("main"));
    }
}

/// Adds a policy that has chosen this tag of `ghcr.io/o/NAME`. Its repository does not exist, so the choice stays.
pub fn add_choice(world: &World<'_>, name: &str, tag: &str) {
    world.add(IMAGE_POLICY, name, newest(name));
    let latest = json!({"name": format!("ghcr.io/o/{name}"), "tag": tag});
    world.patch_status(IMAGE_POLICY, name, &json!({"latestRef": latest}));
}

fn answer(state: &Mutex<RegistryState>, path: &str) -> Reply {
    let image = path
        .strip_prefix("/v2/")
        .and_then(|path| path.strip_suffix("/tags/list"));
    let is_held = |image: &str| state.lock().held.as_deref() == Some(image);
    if let Some(image) = image.filter(|image| is_held(image)) {
        state.lock().waiting += 1;
        while is_held(image) {
            std::thread::sleep(Duration::from_millis(5));
        }
        state.lock().waiting -= 1;
    }
    let state = state.lock();
    match image {
        _ if state.is_down => Reply::text(503, "closed for repairs\n"),
        Some(image) => match state.tags.get(image) {
            Some(tags) => Reply::json(&json!({"name": image, "tags": tags})),
            None => Reply::registry_error(404, "NAME_UNKNOWN", "repository name not known to registry"),
        },
        None => Reply::json(&json!({})),
    }
}
