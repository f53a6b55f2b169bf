//! The chart at a real API server: a release from its installation to its end, what Helm takes over, and
//! kubectl in its place.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value as Json, json};

use super::{chart, everything, helm, read, rendered, said, text};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;

const NAMESPACE: &str = "images";
const POLICY: &str = "/apis/image.toolkit.fluxcd.io/v1/namespaces/images/imagepolicies/app";

/// Where helm and kubectl keep what a server has told them.
fn home(cluster: &Cluster) -> PathBuf {
    cluster.kubeconfig().with_file_name("home")
}

/// helm for this cluster; None when it is missing.
fn at(cluster: &Cluster, arguments: &[&str]) -> Option<Output> {
    let mut helm = helm()?;
    helm.env("KUBECONFIG", cluster.kubeconfig()).env("HOME", home(cluster));
    helm.args(arguments).args(["--namespace", NAMESPACE]);
    Some(helm.output().unwrap())
}

/// Installs or upgrades the release `bumpwright`.
fn release(cluster: &Cluster, verb: &str, arguments: &[&str]) -> Output {
    let path = chart().display().to_string();
    at(cluster, &[&[verb, "bumpwright", &path], arguments].concat()).unwrap()
}

fn good(out: &Output) -> String {
    assert!(out.status.success(), "{}", said(out));
    said(out)
}

fn status(cluster: &Cluster, path: &str) -> u16 {
    cluster.request("GET", path, "", "").status
}

fn deployment(cluster: &Cluster) -> Json {
    cluster.get(&format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments/bumpwright"))["spec"].clone()
}

fn arguments(deployment: &Json) -> &Vec<Json> {
    deployment["template"]["spec"]["containers"][0]["args"]
        .as_array()
        .unwrap()
}

/// Paths of all that the default values make, of definitions first.
fn paths(cluster: &Cluster) -> (Vec<String>, Vec<String>) {
    let all = rendered(NAMESPACE, &[]).unwrap();
    let (definitions, others): (Vec<&Json>, Vec<&Json>) = all
        .values()
        .partition(|object| text(object, "/kind") == "CustomResourceDefinition");
    let paths = |objects: Vec<&Json>| objects.iter().map(|object| cluster.path_of(object)).collect();
    (paths(definitions), paths(others))
}

fn assert_statuses(cluster: &Cluster, paths: &[String], expected: u16) {
    for path in paths {
        assert_eq!(status(cluster, path), expected, "{path}");
    }
}

#[test]
fn a_release_from_its_installation_to_its_end() {
    // Its own: definitions are there for all namespaces.
    if helm().is_none() {
        return;
    }
    let Some(cluster) = &Cluster::start() else { return };
    let notes = good(&release(cluster, "install", &["--create-namespace"]));
    assert!(
        notes.contains("kubectl -n images rollout status deployment/bumpwright"),
        "{notes}"
    );
    let (definitions, others) = paths(cluster);
    assert_statuses(cluster, &[&definitions[..], &others].concat(), 200);
    assert_eq!(deployment(cluster)["replicas"], 1);
    cluster.apply(
        &json!({
            "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImagePolicy",
            "metadata": {"name": "app", "namespace": NAMESPACE},
            "spec": {"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "1.x"}}},
        })
        .to_string(),
    );
    upgrades(cluster);
    // Definitions that are no longer installed stay, and so do they all at the end, with the objects.
    good(&release(cluster, "upgrade", &["--set=crds.install=false"]));
    assert_statuses(cluster, &definitions, 200);
    good(&release(cluster, "upgrade", &["--reset-values"]));
    let kept = good(&at(cluster, &["uninstall", "bumpwright"]).unwrap());
    assert!(
        kept.contains("[CustomResourceDefinition] imagepolicies.image.toolkit.fluxcd.io"),
        "{kept}"
    );
    assert_statuses(cluster, &others, 404);
    assert_statuses(cluster, &definitions, 200);
    assert_eq!(status(cluster, POLICY), 200);
    takes_over(cluster);
    assert_statuses(cluster, &[&definitions[..], &others].concat(), 200);
    assert_eq!(status(cluster, POLICY), 200);
    good(&at(cluster, &["uninstall", "bumpwright"]).unwrap());
    kubectl_applies_everything(cluster);
}

fn upgrades(cluster: &Cluster) {
    let values = "--set=logLevel=debug,replicas=2,controllers.imageReflector=false,workloadIdentity=true,storage.claim.create=true";
    good(&release(cluster, "upgrade", &[values]));
    let changed = deployment(cluster);
    assert_eq!(changed["replicas"], 2);
    assert_eq!(changed["strategy"], json!({"type": "Recreate"}));
    for argument in ["--log-level=debug", "--controllers=image-automation"] {
        assert!(arguments(&changed).contains(&json!(argument)), "{changed:#}");
    }
    let tokens = "/apis/rbac.authorization.k8s.io/v1/clusterroles/bumpwright-workload-identity";
    assert_eq!(status(cluster, tokens), 200);
    let refused = release(cluster, "upgrade", &["--set=replica=3"]);
    assert!(!refused.status.success(), "{}", said(&refused));
    assert!(
        said(&refused).contains("additional properties 'replica' not allowed"),
        "{}",
        said(&refused)
    );
    assert_eq!(deployment(cluster), changed);
    good(&release(cluster, "upgrade", &["--reset-values"]));
    assert_eq!(status(cluster, tokens), 404);
    let again = deployment(cluster);
    assert_eq!(again["replicas"], 1);
    assert_eq!(again["strategy"]["type"], "RollingUpdate");
}

/// What `bumpwright install` made becomes a release's, when Helm is told so.
fn takes_over(cluster: &Cluster) {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    Bench::new().ok(&[
        "install",
        &kubeconfig,
        "--wait=false",
        "--namespace=images",
        "--log-level=debug",
    ]);
    let refused = release(cluster, "install", &[]);
    assert!(
        said(&refused).contains("invalid ownership metadata"),
        "{}",
        said(&refused)
    );
    good(&release(cluster, "install", &["--take-ownership"]));
    let taken = deployment(cluster);
    assert!(arguments(&taken).contains(&json!("--log-level=info")), "{taken:#}");
}

/// `helm template | kubectl apply`, with every switch on and every field set: kubectl has the
/// server refuse unknown fields.
fn kubectl_applies_everything(cluster: &Cluster) {
    let tool = bumpwright_testkit::tool;
    let (Some(monitors), Some(rules)) = (tool("podmonitors"), tool("prometheusrules")) else {
        return;
    };
    if !bumpwright_testkit::has("kubectl", "kubernetes-client") {
        return;
    }
    for definition in [monitors, rules] {
        cluster.apply(&std::fs::read_to_string(definition).unwrap());
    }
    let mut template = helm().unwrap();
    template.args(["template", "bumpwright", "--namespace=flux-system", "--values"]);
    let out = template.arg(everything()).arg(chart()).output().unwrap();
    let all = read(&out);
    let mut kubectl = Command::new("kubectl")
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("HOME", home(cluster))
        .args(["apply", "--server-side", "--filename=-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    kubectl.stdin.take().unwrap().write_all(&out.stdout).unwrap();
    let applied = good(&kubectl.wait_with_output().unwrap());
    assert_eq!(applied.matches(" serverside-applied").count(), all.len(), "{applied}");
    for object in all.values() {
        assert_eq!(status(cluster, &cluster.path_of(object)), 200);
    }
}
