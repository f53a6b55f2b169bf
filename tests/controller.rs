//! `bumpwright controller` before a real API server: what only ours does. What Flux's controllers do as well is in
//! `harness.rs`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod support;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::apiserver::Cluster;
use support::git_http::GitHttp;
use support::repo::{Change, Repo};

/// A controller that runs until it is dropped, in a namespace of its own.
struct World {
    cluster: &'static Cluster,
    namespace: String,
    folder: tempfile::TempDir,
    server: GitHttp,
    repo: Repo,
    metrics: u16,
    process: Child,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn marked(namespace: &str, one: &str, two: &str) -> String {
    format!(
        "one: ghcr.io/o/one:{one} # {{\"$imagepolicy\": \"{namespace}:one\"}}\n\
         two: ghcr.io/o/two:{two} # {{\"$imagepolicy\": \"{namespace}:two\"}}\n\
         odd: ghcr.io/o/odd:1.0.0 # {{\"$imagepolicy\": \"{namespace}:nobody\"}}\n"
    )
}

impl World {
    /// With two policies at 1.0.0, a repository that has both, and an automation with these annotations. None without the
    /// programs.
    fn start(namespace: &str, annotations: &Value) -> Option<Self> {
        let cluster = Cluster::shared()?;
        let definitions = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
        for file in std::fs::read_dir(definitions).unwrap() {
            let file = file.unwrap().path();
            let name = file.file_name().unwrap().to_str().unwrap();
            if name.starts_with("image.") || name.ends_with("_gitrepositories.yaml") {
                cluster.apply(&std::fs::read_to_string(file).unwrap());
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let repo = Repo::init(folder.path().join("git/app.git"));
        let file = marked(namespace, "1.0.0", "1.0.0");
        repo.commit("main", "first", &[Change::File("a.yaml", file.as_bytes())]);
        let server = GitHttp::start(&folder.path().join("git"));
        let metrics = free_port();
        let process = controller(cluster, namespace, folder.path(), metrics);
        let world = Self {
            cluster,
            namespace: namespace.to_owned(),
            server,
            repo,
            metrics,
            process,
            folder,
        };
        world.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        for policy in ["one", "two"] {
            world.policy(policy, "1.0.0");
        }
        world.apply(&json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": world.metadata("app"),
            "spec": {"interval": "1h", "url": world.server.url("app.git"), "ref": {"branch": "main"}},
        }));
        let mut metadata = world.metadata("all");
        metadata["annotations"] = annotations.clone();
        world.apply(&json!({
            "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImageUpdateAutomation", "metadata": metadata,
            "spec": {
                "interval": "1h", "sourceRef": {"kind": "GitRepository", "name": "app"},
                "git": {"commit": {"author": {"name": "bot", "email": "bot@example.com"}}}, "update": {"path": "./"},
            },
        }));
        Some(world)
    }

    fn metadata(&self, name: &str) -> Value {
        json!({"name": name, "namespace": self.namespace})
    }

    fn apply(&self, object: &Value) {
        self.cluster.apply(&object.to_string());
    }

    /// A policy whose status says this tag; no repository of it exists, so only we write that.
    fn policy(&self, name: &str, tag: &str) {
        let mut policy = json!({
            "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImagePolicy", "metadata": self.metadata(name),
            "spec": {"imageRepositoryRef": {"name": name}, "policy": {"semver": {"range": "*"}}},
        });
        self.apply(&policy);
        policy["status"] = json!({"latestRef": {"name": format!("ghcr.io/o/{name}"), "tag": tag}});
        let path = format!("{}/status", self.cluster.path_of(&policy));
        let body = json!({"status": policy["status"]}).to_string();
        let answer = self
            .cluster
            .request("PATCH", &path, "application/merge-patch+json", &body);
        assert_eq!(answer.status, 200, "{:?}", answer.body);
    }

