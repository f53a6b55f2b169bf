//! What becomes of pushed images, beside our own reconciler of Kustomizations and beside Flux's
//! (docs/guides/rollouts.md).

mod apart;
mod consent;
mod cost;
mod faults;
mod hostile;
mod proposals;
mod releases;
mod stories;

use crate::appliers::Applier;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::nodes::Nodes;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, KUSTOMIZATION, World, automation, condition_of, git_repository,
};
use serde_json::{Value as Json, json};

/// A fleet: the Deployments `web` and `api` in the Kustomization `apps`, whose images are of the
/// policies of these names.
struct Fleet {
    // Before the folder that has their logs and storage goes.
    ours: Option<Controller>,
    _flux: Option<Controller>,
    nodes: Nodes,
    world: World<'static>,
    repo: Repo,
    served: Vec<String>,
    applier: Applier,
}

fn deployment(namespace: &str, name: &str, tag: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  \
         template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n      containers:\n      - name: {name}\n        \
         image: ghcr.io/o/{name}:{tag} # {{\"$imagepolicy\": \"{namespace}:{name}\"}}\n"
    )
}

impl Fleet {
    fn start(namespace: &str, applier: Applier, annotations: &Json) -> Option<Self> {
        Self::start_with(namespace, applier, annotations, &|_| {})
    }

    /// `more` adds objects before the controllers start.
    fn start_with(namespace: &str, applier: Applier, annotations: &Json, more: &dyn Fn(&World<'_>)) -> Option<Self> {
        Self::start_as(namespace, applier, annotations, more, &[])
    }

    /// With a controller that sees all namespaces, and in them what has the label `fleet` with this one's name.
    fn everywhere(namespace: &str, annotations: &Json, flags: &[&str]) -> Option<Self> {
        let labels = format!("--watch-label-selector=fleet={namespace}");
        let own = ["--interval-jitter-percentage=0", "--max-retry-delay=1s", &labels];
        let flags = [&own[..], flags].concat();
        Self::start_as(namespace, Applier::Ours, annotations, &|_| {}, &flags)
    }

    fn start_as(
        namespace: &str,
        applier: Applier,
        annotations: &Json,
        more: &dyn Fn(&World<'_>),
        flags: &[&str],
    ) -> Option<Self> {
        let cluster = Cluster::shared()?;
        if !applier.is_there() {
            return None;
        }
        cluster.define();
        let world = World::new(cluster, namespace).labelled("fleet", namespace);
        let repo = world.repository("fleet.git");
        let files = ["web", "api"].map(|name| (format!("apps/{name}.yaml"), deployment(namespace, name, "1.0.0")));
        let changes: Vec<Change<'_>> = files
            .iter()
            .map(|(path, text)| Change::File(path, text.as_bytes()))
            .collect();
        repo.commit("main", "first", &changes);
        for name in ["web", "api"] {
            add_choice(&world, name, "1.0.0");
        }
        let mut source = git_repository(&world.git.url("fleet.git"));
        source["interval"] = json!("2s");
        world.add(GIT_REPOSITORY, "fleet", source);
        world.add(KUSTOMIZATION, "apps", kustomization(namespace, "./apps"));
        let mut spec = automation("fleet");
        spec["git"]["commit"]["messageTemplate"] = json!("Bump");
        world.annotated(AUTOMATION, "all", annotations, spec);
        more(&world);
        let address = format!("127.0.0.1:{}", free_port());
        let mut fleet = Self {
            ours: None,
            _flux: None,
            nodes: Nodes::start(cluster, namespace),
            world,
            repo,
            served: ["--storage-addr", "--storage-adv-addr"]
                .map(|flag| format!("{flag}={address}"))
                .into_iter()
                .chain(flags.iter().map(|flag| (*flag).to_owned()))
                .collect(),
            applier,
        };
        fleet.start_ours();
        fleet._flux = applier.start(&fleet.world);
        fleet.world.ready(KUSTOMIZATION, "apps", "True", |_, _| true);
        fleet.world.ready(AUTOMATION, "all", "True", |_, _| true);
        Some(fleet)
    }

    fn start_ours(&mut self) {
        let kinds = self.applier.kinds("source,image-automation");
        let world = &self.world;
        let has = |flag: &str| self.served.iter().any(|one| one.starts_with(flag));
        let starter = if has("--watch") {
            Controller::ours(&world.cluster.kubeconfig(), &world.namespace, &world.folder_of("ours"))
        } else {
            world.starter("ours")
        };
        let mut flags = vec![kinds];
        if !has("--requeue-dependency") {
            flags.push("--requeue-dependency=1s".to_owned());
        }
        self.ours = Some(starter.flags(&flags).flags(&self.served).start());
    }

    fn choose(&self, name: &str, tag: &str) {
        self.world
            .patch_status(IMAGE_POLICY, name, &json!({"latestRef": {"tag": tag}}));
    }

    /// The tag in Git.
    fn tag(&self, name: &str) -> String {
        let text = String::from_utf8(self.repo.show("main", &format!("apps/{name}.yaml"))).unwrap();
        let line = text.lines().find(|line| line.contains("image:")).unwrap();
        let image = line.split_whitespace().nth(1).unwrap();
        image.rsplit(':').next().unwrap().to_owned()
    }

    fn in_git(&self, name: &str, tag: &str) {
        wait_for(
            || self.tag(name) == tag,
            || {
                format!(
                    "{name} is {}, not {tag}: {:#}",
                    self.tag(name),
                    self.world.get(AUTOMATION, "all")["status"]
                )
            },
        );
    }

    /// Waits until the rollout has this status, and a message with this text.
    fn rolled_out(&self, status: &str, text: &str) -> String {
        self.world
            .condition(AUTOMATION, "all", "RolledOut", status, |_, message| {
                message.contains(text)
            })
    }

    /// Waits until the Kustomization is ready with the tip of the branch.
    fn healthy(&self) {
        let tip = self.repo.rev("main").unwrap();
        wait_for(
            || {
                let object = self.world.get(KUSTOMIZATION, "apps");
                let is_ready = condition_of(&object, "Ready").is_some_and(|ready| ready["status"] == "True");
                is_ready && object["status"]["lastAppliedRevision"] == format!("main@sha1:{tip}")
            },
            || format!("{tip}: {:#}", self.world.get(KUSTOMIZATION, "apps")["status"]),
        );
    }

    fn commits(&self) -> usize {
        self.repo.log("main").len()
    }
}

fn kustomization(namespace: &str, path: &str) -> Json {
    json!({
        "interval": "1h", "retryInterval": "1s", "timeout": "5s", "prune": true, "wait": true, "path": path,
        "targetNamespace": namespace, "sourceRef": {"kind": "GitRepository", "name": "fleet"},
    })
}

fn until_commits(fleet: &Fleet, count: usize) {
    until("the commits are there", || fleet.commits() == count);
}
