//! Images in values of HelmReleases: their rollout is as far as helm-controller is, which a stub of the tests plays.

use super::{Fleet, until_commits};
use crate::appliers::Applier;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::helm_controller::HelmController;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{AUTOMATION, HELM_RELEASE, KUSTOMIZATION, condition_of};
use serde_json::{Value as Json, json};

const TEMPLATE: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: '{{ .Values.image.repository }}:{{ .Values.image.tag }}'}]}
";

/// A fleet whose `web` is a HelmRelease with a chart of the repository, in a Kustomization that does not wait.
struct Releases {
    // Before the cluster's namespace is left alone.
    _helm: HelmController,
    fleet: Fleet,
}

fn release(namespace: &str, spec: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: shop}}\nspec:\n  interval: 1h\n  \
         chart: {{spec: {{chart: ./chart, sourceRef: {{kind: GitRepository, name: fleet}}}}}}\n{spec}  values:\n    image:\n      \
         repository: ghcr.io/o/web\n      tag: 1.0.0 # {{\"$imagepolicy\": \"{namespace}:web:tag\"}}\n"
    )
}

impl Releases {
    /// `spec` are more lines of the release.
    fn start(namespace: &str, annotations: &Json, spec: &str) -> Option<Self> {
        let cluster = Cluster::shared()?;
        cluster.define_helm()?;
        let fleet = Fleet::start(namespace, Applier::Ours, annotations)?;
        fleet
            .world
            .patch(KUSTOMIZATION, "apps", &json!({"spec": {"wait": false}}));
        let helm = HelmController::start(cluster, namespace);
        fleet.repo.commit(
            "main",
            "chart",
            &[
                Change::File("apps/web.yaml", release(namespace, spec).as_bytes()),
                Change::File("chart/Chart.yaml", b"{apiVersion: v2, name: web, version: 1.0.0}"),
                Change::File("chart/templates/web.yaml", TEMPLATE.as_bytes()),
            ],
        );
        fleet.healthy();
        let releases = Self { _helm: helm, fleet };
        releases.runs("1.0.0");
        Some(releases)
    }

    fn release(&self) -> Json {
        self.fleet.world.get(HELM_RELEASE, "shop")
    }

    /// Waits until the release is ready with this tag.
    fn runs(&self, tag: &str) {
        wait_for(
            || {
                let release = self.release();
                let is_ready = condition_of(&release, "Ready").is_some_and(|ready| ready["status"] == "True");
                is_ready && release["spec"]["values"]["image"]["tag"] == tag
            },
            || format!("{tag}: {:#}", self.release()),
        );
    }

    fn tag_in_git(&self) -> String {
        let text = String::from_utf8(self.fleet.repo.show("main", "apps/web.yaml")).unwrap();
        let line = text.lines().find(|line| line.contains("tag:")).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    }
}

#[test]
fn a_rollout_waits_for_the_release_that_gets_the_image() {
    let Some(releases) = Releases::start("rollout-release", &json!({"bumpwright.dev/follow": "true"}), "") else {
        return;
    };
    let fleet = &releases.fleet;
    // The Deployment is on its way until the nodes say otherwise.
    fleet.nodes.pause();
    fleet.choose("web", "1.1.0");
    fleet.rolled_out("Unknown", "; waits for HelmRelease rollout-release/shop");
    fleet.nodes.go_on();
    fleet.rolled_out("True", "is healthy in 1 Kustomization with 1 HelmRelease");
    releases.runs("1.1.0");
}

#[test]
fn an_image_with_which_a_release_fails_is_put_back() {
    let annotations = json!({"bumpwright.dev/on-failure": "revert", "bumpwright.dev/failure-after": "1s"});
    let retries = "  upgrade: {remediation: {retries: 1}}\n";
    for (namespace, spec) in [("rollout-release-stalls", ""), ("rollout-release-rolls-back", retries)] {
        let Some(releases) = Releases::start(namespace, &annotations, spec) else {
            return;
        };
        let fleet = &releases.fleet;
        fleet.nodes.break_image("ghcr.io/o/web:1.2.0");
        fleet.choose("web", "1.2.0");
        let told = fleet.rolled_out("False", "put back by commit");
        assert!(told.contains(&format!("HelmRelease {namespace}/shop: Helm ")), "{told}");
        until("the tag is back", || releases.tag_in_git() == "1.0.0");
        releases.runs("1.0.0");
        until_commits(fleet, 4);
        let message = &fleet.repo.log("main")[0].message;
        for part in [
            format!("Failed-Kustomization: {namespace}/apps\n"),
            format!("/{namespace}/shop\n"),
        ] {
            assert!(message.contains(&part), "{part}: {message}");
        }
        fleet.world.ready(AUTOMATION, "all", "True", |_, message| {
            message.contains("holds ghcr.io/o/web:1.2.0, since it failed in Kustomization")
        });
    }
}

#[test]
fn an_image_with_which_a_release_fails_is_not_written_again() {
    let namespace = "rollout-release-hold";
    let annotations = json!({"bumpwright.dev/on-failure": "hold", "bumpwright.dev/failure-after": "1s"});
    let Some(releases) = Releases::start(namespace, &annotations, "") else {
        return;
    };
    let fleet = &releases.fleet;
    fleet.nodes.break_image("ghcr.io/o/web:1.2.0");
    fleet.choose("web", "1.2.0");
    let told = fleet.rolled_out("False", &format!("HelmRelease {namespace}/shop: Helm "));
    assert_eq!(releases.tag_in_git(), "1.2.0", "{told}");
    let text = release(namespace, "");
    let back = [Change::File("apps/web.yaml", text.as_bytes())];
    fleet.repo.commit("main", "back by hand", &back);
    fleet.healthy();
    releases.runs("1.0.0");
    fleet.world.ready(AUTOMATION, "all", "True", |_, message| {
        message.contains("holds ghcr.io/o/web:1.2.0, since it failed in Kustomization")
    });
    assert_eq!(releases.tag_in_git(), "1.0.0");
    fleet.choose("web", "1.3.0");
    until("a newer version goes on", || releases.tag_in_git() == "1.3.0");
    releases.runs("1.3.0");
}
