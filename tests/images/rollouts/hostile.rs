//! Servers that fail, people at the same second, and records that others wrote.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{Applier, Fleet, deployment, until_commits};
use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::forge::{Forge, ForgeKind};
use bumpwright_testkit::git_http::Fault;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{self, Change};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, KUSTOMIZATION, SECRET, World};
use serde_json::{Value as Json, json};

const FAILED: &str = "state.bumpwright.dev/failed-versions";
const RECORD: &str = "state.bumpwright.dev/rollout";

fn revert(after: &str) -> Json {
    json!({"bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": after})
}

fn record(fleet: &Fleet) -> Json {
    let automation = fleet.world.get(AUTOMATION, "all");
    let text = automation["metadata"]["annotations"][RECORD].as_str().unwrap_or("{}");
    serde_json::from_str(text).unwrap_or_default()
}

fn write_record(fleet: &Fleet, text: &str) {
    let annotations = json!({RECORD: text});
    fleet
        .world
        .patch(AUTOMATION, "all", &json!({"metadata": {"annotations": annotations}}));
}

/// The server does not take the push at first; and a person is faster the next time.
#[test]
fn a_put_back_is_done_once_however_often_its_push_fails() {
    let Some(fleet) = Fleet::start("rollout-away", Applier::Ours, &revert("1s")) else {
        return;
    };
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    until_commits(&fleet, 2);
    let (away, refused) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (is_away, count) = (Arc::clone(&away), Arc::clone(&refused));
    fleet.world.git.intercept(move |seen| {
        let is_push = seen.service == "git-receive-pack";
        if !is_away.load(Ordering::SeqCst) || !is_push {
            return None;
        }
        count.fetch_add(1, Ordering::SeqCst);
        Some(Fault::Status(503, "away".to_owned()))
    });
    until("the put back was refused", || refused.load(Ordering::SeqCst) > 0);
    fleet
        .world
        .condition(AUTOMATION, "all", "RolledOut", "Unknown", |_, message| {
            message.contains("nothing is done about it yet: ")
        });
    assert_eq!((fleet.tag("web").as_str(), fleet.commits()), ("1.1.0", 2));
    // A person pushes at the same second: planned again on the new tip, with what the person did.
    let (dir, first) = (fleet.repo.dir.clone(), AtomicBool::new(true));
    let api =
        deployment("rollout-away", "api", "1.0.0").replace("name: api\nspec", "name: api\n  labels: {a: b}\nspec");
    let theirs = api.clone();
    fleet.world.git.before_push(move |_| {
        if first.swap(false, Ordering::SeqCst) {
            let repo = repo::Repo { dir: dir.clone() };
            repo.commit("main", "person", &[Change::File("apps/api.yaml", theirs.as_bytes())]);
        }
    });
    away.store(false, Ordering::SeqCst);
    fleet.world.request(AUTOMATION, "all", "again");
    fleet.rolled_out("False", "put back by commit");
    until_commits(&fleet, 4);
    assert_eq!(fleet.tag("web"), "1.0.0");
    assert_eq!(fleet.repo.show("main", "apps/api.yaml"), api.as_bytes());
    fleet.healthy();
    assert_eq!(fleet.commits(), 4);
}

/// Nothing is pushed that is not recorded.
#[test]
fn a_commit_that_cannot_be_recorded_is_not_pushed() {
    let Some(cluster) = Cluster::shared() else { return };
    let proxy = ApiProxy::start(cluster);
    let Some(mut fleet) = Fleet::start("rollout-unrecorded", Applier::Ours, &revert("1s")) else {
        return;
    };
    let is_closed = Arc::new(AtomicBool::new(true));
    let closed = Arc::clone(&is_closed);
    proxy.intercept(move |request| {
        let is_record = request.method == "PATCH" && String::from_utf8_lossy(&request.body).contains(RECORD);
        (is_record && closed.load(Ordering::SeqCst)).then(|| Reply::text(403, "no"))
    });
    fleet.ours.take().unwrap().kill();
    let kubeconfig = proxy.kubeconfig(fleet.world.folder.path(), None);
    let starter = fleet
        .world
        .starter("ours")
        .flags(&["--controllers=source,kustomize,image-automation"]);
    fleet.ours = Some(starter.flags(&fleet.served).kubeconfig(&kubeconfig).start());
    fleet.choose("web", "1.1.0");
    fleet.world.ready(AUTOMATION, "all", "False", |_, message| {
        message.contains("the commit is not pushed, since it cannot be recorded")
    });
    assert_eq!(fleet.commits(), 1);
    is_closed.store(false, Ordering::SeqCst);
    fleet.rolled_out("True", "is healthy");
    assert_eq!(fleet.commits(), 2);
}

