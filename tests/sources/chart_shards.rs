//! HelmRepositories and HelmCharts that two processes share: each has both kinds, charts are made of indexes that the
//! other one serves, and who is left makes all of them.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tarball::archive;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{HELM_CHART, HELM_REPOSITORY, ObjectKind, World};

const INDEX: &str =
    "apiVersion: v1\nentries:\n  web:\n  - name: web\n    version: 1.0.0\n    urls:\n    - web-1.0.0.tgz\n";
const CHART: &[u8] = b"apiVersion: v2\nname: web\nversion: 1.0.0\n";
/// Objects of each kind.
const COUNT: usize = 12;

fn start(world: &World<'_>, name: &str, address: &str) -> Controller {
    let addresses = [
        format!("--storage-addr={address}"),
        format!("--storage-adv-addr={address}"),
    ];
    let flags = [
        "--controllers=source,helm",
        "--enable-leader-election",
        "--shards=2",
        "--requeue-dependency=1s",
    ];
    let starter = world.starter(name).variable("HOSTNAME", name);
    starter.flags(&flags).flags(&addresses).start()
}

/// The addresses that the artifacts of a kind are served at, in the order of the names; none before all of them are.
fn served(world: &World<'_>, kind: ObjectKind) -> Option<Vec<String>> {
    let address = |number: usize| {
        let status = world.get(kind, &format!("a-{number}"))["status"].take();
        let url = status["artifact"]["url"].as_str()?;
        Some(url.strip_prefix("http://")?.split('/').next()?.to_owned())
    };
    (0..COUNT).map(address).collect()
}

#[test]
fn charts_and_their_repositories_are_shared() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "chart-shards");
    let charts = StubHttp::start(|request| {
        if request.path.ends_with(".tgz") {
            Reply::bytes(200, "application/gzip", archive(&[("web/Chart.yaml", CHART)]))
        } else {
            Reply::bytes(200, "text/yaml", INDEX)
        }
    });
    for number in 0..COUNT {
        let name = format!("a-{number}");
        let repository = json!({"url": charts.url(&name), "interval": "1h"});
        world.add(HELM_REPOSITORY, &name, repository);
        let source = json!({"kind": "HelmRepository", "name": name});
        let chart = json!({"chart": "web", "interval": "1h", "sourceRef": source});
        world.add(HELM_CHART, &name, chart);
    }
    let addresses = [(); 2].map(|()| format!("127.0.0.1:{}", free_port()));
    let [one, two] = [("one", &addresses[0]), ("two", &addresses[1])].map(|(name, at)| start(&world, name, at));
    let logs = || format!("{}\n{}", one.log(), two.log());
    let [repositories, made] = [HELM_REPOSITORY, HELM_CHART].map(|kind| wait_for(|| served(&world, kind), logs));
    for all in [&repositories, &made] {
        assert_eq!(
            all.iter().collect::<BTreeSet<_>>(),
            addresses.iter().collect(),
            "{all:?}"
        );
    }
    let is_across = repositories
        .iter()
        .zip(&made)
        .any(|(repository, chart)| repository != chart);
    assert!(is_across, "{repositories:?} {made:?}");
    two.stop();
    for kind in [HELM_REPOSITORY, HELM_CHART] {
        let all_of_one = || served(&world, kind).filter(|all| all.iter().all(|address| *address == addresses[0]));
        wait_for(all_of_one, || one.log());
    }
    let status: Json = world.get(HELM_CHART, "a-0")["status"].take();
    assert!(ureq::get(status["artifact"]["url"].as_str().unwrap()).call().is_ok());
}
