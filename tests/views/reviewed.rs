//! A repository at a forge with two open pull requests, and the process that reviews them with the Kustomizations of
//! two namespaces, which can be behind the commit of their source.

use std::net::TcpStream;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::forge::{Forge, ForgeKind};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, KUSTOMIZATION, QUICK, SECRET, World, automation};
use serde_json::{Value as Json, json};

use crate::seed::{HOUR, ago, ready};

const TOKEN: &str = "t0ken-of-the-forge";

/// What no page shows.
pub const PASSWORD: &str = "hunter22-of-the-repository";

/// What is in the other namespace only.
pub const HIDDEN: &str = "release-of-the-neighbour";

/// What an author calls a request.
pub const TITLE: &str = r#"Smaller <img src=x onerror="hit=1">"#;

/// The first line of the message of a push.
pub const PUSHED: &str = "Update web to 1.1.0";

pub struct Reviewed<'a> {
    // Before the folder that has its log and storage goes.
    controller: Option<Controller>,
    world: World<'a>,
    /// The other namespace.
    other: World<'a>,
    repo: Repo,
    forge: Forge,
    port: u16,
    flags: Vec<String>,
}

fn claim(size: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data, namespace: db}}\nspec:\n  accessModes: [ReadWriteOnce]\n  \
         resources:\n    requests:\n      storage: {size}\n"
    )
}

fn web(image: &str, lines: &str, password: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, namespace: apps}}\nspec:\n  replicas: 2\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      \
         - {{name: web, image: '{image}'}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web, namespace: apps}}\ndata:\n  \
         web.conf: |\n    listen 80\n    {lines}\n    end\n---\napiVersion: v1\nkind: Secret\nmetadata: {{name: web, namespace: apps}}\n\
         stringData: {{password: {password}}}\n"
    )
}

fn revision(commit: &str) -> String {
    format!("main@sha1:{commit}")
}

fn map(value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: other, namespace: apps}}\ndata: {{key: {value}}}\n")
}

