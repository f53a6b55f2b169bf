//! A process that is started again knows from its disk what the one before has applied: nothing changed
//! costs what an unchanged run costs, and whatever did change meanwhile is found, also if the files are
//! damaged, old or somebody else's.

use std::path::PathBuf;

use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, documents, map};
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{CONFIG_MAP, KUSTOMIZATION, SECRET};
use serde_json::json;

/// A Kustomization `app` behind a proxy that counts, with 20 ConfigMaps, ServiceAccounts and Secrets each.
struct Counted<'a> {
    world: KustomizeWorld<'a>,
    proxy: ApiProxy,
    kubeconfig: PathBuf,
}

impl<'a> Counted<'a> {
    fn new(cluster: &'a Cluster, namespace: &str) -> Self {
        let world = KustomizeWorld::new(cluster, namespace);
        let proxy = ApiProxy::start(cluster);
        let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
        let this = Self {
            world,
            proxy,
            kubeconfig,
        };
        this.publish("1", "1");
        this.world.kustomize("app", json!({}));
        this
    }

    fn publish(&self, revision: &str, value: &str) {
        let kinds = (0..20).flat_map(|n| {
            let name = format!("n{n}");
            let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
            let secret =
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"key": value}});
            [map(&name, value), account.to_string(), secret.to_string()]
        });
        let file = documents(&kinds.collect::<Vec<_>>());
        self.world.publish("app", revision, &[("all.yaml", &file)]);
    }

    fn start(&self) -> Controller {
        self.proxy.clear();
        self.world.controller_through(&self.kubeconfig, "controller", &[])
    }

    /// How often it was reconciled, by its history.
    fn turns(&self) -> i64 {
        let history = self.world.get(KUSTOMIZATION, "app")["status"]["history"].take();
        let entries = history.as_array().cloned().unwrap_or_default();
        entries
            .iter()
            .filter_map(|entry| entry["totalReconciliations"].as_i64())
            .sum()
    }

    /// Starts a process and waits for its first reconciliation; the requests of that.
    fn restarted(&self) -> (Controller, Vec<String>) {
        let before = self.turns();
        let controller = self.start();
        wait_for(|| self.turns() > before, || controller.log());
        let requests = self.requests();
        (controller, requests)
    }

    /// The requests of an unchanged run.
    fn unchanged(&self, at: &str) -> Vec<String> {
        self.proxy.clear();
        self.world.again("app", at);
        self.requests()
    }

    /// The requests about applied objects and the status since the last clear, sorted: `GET
    /// configmaps`, `PATCH app/status`.
    fn requests(&self) -> Vec<String> {
        let own = format!("/namespaces/{}/", self.world.namespace);
        let about = |request: &Request| {
            let (_, rest) = request.path.split_once(&own)?;
            // Watches, and their lists, are of the start.
            let is_selected = request
                .parameters("labelSelector")
                .concat()
                .contains("kustomize.toolkit.fluxcd.io/name");
            let is_list = request.method == "GET" && !rest.contains('/');
            let is_dry = !request.parameters("dryRun").is_empty();
            let method = if is_dry { "DRY-RUN" } else { &request.method };
            // A source is asked for while its watch begins.
            let is_other = rest.starts_with("events") || rest.starts_with("gitrepositories");
            let is_counted = !is_other && (!is_list || is_selected);
            is_counted.then(|| format!("{method} {rest}"))
        };
        let mut requests: Vec<String> = self.proxy.requests().iter().filter_map(about).collect();
        requests.sort();
        // A slow run writes its status twice.
        requests.dedup();
        requests
    }

    fn folder(&self) -> PathBuf {
        self.world.folder_of("controller").join("data/applied")
    }

    /// The files of memories.
    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| !path.ends_with("key")).collect()
    }
}

/// An unchanged run: three lists and the history in the status.
const UNCHANGED: [&str; 4] = [
    "GET configmaps",
    "GET secrets",
    "GET serviceaccounts",
    "PATCH kustomizations/app/status",
];

