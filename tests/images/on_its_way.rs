//! From a chosen image to applied objects where other processes serve sources and Kustomizations, ours or Flux's. All
//! intervals are an hour, so that nothing waits for one.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::{Controller, Starter};
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{
    AUTOMATION, CONFIG_MAP, GIT_REPOSITORY, IMAGE_POLICY, KUSTOMIZATION, World, automation, git_repository,
};

/// The most time from a chosen image to the applied object.
const MOST: Duration = Duration::from_secs(10);

const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";

/// Who serves the sources and applies.
#[derive(Clone, Copy, PartialEq)]
enum Others {
    Ours,
    Flux,
}

fn of_flux(world: &World<'_>, name: &str, flags: &[String]) -> Controller {
    let folder = world.folder_of(name);
    std::fs::create_dir_all(folder.join("data")).unwrap();
    let starter = Controller::of_flux(name, &world.cluster.kubeconfig(), &world.namespace, &folder).unwrap();
    let own = ["--watch-all-namespaces=false", "--events-addr="];
    starter.flags(&own).flags(flags).start()
}

/// The controllers of sources and Kustomizations, each a process of its own.
fn others(world: &World<'_>, others: Others) -> Option<Vec<Controller>> {
    let address = format!("127.0.0.1:{}", free_port());
    let mut served = ["--storage-addr", "--storage-adv-addr"]
        .map(|flag| format!("{flag}={address}"))
        .to_vec();
    if others == Others::Ours {
        let start = |name: &str, flags: &[String]| {
            let kind = format!("--controllers={name}");
            let starter: Starter = world.starter(name).flags(&[kind]);
            starter.flags(flags).start()
        };
        return Some(vec![start("source", &served), start("kustomize", &[])]);
    }
    for program in ["source-controller", "kustomize-controller", "flux-crds"] {
        bumpwright_testkit::tool(program)?;
    }
    // source-controller requires these kinds, although there are no objects of them.
    let definitions = bumpwright_testkit::tool("flux-crds")?;
    for plural in ["helmcharts", "helmrepositories"] {
        let file = definitions.join(format!("source.toolkit.fluxcd.io_{plural}.yaml"));
        world.cluster.apply(&std::fs::read_to_string(file).unwrap());
    }
    let storage = world.folder_of("source-controller").join("data");
    served.push(format!("--storage-path={}", storage.display()));
    Some(vec![
        of_flux(world, "source-controller", &served),
        of_flux(world, "kustomize-controller", &[]),
    ])
}

fn marked(namespace: &str, tag: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  image: ghcr.io/o/web:{tag} # {{\"$imagepolicy\": \
         \"{namespace}:web\"}}\n"
    )
}

/// A repository with one marked ConfigMap, what automates it and what applies it.
fn fill(world: &World<'_>) {
    let repo = world.repository("fleet.git");
    let text = marked(&world.namespace, "1.0.0");
    repo.commit("main", "first", &[Change::File("apps/web.yaml", text.as_bytes())]);
    add_choice(world, "web", "1.0.0");
    let mut source = git_repository(&world.git.url("fleet.git"));
    source["interval"] = json!("1h");
    world.add(GIT_REPOSITORY, "fleet", source);
    let spec = json!({
        "interval": "1h", "prune": true, "path": "./apps", "targetNamespace": world.namespace,
        "sourceRef": {"kind": "GitRepository", "name": "fleet"},
    });
    world.add(KUSTOMIZATION, "apps", spec);
    let mut spec = automation("fleet");
    spec["interval"] = json!("1h");
    world.add(AUTOMATION, "all", spec);
}

fn applied(world: &World<'_>) -> Json {
    let answer = world.cluster.request("GET", &world.path(CONFIG_MAP, "web"), "", "");
    answer.body["data"]["image"].clone()
}

fn until_applied(world: &World<'_>, tag: &str) -> Duration {
    let began = Instant::now();
    let image = format!("ghcr.io/o/web:{tag}");
    wait_for(
        || applied(world) == image,
        || {
            format!(
                "{tag}: {:#}\n{:#}\n{:#}",
                world.get(AUTOMATION, "all")["status"],
                world.get(GIT_REPOSITORY, "fleet"),
                world.get(KUSTOMIZATION, "apps")["status"]
            )
        },
    );
    began.elapsed()
}

fn is_on_its_way(namespace: &str, by: Others) {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, namespace);
    let Some(_others) = others(&world, by) else { return };
    fill(&world);
    let ours = world.starter("ours").flags(&["--controllers=image-automation"]).start();
    world.ready(KUSTOMIZATION, "apps", "True", |_, _| true);
    world.ready(AUTOMATION, "all", "True", |_, _| true);
    assert_eq!(
        world.get(GIT_REPOSITORY, "fleet")["metadata"]["annotations"][REQUESTED_AT],
        Json::Null,
        "nothing was pushed yet"
    );
    for tag in ["1.1.0", "1.2.0", "1.3.0"] {
        world.patch_status(IMAGE_POLICY, "web", &json!({"latestRef": {"tag": tag}}));
        let took = until_applied(&world, tag);
        println!("{namespace} {tag}: applied after {took:?}");
        assert!(took < MOST, "{took:?}\n{}", ours.log());
    }
}

#[test]
fn what_was_pushed_is_fetched_at_once_by_another_process() {
    is_on_its_way("on-its-way-ours", Others::Ours);
}

#[test]
fn what_was_pushed_is_fetched_at_once_by_flux() {
    is_on_its_way("on-its-way-flux", Others::Flux);
}

/// A role that may not patch GitRepositories: the push counts, and the log says what is missing.
#[test]
fn without_the_right_to_ask_the_log_says_so() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "on-its-way-not-asked");
    fill(&world);
    let metadata = json!({"name": "no-requests"});
    let rules = json!([{"apiGroups": ["source.toolkit.fluxcd.io"], "apiVersions": ["*"], "operations": ["UPDATE"],
        "resources": ["gitrepositories"]}]);
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": world.namespace}});
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
        "spec": {
            "matchConstraints": {"resourceRules": rules, "namespaceSelector": selector},
            "validations": [{"expression": "false", "message": "no requests here", "reason": "Forbidden"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
        "spec": {"policyName": "no-requests", "validationActions": ["Deny"]},
    });
    cluster.apply(&policy.to_string());
    cluster.apply(&binding.to_string());
    let path = world.path(GIT_REPOSITORY, "fleet");
    let is_refused = || {
        let patch = json!({"metadata": {"annotations": {"probe": "1"}}}).to_string();
        cluster
            .request(
                "PATCH",
                &format!("{path}?dryRun=All"),
                "application/merge-patch+json",
                &patch,
            )
            .status
            == 403
    };
    wait_for(is_refused, || "the policy is not in effect".to_owned());
    let ours = world.starter("ours").flags(&["--controllers=image-automation"]).start();
    world.ready(AUTOMATION, "all", "True", |_, _| true);
    world.patch_status(IMAGE_POLICY, "web", &json!({"latestRef": {"tag": "1.1.0"}}));
    let words = "cannot ask GitRepository/on-its-way-not-asked/fleet to fetch what was pushed; it does so when its interval is over";
    wait_for(|| ours.log().contains(words), || ours.log());
    // It is logged before the status tells the push.
    let pushed = || !world.get(AUTOMATION, "all")["status"]["lastPushCommit"].is_null();
    wait_for(pushed, || "the push is not in the status".to_owned());
    world.ready(AUTOMATION, "all", "True", |_, _| true);
    for object in [binding, policy] {
        cluster.request("DELETE", &cluster.path_of(&object), "", "");
    }
}
