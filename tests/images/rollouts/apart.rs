//! Where references to other namespaces are forbidden: rollouts count nothing there, and tell nothing of it.

use super::{Fleet, deployment, kustomization, until_commits};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::nodes::Nodes;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{
    AUTOMATION, EVENT, GIT_REPOSITORY, IMAGE_POLICY, KUSTOMIZATION, World, condition_of, git_repository,
};
use serde_json::{Value as Json, json};

const OWN: &str = "rollout-apart";
const THEIRS: &str = "theirs-apart";
const STOPPED: usize = 4;

/// Another namespace that reconciles the same branch: by a source of its own, and by Kustomizations with the source of
/// the fleet, which are suspended, so that their statuses are the test's.
struct Theirs {
    world: World<'static>,
    nodes: Nodes,
}

impl Theirs {
    fn start(cluster: &'static Cluster, fleet: &Fleet) -> Self {
        let theirs = Self {
            world: World::new(cluster, THEIRS).labelled("fleet", OWN),
            nodes: Nodes::start(cluster, THEIRS),
        };
        let mut source = git_repository(&fleet.world.git.url("fleet.git"));
        source["interval"] = json!("1s");
        theirs.world.add(GIT_REPOSITORY, "fleet", source);
        theirs.world.add(KUSTOMIZATION, "live", kustomization(THEIRS, "./apps"));
        let mut stopped = kustomization(THEIRS, "./apps");
        stopped["suspend"] = json!(true);
        stopped["sourceRef"]["namespace"] = json!(OWN);
        for n in 0..STOPPED {
            theirs
                .world
                .add(KUSTOMIZATION, &format!("stopped-{n}"), stopped.clone());
        }
        theirs
    }

    /// The statuses of those that are suspended, with this commit.
    fn stand(&self, commit: &str, is_ready: bool) {
        let revision = format!("main@sha1:{commit}");
        let (status, reason) = if is_ready {
            ("True", "ReconciliationSucceeded")
        } else {
            ("False", "HealthCheckFailed")
        };
        let ready = json!({"type": "Ready", "status": status, "reason": reason, "message": "theirs alone",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1});
        for n in 0..STOPPED {
            let status = json!({"observedGeneration": 1, "conditions": [ready], "lastAppliedRevision": revision,
                "lastAttemptedRevision": revision});
            self.world.patch_status(KUSTOMIZATION, &format!("stopped-{n}"), &status);
        }
    }

    /// Waits until the other one is ready with the tip of the branch.
    fn live(&self, fleet: &Fleet) {
        let tip = format!("Applied revision: main@sha1:{}", fleet.repo.rev("main").unwrap());
        self.world
            .ready(KUSTOMIZATION, "live", "True", |_, message| message == tip);
    }
}

/// What the namespace of the fleet sees of its automation and policies: the objects, events, and commits.
fn shown(fleet: &Fleet) -> String {
    let of = |kind| -> Vec<Json> { fleet.world.list(kind) };
    let objects = [of(AUTOMATION), of(IMAGE_POLICY), of(EVENT)].concat();
    let commits = fleet.repo.log("main");
    let commits: Vec<&str> = commits.iter().map(|commit| commit.message.as_str()).collect();
    format!("{:#}\n{}", json!(objects), commits.join("\n"))
}

#[test]
fn kustomizations_and_policies_of_others_are_as_if_they_were_not_there() {
    let Some(cluster) = Cluster::shared() else { return };
    let annotations = json!({"bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": "1s"});
    let Some(fleet) = Fleet::everywhere(OWN, &annotations, &["--no-cross-namespace-refs=true"]) else {
        return;
    };
    let theirs = Theirs::start(cluster, &fleet);
    // A policy that would allow it.
    add_choice(&theirs.world, "shared", "9.9.9");
    let allow = json!({"metadata": {"annotations": {"bumpwright.dev/allow-automations-from": "*"}}});
    theirs.world.patch(IMAGE_POLICY, "shared", &allow);
    let file = deployment(THEIRS, "shared", "1.0.0");
    fleet
        .repo
        .commit("main", "shared", &[Change::File("apps/shared.yaml", file.as_bytes())]);
    fleet.healthy();
    theirs.live(&fleet);
    theirs.stand(&fleet.repo.rev("main").unwrap(), true);

    // Theirs fail with a good image, and ours are followed to the end.
    fleet.choose("web", "1.1.0");
    fleet.in_git("web", "1.1.0");
    theirs.stand(&fleet.repo.rev("main").unwrap(), false);
    let told = fleet.rolled_out("True", "is healthy in 1 Kustomization\n");
    assert!(told.contains(&format!("\n{OWN}/apps: healthy after ")), "{told}");
    theirs.live(&fleet);
    theirs.stand(&fleet.repo.rev("main").unwrap(), true);

    // All of theirs turn unhealthy with a bad one, more than half of all: that does not keep ours from being put back.
    for nodes in [&fleet.nodes, &theirs.nodes] {
        nodes.break_image("ghcr.io/o/web:1.2.0");
    }
    fleet.choose("web", "1.2.0");
    until_commits(&fleet, 4);
    theirs.stand(&fleet.repo.rev("main").unwrap(), false);
    let told = fleet.rolled_out("False", "put back by commit");
    assert!(told.contains(&format!("Kustomization {OWN}/apps at ")), "{told}");
    assert_eq!((fleet.tag("web").as_str(), fleet.commits()), ("1.1.0", 5));
    fleet.healthy();
    theirs.live(&fleet);

    fleet.world.request(AUTOMATION, "all", "once more");
    until("the request is handled", || {
        fleet.world.get(AUTOMATION, "all")["status"]["lastHandledReconcileAt"] == "once more"
    });
    assert_eq!((fleet.tag("shared").as_str(), fleet.commits()), ("1.0.0", 5));
    let ours = fleet.ours.as_ref().unwrap();
    ours.counts(
        &format!("bumpwright_skipped_markers{{kind=\"ImageUpdateAutomation\",name=\"all\",namespace=\"{OWN}\",reason=\"OtherNamespace\"}}"),
        1.0,
    );
    let shown = shown(&fleet);
    for of_theirs in [THEIRS, "theirs alone", "stopped-", "9.9.9"] {
        assert!(!shown.contains(of_theirs), "{of_theirs}: {shown}");
    }
    let policy = theirs.world.get(IMAGE_POLICY, "shared");
    assert!(policy["metadata"]["annotations"]["state.bumpwright.dev/failed-versions"].is_null());
    let stopped = theirs.world.get(KUSTOMIZATION, "stopped-0");
    assert_eq!(condition_of(&stopped, "Ready").unwrap()["message"], "theirs alone");
}
