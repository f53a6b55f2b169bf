//! Faults of a cluster under `bumpwright controller`: its API server is restarted, compacted, hangs, refuses and loses
//! connections, and objects change concurrently. Nothing is lost and nothing is committed twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bumpwright_kube::{self as client, Cache, Change, Cluster as Client, Connect, Scope};
use bumpwright_testkit::api_proxy::{ApiProxy, is_watch};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, IMAGE_REPOSITORY};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

const UP_TO_DATE: &str = "repository up-to-date";

fn refusal(code: u16, reason: &str, message: &str) -> Reply {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    Reply::bytes(code, "application/json", status.to_string())
}

fn is_status_patch(request: &Request) -> bool {
    request.method == "PATCH" && request.path.ends_with("/status")
}

/// Checks for log entries of panics and dropped objects.
fn assert_calm(log: &str) {
    assert!(!log.contains("panicked"), "{log}");
}

/// The API server is killed and comes back without a history, so that the old watches cannot go on.
#[test]
fn an_api_server_that_comes_back_without_its_history_is_followed_again() {
    let Some(cluster) = Cluster::start() else { return };
    let world = ImageWorld::new(&cluster, "restart", "1h");
    let controller = world.controller(&[]);
    world.settled();
    cluster.stop_apiserver();
    until("the loss is told", || controller.log().contains("failed to watch"));
    cluster.start_apiserver();
    world.release("1.1.0");
    world.committed("1.1.0", 2);
    cluster.stop_apiserver();
    cluster.start_apiserver();
    // Versions that nobody saw, and that nobody can ask for.
    for n in 0..3 {
        world.request(AUTOMATION, "app", &format!("{n}"));
    }
    cluster.compact();
    world.release("1.2.0");
    world.committed("1.2.0", 3);
    world.settled();
    assert!(controller.is_running());
    assert_calm(&controller.log());
}

#[test]
fn watches_that_break_off_go_on_where_they_were() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "cut", "1h");
    let proxy = ApiProxy::start(cluster);
    let controller = world.controller_at(&proxy.kubeconfig(world.folder.path(), None), "controller", &[]);
    world.settled();
    let (lists, watches) = (proxy.lists("imagerepositories"), proxy.watches("imagerepositories"));
    proxy.cut_watches();
    until("the watch begins again", || {
        proxy.watches("imagerepositories") > watches
    });
    world.release("1.1.0");
    world.committed("1.1.0", 2);
    assert_eq!(
        proxy.lists("imagerepositories"),
        lists,
        "what is known is not asked for again"
    );
    assert_calm(&controller.log());
}

/// The server says that it has forgotten the version that a watch wants to begin at.
#[test]
fn a_version_that_is_gone_makes_a_new_list() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "gone", "1h");
    let proxy = ApiProxy::start(cluster);
    let controller = world.controller_at(&proxy.kubeconfig(world.folder.path(), None), "controller", &[]);
    world.settled();
    let lists = proxy.lists("imagerepositories");
    let once = AtomicBool::new(true);
    proxy.intercept(move |request| {
        let ours = is_watch(request) && request.path.ends_with("/imagerepositories");
        (ours && once.swap(false, Ordering::SeqCst)).then(|| {
            let gone = json!({"type": "ERROR", "object": {
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "too old resource version: 1 (2)", "reason": "Expired", "code": 410,
            }});
            Reply::bytes(200, "application/json", format!("{gone}\n"))
        })
    });
    proxy.cut_watches();
    until("there is a new list", || proxy.lists("imagerepositories") > lists);
    world.release("1.1.0");
    world.committed("1.1.0", 2);
    assert_calm(&controller.log());
}

/// The ImageRepositories of a namespace in a cache of their own, behind a proxy.
struct Watching {
    proxy: ApiProxy,
    /// Changes of objects that it has seen.
    updates: Arc<AtomicUsize>,
    _runtime: tokio::runtime::Runtime,
}

impl Watching {
    /// A watch begins again after so many seconds of silence.
    fn start(cluster: &Cluster, world: &ImageWorld<'_>, silence: u64) -> Self {
        let proxy = ApiProxy::start(cluster);
        let connect = Connect {
            kubeconfig: Some(proxy.kubeconfig(world.folder.path(), None)),
            silence: Duration::from_secs(silence),
            ..Connect::default()
        };
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let cache = Arc::new(Cache::new(&client::IMAGE_REPOSITORY));
        let updates = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&updates);
        cache.listen(move |change| {
            counting.fetch_add(usize::from(matches!(change, Change::Updated(..))), Ordering::SeqCst);
        });
        let client = runtime
            .block_on(Client::connect(&connect, Arc::new(|_, _, _| {})))
            .unwrap();
        let scope = Scope {
            namespace: Some(world.namespace.clone()),
            ..Scope::default()
        };
        let watching = Arc::clone(&cache);
        runtime.spawn(async move { watching.run(&client, &scope, |_| {}).await });
        runtime.block_on(cache.listed());
        until("there is a watch", || proxy.watches("imagerepositories") > 0);
        Self {
            proxy,
            updates,
            _runtime: runtime,
        }
    }
}

