//! `bumpwright controller` when its storage folder disappears, fills up or is damaged, and when the registry or the Git
//! server is down for a while: conditions report it, and everything recovers by itself.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::git_http::Fault;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, IMAGE_POLICY, IMAGE_REPOSITORY, QUICK, condition_of};

/// Removes a folder into which somebody may be writing.
fn remove(folder: &std::path::Path) {
    until("the folder is removed", || {
        let _ = fs::remove_dir_all(folder);
        !folder.exists()
    });
}

#[test]
fn a_storage_folder_that_is_deleted_is_made_again() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "folder", "1h");
    let controller = world.controller(&[]);
    world.settled();
    let data = world.folder_of("controller").join("data");
    remove(&data);
    world.release("1.1.0");
    world.committed("1.1.0", 2);
    remove(&data.join("mirrors"));
    world.release("1.2.0");
    world.committed("1.2.0", 3);
    assert!(data.join("tags.redb").exists());
    assert!(!controller.log().contains("panicked"), "{}", controller.log());
}

/// A foreign file is in place of the folder.
#[test]
fn a_storage_folder_that_cannot_be_made_is_told_and_waited_for() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "nofolder", "1h");
    let controller = world.controller(&[]);
    world.settled();
    let data = world.folder_of("controller").join("data");
    until("the folder is replaced", || {
        let _ = fs::remove_dir_all(&data);
        fs::write(&data, "somebody's file").ok()
    });
    world.release("1.1.0");
    let why = world.ready(IMAGE_REPOSITORY, "app", "False", |reason, _| {
        reason == "ReadOperationFailed"
    });
    let wanted = format!(
        "scan failed: failed to set tags for \"{}/app\": {}",
        world.registry.host(),
        data.display()
    );
    assert!(why.starts_with(&wanted), "{why}");
    world.request(AUTOMATION, "app", "now");
    let why = world.ready(AUTOMATION, "app", "False", |_, _| true);
    assert!(why.contains(&data.display().to_string()), "{why}");
    controller.says(&data.display().to_string());
    fs::remove_file(&data).unwrap();
    world.committed("1.1.0", 2);
    world.settled();
    assert!(controller.is_running());
}

/// The disk is full; later there is space again.
#[test]
fn a_full_disk_is_told_and_waited_for() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "full", "1h");
    let folder = world.folder_of("controller");
    let Some(starter) = Controller::ours_on_disk(64 << 20, &cluster.kubeconfig(), "full", &folder) else {
        return;
    };
    let controller = starter.flags(&QUICK).start();
    world.settled();
    let filler = controller.disk().join("filler");
    fill(&filler);
    // More than the free pages of the database hold.
    for n in 0..40_000 {
        world.publish("app", &format!("0.0.{n}"));
    }
    world.release("1.1.0");
    let why = world.ready(IMAGE_REPOSITORY, "app", "False", |reason, _| {
        reason == "ReadOperationFailed"
    });
    assert!(
        why.contains("failed to set tags") && why.contains("No space left on device"),
        "{why}"
    );
    controller.says("No space left on device");
    let file = world.marked("1.0.0");
    let change = bumpwright_testkit::repo::Change::File("more.yaml", file.as_bytes());
    world.repo.commit("main", "second", &[change]);
    world.request(AUTOMATION, "app", "now");
    let why = world.ready(AUTOMATION, "app", "False", |reason, _| reason == "GitOperationFailed");
    assert!(why.contains("No space left on device"), "{why}");
    fs::remove_file(&filler).unwrap();
    world.committed("1.1.0", 3);
    world.settled();
    assert!(controller.is_running());
    assert!(!controller.log().contains("panicked"), "{}", controller.log());
}

/// Replicas with a storage each take turns. The one that scanned before the other did has older tags, of which its
/// policies would choose an older image.
#[test]
fn a_process_with_the_tags_of_an_older_scan_scans_again() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "turns", "1h");
    let first = world.starter("first").start();
    world.settled();
    first.stop();
    let second = world.starter("second").start();
    world.release("1.1.0");
    world.committed("1.1.0", 2);
    world.settled();
    second.stop();
    let _first = world.starter("first").start();
    world.request(IMAGE_POLICY, "app", "again");
    until("the policy has chosen again", || {
        world.get(IMAGE_POLICY, "app")["status"]["lastHandledReconcileAt"] == "again"
    });
    world.ready(IMAGE_POLICY, "app", "True", |_, _| true);
    let chosen = world.get(IMAGE_POLICY, "app")["status"]["latestRef"]["tag"].clone();
    assert_eq!(chosen, "1.1.0");
}

