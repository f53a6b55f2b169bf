//! `flux` with an installation: check, version, logs, tree, and uninstall.

use std::sync::Arc;

use serde_json::json;

use super::{Flux, rows};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::controller::ELECTION;
use bumpwright_testkit::deployments;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::tls::Certificates;

const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// Installs by the command and writes the status that a Deployment's controller and a kubelet would.
fn install(cluster: &Cluster, flags: &[&str]) {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    Bench::new().ok(&[&["install", &kubeconfig, "--wait=false"], flags].concat());
    let path = "/apis/apps/v1/namespaces/flux-system/deployments/bumpwright";
    deployments::report(cluster, &cluster.get(path), 1);
}

/// `flux check` and `flux version` in a cluster without Flux.
#[test]
fn check_and_version_see_the_installation() {
    let Some(cluster) = Cluster::start() else { return };
    let Some(flux) = Flux::new(&cluster, "flux-system") else {
        return;
    };
    install(&cluster, &[]);
    let said = rows(&flux.ok("check"));
    let has = |wanted: &str| said.iter().any(|row| row.ends_with(wanted));
    for wanted in [
        &format!("distribution: flux-bumpwright-{VERSION}"),
        "bootstrapped: false",
        "bumpwright: deployment ready",
        &format!("ghcr.io/bumpwright/bumpwright:{VERSION}"),
        "imagepolicies.image.toolkit.fluxcd.io/v1",
        "imagerepositories.image.toolkit.fluxcd.io/v1",
        "imageupdateautomations.image.toolkit.fluxcd.io/v1",
        "gitrepositories.source.toolkit.fluxcd.io/v1",
        "all checks passed",
    ] {
        assert!(has(wanted), "{wanted}\n{said:#?}");
    }
    let said = rows(&flux.ok("version"));
    assert!(said.contains(&format!("bumpwright: {VERSION}")), "{said:#?}");
    assert!(
        said.contains(&format!("distribution: flux-bumpwright-{VERSION}")),
        "{said:#?}"
    );

    // A controller that does not start is reported.
    let path = "/apis/apps/v1/namespaces/flux-system/deployments/bumpwright";
    let mut deployment = cluster.get(path);
    deployment["status"]["conditions"] = json!([
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": ""},
    ]);
    cluster.put_status(&deployment).unwrap();
    let ran = flux.run("check --timeout=5s");
    assert_ne!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("bumpwright: deployment not ready"), "{}", ran.err);

    // `flux uninstall` takes away all that was installed.
    flux.ok("uninstall --silent --keep-namespace");
    for gone in [
        path,
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/bumpwright",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/bumpwright-flux-system",
        "/api/v1/namespaces/flux-system/serviceaccounts/bumpwright",
        "/apis/networking.k8s.io/v1/namespaces/flux-system/networkpolicies/bumpwright",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/imagepolicies.image.toolkit.fluxcd.io",
    ] {
        // A definition goes once its objects have.
        cluster.gone(gone);
    }
}

/// `flux logs`: the pod is found by the labels of the Deployment, and its lines are read and filtered as
/// those of Flux are.
#[test]
fn logs_are_found_and_filtered() {
    let Some(cluster) = Cluster::start() else { return };
    let Some(flux) = Flux::new(&cluster, "logs") else {
        return;
    };
    let Some(certificates) = Certificates::make() else {
        return;
    };
    install(&cluster, &[]);
    let world = ImageWorld::bare(&cluster, "logs");
    world.add_all("1h");
    let controller = world.controller(&ELECTION);
    world.settled();
    world.release("1.1.0");
    world.in_git("1.1.0");
    controller.says("pushed commit");
    let controller = Arc::new(controller);
    let of = Arc::clone(&controller);
    let log = move |pod: &str| (pod == "bumpwright-0").then(|| of.log());
    let _kubelet = deployments::node_with_logs(&cluster, &certificates, log);
    let path = "/apis/apps/v1/namespaces/flux-system/deployments/bumpwright";
    deployments::run_pod(&cluster, &cluster.get(path));
    let all = rows(&flux.ok("logs"));
    let about = |kind: &str| all.iter().any(|row| row.contains(&format!(" info {kind}/app.logs - ")));
    for kind in ["ImageRepository", "ImagePolicy", "ImageUpdateAutomation"] {
        assert!(about(kind), "{kind}\n{all:#?}");
    }
    let one = rows(&flux.ok("logs --kind=ImageUpdateAutomation --name=app"));
    assert!(one.iter().any(|row| row.contains("pushed commit")), "{one:#?}");
    // A message may have several lines.
    let mut begins = one.iter().filter(|row| row.starts_with("20"));
    assert!(
        begins.all(|row| row.contains("ImageUpdateAutomation/app.logs")),
        "{one:#?}"
    );
    let errors = rows(&flux.ok("logs --level=error"));
    assert!(errors.iter().all(|row| row.contains(" error ")), "{errors:#?}");
}

/// `flux tree` is for Kustomizations: image objects are leaves of it.
#[test]
fn tree_shows_image_objects_as_leaves() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(flux) = Flux::new(cluster, "default") else {
        return;
    };
    cluster.define();
    let mut kustomization = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "tree", "namespace": "default"},
        "spec": {"interval": "1h", "prune": false, "sourceRef": {"kind": "GitRepository", "name": "app"}},
    });
    cluster.apply(&kustomization.to_string());
    kustomization = cluster.get(&cluster.path_of(&kustomization));
    kustomization["status"] = json!({"inventory": {"entries": [
        {"id": "default_app_image.toolkit.fluxcd.io_ImagePolicy", "v": "v1"},
        {"id": "default_app_image.toolkit.fluxcd.io_ImageUpdateAutomation", "v": "v1"},
    ]}});
    cluster.put_status(&kustomization).unwrap();
    let said = flux.ok("tree kustomization tree");
    assert!(said.contains("Kustomization/default/tree"), "{said}");
    assert!(
        said.contains("├── ImagePolicy/default/app") && said.contains("└── ImageUpdateAutomation/default/app"),
        "{said}"
    );
}