/// A silent connection: the other end may be gone.
#[test]
fn a_watch_that_falls_silent_is_begun_anew() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "silent", "1h");
    let watching = Watching::start(cluster, &world, 1);
    watching.proxy.freeze_watches();
    world.request(IMAGE_REPOSITORY, "app", "now");
    until("the change is seen", || watching.updates.load(Ordering::SeqCst) > 0);
}

/// Objects elsewhere change, those that are watched do not: the server's bookmarks say from where to go on, before it
/// has forgotten what came then.
#[test]
fn a_watch_that_has_ended_goes_on_at_the_last_bookmark() {
    let Some(cluster) = Cluster::shared() else { return };
    let (world, elsewhere) = (
        ImageWorld::new(cluster, "bookmarks", "1h"),
        ImageWorld::new(cluster, "bookmarks-elsewhere", "1h"),
    );
    let watching = Watching::start(cluster, &world, 4);
    let proxy = &watching.proxy;
    let begun = || {
        let requests = proxy.requests();
        let watches = requests.iter().filter(|request| is_watch(request));
        let version = |request: &Request| request.parameter("resourceVersion")?.parse::<u64>().ok();
        watches.filter_map(version).collect::<Vec<_>>()
    };
    until("there is a watch", || !begun().is_empty());
    let lists = proxy.lists("imagerepositories");
    elsewhere.request(IMAGE_REPOSITORY, "app", "now");
    let changed = elsewhere.get(IMAGE_REPOSITORY, "app")["metadata"]["resourceVersion"].clone();
    let changed: u64 = changed.as_str().unwrap().parse().unwrap();
    assert!(begun()[0] < changed);
    until("a watch begins there", || {
        begun().last().is_some_and(|version| *version >= changed)
    });
    assert_eq!(proxy.lists("imagerepositories"), lists, "nothing is listed again");
    assert_eq!(watching.updates.load(Ordering::SeqCst), 0);
}

#[test]
fn a_list_that_fails_is_tried_again_and_readyz_says_why() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "list", "1h");
    let proxy = ApiProxy::start(cluster);
    let broken = Arc::new(AtomicBool::new(true));
    let looking = Arc::clone(&broken);
    proxy.intercept(move |request| {
        let list = request.path.ends_with("/imagepolicies");
        (list && looking.load(Ordering::SeqCst)).then(|| refusal(500, "InternalError", "etcdserver: no leader"))
    });
    let controller = world.controller_at(&proxy.kubeconfig(world.folder.path(), None), "controller", &[]);
    until("the failure is told twice", || {
        let log = controller.log();
        let told = log.lines().filter(|line| line.contains("etcdserver: no leader"));
        told.filter(|line| line.contains("\"resource\":\"imagepolicies\""))
            .count()
            > 1
    });
    assert_eq!(until("it tells", || controller.probe("healthz")).0, 200);
    assert_eq!(controller.probe("readyz").unwrap().0, 500);
    let (_, why) = controller.probe("readyz/watches").unwrap();
    let wanted = "imagepolicies are not listed yet: failed to perform initial object list: ";
    assert!(why.contains(wanted) && why.contains("no leader"), "{why}");
    broken.store(false, Ordering::SeqCst);
    world.settled();
    until("it is ready", || {
        controller.probe("readyz") == Some((200, "ok".to_owned()))
    });
}

#[test]
fn a_kind_that_may_not_be_watched_is_named_and_the_others_work() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "forbidden", "1h");
    let proxy = ApiProxy::start(cluster);
    proxy.intercept(|request| {
        let words = "imagerepositories.image.toolkit.fluxcd.io is forbidden: User \"bot\" cannot list resource";
        request
            .path
            .ends_with("/imagerepositories")
            .then(|| refusal(403, "Forbidden", words))
    });
    let controller = world.controller_at(&proxy.kubeconfig(world.folder.path(), None), "controller", &[]);
    // Without tags the policy chooses nothing, which the second line tells.
    world.ready(AUTOMATION, "app", "True", |_, message| message.starts_with(UP_TO_DATE));
    until("the refusal is told", || {
        let log = controller.log();
        let told = |line: &str| line.contains("\"resource\":\"imagerepositories\"") && line.contains("is forbidden");
        log.lines().any(told)
    });
    let asked = Instant::now();
    controller.signal("TERM");
    assert_eq!(controller.ended(), Some(0));
    assert!(
        asked.elapsed() < Duration::from_secs(20),
        "nobody waits for a list that does not come"
    );
}

