//! What must not happen: failures that are not the images', put back twice, lost with a process, or pushed in a loop.

use std::sync::Arc;

use parking_lot::Mutex;

use super::{Applier, Fleet, deployment, kustomization, until_commits};
use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, EVENT, GIT_REPOSITORY, IMAGE_POLICY, KUSTOMIZATION, condition_of};
use serde_json::{Value as Json, json};

const FAILED: &str = "state.bumpwright.dev/failed-versions";
const RECORD: &str = "state.bumpwright.dev/rollout";

fn revert() -> Json {
    json!({"bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": "1s"})
}

fn held(fleet: &Fleet, policy: &str) -> String {
    let policy = fleet.world.get(IMAGE_POLICY, policy);
    policy["metadata"]["annotations"][FAILED]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_version_that_is_held_stays_so_until_it_is_released_and_is_put_back_once() {
    let Some(fleet) = Fleet::start("rollout-release", Applier::Ours, &revert()) else {
        return;
    };
    let image = "ghcr.io/o/web:1.1.0";
    fleet.nodes.break_image(image);
    fleet.choose("web", "1.1.0");
    fleet.rolled_out("False", "put back by commit");
    until_commits(&fleet, 3);
    fleet.healthy();
    // The annotation; and, as it fails again, no second put back.
    fleet.world.patch(
        IMAGE_POLICY,
        "web",
        &json!({"metadata": {"annotations": {"bumpwright.dev/release": "1.1.0"}}}),
    );
    fleet.in_git("web", "1.1.0");
    fleet.rolled_out("False", "was put back before");
    until_commits(&fleet, 4);
    assert_eq!(fleet.tag("web"), "1.1.0");
    // The command, with the image mended.
    fleet.world.patch(
        IMAGE_POLICY,
        "web",
        &json!({"metadata": {"annotations": {"bumpwright.dev/release": null}}}),
    );
    until("it is held", || held(&fleet, "web").contains("1.1.0"));
    fleet.nodes.mend_image(image);
    let kubeconfig = fleet.world.cluster.kubeconfig();
    let release = |version: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bumpwright"));
        command.args(["policy", "--release", version, "rollout-release/web", "--kubeconfig"]);
        command.arg(&kubeconfig).output().unwrap()
    };
    let wrong = release("1.0.7");
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said.contains("does not hold 1.0.7: it holds 1.1.0"), "{said}");
    assert_eq!(release("1.1.0").status.code(), Some(0));
    assert_eq!(held(&fleet, "web"), "");
}

#[test]
fn what_others_changed_at_the_same_time_is_not_blamed_on_the_image() {
    let Some(fleet) = Fleet::start("rollout-mixed", Applier::Ours, &revert()) else {
        return;
    };
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    // Both commits are applied at once.
    fleet
        .world
        .patch(KUSTOMIZATION, "apps", &json!({"spec": {"suspend": true}}));
    fleet.choose("web", "1.1.0");
    fleet.in_git("web", "1.1.0");
    let api =
        deployment("rollout-mixed", "api", "1.0.0").replace("name: api\nspec", "name: api\n  labels: {a: b}\nspec");
    let person = fleet
        .repo
        .commit("main", "person", &[Change::File("apps/api.yaml", api.as_bytes())]);
    until("the source has both", || {
        let source = fleet.world.get(GIT_REPOSITORY, "fleet");
        let revision = source["status"]["artifact"]["revision"].as_str();
        revision.is_some_and(|revision| revision.ends_with(&person))
    });
    fleet
        .world
        .patch(KUSTOMIZATION, "apps", &json!({"spec": {"suspend": false}}));
    let told = fleet.rolled_out("False", "other changes lie between");
    assert!(told.contains("reported only"), "{told}");
    assert_eq!(fleet.tag("web"), "1.1.0");
    assert_eq!((held(&fleet, "web").as_str(), fleet.commits()), ("", 3));
}