impl<'a> Reviewed<'a> {
    /// In the namespaces `name` and `name-other`. `flags` are those of the pages.
    pub fn start(cluster: &'a Cluster, name: &str, flags: &[&str]) -> Self {
        cluster.define();
        let other = format!("{name}-other");
        let (world, neighbour) = (World::new(cluster, name), World::new(cluster, &other));
        let (world, neighbour) = (world.labelled("reviewed", name), neighbour.labelled("reviewed", name));
        let root = world.folder.path().join("forge");
        let repo = Repo::init(root.join("o/app.git"));
        let commit = |branch: &str, size: &str, web: &str, other: &str| {
            let files = [
                ("db/claim.yaml", claim(size)),
                ("web/web.yaml", web.to_owned()),
                ("other/map.yaml", map(other)),
            ];
            let files = files.each_ref().map(|(path, text)| Change::File(path, text.as_bytes()));
            repo.commit(branch, "change", &files);
        };
        commit(
            "main",
            "10Gi",
            &web("ghcr.io/acme/web:1.0.0", "timeout 5", "first"),
            "plain",
        );
        for branch in ["small", "large"] {
            repo.git(&["branch", branch, "main"]);
        }
        commit(
            "small",
            "8Gi",
            &web("ghcr.io/acme/web:1.1.0", "timeout 60", PASSWORD),
            HIDDEN,
        );
        commit(
            "large",
            "20Gi",
            &web("ghcr.io/acme/web:1.0.0", "timeout 5", "first"),
            "plain",
        );
        let forge = Forge::start(ForgeKind::GitHub, &root, &format!("Bearer {TOKEN}"));
        forge.open("small", "main", 1);
        forge.by_hand(|pull| pull.title = TITLE.to_owned());
        forge.open("large", "main", 1);
        forge.by_hand(|pull| pull.title = "Larger claim".to_owned());
        world.put(
            SECRET,
            "git",
            json!({"stringData": {"username": "bot", "password": TOKEN}}),
        );
        let source = json!({"kind": "GitRepository", "name": "app", "namespace": name});
        let spec = |path: &str| json!({"interval": "1h", "prune": true, "path": path, "sourceRef": source});
        world.add(KUSTOMIZATION, "db", spec("./db"));
        world.add(KUSTOMIZATION, "web", spec("./web"));
        neighbour.add(KUSTOMIZATION, "other", spec("./other"));
        let annotations = json!({"bumpwright.dev/review": "github"});
        let url = forge.server.url("o/app.git");
        let spec = json!({"interval": "1h", "url": url, "ref": {"branch": "main"}, "secretRef": {"name": "git"}});
        world.annotated(GIT_REPOSITORY, "app", &annotations, spec);
        let mut reviewed = Self {
            controller: None,
            other: neighbour,
            repo,
            forge,
            port: free_port(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            world,
        };
        reviewed.restart();
        wait_for(|| reviewed.forge.statuses().len() >= 2, || reviewed.log());
        reviewed
    }

    /// Another process, which has reviewed nothing yet.
    pub fn restart(&mut self) {
        if let Some(controller) = self.controller.take() {
            assert_eq!(controller.stop(), Some(0));
        }
        let name = &self.world.namespace;
        let starter = Controller::ours(
            &self.world.cluster.kubeconfig(),
            name,
            &self.world.folder_of("controller"),
        );
        let own = [
            format!("--watch-label-selector=reviewed={name}"),
            format!("--ui-addr=127.0.0.1:{}", self.port),
            "--controllers=image-automation".to_owned(),
            "--reviews".to_owned(),
        ];
        let flags: Vec<&str> = QUICK[1..]
            .iter()
            .copied()
            .chain(own.iter().chain(&self.flags).map(String::as_str))
            .collect();
        self.controller = Some(starter.flags(&flags).start());
        until("pages are served", || {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
    }

    pub fn log(&self) -> String {
        self.controller.as_ref().unwrap().log()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The path of a request.
    pub fn path(&self, number: u64) -> String {
        format!("/reviews/{}/app/{number}", self.world.namespace)
    }

    /// The path of something else that is reviewed, such as `push`, by a commit.
    pub fn path_of(&self, what: &str, commit: &str) -> String {
        format!("/reviews/{}/app/{what}-{}", self.world.namespace, &commit[..12])
    }

    /// A commit of `main` that an automation pushed. `db` fails to apply it, `web` is suspended, `other` has it. The
    /// commits before and after it.
    pub fn fall_behind(&self) -> [String; 2] {
        let before = self.repo.rev("main").unwrap();
        let (claim, web) = (claim("8Gi"), web("ghcr.io/acme/web:1.1.0", "timeout 60", PASSWORD));
        let files = [
            ("db/claim.yaml", claim),
            ("web/web.yaml", web),
            ("other/map.yaml", map(HIDDEN)),
        ];
        let files = files.each_ref().map(|(path, text)| Change::File(path, text.as_bytes()));
        let after = self.repo.commit("main", PUSHED, &files);
        let mut spec = automation("app");
        spec["suspend"] = true.into();
        self.world.add(AUTOMATION, "all", spec);
        let pushed = json!({"lastPushCommit": after, "lastPushTime": ago(HOUR)});
        self.world.patch_status(AUTOMATION, "all", &pushed);
        self.world
            .patch(KUSTOMIZATION, "web", &json!({"spec": {"suspend": true}}));
        let artifact = json!({"revision": revision(&after), "path": "a", "url": "http://a/a",
            "digest": format!("sha256:{}", "0".repeat(64)), "lastUpdateTime": ago(HOUR)});
        self.world
            .patch_status(GIT_REPOSITORY, "app", &json!({"artifact": artifact}));
        self.applied(
            "db",
            &before,
            &ready("False", "BuildFailed", "no such file\nat all", HOUR),
        );
        self.applied(
            "web",
            &before,
            &ready("True", "ReconciliationSucceeded", "Applied", HOUR),
        );
        let status = json!({"lastAppliedRevision": revision(&after)});
        self.other.patch_status(KUSTOMIZATION, "other", &status);
        [before, after]
    }

    /// What a Kustomization has applied.
    pub fn applied(&self, name: &str, commit: &str, conditions: &Json) {
        let status = json!({"lastAppliedRevision": revision(commit), "conditions": conditions});
        self.world.patch_status(KUSTOMIZATION, name, &status);
    }

    /// Has the repository looked at again, until something holds: the process may see a change after the request.
    pub fn looks_until(&self, holds: impl Fn() -> bool, told: impl Fn() -> String) {
        let rounds = std::cell::Cell::new(0);
        let look = || {
            if holds() {
                return true;
            }
            rounds.set(rounds.get() + 1);
            let at = format!("{} {}", ago(0), rounds.get());
            self.world.request(GIT_REPOSITORY, "app", &at);
            std::thread::sleep(std::time::Duration::from_secs(1));
            holds()
        };
        wait_for(look, || told() + &self.log());
    }

    /// How many statuses and comments the forge has.
    pub fn posted(&self) -> (usize, usize) {
        (self.forge.statuses().len(), self.forge.comments().len())
    }

    /// A new head of the second request, which is reviewed.
    pub fn push(&self, size: &str) {
        let before = self.forge.statuses().len();
        let text = claim(size);
        self.repo
            .commit("large", size, &[Change::File("db/claim.yaml", text.as_bytes())]);
        self.world.request(GIT_REPOSITORY, "app", size);
        wait_for(|| self.forge.statuses().len() > before, || self.log());
    }
}
