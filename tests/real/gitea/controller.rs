//! A controller and Gitea: requests are named in Ready, events and log; webhooks of both content types are taken.

use super::{Fleet, MARKED, forge};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{AUTOMATION, EVENT, GIT_REPOSITORY, SECRET, World, automation, git_repository};
use serde_json::{Value, json};

const SECRET_OF_HOOKS: &str = "s3cret-of-hooks";

struct Kept<'a> {
    // Before the folder that has its log goes.
    controller: Controller,
    world: World<'a>,
    fleet: Fleet,
    webhook: u16,
}

impl<'a> Kept<'a> {
    /// The automation `all` keeps a pull request from `auto` to `main`.
    fn start(cluster: &'a Cluster, name: &str) -> Option<Self> {
        let fleet = Fleet::new(name)?;
        cluster.define();
        let name = &format!("{}-{name}", forge().name());
        let world = World::new(cluster, name);
        let file = MARKED.replace("fs:app", &format!("{name}:app"));
        fleet.hosted.commit(&fleet.owner, "main", &[("a.yaml", &file)]);
        let login =
            json!({"stringData": {"username": "bot", "password": fleet.owner.token, "token": fleet.owner.token}});
        world.put(SECRET, "git", login);
        world.put(SECRET, "hooks", json!({"stringData": {"gitea": SECRET_OF_HOOKS}}));
        let mut repository = git_repository(&fleet.hosted.url());
        repository["secretRef"] = json!({"name": "git"});
        world.add(GIT_REPOSITORY, "app", repository);
        let mut spec = automation("app");
        spec["git"]["push"] = json!({"branch": "auto"});
        let annotations = json!({"bumpwright.dev/pull-request": "gitea", "bumpwright.dev/pull-request-secret": "git"});
        add_choice(&world, "app", "2.0.0");
        world.annotated(AUTOMATION, "all", &annotations, spec);
        let webhook = free_port();
        let address = format!("--webhook-addr=127.0.0.1:{webhook}");
        let flags = ["--controllers=image-automation", &address, "--webhook-secret=hooks"];
        let controller = world.controller(&flags);
        Some(Self {
            controller,
            world,
            fleet,
            webhook,
        })
    }

    fn link(&self, number: u64) -> String {
        self.fleet.request(number)["html_url"].as_str().unwrap().to_owned()
    }

    /// Waits for a Ready message with these words, and an event and a line of the log with them.
    fn is_told(&self, words: &str) {
        self.world
            .ready(AUTOMATION, "all", "True", |_, message| message.contains(words));
        let told = || {
            let events = self.world.list(EVENT);
            events
                .iter()
                .any(|event| event["message"].as_str().unwrap_or_default().contains(words))
        };
        wait_for(told, || format!("an event with {words}: {:#?}", self.world.list(EVENT)));
        let log = self.controller.log();
        assert!(log.contains(words), "{log}");
    }
}

#[test]
fn a_request_is_named_and_so_is_one_that_was_declined_or_edited() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(kept) = Kept::start(cluster, "named") else {
        return;
    };
    let number = until("a request is opened", || kept.fleet.numbers("open").first().copied());
    kept.is_told(&format!("pull request #{number} is open: {}", kept.link(number)));

    // Somebody says no.
    kept.fleet.hosted.age_requests();
    kept.fleet.hosted.close(&kept.fleet.owner, number);
    kept.world.request(AUTOMATION, "all", "1");
    let declined = format!(
        "pull request #{number} for the same changes was closed without merging ({})",
        kept.link(number)
    );
    kept.is_told(&declined);

    // A newer image; somebody works on its request.
    add_choice(&kept.world, "app", "3.0.0");
    let next = until("another is opened", || kept.fleet.numbers("open").first().copied());
    kept.is_told(&format!("pull request #{next} is open: {}", kept.link(next)));
    let ada = kept.fleet.collaborator("ada-of-named");
    kept.fleet.hosted.commit(&ada, "auto", &[("notes.md", "By Ada.\n")]);
    let head = kept.fleet.rev("auto");
    kept.world.request(AUTOMATION, "all", "2");
    kept.is_told(&format!("pull request #{next} has commits of others on auto"));
    assert_eq!(kept.fleet.rev("auto"), head);
    let overwrite = json!({"metadata": {"annotations": {"bumpwright.dev/pull-request-overwrite": "true"}}});
    kept.world.patch(AUTOMATION, "all", &overwrite);
    kept.world.request(AUTOMATION, "all", "3");
    until("it is overwritten", || kept.fleet.rev("auto") != head);
    kept.is_told(&format!("pull request #{next} is open"));
}

#[test]
fn webhooks_are_taken_as_json_and_as_forms() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(kept) = Kept::start(cluster, "hooked") else {
        return;
    };
    let requested = || {
        let object = kept.world.get(GIT_REPOSITORY, "app");
        object["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"].clone()
    };
    kept.world.ready(AUTOMATION, "all", "True", |_, message| {
        message.contains("pull request #")
    });
    for content_type in ["form", "json"] {
        let before = requested();
        let url = format!("http://127.0.0.1:{}/hook/gitea", kept.webhook);
        let config = json!({"url": url, "content_type": content_type, "secret": SECRET_OF_HOOKS});
        let hook = json!({"type": "gitea", "active": true, "events": ["push"], "config": config});
        let made = kept.fleet.hosted.api(&kept.fleet.owner, "POST", "/hooks", &hook);
        kept.fleet
            .hosted
            .commit(&kept.fleet.owner, "main", &[("README", content_type)]);
        wait_for(
            || requested() != before,
            || format!("{content_type}: {}", kept.controller.log()),
        );
        let below = format!("/hooks/{}", made["id"]);
        kept.fleet.hosted.api(&kept.fleet.owner, "DELETE", &below, &Value::Null);
    }
}
