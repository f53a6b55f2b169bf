//! One controller for all tenants of a cluster, as run by a platform team, and an innocent tenant who must be able to
//! work during the attacks.
//!
//! ```ignore
//! let Some(siege) = siege() else { return };
//! let mallory = World::new(siege.cluster, "mallory-unfolds"); // a namespace for each test
//! mallory.add(GIT_REPOSITORY, "bomb", git_repository(&url));
//! mallory.ready(GIT_REPOSITORY, "bomb", "False", |_, message| message.contains("--max-entries raises the bound"));
//! siege.stands();
//! ```
//!
//! An attack that needs other flags has a controller of its own, `World::controller`, and the label
//! `siege=outside` on its objects.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::json;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::{Controller, Starter};
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::kustomize_world::map;
use bumpwright_testkit::memory_group::MemoryGroup;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::world::{
    CONFIG_MAP, GIT_REPOSITORY, KUSTOMIZATION, World, git_repository, retire_when_dropped,
};

/// The most memory that the controller may ever have taken, in KiB: half of what `deploy/` gives it.
pub const MOST_MEMORY: u64 = 512 << 10;

/// The interval of the innocent tenant's objects.
const INTERVAL: Duration = Duration::from_secs(30);

/// The label of objects for another controller.
pub const OUTSIDE: &str = "outside";

/// The label of objects for the controller of [`crate::meter`].
pub const METERED: &str = "metered";

/// State shared by all tests of this process.
pub struct Siege {
    pub cluster: &'static Cluster,
    pub controller: Controller,
    /// The kernel kills the controller above [`MOST_MEMORY`], where that can be had.
    group: Option<MemoryGroup>,
    innocent: Arc<Innocent>,
}

/// A controller with an innocent tenant.
pub struct Plan<'a> {
    /// The objects that are the controller's.
    pub selector: &'a str,
    /// The namespace of the innocent tenant, and the value of the label `siege` of its objects; empty for none.
    pub innocent: &'static str,
    pub label: &'static str,
    /// More flags, and variables of the environment.
    pub flags: &'a [&'a str],
    pub variables: &'a [(&'a str, String)],
}

/// The progress of the innocent tenant.
struct Innocent {
    /// The last published round, and the longest delay of earlier ones in milliseconds.
    rounds: AtomicU64,
    longest: AtomicU64,
    /// The start of the current round: milliseconds since the siege began.
    since: AtomicU64,
    began: Instant,
}

/// The running siege. None when a program is missing.
pub fn siege() -> Option<&'static Siege> {
    static SIEGE: OnceLock<Option<Siege>> = OnceLock::new();
    SIEGE.get_or_init(begin).as_ref()
}

fn begin() -> Option<Siege> {
    retire_when_dropped();
    let selector = format!("siege notin ({OUTSIDE},{METERED})");
    Siege::begin(&Plan {
        selector: &selector,
        innocent: "innocent",
        label: "",
        flags: &[],
        variables: &[],
    })
}

impl Siege {
    /// Starts a controller with an innocent tenant. None when a program is missing.
    pub fn begin(plan: &Plan<'_>) -> Option<Self> {
        let cluster = Cluster::shared()?;
        cluster.define();
        let folder = tempfile::tempdir().unwrap();
        let group = MemoryGroup::of(MOST_MEMORY << 10);
        let prepare = |starter: Starter| {
            let starter = starter.flags(&flags(plan.selector)).flags(plan.flags);
            plan.variables
                .iter()
                .fold(starter, |starter, (name, value)| starter.variable(name, value))
        };
        let kubeconfig = cluster.kubeconfig();
        let controller =
            Controller::ours_to_the_end_in(group.as_ref(), &kubeconfig, "flux-system", folder.path(), prepare);
        // It is needed as long as the process lives.
        let _ = folder.keep();
        let innocent = Arc::new(Innocent {
            rounds: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            since: AtomicU64::new(0),
            began: Instant::now(),
        });
        let (working, namespace, label) = (Arc::clone(&innocent), plan.innocent, plan.label);
        std::thread::spawn(move || {
            let world = match label {
                "" => World::new(cluster, namespace),
                label => World::new(cluster, namespace).labelled("siege", label),
            };
            work(world, &working);
        });
        Some(Self {
            cluster,
            controller,
            group,
            innocent,
        })
    }
}