#[test]
fn a_field_that_a_person_has_changed_since_stays() {
    let annotations = json!({"bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": "5s"});
    let Some(fleet) = Fleet::start("rollout-person", Applier::Ours, &annotations) else {
        return;
    };
    for name in ["web", "api"] {
        fleet.nodes.break_image(&format!("ghcr.io/o/{name}:1.1.0"));
    }
    // Both in one commit.
    fleet.world.patch(
        AUTOMATION,
        "all",
        &json!({"metadata": {"annotations": {"bumpwright.dev/settle": "2s"}}}),
    );
    fleet.choose("web", "1.1.0");
    fleet.choose("api", "1.1.0");
    fleet.in_git("api", "1.1.0");
    until_commits(&fleet, 2);
    until("the failure is seen", || {
        let record = fleet.world.get(AUTOMATION, "all");
        let record = record["metadata"]["annotations"][RECORD]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        record.contains("\"failing\":{")
    });
    // While nobody applies it, so that the failure stays that of our commit.
    let held = json!({"metadata": {"annotations": {"bumpwright.dev/hold": "by hand"}}});
    fleet.world.patch(IMAGE_POLICY, "api", &held);
    fleet
        .world
        .patch(KUSTOMIZATION, "apps", &json!({"spec": {"suspend": true}}));
    let api = deployment("rollout-person", "api", "0.9.9");
    fleet
        .repo
        .commit("main", "person", &[Change::File("apps/api.yaml", api.as_bytes())]);
    fleet.rolled_out("False", "put back by commit");
    assert_eq!(
        (fleet.tag("web").as_str(), fleet.tag("api").as_str()),
        ("1.0.0", "0.9.9")
    );
}

#[test]
fn bisect_puts_back_the_images_of_unhealthy_workloads_only() {
    let mut annotations = revert();
    annotations["bumpwright.dev/revert"] = json!("bisect");
    annotations["bumpwright.dev/settle"] = json!("2s");
    let message = "Take back {{ len .Changed.Changes }}";
    annotations["bumpwright.dev/revert-message"] = json!(message);
    let Some(fleet) = Fleet::start("rollout-bisect", Applier::Ours, &annotations) else {
        return;
    };
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    fleet.choose("api", "1.1.0");
    fleet.rolled_out("False", "put back by commit");
    until_commits(&fleet, 3);
    assert_eq!(
        (fleet.tag("web").as_str(), fleet.tag("api").as_str()),
        ("1.0.0", "1.1.0")
    );
    assert!(held(&fleet, "web").contains("1.1.0") && held(&fleet, "api").is_empty());
    let newest = &fleet.repo.log("main")[0].message;
    assert!(newest.starts_with("Take back 1\n\nReverted-Commit: "), "{newest}");
}

#[test]
fn a_cluster_that_loses_its_nodes_is_not_blamed_on_the_image() {
    let more = |world: &bumpwright_testkit::world::World<'_>| {
        for name in ["b", "c"] {
            let mut spec = kustomization("rollout-nodes", "./apps");
            // Of another source, so the automation's commits do not change it.
            spec["sourceRef"]["name"] = json!("other");
            world.add(KUSTOMIZATION, name, spec);
            let ready = json!({"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z"});
            world.patch_status(
                KUSTOMIZATION,
                name,
                &json!({"observedGeneration": 1, "conditions": [ready]}),
            );
        }
    };
    let Some(fleet) = Fleet::start_with("rollout-nodes", Applier::Flux, &revert(), &more) else {
        return;
    };
    // Their source does not exist: unhealthy before, which does not count.
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    fleet.rolled_out("False", "put back by commit");
}

