//! `docs/guides/moving-from-flux.md`, step by step: its commands are run in its order, with Flux's own image
//! controllers on the other side.
//!
//! The test stands in for the controllers that its API server lacks: it starts and stops the processes of Deployments
//! by their replicas, and writes their status.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::{Controller, ELECTION, Starter};
use bumpwright_testkit::deployments;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{AUTOMATION, IMAGE_POLICY, IMAGE_REPOSITORY};

pub(crate) const OURS: &str = "bumpwright";
pub(crate) const REFLECTOR: &str = "image-reflector-controller";
pub(crate) const AUTOMATOR: &str = "image-automation-controller";
pub(crate) const APPLIER: &str = "kustomize-controller";
pub(crate) const SOURCES: &str = "source-controller";

/// The commands of the document that are still to be run.
pub(crate) struct Document(pub(crate) VecDeque<String>);

impl Document {
    fn read(page: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides").join(page);
        let text = std::fs::read_to_string(path).unwrap();
        let blocks = text.split("```sh\n").skip(1);
        let commands = blocks.flat_map(|block| block.split("```").next().unwrap().lines());
        Self(commands.map(str::to_owned).collect())
    }
}

/// A cluster with Flux's image controllers in it.
pub(crate) struct Moving<'a> {
    cluster: &'a Cluster,
    pub(crate) document: Document,
    pub(crate) processes: BTreeMap<&'static str, Controller>,
    pub(crate) folder: tempfile::TempDir,
}

/// A cluster of its own. None without the programs.
fn cluster() -> Option<Cluster> {
    for program in [REFLECTOR, AUTOMATOR, "flux", "flux-crds"] {
        bumpwright_testkit::tool(program)?;
    }
    bumpwright_testkit::has("kubectl", "kubernetes-client").then(Cluster::start)?
}

impl<'a> Moving<'a> {
    /// Flux's definitions and Deployments, its two controllers at work.
    fn start(cluster: &'a Cluster) -> Self {
        Self::with(cluster, "moving-from-flux.md", &[REFLECTOR, AUTOMATOR])
    }