/// Writes until nothing fits any more.
fn fill(file: &std::path::Path) {
    use std::io::Write;
    let mut file = fs::File::create(file).unwrap();
    for size in [64 << 10, 1] {
        while file.write_all(&vec![1_u8; size]).is_ok() {}
    }
}

/// A power cut in the middle of a write, or a disk that lies.
#[test]
fn a_damaged_database_costs_a_scan_and_nothing_else() {
    let Some(cluster) = Cluster::shared() else { return };
    for (namespace, damage) in [("torn", 0), ("garbage", 1)] {
        let world = ImageWorld::new(cluster, namespace, "1h");
        let controller = world.controller(&[]);
        world.settled();
        controller.signal("KILL");
        controller.ended();
        let file = world.folder_of("controller").join("data/tags.redb");
        let mut bytes = fs::read(&file).unwrap();
        match damage {
            0 => bytes.truncate(bytes.len() / 3),
            _ => bytes.fill(0xa5),
        }
        fs::write(&file, bytes).unwrap();
        world.publish("app", "1.1.0");
        let controller = world.controller(&[]);
        // Nothing else would have them scanned before an hour is over.
        world.committed("1.1.0", 2);
        world.settled();
        let told = |line: &str| line.contains("\"level\":\"error\"") && line.contains("tags.redb is damaged");
        until("the damage is told", || controller.log().lines().any(told));
        assert!(file.with_extension("redb.unreadable").exists());
    }
}

#[test]
fn a_registry_that_is_down_for_a_while_is_asked_again() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "registry", "1s");
    let _controller = world.controller(&[]);
    world.settled();
    world.registry_down(true);
    let why = world.ready(IMAGE_REPOSITORY, "app", "False", |reason, _| {
        reason == "ReadOperationFailed"
    });
    assert!(why.contains("503"), "{why}");
    let asked = world.registry.count();
    until("three further scans fail", || world.registry.count() >= asked + 12);
    world.condition(IMAGE_REPOSITORY, "app", "Reconciling", "True", |reason, _| {
        reason == "ProgressingWithRetry"
    });
    let policy = world.get(IMAGE_POLICY, "app");
    assert_eq!(condition_of(&policy, "Ready").unwrap()["status"], "True");
    assert_eq!(policy["status"]["latestRef"]["tag"], "1.0.0");
    world.publish("app", "1.1.0");
    world.registry_down(false);
    world.committed("1.1.0", 2);
    world.ready(IMAGE_REPOSITORY, "app", "True", |_, message| {
        message.contains("found 2 tags")
    });
}

/// Policies choose new images meanwhile; what is pushed in the end is the last one, once.
#[test]
fn a_git_server_that_is_down_for_a_while_gets_one_commit() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = ImageWorld::new(cluster, "gitdown", "1s");
    let _controller = world.controller(&[]);
    world.settled();
    let (down, refused) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (looking, counting) = (Arc::clone(&down), Arc::clone(&refused));
    world.git.intercept(move |_| {
        looking.load(Ordering::SeqCst).then(|| {
            counting.fetch_add(1, Ordering::SeqCst);
            Fault::Status(503, "closed for repairs\n".to_owned())
        })
    });
    let why = world.ready(AUTOMATION, "app", "False", |reason, _| reason == "GitOperationFailed");
    let url = world.git.url("app.git");
    let wanted = format!("failed to checkout source: unable to clone '{url}': ");
    assert!(why.starts_with(&wanted) && why.contains("503"), "{why}");
    for tag in ["1.1.0", "1.2.0"] {
        world.publish("app", tag);
        until("the policy has chosen it", || {
            world.get(IMAGE_POLICY, "app")["status"]["latestRef"]["tag"] == tag
        });
    }
    let so_far = refused.load(Ordering::SeqCst);
    until("it is tried three times more", || {
        refused.load(Ordering::SeqCst) >= so_far + 3
    });
    down.store(false, Ordering::SeqCst);
    world.committed("1.2.0", 2);
    world.settled();
    let automation = until("nothing is under way", || {
        let automation = world.get(AUTOMATION, "app");
        condition_of(&automation, "Reconciling").is_none().then_some(automation)
    });
    assert_eq!(automation["status"]["lastPushCommit"], world.repo.rev("main").unwrap());
}