    /// The Ready condition of the automation, once `wanted` likes its message.
    fn ready(&self, wanted: impl Fn(&str) -> bool) -> String {
        let path = format!(
            "/apis/image.toolkit.fluxcd.io/v1/namespaces/{}/imageupdateautomations/all",
            self.namespace
        );
        let began = Instant::now();
        loop {
            let object = self.cluster.get(&path);
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
            let message = ready.map(|ready| ready["message"].as_str().unwrap_or_default().to_owned());
            if let Some(message) = message.filter(|message| wanted(message)) {
                return message;
            }
            assert!(began.elapsed() < Duration::from_secs(40), "{:#}", object["status"]);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn page(&self) -> String {
        let url = format!("http://127.0.0.1:{}/metrics", self.metrics);
        ureq::get(&url).call().unwrap().body_mut().read_to_string().unwrap()
    }
}

fn controller(cluster: &Cluster, namespace: &str, folder: &Path, metrics: u16) -> Child {
    let log = std::fs::File::create(folder.join("log")).unwrap();
    Command::new(env!("CARGO_BIN_EXE_bumpwright"))
        .arg("controller")
        .arg("--controllers=image-automation")
        .arg(format!("--kubeconfig={}", cluster.kubeconfig().display()))
        .arg(format!("--storage-path={}", folder.join("data").display()))
        .arg(format!("--metrics-addr=127.0.0.1:{metrics}"))
        .args(["--health-addr=127.0.0.1:0", "--watch-all-namespaces=false"])
        .env("RUNTIME_NAMESPACE", namespace)
        .stderr(log)
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn skipped_markers_are_told_in_the_message_and_in_a_metric() {
    let Some(world) = World::start("skips", &json!({})) else {
        return;
    };
    let message = world.ready(|message| message.starts_with("repository up-to-date"));
    assert!(
        message.contains("\na.yaml:3: there is no ImagePolicy skips/nobody"),
        "{message}"
    );
    let page = world.page();
    let line = "bumpwright_skipped_markers{kind=\"ImageUpdateAutomation\",name=\"all\",namespace=\"skips\",reason=\"UnknownPolicy\"} 1";
    assert!(page.lines().any(|one| one == line), "{page}");
}

#[test]
fn a_dry_run_reports_the_diff_and_pushes_nothing() {
    let Some(world) = World::start("dry", &json!({"bumpwright.dev/dry-run": "true"})) else {
        return;
    };
    world.ready(|message| message.starts_with("dry run: repository up-to-date"));
    let before = world.repo.refs();
    world.policy("one", "1.1.0");
    let message = world.ready(|message| message.starts_with("dry run: 1 change would be pushed to branch 'main'"));
    assert!(message.contains("\n+one: ghcr.io/o/one:1.1.0 #"), "{message}");
    assert_eq!(world.repo.refs(), before);
}

#[test]
fn changes_that_come_together_are_one_commit_when_they_may_settle() {
    let annotations = json!({"bumpwright.dev/settle": "2s", "bumpwright.dev/settle-at-most": "20s"});
    let Some(world) = World::start("settle", &annotations) else {
        return;
    };
    world.ready(|message| message.starts_with("repository up-to-date"));
    world.policy("one", "1.1.0");
    world.policy("two", "1.2.0");
    let began = Instant::now();
    while world.repo.log("main").len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(40));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(world.repo.log("main").len(), 2);
    let wanted = marked("settle", "1.1.0", "1.2.0");
    assert_eq!(world.repo.show("main", "a.yaml"), wanted.as_bytes());
}

#[test]
fn an_annotation_that_does_not_parse_stalls_the_automation() {
    let Some(world) = World::start("odd", &json!({"bumpwright.dev/dry-run": "yes"})) else {
        return;
    };
    let message = world.ready(|message| message.contains("dry-run"));
    assert_eq!(
        message,
        "annotation bumpwright.dev/dry-run: \"yes\" is not \"true\" or \"false\""
    );
    let _ = world.folder.path();
}
