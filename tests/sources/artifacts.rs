//! Sources in a cluster: their artifacts after loss or damage in the storage, after the retention time, and after the
//! deletion of the object. The comparison with Flux's is in `git_sources.rs`.

use std::path::PathBuf;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{EVENT, GIT_REPOSITORY, World, git_repository};
use serde_json::{Value as Json, json};

/// A controller that serves the GitRepository `app`.
struct Serving<'a> {
    // Before the folder that has its log and storage goes.
    controller: Controller,
    world: World<'a>,
    repo: Repo,
}

impl<'a> Serving<'a> {
    fn start(cluster: &'a Cluster, namespace: &str, flags: &[&str]) -> Self {
        cluster.define();
        let world = World::new(cluster, namespace);
        let repo = world.repository("app.git");
        repo.commit("main", "first", &[Change::File("a.yaml", b"a: 1\n")]);
        world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
        let address = format!("127.0.0.1:{}", free_port());
        let storage = [
            "--controllers=source".to_owned(),
            format!("--storage-addr={address}"),
            format!("--storage-adv-addr={address}"),
        ];
        let controller = world.starter("controller").flags(&storage).flags(flags).start();
        let serving = Self {
            controller,
            world,
            repo,
        };
        serving.stored();
        serving
    }

    /// Waits until the newest commit is stored; gives the artifact.
    fn stored(&self) -> Json {
        let head = self.repo.rev("main").unwrap();
        let message = self.world.ready(GIT_REPOSITORY, "app", "True", |_, message| {
            message == format!("stored artifact for revision 'main@sha1:{head}'")
        });
        assert!(!message.is_empty());
        self.artifact()
    }

    fn artifact(&self) -> Json {
        self.world.get(GIT_REPOSITORY, "app")["status"]["artifact"].clone()
    }

    /// Asks for a reconciliation and waits for its end.
    fn again(&self, at: &str) {
        self.world.request(GIT_REPOSITORY, "app", at);
        wait_for(
            || self.world.get(GIT_REPOSITORY, "app")["status"]["lastHandledReconcileAt"] == at,
            || self.controller.log(),
        );
    }

    /// Where the storage has all artifacts.
    fn folder(&self) -> PathBuf {
        self.world.folder_of("controller").join("data/artifacts")
    }

    /// The archives of `app`.
    fn files(&self) -> Vec<PathBuf> {
        let folder = self
            .folder()
            .join("gitrepository")
            .join(&self.world.namespace)
            .join("app");
        let Ok(entries) = std::fs::read_dir(folder) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
            .collect()
    }

    /// The status of the answer to a request for the artifact, and its bytes.
    fn fetch(&self) -> (u16, Vec<u8>) {
        let url = self.artifact()["url"].as_str().unwrap().to_owned();
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .new_agent();
        let mut answer = agent.get(url).call().unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_vec().unwrap())
    }

    fn event(&self, reason: &str) {
        wait_for(
            || self.world.list(EVENT).iter().any(|event| event["reason"] == reason),
            || format!("no event {reason}\n{}", self.controller.log()),
        );
    }
}

#[test]
fn a_lost_or_damaged_artifact_is_made_again() {
    let Some(cluster) = Cluster::shared() else { return };
    let serving = Serving::start(cluster, "sources-lost", &[]);
    let (artifact, (status, bytes)) = (serving.artifact(), serving.fetch());
    assert_eq!(status, 200);
    assert_eq!(artifact["size"], bytes.len());

    // The volume is gone.
    std::fs::remove_dir_all(serving.folder()).unwrap();
    assert_eq!(serving.fetch().0, 404);
    serving.again("lost");
    serving.stored();
    assert_eq!(serving.fetch(), (200, bytes.clone()));
    assert_eq!(
        serving.artifact()["digest"],
        artifact["digest"],
        "equal files give equal bytes"
    );

    // A byte of it is another one.
    let file = serving.files().remove(0);
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    std::fs::write(&file, &damaged).unwrap();
    serving.again("damaged");
    serving.stored();
    assert_eq!(serving.fetch(), (200, bytes));
    serving.event("ArtifactVerificationFailed");
}

#[test]
fn old_artifacts_go_and_the_newest_stays() {
    let Some(cluster) = Cluster::shared() else { return };
    let flags = ["--artifact-retention-ttl=1s", "--artifact-retention-records=1"];
    let serving = Serving::start(cluster, "sources-old", &flags);
    for number in 0..3 {
        let text = format!("a: {number}{number}\n");
        serving
            .repo
            .commit("main", "next", &[Change::File("a.yaml", text.as_bytes())]);
        serving.again(&format!("commit {number}"));
        serving.stored();
    }
    let mut turn = 0;
    until("only the newest artifact is left", || {
        turn += 1;
        serving.again(&format!("turn {turn}"));
        serving.files().len() == 1
    });
    assert_eq!(serving.fetch().0, 200);
    serving.event("GarbageCollectionSucceeded");
}

