//! `bumpwright.dev/window` in a cluster (docs/guides/policies.md, *Windows*).

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::windows;
use bumpwright_testkit::world::{
    AUTOMATION, EVENT, GIT_REPOSITORY, IMAGE_POLICY, ObjectKind, World, automation, git_repository,
};
use serde_json::{Value, json};

const ALWAYS: &str = "daily 00:00-24:00";

/// Two policies, a repository that names both, and the automation `all`.
struct Windowed<'a> {
    world: World<'a>,
    repo: Repo,
}

impl<'a> Windowed<'a> {
    fn new(cluster: &'a Cluster, namespace: &str) -> Self {
        cluster.define();
        let world = World::new(cluster, namespace);
        let repo = world.repository("app.git");
        let file = marked(namespace, "1.0.0", "1.0.0");
        repo.commit("main", "first", &[Change::File("a.yaml", file.as_bytes())]);
        add_choice(&world, "one", "1.0.0");
        add_choice(&world, "two", "1.0.0");
        world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
        Self { world, repo }
    }

    fn within(&self, kind: ObjectKind, name: &str, window: &str) {
        let annotations = json!({"metadata": {"annotations": {"bumpwright.dev/window": window}}});
        self.world.patch(kind, name, &annotations);
    }

    fn choose(&self, policy: &str, tag: &str) {
        let latest = json!({"latestRef": {"tag": tag}});
        self.world.patch_status(IMAGE_POLICY, policy, &latest);
    }

    /// Waits until the automation is ready and says this; returns the whole message.
    fn says(&self, text: &str) -> String {
        self.world
            .ready(AUTOMATION, "all", "True", |_, message| message.contains(text))
    }

    /// Waits until nothing is left to do.
    fn is_done(&self) {
        let done = |_: &str, message: &str| message == "repository up-to-date";
        self.world.ready(AUTOMATION, "all", "True", done);
    }

    fn is_in_git(&self, one: &str, two: &str) -> bool {
        self.repo.show("main", "a.yaml") == marked(&self.world.namespace, one, two).as_bytes()
    }

    /// How often events said this.
    fn events(&self, text: &str) -> u64 {
        let said = |event: &Value| event["message"].as_str().is_some_and(|message| message.contains(text));
        let events = self.world.list(EVENT).into_iter().filter(said);
        events.map(|event| event["count"].as_u64().unwrap_or(1)).sum()
    }
}

fn marked(namespace: &str, one: &str, two: &str) -> String {
    format!(
        "one: ghcr.io/o/one:{one} # {{\"$imagepolicy\": \"{namespace}:one\"}}\n\
         two: ghcr.io/o/two:{two} # {{\"$imagepolicy\": \"{namespace}:two\"}}\n"
    )
}

#[test]
fn a_closed_automation_fetches_nothing_tells_what_waits_and_pushes_when_it_opens() {
    let Some(cluster) = Cluster::shared() else { return };
    let here = Windowed::new(cluster, "window-automation");
    let closed = windows::closed();
    let annotations = json!({"annotations": {"bumpwright.dev/window": closed}});
    let fields = json!({"metadata": annotations, "spec": automation("app")});
    here.world.put(AUTOMATION, "all", fields);
    let _controller = here.world.controller(&["--controllers=image-automation"]);
    let said = format!("nothing is pushed outside of the window {closed}, which opens at 20");
    let message = here.says(&said);
    assert!(
        !message.contains("changed"),
        "before the first run it is not known: {message}"
    );
    assert_eq!(here.world.git.requests().len(), 0);
    assert_eq!(
        here.world.get(AUTOMATION, "all")["status"]["lastAutomationRunTime"],
        Value::Null
    );
    here.within(AUTOMATION, "all", ALWAYS);
    here.says("repository up-to-date");
    here.within(AUTOMATION, "all", &closed);
    here.says(&said);
    let before = here.world.git.requests().len();
    here.choose("one", "1.1.0");
    assert!(here.says("changed since the last run: one").starts_with(&said));
    here.choose("two", "1.2.0");
    here.says("changed since the last run: one, two");
    until("there is an event", || {
        here.events("changed since the last run: one") > 0
    });
    assert_eq!(here.events("changed since the last run"), 1);
    assert_eq!(here.world.git.requests().len(), before);
    let observed = &here.world.get(AUTOMATION, "all")["status"]["observedPolicies"];
    assert_eq!(observed["one"]["tag"], "1.0.0", "it is what the last run saw");
    let (soon, opens) = windows::opening_soon();
    here.within(AUTOMATION, "all", &soon);
    until("the window has opened", || here.is_in_git("1.1.0", "1.2.0"));
    let now = windows::now();
    assert!(
        (opens..opens + 40).contains(&now),
        "opens at {opens}, pushed until {now}"
    );
    assert_eq!(here.repo.log("main").len(), 2);
}

#[test]
fn fields_wait_for_the_windows_of_their_policies_and_the_run_is_at_the_opening() {
    let Some(cluster) = Cluster::shared() else { return };
    let here = Windowed::new(cluster, "window-policy");
    let closed = windows::closed();
    here.within(IMAGE_POLICY, "one", &closed);
    here.world.add(AUTOMATION, "all", automation("app"));
    let controller = here.world.controller(&["--controllers=image-automation"]);
    // Nothing would change, so nothing waits.
    here.is_done();
    here.choose("one", "1.1.0");
    let waits = format!("\nImagePolicy window-policy/one is outside of the window {closed}, which opens at 20");
    here.says(&waits);
    here.choose("two", "1.2.0");
    until("the other one is pushed", || here.is_in_git("1.0.0", "1.2.0"));
    here.says(&waits);
    until("there is an event", || here.events(waits.trim()) > 0);
    assert_eq!(here.events("markers that were not updated"), 0, "it is no fault");
    let series = "bumpwright_skipped_markers{kind=\"ImageUpdateAutomation\",name=\"all\",namespace=\"window-policy\",reason=\"OutsideWindow\"}";
    controller.counts(series, 1.0);
    let (soon, opens) = windows::opening_soon();
    here.within(IMAGE_POLICY, "one", &soon);
    until("the window has opened", || here.is_in_git("1.1.0", "1.2.0"));
    let now = windows::now();
    assert!(
        (opens..opens + 40).contains(&now),
        "opens at {opens}, pushed until {now}"
    );
    here.is_done();
}

#[test]
fn a_dry_run_shows_what_waits_for_the_window() {
    let Some(cluster) = Cluster::shared() else { return };
    let here = Windowed::new(cluster, "window-dry");
    here.choose("one", "1.1.0");
    let annotations = json!({"bumpwright.dev/window": windows::closed(), "bumpwright.dev/dry-run": "true"});
    here.world.annotated(AUTOMATION, "all", &annotations, automation("app"));
    let _controller = here.world.controller(&["--controllers=image-automation"]);
    let message = here.says("dry run: 1 change would be pushed");
    assert!(
        message.contains("\nnothing is pushed outside of the window "),
        "{message}"
    );
    here.within(AUTOMATION, "all", "Mon-Fri 9-16");
    let message = here
        .world
        .ready(AUTOMATION, "all", "False", |reason, _| reason == "InvalidAnnotation");
    assert!(
        message.starts_with("annotation bumpwright.dev/window: \"9\" is no time"),
        "{message}"
    );
}
