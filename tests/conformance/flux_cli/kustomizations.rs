//! `flux … kustomization`: created, shown, reconciled, suspended and deleted.

use serde_json::json;

use super::{Flux, rows};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::kustomize_world::{documents, map};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{CONFIG_MAP, GIT_REPOSITORY, KUSTOMIZATION, World, git_repository};

fn manifests(value: &str) -> String {
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "app"}});
    documents(&[map("app", value), account.to_string()])
}

/// A repository with a ConfigMap and a ServiceAccount, its source, and a controller of both kinds.
struct Applied<'a> {
    flux: Flux,
    // Before the folder that has its log and storage goes.
    controller: Controller,
    world: World<'a>,
    repo: Repo,
}

impl<'a> Applied<'a> {
    fn start(cluster: &'a Cluster, namespace: &str) -> Option<Self> {
        let flux = Flux::new(cluster, namespace)?;
        cluster.define();
        let world = World::new(cluster, namespace);
        let address = format!("127.0.0.1:{}", free_port());
        let flags = [
            "--controllers=source,kustomize".to_owned(),
            format!("--storage-addr={address}"),
            format!("--storage-adv-addr={address}"),
        ];
        let controller = world.starter("controller").flags(&flags).start();
        let applied = Self {
            repo: world.repository("app.git"),
            flux,
            controller,
            world,
        };
        applied.commit("1");
        let url = applied.world.git.url("app.git");
        applied.world.add(GIT_REPOSITORY, "app", git_repository(&url));
        Some(applied)
    }

    fn commit(&self, value: &str) {
        let text = manifests(value);
        self.repo
            .commit("main", value, &[Change::File("deploy/all.yaml", text.as_bytes())]);
    }

    fn revision(&self) -> String {
        format!("main@sha1:{}", self.repo.rev("main").unwrap())
    }

    fn create(&self) -> String {
        self.flux.ok(&format!(
            "create ks app --source=GitRepository/app --path=./deploy --prune=true --interval=1h --target-namespace={}",
            self.world.namespace
        ))
    }

    fn value(&self) -> serde_json::Value {
        self.world.get(CONFIG_MAP, "app")["data"]["key"].take()
    }

    /// The row of the Kustomization in `flux get`.
    fn row(&self) -> String {
        let table = rows(&self.flux.ok("get kustomizations"));
        assert_eq!(table[0], "NAME REVISION SUSPENDED READY MESSAGE");
        let row = table.iter().find(|row| row.starts_with("app "));
        row.unwrap_or_else(|| panic!("{table:#?}")).clone()
    }
}

#[test]
fn create_and_reconcile() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(applied) = Applied::start(cluster, "ks-create") else {
        return;
    };
    let said = applied.create();
    assert!(said.contains("Kustomization app is ready"), "{said}");
    assert!(
        said.contains(&format!("applied revision {}", applied.revision())),
        "{said}"
    );
    assert_eq!(applied.value(), "1");
    let short = applied.revision()[.."main@sha1:".len() + 8].to_owned();
    let row = applied.row();
    assert!(
        row.starts_with(&format!("app {short} False True Applied revision: {short}")),
        "{row}"
    );
    applied.commit("2");
    let said = applied.flux.ok("reconcile ks app --with-source");
    for part in [
        "GitRepository annotated".to_owned(),
        format!("fetched revision {}", applied.revision()),
        "Kustomization annotated".to_owned(),
        format!("applied revision {}", applied.revision()),
    ] {
        assert!(said.contains(&part), "{part}: {said}");
    }
    assert_eq!(applied.value(), "2");
    let said = applied.flux.ok("export ks app");
    assert!(said.contains("path: ./deploy") && !said.contains("status:"), "{said}");
}

/// Applied objects do not differ from those built by `flux` itself; changed files in a folder do.
#[test]
fn diff() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(applied) = Applied::start(cluster, "ks-diff") else {
        return;
    };
    applied.create();
    let folder = applied.world.folder.path().join("deploy");
    let diff = |value: &str| {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("all.yaml"), manifests(value)).unwrap();
        let shown = folder.display();
        applied
            .flux
            .run(&format!("diff ks app --path={shown} --progress-bar=false"))
    };
    let same = diff("1");
    assert_eq!((same.code, same.out.trim()), (0, ""), "{}", same.err);
    let other = diff("2");
    assert_eq!(other.code, 1, "{}\n{}", other.out, other.err);
    assert!(other.out.contains("ConfigMap/ks-diff/app drifted"), "{}", other.out);
    assert!(!other.out.contains("ServiceAccount"), "{}", other.out);
    assert_eq!(applied.value(), "1");
}

#[test]
fn tree_and_events() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(applied) = Applied::start(cluster, "ks-tree") else {
        return;
    };
    applied.create();
    let tree = applied.flux.ok("tree ks app");
    for part in [
        "Kustomization/ks-tree/app",
        "├── ServiceAccount/ks-tree/app",
        "└── ConfigMap/ks-tree/app",
    ] {
        assert!(tree.contains(part), "{part}: {tree}");
    }
    // They are sent by a thread of their own.
    for wanted in [
        "Normal Progressing Kustomization/app ServiceAccount/ks-tree/app created",
        "Normal ReconciliationSucceeded Kustomization/app Reconciliation finished in",
    ] {
        let events = || rows(&applied.flux.ok("events --for Kustomization/app"));
        wait_for(
            || events().iter().any(|row| row.contains(wanted)),
            || format!("{wanted}: {:#?}\n{}", events(), applied.controller.log()),
        );
    }
    let said = applied.flux.ok("trace app --kind=ConfigMap --api-version=v1");
    let shown = rows(&said);
    for wanted in ["Status: Managed by Flux", "Kustomization: app"] {
        assert!(shown.iter().any(|row| row == wanted), "{wanted}: {shown:#?}");
    }
}

#[test]
fn suspend_resume_and_delete() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(applied) = Applied::start(cluster, "ks-suspend") else {
        return;
    };
    applied.create();
    let said = applied.flux.ok("suspend ks app");
    assert!(said.contains("kustomization suspended"), "{said}");
    assert!(
        applied.row().contains(" True True Applied revision"),
        "{}",
        applied.row()
    );
    let ran = applied.flux.run("reconcile ks app");
    assert!(
        ran.code != 0 && ran.err.contains("resource is suspended"),
        "{}",
        ran.err
    );
    applied.commit("2");
    applied.flux.ok("reconcile source git app");
    assert_eq!(applied.value(), "1", "nothing happens meanwhile");
    let said = applied.flux.ok("resume ks app");
    assert!(
        said.contains(&format!("applied revision {}", applied.revision())),
        "{said}"
    );
    assert_eq!(applied.value(), "2");
    let said = applied.flux.ok("delete ks app --silent");
    assert!(said.contains("deleted"), "{said}");
    applied.world.gone(KUSTOMIZATION, "app");
    applied.world.gone(CONFIG_MAP, "app");
}

/// Errors are reported by the command.
#[test]
fn a_failure_is_shown() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(applied) = Applied::start(cluster, "ks-fails") else {
        return;
    };
    applied.create();
    let bad: &[u8] = b"resources: [absent.yaml]\n";
    applied
        .repo
        .commit("main", "bad", &[Change::File("deploy/kustomization.yaml", bad)]);
    let ran = applied.flux.run("reconcile ks app --with-source --timeout=5s");
    assert_ne!(ran.code, 0, "{}", ran.out);
    let row = applied.row();
    assert!(row.contains(" False False ") && row.contains("absent.yaml"), "{row}");
    assert_eq!(applied.value(), "1");
}