    /// With these of Flux's controllers, for a page.
    pub(crate) fn with(cluster: &'a Cluster, page: &str, controllers: &[&str]) -> Self {
        let mut moving = Self {
            cluster,
            document: Document::read(page),
            processes: BTreeMap::new(),
            folder: tempfile::tempdir().unwrap(),
        };
        apply_definitions(cluster);
        cluster
            .apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}}).to_string());
        for name in controllers {
            cluster.apply(&deployment_of_flux(name).to_string());
        }
        moving.settle();
        moving
    }

    /// Runs the next commands of the document, which must be these; gives what the last one printed.
    pub(crate) fn run(&mut self, commands: &[&str]) -> String {
        let mut said = String::new();
        for wanted in commands {
            let command = self.document.0.pop_front().unwrap_or_default();
            assert!(
                command.starts_with(wanted),
                "the document goes on with {command:?}, not {wanted:?}"
            );
            said = self.shell(&command);
            self.settle();
        }
        said
    }

    /// Runs a command. An installation waits for what a cluster does meanwhile.
    pub(crate) fn shell(&mut self, command: &str) -> String {
        let bin = self.bin();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .env("PATH", path)
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .env("HOME", self.folder.path());
        if command.starts_with("flux ") {
            // It would ask for its own newest release; there is no way out, and it says nothing about that.
            shell.env("HTTPS_PROXY", "http://127.0.0.1:9");
        }
        let running = std::thread::spawn(move || shell.output().unwrap());
        while command.starts_with("bumpwright install") && !running.is_finished() {
            self.settle();
            std::thread::sleep(Duration::from_millis(50));
        }
        let output = running.join().unwrap();
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success(), "{command}\n{said}");
        said
    }

    /// A folder with the programs that the document names.
    fn bin(&self) -> PathBuf {
        let bin = self.folder.path().join("bin");
        if !bin.exists() {
            std::fs::create_dir(&bin).unwrap();
            for (name, program) in [
                (OURS, PathBuf::from(env!("CARGO_BIN_EXE_bumpwright"))),
                ("flux", bumpwright_testkit::tool("flux").unwrap()),
            ] {
                std::os::unix::fs::symlink(program, bin.join(name)).unwrap();
            }
        }
        bin
    }

    /// What a Deployment's controller and a kubelet do: as many processes as replicas, and a status that says so.
    pub(crate) fn settle(&mut self) {
        let list = self.cluster.get("/apis/apps/v1/namespaces/flux-system/deployments");
        let wanted: BTreeMap<String, Json> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["metadata"]["name"].as_str().unwrap().to_owned(), one.clone()))
            .collect();
        for name in [REFLECTOR, AUTOMATOR, APPLIER, SOURCES, OURS] {
            let replicas = wanted
                .get(name)
                .map_or(0, |one| one["spec"]["replicas"].as_u64().unwrap());
            match (replicas, self.processes.remove(name)) {
                (0, Some(running)) => drop(running.stop()),
                (1, None) => {
                    let started = self.starter(name, &wanted[name]).flags(&ELECTION).start();
                    self.processes.insert(name, started);
                }
                (_, Some(running)) => drop(self.processes.insert(name, running)),
                (_, None) => {}
            }
            if let Some(deployment) = wanted.get(name) {
                deployments::report(self.cluster, deployment, replicas);
            }
        }
    }

    fn starter(&self, name: &'static str, deployment: &Json) -> Starter {
        let folder = self.folder.path().join(name);
        let kubeconfig = self.cluster.kubeconfig();
        if name == OURS {
            let given = deployment
                .pointer("/spec/template/spec/containers/0/args")
                .unwrap()
                .as_array()
                .unwrap();
            let arguments: Vec<String> = given
                .iter()
                .skip(1)
                .map(|one| one.as_str().unwrap().replace("$(RUNTIME_NAMESPACE)", "flux-system"))
                .filter(|one| !one.starts_with("--storage-") && !one.starts_with("--enable-leader-election"))
                .collect();
            let starter = Controller::ours(&kubeconfig, "flux-system", &folder).flags(&arguments);
            return if arguments
                .iter()
                .any(|one| one.starts_with("--controllers=") && one.contains("source"))
            {
                starter.flags(&addresses())
            } else {
                starter
            };
        }
        // A lease that is soon over, for the time when nobody gives it back.
        let starter = Controller::of_flux(name, &kubeconfig, "flux-system", &folder).unwrap();
        let starter = starter.flags(&[
            "--leader-election-lease-duration=12s",
            "--leader-election-renew-deadline=10s",
        ]);
        if name == APPLIER {
            return starter.flags(&["--events-addr="]);
        }
        if name == AUTOMATOR {
            return starter;
        }
        let starter = if name == SOURCES {
            starter.flags(&addresses()).flags(&["--events-addr="])
        } else {
            starter
        };
        let storage = folder.join("data");
        std::fs::create_dir_all(&storage).unwrap();
        starter.flags(&[format!("--storage-path={}", storage.display())])
    }

    pub(crate) fn holder(&self, controller: &str) -> String {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/flux-system/leases/{controller}-leader-election");
        let answer = self.cluster.request("GET", &path, "", "");
        answer.body["spec"]["holderIdentity"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Waits until our process leads for the kinds of a controller, by its own metrics; gives its identity.
    pub(crate) fn ours_leads(&self, controller: &str) -> String {
        let lease = format!("{controller}-leader-election");
        until("ours leads", || self.processes[OURS].leads(&lease));
        self.holder(controller)
    }

    /// How often our process has reconciled a kind.
    fn reconciled(&self, kind: &str) -> usize {
        let page = self.processes[OURS].metrics();
        let mine = format!("kind=\"{kind}\"");
        let lines = page
            .lines()
            .filter(|line| line.starts_with("gotk_reconcile_duration_seconds_count") && line.contains(&mine));
        lines
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<usize>().unwrap())
            .sum()
    }
}

