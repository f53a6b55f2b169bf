//! Images that failed are put back by requests of their own: by the API and by AGit, merged by a person,
//! and closed by one.

use super::{Fleet, forge};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::nodes::Nodes;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, KUSTOMIZATION, SECRET, World, automation, git_repository};
use serde_json::{Value, json};

struct Reviewed {
    // Before the folder that has its log goes.
    _controller: Controller,
    nodes: Nodes,
    world: World<'static>,
    fleet: Fleet,
}

impl Reviewed {
    /// The Deployment `app` in the Kustomization `apps`, with these annotations of the
    /// automation and this `spec.git.push`.
    fn start(name: &str, annotations: &[(&str, &str)], push: Value) -> Option<Self> {
        let cluster = Cluster::shared()?;
        let fleet = Fleet::new(name)?;
        cluster.define();
        let name = &format!("{}-{name}", forge().name());
        let world = World::new(cluster, name);
        let file = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\nspec:\n  selector: {{matchLabels: {{app: app}}}}\n  \
             template:\n    metadata: {{labels: {{app: app}}}}\n    spec:\n      containers:\n      - name: app\n        \
             image: ghcr.io/o/app:1.0.0 # {{\"$imagepolicy\": \"{name}:app\"}}\n"
        );
        fleet.hosted.commit(&fleet.owner, "main", &[("apps/app.yaml", &file)]);
        let login =
            json!({"stringData": {"username": "bot", "password": fleet.owner.token, "token": fleet.owner.token}});
        world.put(SECRET, "git", login);
        let mut repository = git_repository(&fleet.hosted.url());
        repository["interval"] = json!("1s");
        repository["secretRef"] = json!({"name": "git"});
        world.add(GIT_REPOSITORY, "app", repository);
        let kustomization = json!({
            "interval": "1h", "retryInterval": "1s", "timeout": "3s", "prune": true, "wait": true, "path": "./apps",
            "targetNamespace": name, "sourceRef": {"kind": "GitRepository", "name": "app"},
        });
        world.add(KUSTOMIZATION, "apps", kustomization);
        add_choice(&world, "app", "1.0.0");
        let mut all = json!({"bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": "1s"});
        for (key, value) in annotations {
            all[format!("bumpwright.dev/{key}")] = json!(value);
        }
        let mut spec = automation("app");
        spec["update"]["path"] = json!("./apps");
        spec["git"]["push"] = push;
        world.put(
            AUTOMATION,
            "all",
            json!({"metadata": {"annotations": all}, "spec": spec}),
        );
        let address = format!("127.0.0.1:{}", free_port());
        let addresses = ["--storage-addr", "--storage-adv-addr"].map(|flag| format!("{flag}={address}"));
        let flags = [
            "--controllers=source,kustomize,image-automation",
            &addresses[0],
            &addresses[1],
        ];
        let nodes = Nodes::start(cluster, name);
        let controller = world.controller(&flags);
        world.ready(KUSTOMIZATION, "apps", "True", |_, _| true);
        Some(Self {
            _controller: controller,
            nodes,
            world,
            fleet,
        })
    }

    fn rolled_out(&self, words: &str) -> String {
        let world = &self.world;
        world.condition(AUTOMATION, "all", "RolledOut", "False", |_, message| {
            message.contains(words)
        })
    }

    fn run(&self, at: &str) {
        self.world.request(AUTOMATION, "all", at);
        until("the request is handled", || {
            self.world.get(AUTOMATION, "all")["status"]["lastHandledReconcileAt"] == at
        });
    }

    fn link(&self, number: u64) -> String {
        self.fleet.request(number)["html_url"].as_str().unwrap().to_owned()
    }

    fn tag(&self) -> String {
        let text = String::from_utf8(self.fleet.hosted.repo.show("main", "apps/app.yaml")).unwrap();
        text.split_once("o/app:").unwrap().1[..5].to_owned()
    }

    fn merge(&self, number: u64) {
        self.fleet.hosted.merge(&self.fleet.owner, number, "squash", false);
    }

    /// Two images fail. What puts back the first one is merged, and what puts back the second one is closed.
    fn story(&self) {
        let Self { fleet, world, .. } = self;
        for (round, tag) in ["1.1.0", "1.2.0"].into_iter().enumerate() {
            let (update, back) = (2 * round as u64 + 1, 2 * round as u64 + 2);
            self.nodes.break_image(&format!("ghcr.io/o/app:{tag}"));
            add_choice(world, "app", tag);
            until("it is proposed", || fleet.numbers("open") == [update]);
            self.merge(update);
            let told = self.rolled_out("; to be put back by ");
            assert!(told.contains(&self.link(back)), "{told}");
            let request = fleet.request(back);
            assert_eq!(request["title"], "Put back images that failed");
            assert_eq!(request["base"]["ref"], "main");
            let body = request["body"].as_str().unwrap();
            assert!(
                body.contains("Reverted-Commit: ") && body.contains("o/app:1.0.0"),
                "{body}"
            );
            self.run(&format!("again {round}"));
            fleet.hosted.commit(&fleet.owner, "main", &[("README.md", tag)]);
            self.run(&format!("on top {round}"));
            assert_eq!((fleet.numbers("open"), self.tag().as_str()), (vec![back], tag));
            let tip = fleet.rev("main").unwrap();
            let head = format!("refs/pull/{back}/head");
            until("it is on top of the branch", || {
                fleet.hosted.repo.log(&head)[0].parents == std::slice::from_ref(&tip)
            });
            if round == 0 {
                self.merge(back);
                self.rolled_out("; put back by ");
                assert_eq!(self.tag(), "1.0.0");
                world.ready(KUSTOMIZATION, "apps", "True", |_, _| true);
                continue;
            }
            fleet.hosted.age_requests();
            fleet.hosted.close(&fleet.owner, back);
            fleet.hosted.commit(&fleet.owner, "main", &[("README.md", "more")]);
            self.run("closed");
            let told = self.rolled_out(" was closed, so it is not proposed again");
            assert!(
                told.contains(&format!("pull request #{back} ({})", self.link(back))),
                "{told}"
            );
            self.run("still closed");
            assert_eq!((fleet.numbers("open"), self.tag().as_str()), (vec![], tag));
            assert_eq!(fleet.numbers("all").len(), 4);
        }
    }
}

#[test]
fn by_the_api() {
    let annotations = [("pull-request", "gitea"), ("pull-request-secret", "git")];
    let Some(reviewed) = Reviewed::start("back-by-api", &annotations, json!({"branch": "auto"})) else {
        return;
    };
    reviewed.story();
}

#[test]
fn by_agit() {
    let options = json!({"topic": "images", "title": "New images", "force-push": "true"});
    let push = json!({"refspec": "refs/heads/auto:refs/for/main", "options": options});
    let Some(reviewed) = Reviewed::start("back-by-agit", &[], push) else {
        return;
    };
    reviewed.story();
}
