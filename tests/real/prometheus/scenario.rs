//! Two controllers, one of which leads, with objects that are well and objects in each kind of trouble.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::{Controller, ELECTION};
use bumpwright_testkit::git_http::{GitHttp, Login, Options};
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{
    AUTOMATION, CONFIG_MAP, GIT_REPOSITORY, IMAGE_REPOSITORY, KUSTOMIZATION, SECRET, git_repository,
};
use serde_json::{Value as Json, json};

pub const NAMESPACE: &str = "monitored";

/// The names of the objects that an alert finds; none are without.
pub const TROUBLES: &[(&str, &[&str])] = &[
    ("BumpwrightObjectStalled", &["stalled"]),
    ("BumpwrightPruneRefused", &["brake"]),
    ("BumpwrightDrift", &["report"]),
    ("BumpwrightDriftReturns", &["app"]),
    ("BumpwrightLoginUnusable", &["no-secret"]),
];

/// More than the alert lets pass in an hour.
const RACES: usize = 22;

/// The world goes last: it has the folders of the processes.
pub struct Scenario<'a> {
    pub leader: Controller,
    pub standby: Controller,
    world: ImageWorld<'a>,
    /// Wants a login.
    closed: GitHttp,
}

fn map(name: &str, value: &str) -> Vec<u8> {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}});
    map.to_string().into_bytes()
}

impl<'a> Scenario<'a> {
    /// All that is well, and the two processes.
    pub fn start(cluster: &'a Cluster) -> Self {
        let world = ImageWorld::new(cluster, NAMESPACE, "1h");
        let odd = format!("odd: a:1 # {{\"$imagepolicy\": \"{NAMESPACE}:nobody\"}}\n");
        world.repo.commit(
            "main",
            "more",
            &[
                Change::File("odd.yaml", odd.as_bytes()),
                Change::File("app/one.yaml", &map("one", "1")),
                Change::File("report/drifting.yaml", &map("drifting", "1")),
                Change::File("brake/first.yaml", &map("first", "1")),
                Change::File("brake/second.yaml", &map("second", "1")),
                Change::File("brake/third.yaml", &map("third", "1")),
            ],
        );
        let closed = world.folder.path().join("closed");
        Repo::init(closed.join("app.git"));
        let login = Login::Basic("bot".to_owned(), "secret".to_owned());
        let closed = GitHttp::with(
            &closed,
            Options {
                login,
                ..Options::default()
            },
        );
        let (leader, standby) = (run(&world, "leader"), run(&world, "standby"));
        let scenario = Self {
            leader,
            standby,
            world,
            closed,
        };
        scenario.kustomize("app", &json!({}), json!({}));
        scenario.kustomize("brake", &json!({"bumpwright.dev/max-prune": "1"}), json!({}));
        for name in ["app", "brake"] {
            scenario.world.ready(KUSTOMIZATION, name, "True", |_, _| true);
        }
        scenario.world.app_ready(AUTOMATION);
        scenario
    }

    fn kustomize(&self, name: &str, annotations: &Json, more: Json) {
        let mut spec = json!({
            "interval": "1h", "retryInterval": "1s", "path": format!("./{name}"), "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": "app"}, "targetNamespace": NAMESPACE,
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let metadata = json!({ "annotations": annotations });
        self.world
            .put(KUSTOMIZATION, name, json!({ "metadata": metadata, "spec": spec }));
    }

    /// One thing after the other goes wrong. `seen` returns once the counters of Kustomizations were scraped.
    pub fn makes_trouble(&self, seen: impl Fn()) {
        let world = &self.world;
        self.loses_races();
        world.put(
            IMAGE_REPOSITORY,
            "stalled",
            json!({"metadata": {"annotations": {"bumpwright.dev/hold": "yes"}}, "spec": world.scanning("app")}),
        );
        let mut spec = git_repository(&world.git.url("app.git"));
        spec["secretRef"] = json!({"name": "nowhere"});
        world.add(GIT_REPOSITORY, "no-secret", spec);
        world.add(GIT_REPOSITORY, "refused", git_repository(&self.closed.url("app.git")));
        self.kustomize("report", &json!({"bumpwright.dev/reconcile": "report"}), json!({}));
        let wrong = world.cluster.kubeconfig_with("of nobody");
        world.put(SECRET, "elsewhere", json!({"stringData": {"value": wrong}}));
        let elsewhere = json!({"path": "./app", "kubeConfig": {"secretRef": {"name": "elsewhere"}}});
        self.kustomize("elsewhere", &json!({}), elsewhere);
        world.ready(IMAGE_REPOSITORY, "stalled", "False", |reason, _| {
            reason == "InvalidAnnotation"
        });
        world.ready(GIT_REPOSITORY, "no-secret", "False", |reason, _| {
            reason == "AuthenticationFailed"
        });
        world.ready(GIT_REPOSITORY, "refused", "False", |reason, _| {
            reason == "GitOperationFailed"
        });
        world.ready(KUSTOMIZATION, "report", "False", |reason, _| reason == "DriftDetected");
        world.ready(KUSTOMIZATION, "elsewhere", "False", |_, _| true);
        seen();
        self.drifts();
        self.prunes();
    }

    /// A rival is faster, again and again.
    fn loses_races(&self) {
        let (rival, lost) = (self.world.repo.clone(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&lost);
        self.world.git.before_push(move |_| {
            let number = counted.fetch_add(1, Ordering::SeqCst);
            if number < RACES {
                rival.commit(
                    "main",
                    "rival",
                    &[Change::File("rival.txt", number.to_string().as_bytes())],
                );
            }
        });
        self.world.release("1.1.0");
        self.world.in_git("1.1.0");
        until("all races are counted", || {
            self.leader.metric("bumpwright_push_races_total") == Some(RACES as f64)
        });
    }

    fn drifts(&self) {
        for round in 1..=3 {
            let other = json!({"data": {"key": "other"}});
            self.world.patch(CONFIG_MAP, "one", &other);
            self.world.request(KUSTOMIZATION, "app", &round.to_string());
            let value = || self.world.get(CONFIG_MAP, "one")["data"]["key"].clone();
            wait_for(|| value() == "1", || format!("the ConfigMap is set back: {}", value()));
        }
    }

    fn prunes(&self) {
        let gone = [Change::Delete("brake/second.yaml"), Change::Delete("brake/third.yaml")];
        let commit = self.world.repo.commit("main", "less", &gone);
        self.world.request(GIT_REPOSITORY, "app", &commit);
        self.world
            .ready(KUSTOMIZATION, "brake", "False", |reason, _| reason == "PruneRefused");
    }
}

fn run(world: &ImageWorld<'_>, folder: &str) -> Controller {
    let address = format!("127.0.0.1:{}", free_port());
    let flags = [
        format!("--storage-addr={address}"),
        format!("--storage-adv-addr={address}"),
        "--controllers=image-reflector,image-automation,source,kustomize".to_owned(),
        "--events-addr=http://127.0.0.1:9/".to_owned(),
    ];
    let controller = world.starter(folder).flags(&flags).flags(&ELECTION).start();
    // Beside a leader of its own ReplicaSet a standby is never ready.
    until("it serves probes", || controller.probe("readyz").is_some());
    if folder == "leader" {
        until("it leads", || controller.leads("kustomize-controller-leader-election"));
        until("it is ready", || {
            controller.probe("readyz").is_some_and(|(status, _)| status == 200)
        });
    }
    controller
}
