//! Beside Flux: its command prints the same rows, and its controllers handle the same requests.

use super::{ok, run};
use crate::seed::seeded;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::world::{CONFIG_MAP, GIT_REPOSITORY, KUSTOMIZATION, World, git_repository};
use serde_json::json;
use std::process::Command;

/// What `flux` prints, as cells.
fn flux(cluster: &Cluster, arguments: &[&str]) -> Option<Vec<Vec<String>>> {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(bumpwright_testkit::tool("flux")?)
        .args(arguments)
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("HOME", home.path())
        // It would query its newest release; the proxy does not exist, and it ignores that.
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let cells = |line: &str| line.trim_end().split('\t').map(|cell| cell.trim().to_owned()).collect();
    Some(text.lines().map(cells).collect())
}

/// What our command prints, as cells; an empty one is a dash here.
fn ours(text: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        let cells = line.split("   ").map(str::trim).filter(|cell| !cell.is_empty());
        cells
            .map(|cell| cell.replace("-", if cell == "-" { "" } else { "-" }))
            .collect()
    };
    text.lines().map(cells).collect()
}

#[test]
fn rows_are_those_of_the_flux_command() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "flux-rows");
    let namespace = "--namespace=flux-rows";
    let Some(theirs) = flux(cluster, &["get", "kustomizations", namespace]) else {
        return;
    };
    assert_eq!(ours(&ok(&world, &["get", "kustomizations"])), theirs);
    let theirs = flux(cluster, &["get", "sources", "all", namespace]).unwrap();
    assert_eq!(ours(&ok(&world, &["get", "sources"])), theirs);
    let tree = |cells: Vec<Vec<String>>| cells.concat().join("\n");
    let theirs = tree(flux(cluster, &["tree", "kustomization", "infra", namespace]).unwrap());
    let own = ok(&world, &["tree", "kustomization", "infra"]);
    // We say how it stands besides.
    assert_eq!(own.replace(" ready\n", "\n").trim_end(), theirs);
}

fn controller(world: &World<'_>, name: &str, flags: &[String]) -> Option<Controller> {
    let starter = Controller::of_flux(
        name,
        &world.cluster.kubeconfig(),
        &world.namespace,
        &world.folder_of(name),
    )?;
    let common = [
        "--watch-all-namespaces=false",
        "--events-addr=",
        "--requeue-dependency=1s",
    ];
    Some(starter.flags(&common).flags(flags).start())
}

#[test]
fn controllers_of_flux_handle_requests() {
    let Some(cluster) = Cluster::shared() else { return };
    if ["source-controller", "kustomize-controller"]
        .iter()
        .any(|name| bumpwright_testkit::tool(name).is_none())
    {
        return;
    }
    cluster.define();
    let world = World::new(cluster, "flux-beside");
    let repo = world.repository("app.git");
    let file =
        |value: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: app}}\ndata: {{a: {value}}}\n");
    repo.commit("main", "first", &[Change::File("app.yaml", file("one").as_bytes())]);
    world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
    let spec = json!({"interval": "1h", "prune": true, "path": "./", "targetNamespace": "flux-beside",
        "sourceRef": {"kind": "GitRepository", "name": "app"}});
    world.add(KUSTOMIZATION, "app", spec);
    let address = format!("127.0.0.1:{}", free_port());
    let mut flags: Vec<String> = ["--storage-addr", "--storage-adv-addr"]
        .map(|flag| format!("{flag}={address}"))
        .into();
    flags.push(format!(
        "--storage-path={}",
        world.folder_of("source-controller").join("data").display()
    ));
    std::fs::create_dir_all(world.folder_of("source-controller").join("data")).unwrap();
    let _sources = controller(&world, "source-controller", &flags);
    let _kustomizations = controller(&world, "kustomize-controller", &[]);
    world.ready(KUSTOMIZATION, "app", "True", |_, _| true);
    let tip = repo.commit("main", "second", &[Change::File("app.yaml", file("two").as_bytes())]);
    let command = |arguments: &[&str]| {
        let ran = run(cluster, &[arguments, &["--timeout=60s", "-n", "flux-beside"]].concat());
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
        ran.err
    };
    let said = command(&["reconcile", "kustomization", "app", "--with-source"]);
    let last = format!("✔ Kustomization/flux-beside/app is ready: Applied revision: main@sha1:{tip}");
    assert_eq!(said.lines().last(), Some(last.as_str()), "{said}");
    assert_eq!(world.get(CONFIG_MAP, "app")["data"]["a"], "two");
    ok(&world, &["suspend", "ks", "--all"]);
    command(&["resume", "ks", "--all", "--wait"]);
    let status = ok(&world, &["status"]);
    assert!(status.contains("\nNothing needs attention\n"), "{status}");
}