#[test]
fn a_server_that_is_too_busy_is_given_the_time_that_it_asks_for() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "busy", "1h");
    let proxy = ApiProxy::start(cluster);
    let tries: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let counting = Arc::clone(&tries);
    proxy.intercept(move |request| {
        let ours = is_status_patch(request) && request.path.contains("/imageupdateautomations/");
        let first = ours && {
            let mut tries = counting.lock();
            tries.push(Instant::now());
            tries.len() == 1
        };
        first.then(|| refusal(429, "TooManyRequests", "please try again later").header("Retry-After", "1"))
    });
    let controller = world.controller_at(&proxy.kubeconfig(world.folder.path(), None), "controller", &[]);
    world.settled();
    let tries = tries.lock();
    assert!(tries[1] - tries[0] >= Duration::from_secs(1));
    assert!(!controller.log().contains("Reconciler error"), "{}", controller.log());
}

/// A projected token is replaced on disk long before it ends; here the old one ends first.
#[test]
fn a_token_that_was_replaced_on_disk_is_read_again() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "token", "1h");
    let proxy = ApiProxy::start(cluster);
    let valid = Arc::new(Mutex::new("first".to_owned()));
    let checking = Arc::clone(&valid);
    proxy.intercept(move |request| {
        let wanted = format!("Bearer {}", checking.lock());
        (request.header("authorization") != Some(&wanted)).then(|| refusal(401, "Unauthorized", "Unauthorized"))
    });
    let file = world.folder.path().join("token");
    std::fs::write(&file, "first").unwrap();
    let kubeconfig = proxy.kubeconfig(world.folder.path(), Some(&file));
    let controller = world.controller_at(&kubeconfig, "controller", &[]);
    world.settled();
    "second".clone_into(&mut valid.lock());
    proxy.cut_watches();
    until("the refusal is told", || controller.log().contains("Unauthorized"));
    std::fs::write(&file, "second").unwrap();
    world.release("1.1.0");
    world.committed("1.1.0", 2);
    world.settled();
}

/// Concurrent writes between read and write, of finalizers and status.
#[test]
fn what_others_write_at_the_same_time_stays() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "conflict", "1h");
    let proxy = ApiProxy::start(cluster);
    let (finalizers, statuses) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let path = world.path(IMAGE_REPOSITORY, "app");
    proxy.intercept(move |request| {
        if request.method != "PATCH" || !request.path.starts_with(&path) {
            return None;
        }
        let rival = if is_status_patch(request) {
            (statuses.fetch_add(1, Ordering::SeqCst) == 1).then(|| json!({"metadata": {"labels": {"rival": "true"}}}))
        } else {
            (finalizers.fetch_add(1, Ordering::SeqCst) == 0)
                .then(|| json!({"metadata": {"finalizers": ["example.com/rival"]}}))
        };
        if let Some(patch) = rival {
            let answer = cluster.merge_patch(&path, &patch);
            assert_eq!(answer.status, 200);
        }
        None
    });
    let controller = world.controller_at(&proxy.kubeconfig(world.folder.path(), None), "controller", &[]);
    world.settled();
    world.app_ready(IMAGE_REPOSITORY);
    let object = world.get(IMAGE_REPOSITORY, "app");
    assert_eq!(object["metadata"]["labels"]["rival"], "true");
    let finalizers: Vec<&str> = object["metadata"]["finalizers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finalizer| finalizer.as_str().unwrap())
        .collect();
    assert_eq!(finalizers, ["example.com/rival", "finalizers.fluxcd.io"]);
    assert_eq!(object["status"]["lastScanResult"]["tagCount"], 1);
    assert!(!controller.log().contains("Reconciler error"), "{}", controller.log());
}