#[test]
fn a_build_that_fails_is_a_failure_too() {
    let Some(fleet) = Fleet::start("rollout-build", Applier::Ours, &revert()) else {
        return;
    };
    let folder =
        "resources:\n- web.yaml\n- api.yaml\n- ../parts/1.0.0 # {\"$imagepolicy\": \"rollout-build:web:tag\"}\n";
    let folder = folder.replace("- ../parts/1.0.0", "- 1.0.0");
    let map = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: part}\n";
    fleet.repo.commit(
        "main",
        "folders",
        &[
            Change::File("apps/kustomization.yaml", folder.as_bytes()),
            Change::File("apps/1.0.0/kustomization.yaml", b"resources: [map.yaml]\n"),
            Change::File("apps/1.0.0/map.yaml", map),
        ],
    );
    fleet.healthy();
    fleet.choose("web", "1.1.0");
    let told = fleet.rolled_out("False", "put back by commit");
    assert!(told.contains("BuildFailed"), "{told}");
    until_commits(&fleet, 4);
    fleet.healthy();
}

#[test]
fn reports_only_unless_asked() {
    let annotations = json!({"bumpwright.dev/follow": "true", "bumpwright.dev/failure-after": "1s"});
    let Some(fleet) = Fleet::start("rollout-report", Applier::Ours, &annotations) else {
        return;
    };
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    fleet.rolled_out("False", "; reported");
    assert_eq!((held(&fleet, "web").as_str(), fleet.commits()), ("", 2));
    // Without the annotation there is no condition.
    let none = json!({"bumpwright.dev/follow": null, "bumpwright.dev/failure-after": null});
    fleet
        .world
        .patch(AUTOMATION, "all", &json!({"metadata": {"annotations": none}}));
    until("the condition is gone", || {
        let automation = fleet.world.get(AUTOMATION, "all");
        let has = bumpwright_testkit::world::condition_of(&automation, "RolledOut").is_some();
        !has && automation["metadata"]["annotations"].get(RECORD).is_none()
    });
}

/// Somebody has changed the record: an event says that it is forgotten, and the next commit is followed as any other.
#[test]
fn a_record_that_cannot_be_read_is_reported() {
    let Some(fleet) = Fleet::start("rollout-damaged", Applier::Ours, &revert()) else {
        return;
    };
    let damaged = json!({RECORD: "{", "reconcile.fluxcd.io/requestedAt": "now"});
    fleet
        .world
        .patch(AUTOMATION, "all", &json!({"metadata": {"annotations": damaged}}));
    until("an event tells of it", || {
        let events = fleet.world.list(EVENT);
        events.iter().any(|event| {
            let message = event["message"].as_str().unwrap();
            event["reason"] == "InvalidAnnotation" && message.contains(RECORD)
        })
    });
    fleet.choose("web", "1.1.0");
    fleet.rolled_out("True", "is healthy in 1 Kustomization");
}

/// Killed at any time between choice and end, many times.
#[test]
fn a_process_that_is_killed_loses_nothing_and_does_nothing_twice() {
    let Some(mut fleet) = Fleet::start("rollout-killed", Applier::Flux, &revert()) else {
        return;
    };
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    let mut pause = 40;
    // Longer each time, so that each step is interrupted once and done at last.
    while fleet.world.get(AUTOMATION, "all")["status"]["conditions"]
        .as_array()
        .is_none_or(|all| {
            !all.iter()
                .any(|one| one["type"] == "RolledOut" && one["status"] == "False")
        })
    {
        std::thread::sleep(std::time::Duration::from_millis(pause));
        fleet.ours.take().unwrap().kill();
        fleet.start_ours();
        pause += pause / 3;
        assert!(pause < 60_000, "{:#}", fleet.world.get(AUTOMATION, "all"));
    }
    fleet.in_git("web", "1.0.0");
    fleet.healthy();
    assert_eq!(fleet.commits(), 3);
    assert!(held(&fleet, "web").contains("1.1.0"));
    fleet.choose("web", "1.1.1");
    fleet.rolled_out("True", "is healthy");
    assert_eq!(fleet.commits(), 4);
}

/// Why the Kustomization was not ready, in each version of it since this one.
fn unready(fleet: &Fleet, since: &str) -> Vec<String> {
    let list = fleet.world.list_path(KUSTOMIZATION);
    let path = format!("{list}?watch=true&timeoutSeconds=1&resourceVersion={since}");
    let text = match fleet.world.cluster.get(&path) {
        Json::String(text) => text,
        one => one.to_string(),
    };
    let events = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let unready = events.filter_map(|event| {
        let ready = condition_of(&event["object"], "Ready")?.clone();
        (ready["status"] == "False").then(|| ready["reason"].as_str().unwrap().to_owned())
    });
    unready.collect()
}

