//! HelmReleases of Flux's helm-controller with charts of our OCIRepositories, by themselves and in a Kustomization of
//! ours that waits for them; and of our HelmCharts.

use std::process::Command;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::{Change, run};
use bumpwright_testkit::world::{
    CONFIG_MAP, GIT_REPOSITORY, HELM_CHART, HELM_RELEASE, HELM_REPOSITORY, KUSTOMIZATION, OCI_REPOSITORY, World,
    git_repository,
};
use serde_json::{Value as Json, json};

use super::{cluster, of_flux};
use crate::beside::ALONE;

/// A chart with a ConfigMap and a Deployment, which nobody makes ready here. When told to, it has an object that
/// the API server refuses.
const TEMPLATE: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  key: {{ .Values.greeting }} {{ .Chart.Version }}
{{ if .Values.broken }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: Not_Valid
{{ end }}
";

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: app, image: 'ghcr.io/acme/app:{{ .Chart.AppVersion }}'}]}
";

/// Our sources and Kustomizations, Flux's helm-controller, a registry for charts.
struct Charts<'a> {
    // Before the folder that has their logs and storage goes.
    _helm: Controller,
    _ours: Controller,
    registry: Registry,
    world: World<'a>,
}

impl<'a> Charts<'a> {
    fn start(cluster: &'a Cluster, namespace: &str) -> Option<Self> {
        bumpwright_testkit::tool("helm")?;
        let registry = Registry::start()?;
        let world = World::new(cluster, namespace);
        let helm = of_flux("helm-controller", &world)?.flags(&[ALONE, "--events-addr=", "--requeue-dependency=1s"]);
        let address = format!("127.0.0.1:{}", free_port());
        let served = ["--storage-addr", "--storage-adv-addr"].map(|flag| format!("{flag}={address}"));
        let ours = world
            .starter("ours")
            .flags(&["--controllers=source,helm,kustomize", "--requeue-dependency=1s"]);
        Some(Self {
            _helm: helm.start(),
            _ours: ours.flags(&served).start(),
            registry,
            world,
        })
    }

