//! `bumpwright controller` as a process before a real API server, in a namespace of its own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::apiserver::Cluster;

/// How long an object may take to say what is wanted; on a busy machine a reconciliation takes some seconds.
const PATIENCE: Duration = Duration::from_secs(40);

/// Runs until it is dropped.
pub struct Controller {
    metrics: u16,
    log: PathBuf,
    process: Child,
}

impl Controller {
    /// `arguments` come after those that every test wants; storage and log are in `folder`.
    pub fn start(
        cluster: &Cluster,
        namespace: &str,
        folder: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let (metrics, log) = (free_port(), folder.join("log"));
        let process = Command::new(env!("CARGO_BIN_EXE_bumpwright"))
            .arg("controller")
            .arg(format!("--kubeconfig={}", cluster.kubeconfig().display()))
            .arg(format!("--storage-path={}", folder.join("data").display()))
            .arg(format!("--metrics-addr=127.0.0.1:{metrics}"))
            .args(["--health-addr=127.0.0.1:0", "--watch-all-namespaces=false"])
            .args(arguments)
            .env("RUNTIME_NAMESPACE", namespace)
            .envs(variables.iter().copied())
            .stderr(std::fs::File::create(&log).unwrap())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { metrics, log, process }
    }

    /// What `/metrics` shows now.
    pub fn page(&self) -> String {
        let url = format!("http://127.0.0.1:{}/metrics", self.metrics);
        ureq::get(&url).call().unwrap().body_mut().read_to_string().unwrap()
    }

    /// The value of a series, written as on the page; none when it is not there.
    pub fn metric(&self, series: &str) -> Option<f64> {
        let page = self.page();
        let value = page
            .lines()
            .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.map(|value| value.parse().unwrap())
    }

    /// All that it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The kinds of the image controllers and GitRepository.
pub fn define(cluster: &Cluster) {
    let definitions = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    for file in std::fs::read_dir(definitions).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap();
        if name.starts_with("image.") || name.ends_with("_gitrepositories.yaml") {
            cluster.apply(&std::fs::read_to_string(file).unwrap());
        }
    }
}

/// The object at a path, once a condition of it is liked.
pub fn awaited(cluster: &Cluster, path: &str, kind: &str, wanted: impl Fn(&Json) -> bool) -> Json {
    let began = Instant::now();
    loop {
        let object = cluster.get(path);
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions
            .iter()
            .any(|condition| condition["type"] == kind && wanted(condition))
        {
            return object;
        }
        assert!(began.elapsed() < PATIENCE, "{path}: {:#}", object["status"]);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A policy whose status says this tag of `ghcr.io/o/NAME`; no repository of it exists, so only we write that.
pub fn policy(cluster: &Cluster, namespace: &str, name: &str, tag: &str) {
    let policy = json!({
        "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImagePolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"imageRepositoryRef": {"name": name}, "policy": {"semver": {"range": "*"}}},
    });
    cluster.apply(&policy.to_string());
    let path = format!("{}/status", cluster.path_of(&policy));
    let status = json!({"status": {"latestRef": {"name": format!("ghcr.io/o/{name}"), "tag": tag}}});
    let answer = cluster.request("PATCH", &path, "application/merge-patch+json", &status.to_string());
    assert_eq!(answer.status, 200, "{:?}", answer.body);
}