/// A pod that was moved: its folder is empty and its address another one. A rollout at that time is judged as any
/// other. (A Kustomization that somebody asks for at that moment says that its artifact is out of reach.)
#[test]
fn a_new_pod_with_empty_storage_fails_no_kustomization_and_hides_no_failure() {
    let Some(mut fleet) = Fleet::start("rollout-new-pod", Applier::Ours, &revert()) else {
        return;
    };
    fleet.healthy();
    for tag in ["1.1.0", "1.2.0"] {
        fleet.ours.take().unwrap().stop();
        let commits = fleet.commits();
        let before = fleet.world.get(KUSTOMIZATION, "apps")["metadata"]["resourceVersion"].clone();
        std::fs::remove_dir_all(fleet.world.folder_of("ours")).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        // Long enough for a start beside other suites.
        fleet.served = vec![
            format!("--storage-addr={address}"),
            format!("--storage-adv-addr={address}"),
            "--requeue-dependency=12s".to_owned(),
        ];
        fleet.nodes.break_image(&format!("ghcr.io/o/web:{tag}"));
        fleet.choose("web", tag);
        fleet.start_ours();
        until_commits(&fleet, commits + 2);
        let told = fleet.rolled_out("False", "put back by commit");
        assert!(
            held(&fleet, "web").contains(tag) && !told.contains("reported only"),
            "{told}"
        );
        fleet.healthy();
        let unready = unready(&fleet, before.as_str().unwrap());
        let is_of_rollout = unready.iter().all(|reason| reason == "HealthCheckFailed");
        assert!(is_of_rollout && !unready.is_empty(), "{unready:?}");
    }
}

