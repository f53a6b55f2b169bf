//! `docs/guides/moving-all-controllers.md`, step by step: Flux's four controllers with a fleet, which bumpwright takes
//! over and gives back. What is written to the fleet's objects meanwhile is counted, by their versions and by the audit
//! log of the API server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};

use super::moving_from_flux::{APPLIER, AUTOMATOR, Moving, OURS, REFLECTOR, SOURCES, chosen};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::tool;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{AUTOMATION, CONFIG_MAP, GIT_REPOSITORY, IMAGE_REPOSITORY, KUSTOMIZATION, SECRET};

const FOUR: [&str; 4] = [AUTOMATOR, REFLECTOR, APPLIER, SOURCES];

/// Kustomizations, and objects of each; the first one has four more.
const FOLDERS: usize = 13;
const MAPS: usize = 29;

/// A cluster with an audit log. None without the programs.
fn cluster() -> Option<Cluster> {
    for program in [&FOUR[..], &["flux", "flux-crds", "sops", "age-keygen"]].concat() {
        tool(program)?;
    }
    bumpwright_testkit::has("kubectl", "kubernetes-client").then(|| Cluster::audited(&["person"]))?
}

fn run(program: &Path, folder: &Path, arguments: &[&str]) -> String {
    let done = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn map(name: &str, data: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{fleet: all}}}}\ndata:\n  {data}\n---\n"
    )
}

/// A Secret in the file, and the key of it in the cluster.
fn encrypted(world: &ImageWorld<'_>) -> String {
    let (folder, sops, keygen) = (world.folder.path(), tool("sops").unwrap(), tool("age-keygen").unwrap());
    run(&keygen, folder, &["-o", "age.txt"]);
    let recipient = run(&keygen, folder, &["-y", "age.txt"]).trim().to_owned();
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: login, labels: {fleet: all}}\nstringData: {password: hidden}\n";
    std::fs::write(folder.join("secret.yaml"), secret).unwrap();
    let key = std::fs::read_to_string(folder.join("age.txt")).unwrap();
    world.put(SECRET, "keys", json!({"stringData": {"a.agekey": key}}));
    run(
        &sops,
        folder,
        &[
            "--encrypt",
            "--age",
            &recipient,
            "--encrypted-regex",
            "^stringData$",
            "secret.yaml",
        ],
    )
}

/// The fleet: 13 Kustomizations of one source with 381 objects; half of them depend on the first one.
fn fill(world: &ImageWorld<'_>) {
    let mut files: Vec<(String, String)> = Vec::new();
    for folder in 0..FOLDERS {
        let maps: String = (0..MAPS)
            .map(|n| map(&format!("m{folder}-{n}"), "key: value"))
            .collect();
        files.push((format!("fleet/k{folder}/maps.yaml"), maps));
    }
    files.push(("fleet/k0/web.yaml".to_owned(), map("web", &world.marked("1.0.0"))));
    let more: String = ["x", "y"].map(|name| map(name, "key: value")).concat();
    files.push(("fleet/k0/more.yaml".to_owned(), more));
    files.push(("fleet/k0/login.yaml".to_owned(), encrypted(world)));
    let changes: Vec<Change<'_>> = files
        .iter()
        .map(|(path, text)| Change::File(path, text.as_bytes()))
        .collect();
    world.repo.commit("main", "the fleet", &changes);
    world.add_all("1h");
    for folder in 0..FOLDERS {
        let depends = if folder % 2 == 1 {
            json!([{"name": "k0"}])
        } else {
            json!([])
        };
        let mut spec = json!({
            "interval": "1h", "retryInterval": "2s", "prune": true, "wait": true, "timeout": "1m", "path": format!("./fleet/k{folder}"),
            "targetNamespace": world.namespace, "sourceRef": {"kind": "GitRepository", "name": "app"}, "dependsOn": depends,
        });
        if folder == 0 {
            spec["decryption"] = json!({"provider": "sops", "secretRef": {"name": "keys"}});
        }
        world.add(KUSTOMIZATION, &format!("k{folder}"), spec);
    }
}

/// The fleet's objects: uid and version by name.
fn objects(world: &ImageWorld<'_>) -> BTreeMap<String, (String, String)> {
    let all = [CONFIG_MAP, SECRET].map(|kind| world.list(kind)).concat();
    let text = |one: &Json, field: &str| one["metadata"][field].as_str().unwrap().to_owned();
    let ours = all.iter().filter(|one| one["metadata"]["labels"]["fleet"] == "all");
    ours.map(|one| (text(one, "name"), (text(one, "uid"), text(one, "resourceVersion"))))
        .collect()
}

/// The writes of the fleet's objects so far that were not dry runs: verb and name.
fn writes(cluster: &Cluster) -> Vec<String> {
    let (done, _) = cluster.audit();
    let of_fleet = done.iter().filter(|event| {
        let reference = &event["objectRef"];
        let is_kind = ["configmaps", "secrets"]
            .iter()
            .any(|kind| reference["resource"] == *kind);
        let is_real = !event["requestURI"].as_str().unwrap_or_default().contains("dryRun=All");
        is_kind && is_real && reference["namespace"] == "apps" && reference["name"] != "keys"
    });
    of_fleet
        .map(|event| {
            format!(
                "{} {}",
                event["verb"].as_str().unwrap(),
                event["objectRef"]["name"].as_str().unwrap()
            )
        })
        .collect()
}

