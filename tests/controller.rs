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

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::apiserver::Cluster;
use support::controller::{self, Controller};
use support::git_http::GitHttp;
use support::repo::{Change, Repo};

/// A controller that runs until it is dropped, in a namespace of its own.
struct World {
    cluster: &'static Cluster,
    namespace: String,
    server: GitHttp,
    repo: Repo,
    controller: Controller,
    folder: tempfile::TempDir,
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
        controller::define(cluster);
        let folder = tempfile::tempdir().unwrap();
        let repo = Repo::init(folder.path().join("git/app.git"));
        let file = marked(namespace, "1.0.0", "1.0.0");
        repo.commit("main", "first", &[Change::File("a.yaml", file.as_bytes())]);
        let server = GitHttp::start(&folder.path().join("git"));
        let kinds = ["--controllers=image-automation"];
        let controller = Controller::start(cluster, namespace, folder.path(), &kinds, &[]);
        let world = Self {
            cluster,
            namespace: namespace.to_owned(),
            server,
            repo,
            controller,
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

    fn policy(&self, name: &str, tag: &str) {
        controller::policy(self.cluster, &self.namespace, name, tag);
    }

    /// The Ready condition of the automation, once `wanted` likes its message.
    fn ready(&self, wanted: impl Fn(&str) -> bool) -> String {
        let path = format!(
            "/apis/image.toolkit.fluxcd.io/v1/namespaces/{}/imageupdateautomations/all",
            self.namespace
        );
        let of = |condition: &Value| condition["message"].as_str().unwrap_or_default().to_owned();
        let object = controller::awaited(self.cluster, &path, "Ready", |ready| wanted(&of(ready)));
        let conditions = object["status"]["conditions"].as_array().unwrap();
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
        of(ready.unwrap())
    }
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
    let page = world.controller.page();
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

/// What the counters of pushes and of requests say is what the Git server and the API server saw.
#[test]
fn pushes_races_and_requests_are_counted() {
    let Some(world) = World::start("counts", &json!({})) else {
        return;
    };
    world.ready(|message| message.starts_with("repository up-to-date"));
    let count = |series: &str| world.controller.metric(series);
    assert_eq!(count("bumpwright_pushes_total"), Some(0.0));
    let (rival, once) = (world.repo.clone(), AtomicBool::new(true));
    world.server.before_push(move |_| {
        if once.swap(false, Ordering::SeqCst) {
            rival.commit("main", "rival", &[Change::File("b.txt", b"b")]);
        }
    });
    world.policy("one", "1.1.0");
    let began = Instant::now();
    while count("bumpwright_pushes_total") != Some(1.0) {
        assert!(began.elapsed() < Duration::from_secs(40), "{}", world.controller.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(world.repo.log("main").len(), 3, "first, the rival's, ours");
    assert_eq!(count("bumpwright_push_races_total"), Some(1.0));
    let seen = world.server.requests().len();
    assert_eq!(count("bumpwright_git_requests_total"), Some(seen as f64));
    let host = world.cluster.url().trim_start_matches("https://");
    let answered = |code: &str, method: &str| {
        let series = format!("rest_client_requests_total{{code=\"{code}\",host=\"{host}\",method=\"{method}\"}}");
        count(&series).unwrap_or_default()
    };
    assert!(answered("200", "GET") > 3.0 && answered("200", "PATCH") > 1.0 && answered("201", "POST") > 0.0);
}