/// Endless 409: the failure is reported, and the object requeued.
#[test]
fn a_status_that_cannot_be_written_is_written_later() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "unwritten", "1h");
    let proxy = ApiProxy::start(cluster);
    let refuses = Arc::new(AtomicBool::new(true));
    let looking = Arc::clone(&refuses);
    proxy.intercept(move |request| {
        let ours = is_status_patch(request) && request.path.contains("/imageupdateautomations/");
        (ours && looking.load(Ordering::SeqCst)).then(|| refusal(409, "Conflict", "the object has been modified"))
    });
    world.publish("app", "1.1.0");
    let controller = world.controller_at(&proxy.kubeconfig(world.folder.path(), None), "controller", &[]);
    until("the failure is told twice", || {
        controller.log().matches("others wrote at the same time").count() > 1
    });
    refuses.store(false, Ordering::SeqCst);
    world.settled();
    world.committed("1.1.0", 2);
}

/// The commit is pushed, and then the status cannot be written: the next attempts find it and make no other.
#[test]
fn a_push_whose_status_cannot_be_written_is_not_repeated() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "unsaid", "1h");
    let proxy = ApiProxy::start(cluster);
    let controller = world.controller_at(&proxy.kubeconfig(world.folder.path(), None), "controller", &[]);
    world.settled();
    let refuses = Arc::new(AtomicBool::new(true));
    let looking = Arc::clone(&refuses);
    proxy.intercept(move |request| {
        let ours = is_status_patch(request) && request.path.contains("/imageupdateautomations/");
        (ours && looking.load(Ordering::SeqCst)).then(|| refusal(500, "InternalError", "etcdserver: request timed out"))
    });
    world.release("1.1.0");
    world.committed("1.1.0", 2);
    until("the failure is told twice", || {
        controller.log().matches("etcdserver: request timed out").count() > 1
    });
    refuses.store(false, Ordering::SeqCst);
    let revision = format!("main@sha1:{}", world.repo.rev("main").unwrap());
    until("the status says so", || {
        let status = world.get(AUTOMATION, "app")["status"].clone();
        status["observedSourceRevision"] == revision
    });
    world.committed("1.1.0", 2);
}

#[test]
fn an_object_that_is_deleted_at_work_goes_away() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "deleted", "1h");
    world.hold("slow");
    world.publish("slow", "2.0.0");
    world.add_image_repository("slow", "slow", "1h");
    let controller = world.controller(&[]);
    world.await_held();
    assert_eq!(world.delete(IMAGE_REPOSITORY, "slow").status, 200);
    world.resume();
    world.gone(IMAGE_REPOSITORY, "slow");
    world.settled();
    assert!(controller.is_running());
    assert!(!controller.log().contains("Reconciler error"), "{}", controller.log());
}

/// Results for an object are not written to a newer one with its name.
#[test]
fn an_object_that_is_made_anew_at_work_does_not_get_the_status_of_the_old_one() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "anew", "1h");
    world.hold("old");
    world.publish("old", "9.0.0");
    world.publish("new", "1.0.0");
    world.add_image_repository("slow", "old", "1h");
    let controller = world.controller(&[]);
    world.await_held();
    world.delete(IMAGE_REPOSITORY, "slow");
    world.patch(IMAGE_REPOSITORY, "slow", &json!({"metadata": {"finalizers": null}}));
    world.gone(IMAGE_REPOSITORY, "slow");
    world.add_image_repository("slow", "new", "1h");
    let made = world.get(IMAGE_REPOSITORY, "slow");
    world.resume();
    let canonical = format!("{}/new", world.registry.host());
    until("the new one is scanned", || {
        world.get(IMAGE_REPOSITORY, "slow")["status"]["canonicalImageName"] == canonical
    });
    for state in states_since(&world, &made) {
        let latest = &state["status"]["lastScanResult"]["latestTags"];
        assert!(!latest.to_string().contains("9.0.0"), "{state:#}");
    }
    assert_calm(&controller.log());
}

/// All states that an object has had since one of them.
fn states_since(world: &ImageWorld<'_>, since: &Json) -> Vec<Json> {
    let version = since["metadata"]["resourceVersion"].as_str().unwrap();
    let name = since["metadata"]["name"].as_str().unwrap();
    let path = format!(
        "{}?watch=true&resourceVersion={version}&timeoutSeconds=3&fieldSelector=metadata.name={name}",
        world.list_path(IMAGE_REPOSITORY)
    );
    let answer = world.cluster.request("GET", &path, "", "");
    // One event is JSON as a whole, several are a text of lines.
    let text = answer
        .body
        .as_str()
        .map_or_else(|| answer.body.to_string(), str::to_owned);
    let events = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let states: Vec<Json> = events.map(|event| event["object"].clone()).collect();
    assert!(!states.is_empty());
    states
}