/// Where artifacts are served: the Service cannot be reached here.
fn addresses() -> [String; 2] {
    let address = format!("127.0.0.1:{}", free_port());
    ["--storage-addr", "--storage-adv-addr"].map(|flag| format!("{flag}={address}"))
}

/// Flux's.
fn apply_definitions(cluster: &Cluster) {
    let folder = bumpwright_testkit::tool("flux-crds").unwrap();
    for file in ["imagepolicies", "imagerepositories", "imageupdateautomations"] {
        let text = std::fs::read_to_string(folder.join(format!("image.toolkit.fluxcd.io_{file}.yaml"))).unwrap();
        cluster.apply(&text);
    }
    let source = folder.join("source.toolkit.fluxcd.io_gitrepositories.yaml");
    cluster.apply(&std::fs::read_to_string(source).unwrap());
}

/// As `flux install` makes it, but for what only a kubelet reads.
fn deployment_of_flux(name: &str) -> Json {
    let labels = json!({"app": name, "app.kubernetes.io/part-of": "flux", "app.kubernetes.io/component": name});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "flux-system", "labels": labels},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "manager", "image": format!("ghcr.io/fluxcd/{name}:v1.2.4")}]},
            },
        },
    })
}

/// The tag that a policy has chosen.
pub(crate) fn chosen(world: &ImageWorld<'_>) -> String {
    world.get(IMAGE_POLICY, "app")["status"]["latestRef"]["tag"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// There, in the order of the document, and back.
#[test]
fn the_document_can_be_followed() {
    let Some(cluster) = cluster() else { return };
    let mut moving = Moving::start(&cluster);
    let world = ImageWorld::bare(&cluster, "apps");
    world.add_all("1h");
    world.app_ready(AUTOMATION);
    world.release("1.1.0");
    world.in_git("1.1.0");
    let uid = world.get(IMAGE_POLICY, "app")["metadata"]["uid"].clone();

    // 1. Flux is at work.
    let said = moving.run(&[
        "kubectl -n flux-system get deployments",
        "kubectl -n flux-system get leases",
        "flux get images all",
    ]);
    assert!(said.contains("imageupdateautomation/app"), "{said}");
    let said = moving.run(&["bumpwright check --pre"]);
    assert!(said.contains("✔ you may install into this cluster"), "{said}");
    for name in [REFLECTOR, AUTOMATOR] {
        assert!(
            said.contains(&format!(
                "! {name} (ghcr.io/fluxcd/{name}:v1.2.4) runs in the namespace flux-system"
            )),
            "{said}"
        );
        assert!(
            said.contains(&format!("! the lease {name}-leader-election is held by ")),
            "{said}"
        );
    }

    // 2. Ours is there and waits; Flux's controllers go on with our definitions.
    let before = (moving.holder(REFLECTOR), moving.holder(AUTOMATOR));
    let said = moving.run(&["bumpwright install --beside-flux", "bumpwright check"]);
    assert!(said.contains("✔ deployment.apps/bumpwright is ready"), "{said}");
    assert!(
        said.contains("which is not a pod of bumpwright but Flux's, or a process outside of the cluster: pods of bumpwright wait until it is released"),
        "{said}"
    );
    world.release("1.2.0");
    world.in_git("1.2.0");
    assert_eq!((moving.holder(REFLECTOR), moving.holder(AUTOMATOR)), before);
    for kind in ["ImageRepository", "ImagePolicy", "ImageUpdateAutomation"] {
        assert_eq!(moving.reconciled(kind), 0, "{kind}");
    }

    // 3. The automations are ours, the rest is still Flux's.
    moving.run(&["kubectl -n flux-system scale deployment image-automation-controller --replicas=0"]);
    let identity = moving.ours_leads(AUTOMATOR);
    let said = moving.run(&[
        "kubectl -n flux-system get lease image-automation",
        "flux get image update",
    ]);
    assert!(said.contains("repository up-to-date"), "{said}");
    world.release("1.3.0");
    world.in_git("1.3.0");
    assert_eq!(moving.holder(REFLECTOR), before.0);
    assert_eq!(
        (moving.reconciled("ImageRepository"), moving.reconciled("ImagePolicy")),
        (0, 0)
    );

    // 4. All is ours. There is no tag database at first, and the policy loses nothing.
    moving.run(&["kubectl -n flux-system scale deployment image-reflector-controller --replicas=0"]);
    assert_eq!(moving.ours_leads(REFLECTOR), identity, "one process has both");
    let seen: Vec<String> = (0..10).map(|_| chosen(&world)).collect();
    assert!(seen.iter().all(|tag| tag == "1.3.0"), "{seen:?}");
    wait_for(
        || moving.reconciled("ImagePolicy") > 0 && moving.reconciled("ImageRepository") > 0,
        || moving.processes[OURS].log(),
    );
    world.ready(IMAGE_POLICY, "app", "True", |_, message| message.contains("1.3.0"));
    world.release("1.4.0");
    world.in_git("1.4.0");
    moving.run(&[
        "kubectl -n flux-system get lease image-reflector",
        "flux get images all",
    ]);

    // A kustomize-controller puts Flux's definitions back; ours goes on, and the guard against pruning stays.
    apply_definitions(moving.cluster);
    world.release("1.4.1");
    world.in_git("1.4.1");
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/imagepolicies.image.toolkit.fluxcd.io";
    let annotations = moving.cluster.get(definition)["metadata"]["annotations"].clone();
    assert_eq!(annotations["kustomize.toolkit.fluxcd.io/prune"], "disabled");

    // 5. Flux's Deployments go.
    let said = moving.run(&["kubectl -n flux-system delete deployment", "flux check"]);
    assert!(
        said.contains("bumpwright: deployment ready") && said.contains("all checks passed"),
        "{said}"
    );
    let said = moving.run(&["flux version"]);
    assert!(
        said.contains(concat!("bumpwright: v", env!("CARGO_PKG_VERSION"))),
        "{said}"
    );
    assert_eq!(
        world.get(IMAGE_POLICY, "app")["metadata"]["uid"],
        uid,
        "objects are the same ones"
    );

    // Back: Flux's definitions replace ours, its controllers take the leases.
    apply_definitions(moving.cluster);
    for name in [REFLECTOR, AUTOMATOR] {
        let mut deployment = deployment_of_flux(name);
        deployment["spec"]["replicas"] = json!(0);
        moving.cluster.apply(&deployment.to_string());
    }
    // Its volume has the tags of before.
    let commits = world.repo.log("main").len();
    moving.run(&[
        "kubectl -n flux-system scale deployment bumpwright --replicas=0",
        "kubectl -n flux-system scale deployment image-reflector-controller --replicas=1",
        "kubectl annotate imagerepositories",
        "kubectl wait imagerepositories",
        "kubectl annotate imagepolicies",
        "kubectl wait imagepolicies",
        "flux get images policy",
    ]);
    assert_eq!(chosen(&world), "1.4.1", "the image that it had");
    moving.run(&["kubectl -n flux-system scale deployment image-automation-controller --replicas=1"]);
    until("Flux's runs", || {
        !moving.holder(AUTOMATOR).is_empty() && moving.holder(AUTOMATOR) != identity
    });
    world.app_ready(AUTOMATION);
    world.committed("1.4.1", commits);
    world.release("1.5.0");
    world.in_git("1.5.0");
    assert!(moving.holder(AUTOMATOR) != identity && moving.holder(REFLECTOR) != identity);
    let said = moving.run(&["flux get images all"]);
    assert!(said.contains("1.5.0"), "{said}");
    assert!(moving.document.0.is_empty(), "not run: {:?}", moving.document.0);

    // Their finalizers are ours and ours theirs: Flux lets go of objects that we had in hand.
    for kind in [AUTOMATION, IMAGE_POLICY, IMAGE_REPOSITORY] {
        world.delete(kind, "app");
        world.gone(kind, "app");
    }
}

/// A controller of Flux that ends without giving its lease back is waited for, and then followed.
#[test]
fn a_lease_that_nobody_renews_is_taken_over() {
    let Some(cluster) = cluster() else { return };
    let mut moving = Moving::start(&cluster);
    let world = ImageWorld::bare(&cluster, "apps");
    world.add_all("1h");
    world.app_ready(AUTOMATION);
    moving.shell("bumpwright install --beside-flux");
    moving.settle();
    let before = moving.holder(AUTOMATOR);
    moving.processes.remove(AUTOMATOR).unwrap().kill();
    assert_eq!(moving.holder(AUTOMATOR), before, "it was not given back");
    let identity = moving.ours_leads(AUTOMATOR);
    assert_ne!(identity, before);
    world.release("1.1.0");
    world.in_git("1.1.0");
    assert_ne!(moving.holder(REFLECTOR), identity);
}

/// Where old Flux has stored older versions, ours can be installed, and `flux migrate` makes the way free
/// for Flux's newer definitions.
#[test]
fn stored_versions_do_not_stand_in_the_way() {
    let Some(cluster) = cluster() else { return };
    let mut moving = Moving::start(&cluster);
    let name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/imagepolicies.image.toolkit.fluxcd.io";
    moving.shell("bumpwright install --beside-flux");
    // As a cluster is whose Flux once stored v1beta2.
    let mut definition = moving.cluster.get(name);
    definition["status"]["storedVersions"] = json!(["v1beta2", "v1"]);
    moving.cluster.put_status(&definition).unwrap();
    moving.shell("bumpwright install --beside-flux");
    assert_eq!(
        moving.cluster.get(name)["status"]["storedVersions"],
        json!(["v1beta2", "v1"])
    );
    let folder = bumpwright_testkit::tool("flux-crds").unwrap();
    let file = folder.join("image.toolkit.fluxcd.io_imagepolicies.yaml");
    let definition: Json = serde_saphyr::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let path = format!("{name}?fieldManager=flux&force=true");
    let apply = || cluster.request("PATCH", &path, "application/apply-patch+yaml", &definition.to_string());
    let refused = apply();
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(
        refused.body["message"].as_str().unwrap().contains("storedVersions"),
        "{}",
        refused.body
    );
    let said = moving.shell("flux migrate");
    assert!(
        said.contains("imagepolicies.image.toolkit.fluxcd.io migrated to storage version v1"),
        "{said}"
    );
    assert_eq!(apply().status, 200);
}

/// The patches for a cluster that was bootstrapped do to Flux's manifests what the document says.
#[test]
fn the_patches_of_the_document_work() {
    let (Some(kustomize), Some(definitions)) = (
        bumpwright_testkit::tool("kustomize"),
        bumpwright_testkit::tool("flux-crds"),
    ) else {
        return;
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides/moving-from-flux.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```yaml\n").skip(1);
    let patches: String = blocks.map(|block| block.split("```").next().unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let mut resources = Vec::new();
    for name in [REFLECTOR, AUTOMATOR] {
        write(&format!("{name}.yaml"), &deployment_of_flux(name).to_string());
        resources.push(format!("{name}.yaml"));
    }
    for name in [
        "image.toolkit.fluxcd.io_imagepolicies.yaml",
        "source.toolkit.fluxcd.io_gitrepositories.yaml",
    ] {
        write(name, &std::fs::read_to_string(definitions.join(name)).unwrap());
        resources.push(name.to_owned());
    }
    write(
        "kustomization.yaml",
        &format!("resources: [{}]\n{patches}", resources.join(", ")),
    );
    let out = Command::new(kustomize)
        .arg("build")
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let objects = serde_saphyr::from_multiple::<Json>(&String::from_utf8(out.stdout).unwrap()).unwrap();
    let found = |name: &str| objects.iter().find(|one| one["metadata"]["name"] == name).unwrap();
    assert_eq!(found(AUTOMATOR)["spec"]["replicas"], 0);
    assert_eq!(found(REFLECTOR)["spec"]["replicas"], 1);
    let ssa = |name: &str| found(name)["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/ssa"].clone();
    assert_eq!(ssa("imagepolicies.image.toolkit.fluxcd.io"), "IfNotPresent");
    assert_eq!(ssa("gitrepositories.source.toolkit.fluxcd.io"), Json::Null);
}