fn flags(selector: &str) -> Vec<String> {
    let address = format!("127.0.0.1:{}", free_port());
    vec![
        "--interval-jitter-percentage=0".to_owned(),
        "--max-retry-delay=5s".to_owned(),
        "--requeue-dependency=1s".to_owned(),
        // A part of the default: what reaches the bound takes its time in a build for tests.
        "--max-content-size=1536Mi".to_owned(),
        // Builds for tests take more memory for the same work.
        "--build-memory=192Mi".to_owned(),
        "--controllers=image-reflector,image-automation,source,helm,kustomize".to_owned(),
        format!("--watch-label-selector={selector}"),
        format!("--storage-addr={address}"),
        format!("--storage-adv-addr={address}"),
    ]
}

/// The work of the innocent tenant: publishes a tag and a ConfigMap, waits until the tag is committed and the map
/// applied, and so on.
fn work(world: World<'static>, innocent: &Innocent) {
    let interval = format!("{}s", INTERVAL.as_secs());
    let cluster = world.cluster;
    let world = ImageWorld::at_work(world, &interval);
    let config = world.repository("config.git");
    let commit = |value: &str| {
        let text = map("config", value);
        config.commit("main", value, &[Change::File("map.yaml", text.as_bytes())])
    };
    commit("0");
    let mut source = git_repository(&world.git.url("config.git"));
    source["interval"] = json!(interval);
    world.add(GIT_REPOSITORY, "config", source);
    let spec = json!({
        "interval": "1h", "path": "./", "prune": true, "targetNamespace": world.namespace,
        "sourceRef": {"kind": "GitRepository", "name": "config"},
    });
    world.add(KUSTOMIZATION, "config", spec);
    for round in 1_u64.. {
        innocent.since.store(innocent.now(), Ordering::SeqCst);
        let (value, tag) = (round.to_string(), format!("1.0.{round}"));
        world.publish("app", &tag);
        commit(&value);
        let applied = || {
            let found = cluster.request("GET", &world.path(CONFIG_MAP, "config"), "", "");
            found.body["data"]["key"] == value
        };
        let committed = || String::from_utf8_lossy(&world.repo.show("main", "app.yaml")).contains(&tag);
        while !(applied() && committed()) {
            std::thread::sleep(Duration::from_millis(200));
        }
        let took = innocent.now() - innocent.since.load(Ordering::SeqCst);
        innocent.longest.fetch_max(took, Ordering::SeqCst);
        innocent.rounds.fetch_add(1, Ordering::SeqCst);
    }
}

impl Innocent {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap()
    }
}

impl Siege {
    /// The end of every attack: the controller runs, has never exceeded its memory, and the innocent tenant has
    /// never waited for longer than twice the interval.
    pub fn stands(&self) {
        let killed = self.group.as_ref().and_then(MemoryGroup::killed).unwrap_or(0);
        assert_eq!(killed, 0, "the kernel has killed the controller for its memory");
        assert!(self.controller.is_running(), "the controller has ended");
        let healthy = self
            .controller
            .probe("healthz")
            .is_some_and(|(status, _)| status == 200);
        assert!(healthy, "/healthz does not answer");
        let peak = self.controller.memory("VmHWM");
        let innocent = &self.innocent;
        let waiting = innocent.now() - innocent.since.load(Ordering::SeqCst);
        let longest = innocent.longest.load(Ordering::SeqCst).max(waiting);
        let rounds = innocent.rounds.load(Ordering::SeqCst);
        println!("siege: {rounds} rounds of the innocent, {longest} ms at most; peak {peak} KiB");
        assert!(peak < MOST_MEMORY, "{peak} KiB of memory");
        let most = u64::try_from(2 * INTERVAL.as_millis()).unwrap();
        assert!(longest < most, "the innocent tenant has waited {longest} ms");
    }
}

/// Or else the siege proves nothing about memory.
#[test]
fn the_kernel_ends_what_needs_more_than_its_group_has() {
    let Some(group) = MemoryGroup::of(32 << 20) else { return };
    let run = |bytes: u32| {
        let held = format!("head -c {bytes} /dev/zero | tail -c {bytes} | wc -c");
        let status = group.starting().args(["bash", "-o", "pipefail", "-c", &held]).status();
        status.unwrap().success()
    };
    assert!(run(1 << 20), "a megabyte is too much");
    assert!(!run(200 << 20), "it took as much as it liked");
    assert_ne!(group.killed(), Some(0));
}