/// Waits until all Kustomizations have applied the tip of the branch.
fn settled(world: &ImageWorld<'_>, moving: &Moving<'_>) {
    let tip = format!("main@sha1:{}", world.repo.rev("main").unwrap());
    for folder in 0..FOLDERS {
        let name = format!("k{folder}");
        wait_for(
            || world.get(KUSTOMIZATION, &name)["status"]["lastAppliedRevision"] == tip,
            || {
                let log = moving.processes.get(OURS).map(|one| one.log()).unwrap_or_default();
                format!("{name} {tip}: {:#}\n{log}", world.get(KUSTOMIZATION, &name)["status"])
            },
        );
        world.ready(KUSTOMIZATION, &name, "True", |_, _| true);
    }
}

/// A new tag: one commit, and one write of the one object that has it.
fn bump(world: &ImageWorld<'_>, moving: &Moving<'_>, cluster: &Cluster, tag: &str, has_webhook: bool) {
    let (commits, before, wrote) = (world.repo.log("main").len(), objects(world), writes(cluster).len());
    world.release(tag);
    world.committed(tag, commits + 1);
    if has_webhook {
        world.request(GIT_REPOSITORY, "app", tag);
    }
    settled(world, moving);
    let after = objects(world);
    let changed: Vec<&String> = after
        .iter()
        .filter(|(name, one)| before.get(*name) != Some(one))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        (changed, before.len(), after.len()),
        (vec![&"web".to_owned()], 381, 381),
        "{tag}"
    );
    assert_eq!(writes(cluster).get(wrote..).unwrap_or_default(), ["patch web"], "{tag}");
}

fn untouched(world: &ImageWorld<'_>, before: &BTreeMap<String, (String, String)>, step: &str) {
    assert_eq!(&objects(world), before, "{step}");
}

#[test]
fn a_fleet_goes_there_and_back_untouched() {
    let Some(cluster) = cluster() else { return };
    cluster.define();
    for plural in ["helmcharts", "helmrepositories"] {
        let file = tool("flux-crds")
            .unwrap()
            .join(format!("source.toolkit.fluxcd.io_{plural}.yaml"));
        cluster.apply(&std::fs::read_to_string(file).unwrap());
    }
    let mut moving = Moving::with(&cluster, "moving-all-controllers.md", &FOUR);
    let world = ImageWorld::bare(&cluster, "apps");
    fill(&world);
    settled(&world, &moving);
    bump(&world, &moving, &cluster, "1.1.0", true);

    // There.
    let mut before = objects(&world);
    let said = moving.run(&["bumpwright check --pre", "bumpwright install --beside-flux"]);
    assert!(said.contains("deployment.apps/bumpwright is ready"), "{said}");
    for name in FOUR {
        moving.run(&[&format!("kubectl -n flux-system scale deployment {name} --replicas=0")]);
        moving.ours_leads(name);
        world.app_ready(AUTOMATION);
        settled(&world, &moving);
        untouched(&world, &before, name);
    }
    wait_for(
        || {
            world.get(GIT_REPOSITORY, "app")["status"]["artifact"]["url"]
                .to_string()
                .contains("127.0.0.1")
        },
        || moving.processes[OURS].log(),
    );
    moving.run(&["bumpwright check", "flux get all"]);
    bump(&world, &moving, &cluster, "1.2.0", false);

    // kill -9 right after the push of a bump.
    let (commits, wrote) = (world.repo.log("main").len(), writes(&cluster).len());
    world.release("1.3.0");
    until("it is pushed", || world.repo.log("main").len() > commits);
    moving.processes.remove(OURS).unwrap().kill();
    moving.settle();
    settled(&world, &moving);
    world.committed("1.3.0", commits + 1);
    let all = writes(&cluster);
    assert_eq!(all.get(wrote..).unwrap_or_default(), ["patch web"], "once");

    // Back.
    before = objects(&world);
    let commits = world.repo.log("main").len();
    let identity = moving.holder(AUTOMATOR);
    // An `emptyDir`, whose pod was deleted; `moving_from_flux.rs` goes back on a volume with the tags of before.
    std::fs::remove_dir_all(moving.folder.path().join(REFLECTOR).join("data")).unwrap();
    moving.run(&[
        "kubectl -n flux-system scale deployment bumpwright --replicas=0",
        "kubectl -n flux-system scale deployment source-controller image-reflector-controller",
        "kubectl annotate gitrepositories",
        "kubectl wait gitrepositories",
        "kubectl annotate imagepolicies",
        "kubectl wait imagepolicies",
        "flux get images policy",
    ]);
    assert_eq!(chosen(&world), "1.3.0", "the image that it had");
    moving.run(&["kubectl -n flux-system scale deployment kustomize-controller"]);
    until("Flux's have all leases", || {
        let holders = FOUR.map(|name| moving.holder(name));
        holders.iter().all(|holder| !holder.is_empty() && *holder != identity)
    });
    let said = moving.run(&["bumpwright check"]);
    assert!(said.contains("has 0 replicas"), "{said}");
    settled(&world, &moving);
    world.app_ready(AUTOMATION);
    world.committed("1.3.0", commits);
    untouched(&world, &before, "back");
    bump(&world, &moving, &cluster, "1.4.0", true);
    let wrong: Vec<String> = writes(&cluster)
        .into_iter()
        .filter(|write| write.starts_with("delete"))
        .collect();
    assert_eq!(wrong, [""; 0]);
    assert!(moving.document.0.is_empty(), "not run: {:?}", moving.document.0);
    world.delete(IMAGE_REPOSITORY, "app");
    world.gone(IMAGE_REPOSITORY, "app");
}