#[test]
fn a_restart_costs_what_an_unchanged_run_costs() {
    let Some(cluster) = Cluster::shared() else { return };
    let counted = Counted::new(cluster, "restart");
    let controller = counted.start();
    counted.world.applied("app", "1");
    assert_eq!(counted.unchanged("once"), UNCHANGED);
    let written = |path: &PathBuf| std::fs::metadata(path).unwrap().modified().unwrap();
    let files = counted.files();
    assert_eq!(files.len(), 1);
    let before = written(&files[0]);
    assert_eq!(counted.unchanged("twice"), UNCHANGED);
    assert_eq!(written(&files[0]), before, "nothing changed");
    controller.kill();
    let (controller, requests) = counted.restarted();
    assert_eq!(requests, UNCHANGED);
    // Changed while nobody looked.
    assert_eq!(controller.stop(), Some(0));
    counted
        .world
        .patch(CONFIG_MAP, "n7", &json!({"data": {"key": "drifted"}}));
    counted
        .world
        .patch(SECRET, "n8", &json!({"stringData": {"key": "drifted"}}));
    let (controller, requests) = counted.restarted();
    assert_eq!(counted.world.value("n7", "key"), "1");
    assert_eq!(counted.world.get(SECRET, "n8")["data"]["key"], "MQ==");
    let written = |request: &&String| request.starts_with("PATCH") && !request.contains("/status");
    let written: Vec<_> = requests.iter().filter(written).collect();
    assert_eq!(written, ["PATCH configmaps/n7", "PATCH secrets/n8"]);
    // A new revision, and back: no file says that the old objects are there.
    assert_eq!(controller.stop(), Some(0));
    counted.publish("2", "2");
    let (controller, _) = counted.restarted();
    counted.world.applied("app", "2");
    assert_eq!(counted.world.value("n3", "key"), "2");
    assert_eq!(controller.stop(), Some(0));
    counted.publish("3", "1");
    let (_controller, _) = counted.restarted();
    counted.world.applied("app", "3");
    assert_eq!(counted.world.value("n3", "key"), "1");
    counted.world.delete(KUSTOMIZATION, "app");
    counted.world.gone(KUSTOMIZATION, "app");
    wait_for(|| counted.files().is_empty(), || format!("{:?}", counted.files()));
}

/// Whatever happens to the files, an object that has changed is corrected; what is not trusted costs a comparison.
#[test]
fn files_that_are_not_as_they_were_written_hide_no_change() {
    let Some(cluster) = Cluster::shared() else { return };
    let counted = Counted::new(cluster, "restart-damaged");
    let controller = counted.start();
    counted.world.applied("app", "1");
    assert_eq!(controller.stop(), Some(0));
    let path = counted.files().remove(0);
    let old = std::fs::read(&path).unwrap();
    let damage: [(&str, &dyn Fn()); 6] = [
        ("turned over", &|| {
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x40;
            std::fs::write(&path, bytes).unwrap();
        }),
        ("cut off", &|| {
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, &bytes[..bytes.len() - 57]).unwrap();
        }),
        ("empty", &|| std::fs::write(&path, "").unwrap()),
        ("of the first revision", &|| std::fs::write(&path, &old).unwrap()),
        ("without its key", &|| {
            std::fs::remove_file(counted.folder().join("key")).unwrap()
        }),
        ("lost", &|| std::fs::remove_dir_all(counted.folder()).unwrap()),
    ];
    for (at, (name, damage)) in damage.into_iter().enumerate() {
        damage();
        let edited = json!({"data": {"key": format!("edited {at}")}});
        counted.world.patch(CONFIG_MAP, "n7", &edited);
        let (controller, requests) = counted.restarted();
        assert_eq!(counted.world.value("n7", "key"), "1", "{name}");
        let dry_runs = requests.iter().filter(|request| request.starts_with("DRY-RUN")).count();
        let is_trusted = name == "of the first revision";
        assert_eq!(dry_runs == 60, !is_trusted, "{name}: {dry_runs}");
        assert_eq!(controller.stop(), Some(0));
        // It is kept again.
        let (controller, requests) = counted.restarted();
        assert_eq!(requests, UNCHANGED, "{name}");
        assert_eq!(controller.stop(), Some(0));
    }
}
