//! The controllers in the image, as in the pod of the Deployment: its arguments, variables,
//! volumes, ServiceAccount and rights.

use std::fs;

use serde_json::{Value as Json, json};

use super::Image;
use super::container::Container;
use crate::deploy::{kustomized, text};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{
    AUTOMATION, CONFIG_MAP, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, World, automation,
    git_repository, newest,
};

const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// All kinds.
const INSTALLATION: &str = "resources: [DEPLOY]\ncomponents: [DEPLOY/source-controller, DEPLOY/kustomize-controller]\n";

/// Applies an installation and returns its Deployment. None without kustomize.
fn installed(cluster: &Cluster) -> Option<Json> {
    let all = kustomized(INSTALLATION)?;
    let is_definition = |one: &&Json| text(one, "/kind") == "CustomResourceDefinition";
    let (first, then): (Vec<_>, Vec<_>) = all.values().partition(is_definition);
    first
        .iter()
        .chain(&then)
        .for_each(|one| cluster.apply(&one.to_string()));
    Some(all["Deployment flux-system/bumpwright"].clone())
}

/// What the kubelet mounts into a pod: token, authority and namespace.
fn account(world: &World<'_>) -> std::path::PathBuf {
    let path = format!(
        "/api/v1/namespaces/{}/serviceaccounts/bumpwright/token",
        world.namespace
    );
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = world.cluster.request("POST", &path, "", &request.to_string());
    assert_eq!(answer.status, 201, "{}", answer.body);
    let folder = world.folder_of("account");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("token"), text(&answer.body, "/status/token")).unwrap();
    fs::write(folder.join("ca.crt"), world.cluster.ca()).unwrap();
    fs::write(folder.join("namespace"), &world.namespace).unwrap();
    folder
}

/// The arguments of the Deployment. The test has one network for all: its ports are its own, and there is no Service.
fn arguments(deployment: &Json, artifacts: &str, probes: u16) -> Vec<String> {
    let given = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    let given = serde_json::from_value::<Vec<String>>(given.clone()).unwrap();
    let mut all: Vec<String> = given
        .into_iter()
        .filter(|one| !one.starts_with("--storage-adv-addr="))
        .collect();
    all.extend([
        format!("--storage-addr={artifacts}"),
        format!("--storage-adv-addr={artifacts}"),
        format!("--metrics-addr=127.0.0.1:{}", free_port()),
        format!("--health-addr=127.0.0.1:{probes}"),
    ]);
    all
}

/// A pod with the volumes of the Deployment.
fn pod<'a>(world: &World<'_>, image: &'a Image, deployment: &Json) -> Option<Container<'a>> {
    let mut pod = Container::of(image)?.volume(&account(world), ACCOUNT, "ro");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    for mount in container["volumeMounts"].as_array().unwrap() {
        pod = pod.empty(&world.folder_of(text(mount, "/name")), text(mount, "/mountPath"));
    }
    let variables = container["env"].as_array().unwrap();
    assert_eq!(variables.len(), 1, "{variables:?}");
    let port = world.cluster.url().rsplit(':').next().unwrap();
    Some(
        pod.variable("RUNTIME_NAMESPACE", &world.namespace)
            .variable("KUBERNETES_SERVICE_HOST", "localhost")
            .variable("KUBERNETES_SERVICE_PORT", port),
    )
}

/// A field whose marker names the policy, in an object that the Kustomization applies.
fn manifest(image: &str, tag: &str) -> String {
    let marker = json!({"$imagepolicy": "flux-system:app"});
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\n  namespace: flux-system\ndata:\n  image: {image}:{tag} # {marker}\n"
    )
}

/// A tag in a registry becomes a commit in a repository, and the commit an object in the cluster.
#[test]
fn a_new_tag_is_committed_and_applied() {
    let (Some(image), Some(registry)) = (Image::shared(), Registry::start()) else {
        return;
    };
    let Some(cluster) = Cluster::start() else { return };
    let world = World::new(&cluster, "flux-system");
    let Some(deployment) = installed(&cluster) else { return };
    let Some(pod) = pod(&world, image, &deployment) else {
        return;
    };
    registry.images().tags("app", &["1.0.0", "1.1.0"]);
    let name = format!("{}/app", registry.host());
    let repo = world.repository("app.git");
    repo.commit(
        "main",
        "first",
        &[Change::File("app.yaml", manifest(&name, "1.0.0").as_bytes())],
    );

    let (artifacts, probes) = (format!("127.0.0.1:{}", free_port()), free_port());
    let arguments = arguments(&deployment, &artifacts, probes);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let running = pod.start(&arguments, &world.folder.path().join("log"));
    let ready = text(
        &deployment,
        "/spec/template/spec/containers/0/readinessProbe/httpGet/path",
    );
    until("it is ready", || {
        ureq::get(format!("http://127.0.0.1:{probes}{ready}")).call().is_ok()
    });
    assert_confined(&running.about("status"), &running.about("mountinfo"));

    world.add(
        IMAGE_REPOSITORY,
        "app",
        json!({"image": name, "interval": "1h", "insecure": true}),
    );
    world.add(IMAGE_POLICY, "app", newest("app"));
    world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
    world.add(AUTOMATION, "app", automation("app"));
    let source = json!({"kind": "GitRepository", "name": "app"});
    world.add(
        KUSTOMIZATION,
        "app",
        json!({"interval": "1h", "path": "./", "prune": true, "sourceRef": source}),
    );
    for kind in [
        IMAGE_REPOSITORY,
        IMAGE_POLICY,
        GIT_REPOSITORY,
        AUTOMATION,
        KUSTOMIZATION,
    ] {
        world.ready(kind, "app", "True", |_, _| true);
    }
    wait_for(
        || repo.show("main", "app.yaml") == manifest(&name, "1.1.0").as_bytes(),
        || format!("1.1.0 is committed: {:#}", world.get(AUTOMATION, "app")["status"]),
    );
    world.request(GIT_REPOSITORY, "app", "now");
    wait_for(
        || world.get(CONFIG_MAP, "app")["data"]["image"] == format!("{name}:1.1.0"),
        || format!("1.1.0 is applied: {:#}", world.get(KUSTOMIZATION, "app")["status"]),
    );
    world.ready(KUSTOMIZATION, "app", "True", |reason, _| {
        reason == "ReconciliationSucceeded"
    });
    assert_eq!(running.stop(), Some(0));
}

/// It runs as the security context of the Deployment demands.
fn assert_confined(status: &str, mounts: &str) {
    let field = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(":"));
        line.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(field("Name"), "bumpwright");
    assert_eq!(field("Uid"), "65532 65532 65532 65532");
    assert_eq!(field("Gid"), "65532 65532 65532 65532");
    assert_eq!(field("Groups"), "");
    assert_eq!(field("NoNewPrivs"), "1");
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    let of = |path: &str| {
        let found = mounts.lines().rev().find(|line| line.split(' ').nth(4) == Some(path));
        found
            .unwrap_or_else(|| panic!("{path}: {mounts}"))
            .split(' ')
            .nth(5)
            .unwrap()
            .to_owned()
    };
    for (path, mode) in [("/", "ro"), (ACCOUNT, "ro"), ("/data", "rw"), ("/tmp", "rw")] {
        assert!(of(path).starts_with(mode), "{path}: {mounts}");
    }
}