/// A record is an annotation: who may change the automation may change it.
#[test]
fn a_record_that_others_wrote_reaches_no_further() {
    let Some(fleet) = Fleet::start("rollout-forged", Applier::Ours, &revert("1s")) else {
        return;
    };
    let world = &fleet.world;
    let first = fleet.repo.rev("main").unwrap();
    fleet.choose("web", "1.1.0");
    fleet.rolled_out("True", "is healthy");
    let tip = fleet.repo.rev("main").unwrap();
    // A commit that is in the repository, and not in the history of the branch.
    let evil = deployment("rollout-forged", "web", "6.6.6");
    fleet.repo.git(&["update-ref", "refs/heads/evil", &first]);
    let evil = fleet
        .repo
        .commit("evil", "evil", &[Change::File("apps/web.yaml", evil.as_bytes())]);
    let refs = fleet.repo.refs();
    let forged = |good: &str, base: &str, commit: &str, at: i64| {
        let failing = json!({"since": at, "commit": tip, "reason": "HealthCheckFailed", "message": "Deployment/x/y",
            "objects": ["Deployment/x/y"]});
        let follower = json!({"good": good, "failing": failing});
        json!({
            "commits": [{"commit": commit, "base": base, "branch": "main", "at": at, "appeared": at,
                "images": {"rollout-forged/web": "ghcr.io/o/web:1.1.0", "kube-system/web": "ghcr.io/o/web:1.1.0"}}],
            "arrived": true,
            "followers": {"rollout-forged/apps": follower.clone(), "kube-system/other": follower},
        })
        .to_string()
    };
    let zeros = "0".repeat(40);
    let sha256 = "1".repeat(64);
    let far = ["x".repeat(100_000), "[".repeat(10_000)];
    let texts = [
        "{".to_owned(),
        far[0].clone(),
        far[1].clone(),
        forged("'; rm -rf /", "../..", "--upload-pack=x", i64::MAX),
        forged(&zeros, &zeros, &zeros, i64::MIN),
        forged(&sha256, &sha256, &sha256, 0),
        forged(&evil, &evil, &tip, 0),
        forged(&evil, &first, &tip, 0),
    ];
    // As if it failed with the images.
    world.patch(KUSTOMIZATION, "apps", &json!({"spec": {"suspend": true}}));
    let generation = world.get(KUSTOMIZATION, "apps")["metadata"]["generation"].clone();
    let failed = json!({"type": "Ready", "status": "False", "reason": "HealthCheckFailed", "message": "Deployment/x/y",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": generation});
    world.patch_status(
        KUSTOMIZATION,
        "apps",
        &json!({"observedGeneration": generation, "conditions": [failed]}),
    );
    for (n, text) in texts.iter().enumerate() {
        write_record(&fleet, text);
        let at = format!("forged-{n}");
        world.request(AUTOMATION, "all", &at);
        until("it is handled", || {
            world.get(AUTOMATION, "all")["status"]["lastHandledReconcileAt"] == json!(at)
        });
        assert_eq!(fleet.repo.refs(), refs, "{text}");
        assert!(fleet.ours.as_ref().unwrap().is_running());
        let told = world.get(AUTOMATION, "all")["status"].to_string();
        assert!(!told.contains("kube-system"), "{told}");
    }
    assert!(!fleet.ours.as_ref().unwrap().log().contains("panicked"));
    // It goes on as ever.
    write_record(&fleet, "{}");
    world.patch(KUSTOMIZATION, "apps", &json!({"spec": {"suspend": false}}));
    fleet.world.ready(KUSTOMIZATION, "apps", "True", |_, _| true);
    fleet.nodes.break_image("ghcr.io/o/web:1.2.0");
    fleet.choose("web", "1.2.0");
    fleet.rolled_out("False", "put back by commit");
    assert_eq!(fleet.tag("web"), "1.1.0");
}

/// The policy is deleted, and the annotation, while an image fails.
#[test]
fn what_goes_away_meanwhile() {
    let Some(fleet) = Fleet::start("rollout-gone", Applier::Ours, &revert("4s")) else {
        return;
    };
    for name in ["web", "api"] {
        fleet.nodes.break_image(&format!("ghcr.io/o/{name}:1.1.0"));
    }
    fleet.choose("web", "1.1.0");
    until("it fails", || record(&fleet).to_string().contains("\"failing\""));
    fleet.world.delete(IMAGE_POLICY, "web");
    fleet.rolled_out("False", "put back by commit");
    assert_eq!((fleet.tag("web").as_str(), fleet.commits()), ("1.0.0", 3));
    fleet.healthy();
    fleet.choose("api", "1.1.0");
    until("it fails", || {
        let record = record(&fleet);
        record["commits"].to_string().contains("rollout-gone/api") && record.to_string().contains("\"failing\"")
    });
    let none = json!({"bumpwright.dev/on-failure": null, "bumpwright.dev/failure-after": null});
    fleet
        .world
        .patch(AUTOMATION, "all", &json!({"metadata": {"annotations": none}}));
    until("the record is gone", || record(&fleet) == json!({}));
    assert_eq!((fleet.tag("api").as_str(), fleet.commits()), ("1.1.0", 4));
}

/// The leader dies after the image is held; the next one puts it back, once.
#[test]
fn the_next_leader_puts_back_what_the_first_one_held() {
    let Some(mut fleet) = Fleet::start("rollout-leaders", Applier::Flux, &revert("1s")) else {
        return;
    };
    fleet.ours.take().unwrap().kill();
    let elected = [
        "--enable-leader-election",
        "--leader-election-lease-duration=4s",
        "--leader-election-renew-deadline=3s",
        "--leader-election-retry-period=300ms",
        "--controllers=source,image-automation",
    ];
    let starter = |folder: &str| fleet.world.starter(folder).flags(&elected);
    let first = starter("first").flags(&fleet.served).start();
    until("it leads", || {
        first.leads("image-automation-controller-leader-election")
    });
    let second = starter("second").flags(&fleet.served).start();
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    until_commits(&fleet, 2);
    // The put back waits at the server until the leader is dead.
    let dead = Arc::new(AtomicBool::new(false));
    let (is_dead, asked) = (Arc::clone(&dead), Arc::new(AtomicBool::new(false)));
    let noted = Arc::clone(&asked);
    fleet.world.git.intercept(move |seen| {
        let is_push = seen.service == "git-receive-pack";
        if is_dead.load(Ordering::SeqCst) || !is_push {
            return None;
        }
        noted.store(true, Ordering::SeqCst);
        Some(Fault::Drop)
    });
    until("the put back is tried", || asked.load(Ordering::SeqCst));
    let held = fleet.world.get(IMAGE_POLICY, "web")["metadata"]["annotations"][FAILED].to_string();
    assert!(held.contains("1.1.0"), "{held}");
    first.kill();
    dead.store(true, Ordering::SeqCst);
    fleet.rolled_out("False", "put back by commit");
    until_commits(&fleet, 3);
    assert_eq!(fleet.tag("web"), "1.0.0");
    drop(second);
}

/// By pull requests: the rollout waits for the merge, and what is put back is proposed, too.
#[test]
fn what_is_merged_by_pull_request_is_put_back_by_one() {
    let annotations = json!({
        "bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": "1s",
        "bumpwright.dev/pull-request": "gitea", "bumpwright.dev/pull-request-secret": "forge",
    });
    let forge: std::cell::OnceCell<Forge> = std::cell::OnceCell::new();
    let more = |world: &World<'_>| {
        let root = world.folder.path().join("forge");
        std::fs::create_dir_all(root.join("o")).unwrap();
        let served = world.repository("fleet.git");
        std::os::unix::fs::symlink(&served.dir, root.join("o/app.git")).unwrap();
        served.config("http.receivepack", "true");
        let forge = forge.get_or_init(|| Forge::start(ForgeKind::Gitea, &root, "token t0ken"));
        let url = forge.server.url("o/app.git");
        world.patch(GIT_REPOSITORY, "fleet", &json!({"spec": {"url": url}}));
        world.put(SECRET, "forge", json!({"stringData": {"token": "t0ken"}}));
        world.patch(
            AUTOMATION,
            "all",
            &json!({"spec": {"git": {"push": {"branch": "auto"}}}}),
        );
    };
    let Some(fleet) = Fleet::start_with("rollout-request", Applier::Ours, &annotations, &more) else {
        return;
    };
    let forge = forge.get().unwrap();
    fleet.nodes.break_image("ghcr.io/o/web:1.1.0");
    fleet.choose("web", "1.1.0");
    until("it is proposed", || forge.pulls().len() == 1);
    fleet.rolled_out("Unknown", "is not on the reconciled branch yet");
    assert_eq!(fleet.commits(), 1);
    // Squashed, with other words.
    let merge = |branch: &str| {
        let file = fleet.repo.show(branch, "apps/web.yaml");
        fleet
            .repo
            .commit("main", "Squashed", &[Change::File("apps/web.yaml", &file)]);
        forge.by_hand(|pull| (pull.open, pull.merged) = (false, true));
    };
    merge("auto");
    fleet.rolled_out("False", "; to be put back by pull request #2 (https://");
    let pulls = forge.pulls();
    let pull = &pulls[1];
    assert_eq!((pull.head.as_str(), pull.base.as_str()), ("auto-put-back", "main"));
    assert!(pull.title.starts_with("Put back images that failed"), "{}", pull.title);
    assert!(pull.body.contains("ghcr.io/o/web:1.0.0"), "{}", pull.body);
    assert_eq!((fleet.tag("web").as_str(), fleet.commits()), ("1.1.0", 2));
    // Not a second time, whatever happens.
    fleet.world.request(AUTOMATION, "all", "once more");
    until("it is handled", || {
        fleet.world.get(AUTOMATION, "all")["status"]["lastHandledReconcileAt"] == json!("once more")
    });
    assert_eq!(forge.pulls().len(), 2);
    merge("auto-put-back");
    fleet.healthy();
    until("the rollout is over", || record(&fleet)["closed"].is_i64());
    fleet.rolled_out("False", "; put back by pull request #2 (https://");
    assert_eq!(fleet.tag("web"), "1.0.0");
    assert_eq!(forge.pulls().len(), 2);
}