#[test]
fn a_source_that_is_deleted_leaves_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let serving = Serving::start(cluster, "sources-gone", &[]);
    assert_eq!(serving.files().len(), 1);
    serving.world.delete(GIT_REPOSITORY, "app");
    serving.world.gone(GIT_REPOSITORY, "app");
    assert!(serving.files().is_empty());
}

#[test]
fn an_artifact_that_is_too_large_is_refused() {
    let Some(cluster) = Cluster::shared() else { return };
    let serving = Serving::start(cluster, "sources-large", &["--max-artifact-size=1Ki"]);
    let noise: Vec<u8> = (0..4000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes())
        .collect();
    serving.repo.commit("main", "large", &[Change::File("noise", &noise)]);
    serving.world.request(GIT_REPOSITORY, "app", "large");
    let message = serving.world.ready(GIT_REPOSITORY, "app", "False", |reason, _| {
        reason == "ArchiveOperationFailed"
    });
    assert!(
        message.starts_with("unable to archive artifact to storage: ")
            && message.contains("would have more than 1024 bytes; leave files out with spec.ignore"),
        "{message}"
    );
    assert_eq!(serving.fetch().0, 200, "the one of before is there");
    let spec = json!({"spec": {"ignore": "noise\n"}});
    serving.world.patch(GIT_REPOSITORY, "app", &spec);
    serving.stored();
}

/// What a status says in the form of before Flux 2.0 (C04).
#[test]
fn a_revision_of_the_old_form_is_the_same_revision() {
    let Some(cluster) = Cluster::shared() else { return };
    let serving = Serving::start(cluster, "sources-old-form", &[]);
    let before = serving.artifact();
    let head = serving.repo.rev("main").unwrap();
    let status = json!({"status": {"artifact": {"revision": format!("main/{head}")}}});
    let path = format!("{}/status", serving.world.path(GIT_REPOSITORY, "app"));
    assert_eq!(cluster.merge_patch(&path, &status).status, 200);
    serving.again("old form");
    assert_eq!(serving.artifact(), before);
    serving
        .controller
        .says("no changes since last reconciliation: observed revision 'main@sha1:");
}

/// Artifacts are served by the leader; the other one takes over their address when it becomes leader.
#[test]
fn artifacts_are_served_by_the_leader() {
    let Some(cluster) = Cluster::shared() else { return };
    let flags = ["--enable-leader-election", "--leader-election-retry-period=300ms"];
    let serving = Serving::start(cluster, "sources-leader", &flags);
    let address = format!("127.0.0.1:{}", free_port());
    let second = [
        "--controllers=source".to_owned(),
        format!("--storage-addr={address}"),
        format!("--storage-adv-addr={address}"),
    ];
    let second = serving.world.starter("second").flags(&second).flags(&flags).start();
    let ready = || second.probe("readyz").map(|(status, _)| status);
    // What a Service would send there would be refused.
    wait_for(
        || {
            second
                .probe("readyz/leader-election")
                .is_some_and(|(_, why)| why.contains("artifacts are served by"))
        },
        || second.log(),
    );
    assert_eq!(ready(), Some(500));
    let is_served = || std::net::TcpStream::connect(&address).is_ok();
    assert!(!is_served());
    assert_eq!(serving.fetch().0, 200);
    let Serving { controller, world, .. } = serving;
    assert_eq!(controller.stop(), Some(0));
    wait_for(is_served, || second.log());
    wait_for(|| ready() == Some(200), || second.log());
    // The storage of the second one is another one.
    wait_for(
        || {
            let status = world.get(GIT_REPOSITORY, "app")["status"].clone();
            status["artifact"]["url"]
                .as_str()
                .unwrap_or_default()
                .contains(&address)
        },
        || second.log(),
    );
}

/// A source checks its includes on its own reconciliation, as with Flux.
#[test]
fn a_source_takes_what_it_includes_as_it_is() {
    let Some(cluster) = Cluster::shared() else { return };
    let serving = Serving::start(cluster, "sources-include", &["--requeue-dependency=1s"]);
    let other = serving.world.repository("other.git");
    other.commit("main", "first", &[Change::File("b.yaml", b"b: 1\n")]);
    let mut spec = git_repository(&serving.world.git.url("other.git"));
    spec["include"] = json!([{"repository": {"name": "app"}, "fromPath": "./", "toPath": "app"}]);
    serving.world.add(GIT_REPOSITORY, "outer", spec);
    let included = || serving.world.get(GIT_REPOSITORY, "outer")["status"]["includedArtifacts"][0]["revision"].clone();
    serving.world.ready(GIT_REPOSITORY, "outer", "True", |_, _| true);
    let first = included();
    assert_eq!(first, serving.artifact()["revision"]);
    serving
        .repo
        .commit("main", "second", &[Change::File("a.yaml", b"a: 2\n")]);
    serving.again("second");
    let second = serving.stored();
    assert_ne!(second["revision"], first);
    serving.world.request(GIT_REPOSITORY, "outer", "second");
    wait_for(|| included() == second["revision"], || serving.controller.log());
}