/// A broken and a mended tag, in turns.
#[test]
fn nothing_is_pushed_in_a_loop() {
    let Some(fleet) = Fleet::start("rollout-loop", Applier::Ours, &revert()) else {
        return;
    };
    let rounds: usize = std::env::var("ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2);
    for round in 1..=rounds {
        let broken = format!("1.{round}.0");
        fleet.nodes.break_image(&format!("ghcr.io/o/web:{broken}"));
        fleet.choose("web", &broken);
        until_commits(&fleet, 3 * round);
        fleet.rolled_out("False", "put back by commit");
        // What is held is chosen again, and again.
        fleet.choose("web", &fleet.tag("web"));
        fleet.choose("web", &broken);
        fleet.choose("web", &format!("1.{round}.1"));
        fleet.rolled_out("True", "is healthy");
        assert_eq!(fleet.commits(), 1 + 3 * round);
    }
}

/// A request that is held under way.
#[derive(Default)]
struct Gate {
    arrived: bool,
    open: bool,
    answer: Option<u16>,
}

/// Holds the caller until the gate is open; once.
fn pass(gate: &Mutex<Gate>) -> bool {
    if std::mem::replace(&mut gate.lock().arrived, true) {
        return false;
    }
    while !gate.lock().open {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    true
}

/// Two controllers, of which the first leads. It puts an image back, and is paused in the middle of that, as soon as
/// `gate` holds a request of it; then the second one leads, and puts it back. Returns the first one, still paused.
fn change_of_leader(fleet: &mut Fleet, proxy: &ApiProxy, gate: &Mutex<Gate>) -> [Controller; 2] {
    fleet.ours.take().unwrap().kill();
    // Its storage is not part of the election.
    let source = fleet
        .world
        .starter("source")
        .flags(&["--controllers=source"])
        .flags(&fleet.served);
    fleet.ours = Some(source.start());
    let elected = [
        "--enable-leader-election",
        "--leader-election-lease-duration=4s",
        "--leader-election-renew-deadline=3s",
        "--leader-election-retry-period=300ms",
        "--controllers=image-automation",
    ];
    let starter = |folder: &str| fleet.world.starter(folder).flags(&elected);
    let leads = |controller: &Controller| {
        until("it leads", || {
            controller.leads("image-automation-controller-leader-election")
        });
    };
    let kubeconfig = proxy.kubeconfig(fleet.world.folder.path(), None);
    let first = starter("first").kubeconfig(&kubeconfig).start();
    leads(&first);
    let second = starter("second").start();
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    until("the put back is under way", || gate.lock().arrived);
    until_commits(fleet, 2);
    first.signal("STOP");
    leads(&second);
    fleet.rolled_out("False", "put back by commit");
    until_commits(fleet, 3);
    fleet.healthy();
    until("the rollout is over", || record(fleet)["closed"].is_i64());
    [first, second]
}

fn record(fleet: &Fleet) -> Json {
    let automation = fleet.world.get(AUTOMATION, "all");
    let text = automation["metadata"]["annotations"][RECORD].as_str().unwrap_or("{}");
    serde_json::from_str(text).unwrap()
}

/// The first leader is deposed, and nothing has changed since it was.
fn ends_without_a_trace(fleet: &Fleet, [first, _second]: &[Controller; 2], before: &Json) {
    first.signal("CONT");
    assert_eq!(first.ended(), Some(2), "{}", first.log());
    assert_eq!(record(fleet), *before);
    assert_eq!((fleet.tag("web").as_str(), fleet.commits()), ("1.0.0", 3));
    let held: Json = serde_json::from_str(&held(fleet, "web")).unwrap();
    assert_eq!(held.as_object().map(serde_json::Map::len), Some(1), "{held}");
    assert!(held.to_string().contains("1.1.0"), "{held}");
}

/// Holds the first write back whose body has these words.
fn hold_back(proxy: &ApiProxy, cluster: &'static Cluster, words: &'static [&str]) -> Arc<Mutex<Gate>> {
    let gate: Arc<Mutex<Gate>> = Arc::default();
    let holding = Arc::clone(&gate);
    proxy.intercept(move |request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let is_meant = request.method == "PATCH" && words.iter().all(|word| body.contains(word));
        if !is_meant || !pass(&holding) {
            return None;
        }
        let answer = cluster.request("PATCH", &request.target, request.header("content-type")?, &body);
        holding.lock().answer = Some(answer.status);
        Some(Reply::text(answer.status, &answer.body.to_string()))
    });
    gate
}

/// Between the record of a put back and its push.
#[test]
fn a_push_of_a_leader_that_was_paused_comes_too_late() {
    let Some(cluster) = Cluster::shared() else { return };
    let proxy = ApiProxy::start(cluster);
    let Some(mut fleet) = Fleet::start("rollout-late-push", Applier::Flux, &revert()) else {
        return;
    };
    let gate: Arc<Mutex<Gate>> = Arc::default();
    let (holding, repo) = (Arc::clone(&gate), fleet.repo.dir.clone());
    fleet.world.git.intercept(move |seen| {
        let is_push = seen.is_push() && seen.body.len() > 4;
        let repo = bumpwright_testkit::repo::Repo { dir: repo.clone() };
        if is_push && repo.log("main").len() == 2 && pass(&holding) {
            holding.lock().answer = Some(0);
        }
        None
    });
    let both = change_of_leader(&mut fleet, &proxy, &gate);
    let before = record(&fleet);
    gate.lock().open = true;
    until("it goes on", || gate.lock().answer.is_some());
    ends_without_a_trace(&fleet, &both, &before);
}

/// The record of a put back is written late: the next leader has put it back, and written that.
#[test]
fn a_record_of_a_leader_that_was_paused_replaces_no_newer_one() {
    let Some(cluster) = Cluster::shared() else { return };
    let proxy = ApiProxy::start(cluster);
    let Some(mut fleet) = Fleet::start("rollout-late-record", Applier::Flux, &revert()) else {
        return;
    };
    let gate = hold_back(&proxy, cluster, &[RECORD, "putBack"]);
    let both = change_of_leader(&mut fleet, &proxy, &gate);
    let before = record(&fleet);
    assert_eq!(before["putBack"]["pushed"], true);
    gate.lock().open = true;
    let answer = until("it is answered", || gate.lock().answer);
    assert_eq!(answer, 409);
    ends_without_a_trace(&fleet, &both, &before);
}

/// A protected branch: tried again after growing pauses, and at once when somebody asks for it.
#[test]
fn a_put_back_that_the_server_refuses_is_tried_less_and_less_often() {
    let flags = [
        "--watch-all-namespaces=false",
        "--interval-jitter-percentage=0",
        "--min-retry-delay=4s",
    ];
    let Some(fleet) = Fleet::start_as("rollout-refused", Applier::Ours, &revert(), &|_| {}, &flags) else {
        return;
    };
    // From the third commit on.
    let script = "test -e open || test $(git rev-list --count main) = 1 && exit 0\n\
                  date +%s%N >>tries\necho 'main is protected' >&2\nexit 1";
    fleet.repo.hook("pre-receive", script);
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    let tries = || {
        let lines = std::fs::read_to_string(fleet.repo.dir.join("tries")).unwrap_or_default();
        let nanoseconds = lines.lines().map(|line| line.parse::<i64>().unwrap());
        nanoseconds.collect::<Vec<_>>()
    };
    let told = fleet.rolled_out("Unknown", "; tried 2 times, again at 20");
    assert!(
        told.contains("nothing is done about it yet: ") && told.contains("hook declined"),
        "{told}"
    );
    // Four and eight seconds, to the second.
    let (tries, record) = (tries(), record(&fleet));
    let retry = &record["followers"]["rollout-refused/apps"]["failing"]["retry"];
    let next = retry["at"].as_i64().unwrap() * 1_000_000_000;
    assert_eq!(tries.len(), 2, "{record:#}");
    assert!(
        tries[1] - tries[0] > 2_900_000_000 && next - tries[1] > 6_900_000_000,
        "{tries:?} {next}"
    );
    assert!(record.to_string().len() < 4_000, "{record:#}");
    std::fs::write(fleet.repo.dir.join("open"), "").unwrap();
    let asked = std::time::Instant::now();
    fleet.world.request(AUTOMATION, "all", "now");
    fleet.rolled_out("False", "put back by commit");
    assert!(asked.elapsed().as_secs() < 7, "{:?}", asked.elapsed());
    until_commits(&fleet, 3);
}

/// A version is held while another one is released.
#[test]
fn what_is_held_at_the_same_time_as_another_version_is_released_stays_held() {
    let Some(cluster) = Cluster::shared() else { return };
    let proxy = ApiProxy::start(cluster);
    let world = ImageWorld::new(cluster, "rollout-released", "1h");
    let hold = |versions: &[&str]| {
        let failed = json!({"image": world.image("app"), "kustomization": "fs/apps"});
        let all: serde_json::Map<String, Json> = versions
            .iter()
            .map(|version| ((*version).to_owned(), failed.clone()))
            .collect();
        let annotations = json!({FAILED: Json::Object(all).to_string(), "bumpwright.dev/release": "1.1.0"});
        world.patch(IMAGE_POLICY, "app", &json!({"metadata": {"annotations": annotations}}));
    };
    hold(&["1.1.0"]);
    let gate = hold_back(&proxy, cluster, &[FAILED]);
    let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
    let flags = ["--controllers=image-reflector"];
    let _controller = world.starter("reflector").kubeconfig(&kubeconfig).flags(&flags).start();
    until("1.1.0 is to be forgotten", || gate.lock().arrived);
    hold(&["1.1.0", "1.2.0"]);
    gate.lock().open = true;
    let answer = until("it is answered", || gate.lock().answer);
    assert_eq!(answer, 409);
    until("1.2.0 alone is held", || {
        let held = world.get(IMAGE_POLICY, "app")["metadata"]["annotations"][FAILED].to_string();
        held.contains("1.2.0") && !held.contains("1.1.0")
    });
}
