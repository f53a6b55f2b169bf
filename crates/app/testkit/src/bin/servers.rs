//! The servers of tests for benchmarks in other languages (`benches/servers.py`).
//!
//! ```text
//! servers cluster=FOLDER git=FOLDER registry source-controller=FOLDER
//! ```
//!
//! Starts those that are named: an API server with the definitions in a folder, smart HTTP for the repositories in a
//! folder, a registry, and Flux's source-controller with its storage in a folder. Prints a line of JSON with their
//! addresses once all are ready, and one with the requests so far for each line that it reads. A line that is
//! `{"repository": NAME, "tags": [...]}` makes these tags before. All servers end when its input does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::Path;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::git_http::GitHttp;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::registry::Registry;
use serde_json::{Value as Json, json};

/// They end in this order.
#[derive(Default)]
struct Servers {
    source: Option<Controller>,
    cluster: Option<Cluster>,
    git: Option<GitHttp>,
    registry: Option<Registry>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named = |argument: &String| {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        (name.to_owned(), value.to_owned())
    };
    let servers = Servers::start(&arguments.iter().map(named).collect());
    println!("{}", servers.addresses());
    for line in std::io::stdin().lines() {
        if let Ok(order) = serde_json::from_str::<Json>(&line.unwrap()) {
            servers.tag(&order);
        }
        println!("{}", servers.requests());
    }
}

impl Servers {
    fn start(named: &BTreeMap<String, String>) -> Self {
        let mut servers = Self::default();
        if let Some(definitions) = named.get("cluster") {
            servers.cluster = Some(cluster(Path::new(definitions)));
        }
        servers.git = named.get("git").map(|root| GitHttp::start(Path::new(root)));
        if named.contains_key("registry") {
            servers.registry = Some(Registry::start().expect("the registry is missing"));
        }
        if let (Some(storage), Some(cluster)) = (named.get("source-controller"), &servers.cluster) {
            servers.source = Some(source_controller(cluster, Path::new(storage)));
        }
        servers
    }

    fn addresses(&self) -> Json {
        json!({
            "cluster": self.cluster.as_ref().map(|cluster| json!({
                "url": cluster.url(),
                "ca": String::from_utf8_lossy(cluster.ca()),
                "token": cluster.token(),
                "kubeconfig": cluster.kubeconfig(),
            })),
            "git": self.git.as_ref().map(|git| format!("http://{}", git.address())),
            "registry": self.registry.as_ref().map(Registry::host),
        })
    }

    fn requests(&self) -> Json {
        json!({
            "git": self.git.as_ref().map(GitHttp::count),
            "registry": self.registry.as_ref().map(|registry| registry.requests().len()),
        })
    }

    fn tag(&self, order: &Json) {
        let tags: Vec<String> = serde_json::from_value(order["tags"].clone()).unwrap();
        let registry = self.registry.as_ref().expect("tags need a registry");
        registry.images().tags(order["repository"].as_str().unwrap(), &tags);
    }
}

/// An API server with these definitions and the namespace `flux-system`.
fn cluster(definitions: &Path) -> Cluster {
    let cluster = Cluster::start().expect("a program of the API server is missing");
    for file in std::fs::read_dir(definitions).unwrap() {
        cluster.apply(&std::fs::read_to_string(file.unwrap().path()).unwrap());
    }
    cluster.apply("{apiVersion: v1, kind: Namespace, metadata: {name: flux-system}}");
    cluster
}

fn source_controller(cluster: &Cluster, folder: &Path) -> Controller {
    let storage = folder.join("data");
    std::fs::create_dir_all(&storage).unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let starter = Controller::of_flux("source-controller", &cluster.kubeconfig(), "flux-system", folder);
    let flags = [
        "--events-addr=".to_owned(),
        "--log-level=error".to_owned(),
        format!("--storage-path={}", storage.display()),
        format!("--storage-addr={address}"),
        format!("--storage-adv-addr={address}"),
    ];
    starter.expect("source-controller is missing").flags(&flags).start()
}
