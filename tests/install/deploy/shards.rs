//! Several processes of one installation: a real API server takes `deploy/shards` and the chart, the rights are enough
//! to share the objects, and `install` goes from one process to several and back while they work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::rights::{arguments, may, token_of};
use super::switching::{end_pod, made_by};
use super::waiting::Installing;
use super::{built, exported, kustomized, text};
use crate::chart::rendered;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::{Controller, ELECTION};
use bumpwright_testkit::deployments::{report, report_set};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{CONFIG_MAP, GIT_REPOSITORY, KUSTOMIZATION, LEASE, World, git_repository};

/// As in docs/guides/shards.md.
const KUSTOMIZATION_OF_DEPLOY: &str = "\
resources: [DEPLOY]
components: [DEPLOY/source-controller, DEPLOY/kustomize-controller, DEPLOY/shards]
replicas: [{name: bumpwright, count: 2}]
namespace: NAMESPACE
";

/// Has the server take all objects, strictly: a field that it does not know is an error.
fn apply(cluster: &Cluster, namespace: &str, all: &BTreeMap<String, Json>) {
    cluster.define();
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    cluster.apply(&object.to_string());
    for object in all.values() {
        let path = cluster.path_of(object);
        let path = format!("{path}?fieldManager=test&force=true&fieldValidation=Strict");
        let answer = cluster.request("PATCH", &path, "application/apply-patch+yaml", &object.to_string());
        assert!(matches!(answer.status, 200 | 201), "{path}: {}", answer.body);
    }
    let workload = cluster.get(&format!("/apis/apps/v1/namespaces/{namespace}/statefulsets/bumpwright"));
    assert_eq!(workload["spec"]["replicas"], 2);
    assert_eq!(text(&workload, "/spec/serviceName"), "bumpwright-shards");
    let service = cluster.get(&format!("/api/v1/namespaces/{namespace}/services/bumpwright-shards"));
    assert_eq!(service["spec"]["clusterIP"], "None");
    await_rights(cluster, namespace);
}

/// The server takes note of rights a little later.
fn await_rights(cluster: &Cluster, namespace: &str) {
    for (verb, group, resource) in [
        ("list", "coordination.k8s.io", "leases"),
        ("delete", "coordination.k8s.io", "leases"),
        ("patch", "source.toolkit.fluxcd.io", "gitrepositories/status"),
        ("patch", "kustomize.toolkit.fluxcd.io", "kustomizations/status"),
        ("create", "", "configmaps"),
    ] {
        until("the rights are in effect", || {
            may(cluster, namespace, verb, group, resource, namespace)
        });
    }
}

/// A pod of the Deployment or StatefulSet, with a name of this machine in the place of its own in the Service.
fn pod(world: &World<'_>, all: &BTreeMap<String, Json>, kubeconfig: &Path, name: &str) -> Controller {
    let mut flags = arguments(all);
    let is_member = flags.contains(&"--shards".to_owned());
    let of_pods = if is_member {
        "--storage-adv-addr=$(POD_NAME).bumpwright-shards.$(RUNTIME_NAMESPACE).svc.cluster.local:9090"
    } else {
        "--storage-adv-addr=bumpwright-artifacts.$(RUNTIME_NAMESPACE).svc.cluster.local."
    };
    assert_eq!(
        is_member,
        all.keys().any(|name| name.starts_with("StatefulSet")),
        "{flags:?}"
    );
    let address = format!("127.0.0.1:{}", free_port());
    let own = flags.iter_mut().find(|flag| *flag == of_pods).unwrap();
    *own = format!("--storage-adv-addr={address}");
    let listened = format!("--storage-addr={address}");
    Controller::ours(kubeconfig, &world.namespace, &world.folder_of(name))
        .variable("HOSTNAME", name)
        .flags(&flags)
        .flags(&[listened])
        .flags(&ELECTION)
        .start()
}

/// The members that have a Lease.
fn members(world: &World<'_>) -> Vec<String> {
    let leases = world.list(LEASE);
    let names = leases.iter().map(|lease| text(lease, "/metadata/name"));
    let members = names.filter_map(|name| name.strip_prefix("bumpwright-shard-")?.split_once('-'));
    members.map(|(_, member)| member.to_owned()).collect()
}

/// A source with Kustomizations, each of which applies what was committed last.
struct Fleet<'a> {
    world: &'a World<'a>,
    repo: Repo,
}

impl<'a> Fleet<'a> {
    const SIZE: usize = 24;

    fn of(world: &'a World<'a>) -> Self {
        let repo = world.repository("fleet.git");
        world.add(GIT_REPOSITORY, "fleet", git_repository(&world.git.url("fleet.git")));
        for number in 0..Self::SIZE {
            let source = json!({"kind": "GitRepository", "name": "fleet"});
            let spec = json!({"interval": "1h", "prune": true, "sourceRef": source, "targetNamespace": world.namespace,
                "namePrefix": format!("k-{number}-")});
            world.add(KUSTOMIZATION, &format!("k-{number}"), spec);
        }
        Self { world, repo }
    }

    fn commit(&self, content: &str) {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}, "data": {"content": content}});
        let map = map.to_string();
        self.repo
            .commit("main", content, &[Change::File("map.yaml", map.as_bytes())]);
        self.world.request(GIT_REPOSITORY, "fleet", content);
    }

    fn is_applied(&self, content: &str) {
        let maps = || self.world.list(CONFIG_MAP);
        let count = || maps().iter().filter(|map| map["data"]["content"] == content).count();
        wait_for(
            || count() == Self::SIZE,
            || format!("{content} is applied {} times", count()),
        );
    }
}

