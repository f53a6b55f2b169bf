//! `bumpwright.dev/allow-automations-from` in a cluster (docs/guides/tenants.md, *Sharing policies*).

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, World, automation, git_repository};
use serde_json::{Value, json};

/// A team with an automation whose repository names the policy `web` of another namespace, and one that is not there.
struct Team<'a> {
    controller: Controller,
    world: World<'a>,
    shared: World<'a>,
    repo: Repo,
}

fn marked(shared: &str, tag: &str) -> String {
    format!(
        "web: ghcr.io/o/web:{tag} # {{\"$imagepolicy\": \"{shared}:web\"}}\n\
         none: ghcr.io/o/none:1.0.0 # {{\"$imagepolicy\": \"{shared}:none\"}}\n"
    )
}

impl<'a> Team<'a> {
    fn start(cluster: &'a Cluster, name: &str, flags: &[&str]) -> Self {
        cluster.define();
        let world = World::new(cluster, name).labelled("consent", name);
        let shared = World::new(cluster, &format!("{name}-shared"));
        let repo = world.repository("app.git");
        let file = marked(&shared.namespace, "1.0.0");
        repo.commit("main", "first", &[Change::File("a.yaml", file.as_bytes())]);
        add_choice(&shared, "web", "1.1.0");
        world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
        world.add(AUTOMATION, "all", automation("app"));
        // In all namespaces, for this automation only.
        let selector = format!("--watch-label-selector=consent={name}");
        let own = ["--controllers=image-automation", "--max-retry-delay=5s", &selector];
        let starter = Controller::ours(&cluster.kubeconfig(), name, &world.folder_of("controller"));
        let flags: Vec<String> = own.iter().chain(flags).map(|flag| (*flag).to_owned()).collect();
        let controller = starter.flags(&flags).start();
        world.ready(AUTOMATION, "all", "True", |_, message| {
            message == "repository up-to-date"
        });
        Self {
            controller,
            world,
            shared,
            repo,
        }
    }

    fn allow(&self, whom: Value) {
        let annotations = json!({"bumpwright.dev/allow-automations-from": whom});
        let patch = json!({"metadata": {"annotations": annotations}});
        self.shared.patch(IMAGE_POLICY, "web", &patch);
    }

    fn choose(&self, tag: &str) {
        let latest = json!({"latestRef": {"tag": tag}});
        self.shared.patch_status(IMAGE_POLICY, "web", &latest);
    }

    fn is_in_git(&self, tag: &str) -> bool {
        self.repo.show("main", "a.yaml") == marked(&self.shared.namespace, tag).as_bytes()
    }

    /// What the automation's status says of the policy.
    fn observed(&self) -> Value {
        let mut status = self.world.get(AUTOMATION, "all")["status"].take();
        status["observedPolicies"][format!("{}/web", self.shared.namespace)]["tag"].take()
    }

    /// Waits until that is so.
    fn observes(&self, tag: Value) {
        until(&format!("{tag} is observed"), || self.observed() == tag);
    }

    /// Has the automation run to its end.
    fn run(&self, at: &str) {
        self.world.request(AUTOMATION, "all", at);
        let handled = || self.world.get(AUTOMATION, "all")["status"]["lastHandledReconcileAt"] == at;
        until("the run has ended", handled);
    }

    /// How often something was read from the API server.
    fn requests(&self) -> f64 {
        let host = self.world.cluster.url().trim_start_matches("https://").to_owned();
        let series = format!("rest_client_requests_total{{code=\"200\",host=\"{host}\",method=\"GET\"}}");
        self.controller.metric(&series).unwrap_or_default()
    }

    /// How many markers are left to others.
    fn counts(&self, left: f64) {
        let name = &self.world.namespace;
        let series = format!(
            "bumpwright_skipped_markers{{kind=\"ImageUpdateAutomation\",name=\"all\",namespace=\"{name}\",reason=\"OtherNamespace\"}}"
        );
        self.controller.counts(&series, left);
    }
}

/// No run of this test is at its interval, which is an hour.
#[test]
fn a_policy_is_used_while_it_allows_it() {
    let Some(cluster) = Cluster::shared() else { return };
    let team = Team::start(cluster, "consent", &[]);
    team.counts(2.0);
    assert_eq!(team.observed(), Value::Null);
    team.allow(json!("other,consent"));
    until("it is allowed", || team.is_in_git("1.1.0"));
    team.observes(json!("1.1.0"));
    team.counts(1.0);
    team.choose("1.2.0");
    until("the policy has chosen", || team.is_in_git("1.2.0"));
    team.observes(json!("1.2.0"));
    // Withdrawn: nothing is told of what it chooses.
    team.allow(Value::Null);
    team.observes(Value::Null);
    team.counts(2.0);
    team.choose("1.3.0");
    team.run("after 1.3.0");
    assert!(team.is_in_git("1.2.0"));
    assert_eq!(team.observed(), Value::Null);
    // Labels of the namespace, which are read when a marker names such a policy.
    team.allow(json!("env=prod,team notin (b)"));
    team.run("without the label");
    assert!(team.is_in_git("1.2.0"));
    team.allow(json!("kubernetes.io/metadata.name in (consent)"));
    until("its labels allow it", || team.is_in_git("1.3.0"));
    // While nothing changes no run asks for more: the labels were read just now.
    let before = team.requests();
    ["one", "two", "three"].iter().for_each(|at| team.run(at));
    assert!(team.requests() <= before + 1.0, "{before} {}", team.requests());
    team.allow(json!("team b"));
    team.observes(Value::Null);
    team.allow(json!("*"));
    team.observes(json!("1.3.0"));
    let gone = team.shared.delete(IMAGE_POLICY, "web");
    assert_eq!(gone.status, 200, "{}", gone.body);
    team.observes(Value::Null);
    team.counts(2.0);
    assert_eq!(team.repo.log("main").len(), 4);
}

#[test]
fn no_policy_is_used_when_references_to_other_namespaces_are_blocked() {
    let Some(cluster) = Cluster::shared() else { return };
    let team = Team::start(cluster, "consent-blocked", &["--no-cross-namespace-refs"]);
    team.allow(json!("*"));
    team.choose("1.2.0");
    team.run("after 1.2.0");
    assert!(team.is_in_git("1.0.0"));
    assert_eq!(team.observed(), Value::Null);
    team.counts(2.0);
}