    /// Packages the chart `app` and pushes it, as its maker would.
    fn push(&self, version: &str) {
        let folder = self.world.folder.path().join(version);
        let write = |name: &str, text: &str| {
            let file = folder.join("app").join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        let about = format!("apiVersion: v2\nname: app\nversion: {version}\nappVersion: '{version}'\n");
        write("Chart.yaml", &about);
        write("values.yaml", "greeting: hello\n");
        write("templates/map.yaml", TEMPLATE);
        write("templates/deployment.yaml", DEPLOYMENT);
        let helm = |arguments: &[&str]| {
            let mut helm = Command::new(bumpwright_testkit::tool("helm").unwrap());
            run(helm
                .args(arguments)
                .current_dir(&folder)
                .env("HOME", self.world.folder.path()));
        };
        helm(&["package", "app"]);
        let charts = format!("oci://{}/charts", self.registry.host());
        helm(&["push", &format!("app-{version}.tgz"), &charts, "--plain-http"]);
    }

    fn chart_source(&self) -> Json {
        let url = format!("oci://{}/charts/app", self.registry.host());
        json!({"interval": "1h", "url": url, "insecure": true, "ref": {"semver": ">=1.0.0"}})
    }

    /// The release is the one of this chart's version, made of the revision that our source has.
    fn released(&self, name: &str, source: &str, version: &str) {
        let chart = format!("with chart app@{version}+");
        self.world
            .ready(HELM_RELEASE, name, "True", |_, message| message.contains(&chart));
        let revision = self.world.get(OCI_REPOSITORY, source)["status"]["artifact"]["revision"].take();
        let (_, digest) = revision.as_str().unwrap().split_once('@').unwrap();
        let status = self.world.get(HELM_RELEASE, name)["status"].take();
        assert_eq!(status["lastAttemptedRevisionDigest"], digest, "{status:#}");
        let map = self.world.get(CONFIG_MAP, name);
        let key = map["data"]["key"].as_str().unwrap();
        assert!(key.starts_with(&format!("hello {version}+")), "{key}");
    }
}

fn release(source: &str) -> Json {
    // There is nobody who would make the Deployment ready.
    json!({
        "interval": "1h", "chartRef": {"kind": "OCIRepository", "name": source},
        "install": {"disableWait": true}, "upgrade": {"disableWait": true},
    })
}

#[test]
fn charts_of_our_sources_are_installed_and_upgraded() {
    let Some(cluster) = cluster() else { return };
    let Some(charts) = Charts::start(cluster, "helm-charts") else {
        return;
    };
    let world = &charts.world;
    charts.push("1.0.0");
    // As a chart's documents have it, and as a source without a thought of charts: files taken out and packed again.
    let mut copied = charts.chart_source();
    copied["layerSelector"] = json!({
        "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "operation": "copy",
    });
    world.add(OCI_REPOSITORY, "copied", copied);
    world.add(OCI_REPOSITORY, "unpacked", charts.chart_source());
    let sources = ["copied", "unpacked"];
    for source in sources {
        world.add(HELM_RELEASE, source, release(source));
    }
    for source in sources {
        charts.released(source, source, "1.0.0");
    }
    charts.push("1.1.0");
    for source in sources {
        world.request(OCI_REPOSITORY, source, "upgrade");
    }
    for source in sources {
        charts.released(source, source, "1.1.0");
    }
    world.delete(HELM_RELEASE, "copied");
    world.gone(HELM_RELEASE, "copied");
    world.gone(CONFIG_MAP, "copied");
}

/// What our command prints of the namespace.
fn command(world: &World<'_>, arguments: &[&str], code: i32) -> String {
    let kubeconfig = format!("--kubeconfig={}", world.cluster.kubeconfig().display());
    let (command, flags) = arguments.split_first().unwrap();
    let ran = Bench::new().run(&[&[command, kubeconfig.as_str(), "-n", &world.namespace], flags].concat());
    assert_eq!(ran.code, code, "{arguments:?}: {}{}", ran.out, ran.err);
    ran.out
}

/// The release `app` by our commands, with what helm-controller makes of their requests.
fn commands(world: &World<'_>) {
    let chart = world.get(HELM_RELEASE, "app")["status"]["history"][0]["chartVersion"].take();
    let chart = chart.as_str().unwrap();
    let trace = command(world, &["trace", "cm/app"], 0);
    for part in [
        "Status:          installed by a HelmRelease, which a Kustomization has applied\n",
        "---\nHelmRelease:     helm-kustomized/app\n",
        &format!("Chart:           app {chart}\nChart source:    OCIRepository/helm-kustomized/chart\n"),
        &format!("Last attempt:    install {chart}\nHistory:         1 deployed app@{chart} "),
        "---\nKustomization:   helm-kustomized/fleet\n",
        "---\nGitRepository:   helm-kustomized/fleet\n",
    ] {
        assert!(trace.contains(part), "{part}: {trace}");
    }
    // The labels say it, too: older helm-controllers write no inventory.
    let namesakes = world.get(CONFIG_MAP, "app")["metadata"].take();
    assert_eq!(
        namesakes["labels"]["helm.toolkit.fluxcd.io/name"], "app",
        "{namesakes:#}"
    );
    assert_eq!(
        namesakes["annotations"]["meta.helm.sh/release-name"], "app",
        "{namesakes:#}"
    );
    let tree = command(world, &["tree", "ks", "fleet"], 0);
    let below = format!("(app {chart} of OCIRepository/helm-kustomized/chart) ready\n");
    assert!(
        tree.contains(&format!("HelmRelease/helm-kustomized/app {below}")),
        "{tree}"
    );
    assert!(tree.contains("├── ConfigMap/helm-kustomized/app\n"), "{tree}");
    command(world, &["reconcile", "hr", "app", "--with-source", "--timeout=1m"], 0);
    assert_eq!(world.get(HELM_RELEASE, "app")["status"]["history"][0]["version"], 1);
    command(world, &["reconcile", "hr", "app", "--force", "--timeout=1m"], 0);
    let status = world.get(HELM_RELEASE, "app")["status"].take();
    assert_eq!(status["history"][0]["version"], 2, "{status:#}");
    command(world, &["suspend", "hr", "app"], 0);
    command(world, &["reconcile", "hr", "app"], 2);
    command(world, &["resume", "hr", "app", "--wait", "--timeout=1m"], 0);
}

/// From a commit to a release: our source, our Kustomization, our source of charts, Flux's release.
#[test]
fn kustomizations_wait_for_their_releases() {
    let Some(cluster) = cluster() else { return };
    let Some(charts) = Charts::start(cluster, "helm-kustomized") else {
        return;
    };
    let world = &charts.world;
    charts.push("1.0.0");
    let repo = world.repository("fleet.git");
    let commit = |values: Json| {
        let mut spec = release("chart");
        spec["values"] = values;
        let source = json!({"apiVersion": OCI_REPOSITORY.api_version, "kind": "OCIRepository",
            "metadata": {"name": "chart"}, "spec": charts.chart_source()});
        let release = json!({"apiVersion": HELM_RELEASE.api_version, "kind": "HelmRelease",
            "metadata": {"name": "app"}, "spec": spec});
        let text = format!("{source}\n---\n{release}\n");
        repo.commit("main", "fleet", &[Change::File("fleet.yaml", text.as_bytes())]);
    };
    commit(json!({}));
    world.add(GIT_REPOSITORY, "fleet", git_repository(&world.git.url("fleet.git")));
    let spec = json!({
        "interval": "1h", "retryInterval": "1h", "prune": true, "wait": true, "timeout": "2m",
        "targetNamespace": world.namespace, "sourceRef": {"kind": "GitRepository", "name": "fleet"},
    });
    world.add(KUSTOMIZATION, "fleet", spec);
    world.ready(KUSTOMIZATION, "fleet", "True", |_, _| true);
    charts.released("app", "chart", "1.0.0");
    commands(world);

    // A release that cannot be upgraded stalls, and the Kustomization says so without waiting for its timeout.
    commit(json!({"broken": true}));
    world.request(GIT_REPOSITORY, "fleet", "broken");
    let message = world.ready(KUSTOMIZATION, "fleet", "False", |reason, _| {
        reason == "HealthCheckFailed"
    });
    assert!(
        message.contains("HelmRelease/helm-kustomized/app status: 'Failed'"),
        "{message}"
    );
    // The release is the cause, and the Kustomization no entry of its own.
    let status = command(world, &["status", "-o", "json"], 0);
    let status: Json = serde_json::from_str(&status).unwrap();
    let broken: Vec<&Json> = status["attention"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    assert_eq!(broken, ["HelmRelease/helm-kustomized/app"], "{status:#}");
    command(world, &["reconcile", "hr", "app", "--reset", "--timeout=1m"], 1);
    let release = world.get(HELM_RELEASE, "app");
    let asked = &release["metadata"]["annotations"]["reconcile.fluxcd.io/resetAt"];
    assert!(
        asked.is_string() && release["status"]["lastHandledResetAt"] == *asked,
        "{release:#}"
    );
    commit(json!({}));
    world.request(GIT_REPOSITORY, "fleet", "mended");
    world.ready(KUSTOMIZATION, "fleet", "True", |_, _| true);
    world.delete(KUSTOMIZATION, "fleet");
    world.gone(KUSTOMIZATION, "fleet");
    world.gone(HELM_RELEASE, "app");
    world.gone(CONFIG_MAP, "app");
}

/// helm-controller makes a HelmChart of `spec.chart`, and installs what we make of it: from Git with values of a file
/// there, and from a repository with an index.
#[test]
fn charts_that_we_make_are_installed_and_upgraded() {
    let Some(cluster) = cluster() else { return };
    let Some(charts) = Charts::start(cluster, "helm-git") else {
        return;
    };
    let world = &charts.world;
    let repo = world.repository("charts.git");
    let commit = |version: &str| {
        let about = format!("apiVersion: v2\nname: app\nversion: {version}\n");
        let files = [
            ("app/Chart.yaml", about.as_str()),
            ("app/values.yaml", "greeting: hello\n"),
            ("app/templates/map.yaml", TEMPLATE),
            ("envs/prod.yaml", "greeting: welcome\n"),
        ];
        let files = files.map(|(name, text)| Change::File(name, text.as_bytes()));
        repo.commit("main", version, &files);
    };
    commit("1.0.0");
    charts.push("1.0.0");
    let oci = format!("oci://{}/charts", charts.registry.host());
    world.add(GIT_REPOSITORY, "charts", git_repository(&world.git.url("charts.git")));
    world.add(
        HELM_REPOSITORY,
        "registry",
        json!({"type": "oci", "url": oci, "insecure": true, "interval": "1h"}),
    );
    let release = |chart: Json| json!({"interval": "1h", "chart": {"spec": chart}, "install": {"disableWait": true}, "upgrade": {"disableWait": true}});
    let source = |kind: &str, name: &str| json!({"kind": kind, "name": name});
    let git = json!({"chart": "./app", "sourceRef": source("GitRepository", "charts"), "valuesFiles": ["app/values.yaml", "envs/prod.yaml"]});
    world.add(HELM_RELEASE, "app", release(git));
    let oci = json!({"chart": "app", "version": ">=1.0.0", "sourceRef": source("HelmRepository", "registry")});
    world.add(HELM_RELEASE, "web", release(oci));
    let released = |name: &str, key: &str| {
        let version = key.rsplit(' ').next().unwrap();
        let chart = format!("with chart app@{version}");
        world.ready(HELM_RELEASE, name, "True", |_, message| message.contains(&chart));
        assert_eq!(world.get(CONFIG_MAP, name)["data"]["key"], key);
    };
    released("app", "welcome 1.0.0+1");
    released("web", "hello 1.0.0");
    commit("1.1.0");
    charts.push("1.1.0");
    world.request(GIT_REPOSITORY, "charts", "upgrade");
    world.request(HELM_CHART, "helm-git-web", "upgrade");
    released("app", "welcome 1.1.0+1");
    released("web", "hello 1.1.0");
    let status = world.get(HELM_CHART, "helm-git-app")["status"].take();
    assert_eq!(status["observedChartName"], "app", "{status:#}");
    both_commands(world);
    world.delete(HELM_RELEASE, "app");
    world.gone(HELM_CHART, "helm-git-app");
    world.gone(CONFIG_MAP, "app");
}

/// `flux` and our commands, on the charts.
fn both_commands(world: &World<'_>) {
    let flux = |arguments: &[&str]| {
        let mut flux = Command::new(bumpwright_testkit::tool("flux").unwrap());
        flux.args(arguments).args(["--timeout=1m", "-n", &world.namespace]);
        flux.env("KUBECONFIG", world.cluster.kubeconfig());
        String::from_utf8(run(flux.env("HOME", world.folder.path()))).unwrap()
    };
    let wanted = "packaged 'app' chart with version '1.1.0+1' and merged values files [app/values.yaml envs/prod.yaml]";
    for listed in [
        flux(&["get", "sources", "chart"]),
        command(world, &["get", "sources"], 0),
    ] {
        assert!(listed.contains(wanted), "{listed}");
    }
    for command in ["suspend", "resume", "reconcile"] {
        flux(&[command, "source", "chart", "helm-git-web"]);
    }
    command(world, &["suspend", "source", "chart", "helm-git-app"], 0);
    command(
        world,
        &["resume", "source", "chart", "helm-git-app", "--wait", "--timeout=1m"],
        0,
    );
    command(
        world,
        &["reconcile", "source", "chart", "helm-git-app", "--timeout=1m"],
        0,
    );
    command(world, &["reconcile", "hr", "app", "--with-source", "--timeout=1m"], 0);
    // Which no Kustomization has applied.
    let trace = command(world, &["trace", "cm/app"], 1);
    let chart = "Chart source:    GitRepository/helm-git/charts";
    assert!(trace.contains(chart), "{trace}");
}