fn kubeconfig(world: &World<'_>) -> PathBuf {
    let file = world.folder.path().join("kubeconfig");
    let token = token_of(world.cluster, &world.namespace);
    std::fs::write(&file, world.cluster.kubeconfig_with(&token)).unwrap();
    file
}

/// Two pods with the rights of the installation, and nothing else, share sources and Kustomizations; then one
/// of them has all.
fn two_share(cluster: &Cluster, namespace: &str, all: &BTreeMap<String, Json>) {
    apply(cluster, namespace, all);
    let world = World::new(cluster, namespace);
    let kubeconfig = kubeconfig(&world);
    let fleet = Fleet::of(&world);
    fleet.commit("0");
    let [first, second] = ["bumpwright-0", "bumpwright-1"].map(|name| pod(&world, all, &kubeconfig, name));
    let both = ["bumpwright-0", "bumpwright-1"];
    wait_for(|| members(&world) == both, || format!("{:?}", members(&world)));
    fleet.is_applied("0");
    let has_some = |one: &Controller| {
        let owned = one.metric("bumpwright_shard_objects{kind=\"Kustomization\"}");
        owned.is_some_and(|count| count >= 1.0 && count < Fleet::SIZE as f64)
    };
    until("each has some of them", || has_some(&first) && has_some(&second));
    assert_eq!(first.stop(), Some(0));
    assert_eq!(members(&world), both[1..]);
    fleet.commit("1");
    fleet.is_applied("1");
    let log = second.log();
    assert!(!log.contains("forbidden"), "{log}");
    assert_eq!(second.stop(), Some(0));
    assert_eq!(members(&world), Vec::<String>::new());
}

/// Ends a process, which had all rights that it needs to the end, and leaves its lease to others.
fn end(process: Controller) {
    let log = process.log();
    assert!(!log.contains("forbidden"), "{log}");
    process.signal("TERM");
    assert_eq!(process.ended(), Some(0));
    let log = process.log();
    assert!(!log.contains("forbidden"), "{log}");
}

/// While `install` waits for what ends, nothing else begins; then the others go on at once, since the leases are free.
#[test]
fn install_goes_from_one_process_to_several_and_back_while_they_work() {
    const NAMESPACE: &str = "shards-switch";
    const KINDS: &str = "--components=source,kustomize";
    let Some(cluster) = &Cluster::start() else { return };
    let namespace = format!("--namespace={NAMESPACE}");
    let [one, several] =
        [&[][..], &["--shards=2"]].map(|more| exported(&[&[KINDS, namespace.as_str()], more].concat()));
    assert_eq!(
        Installing::start(cluster, NAMESPACE, &[KINDS, "--wait=false"]).end().0,
        0
    );
    let world = World::new(cluster, NAMESPACE);
    let (kubeconfig, fleet) = (kubeconfig(&world), Fleet::of(&world));
    let is_free = || {
        let lease = world.get(LEASE, "kustomize-controller-leader-election");
        assert_eq!(text(&lease, "/spec/holderIdentity"), "", "{lease}");
    };
    let process = pod(&world, &one, &kubeconfig, "bumpwright-7d9-x");
    let record = made_by(cluster, NAMESPACE, "bumpwright-7d9-x", "ReplicaSet");
    fleet.commit("0");
    fleet.is_applied("0");

    let installing = Installing::start(cluster, NAMESPACE, &[KINDS, "--shards=2"]);
    installing.says("waiting: deployment.apps/bumpwright: bumpwright-7d9-x to end");
    end(process);
    is_free();
    end_pod(cluster, &record);
    report_set(cluster, &installing.workload(), 2);
    assert_eq!(installing.end().0, 0);
    await_rights(cluster, NAMESPACE);
    let names = ["bumpwright-0", "bumpwright-1"];
    let processes = names.map(|name| pod(&world, &several, &kubeconfig, name));
    let records = names.map(|name| made_by(cluster, NAMESPACE, name, "StatefulSet"));
    wait_for(|| members(&world) == names, || format!("{:?}", members(&world)));
    fleet.commit("1");
    fleet.is_applied("1");

    let installing = Installing::start(cluster, NAMESPACE, &[KINDS]);
    installing.says("waiting: statefulset.apps/bumpwright: bumpwright-0, bumpwright-1 to end");
    processes.into_iter().for_each(end);
    assert_eq!(members(&world), Vec::<String>::new());
    is_free();
    records.iter().for_each(|record| end_pod(cluster, record));
    report(cluster, &installing.workload(), 1);
    assert_eq!(installing.end().0, 0);
    let process = pod(&world, &one, &kubeconfig, "bumpwright-7d9-y");
    fleet.commit("2");
    fleet.is_applied("2");
    end(process);
}

#[test]
fn deploy_shards_is_taken_and_its_rights_are_enough() {
    // Its own, since it acts in all namespaces.
    let Some(cluster) = Cluster::start() else { return };
    let kustomization = KUSTOMIZATION_OF_DEPLOY.replace("NAMESPACE", "shards-deploy");
    let all = built(&kustomization);
    if let Some(kustomized) = kustomized(&kustomization) {
        assert_eq!(all, kustomized);
    }
    two_share(&cluster, "shards-deploy", &all);
}

#[test]
fn the_chart_with_shards_is_taken_and_its_rights_are_enough() {
    let values = [
        "watchAllNamespaces=false",
        "rbac.aggregate=false",
        "crds.install=false",
        "controllers.source=true",
        "controllers.kustomize=true",
        "shards.replicas=2",
    ];
    let (Some(all), Some(cluster)) = (rendered("shards-chart", &values), Cluster::shared()) else {
        return;
    };
    two_share(cluster, "shards-chart", &all);
}
