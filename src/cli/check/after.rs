//! Whether an installation is well.

use serde_json::Value;

use super::findings::Findings;
use super::{charts, definitions, leases, releases, rights};
use crate::cli::install::rollout::{self, Rollout, SELECTOR};
use crate::cli::installed::{self, CONTROLLERS, Controller, HELM, WORKLOADS, at, items};
use bumpwright_api::ObjectName;
use bumpwright_kube::{AccessQuestion, Cluster, Kind, POD, Resource, SECRET, SERVICE, STATEFUL_SET};
use bumpwright_policy::LatestRef;

/// The version of this program, as a tag.
const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

pub(super) async fn check(cluster: &Cluster, namespace: &str, findings: &mut Findings) {
    let workloads = workloads(cluster, namespace, findings).await;
    for (controller, workload) in &workloads {
        rollout(cluster, controller, workload, findings).await;
    }
    let Some((controller, workload)) = workloads.first() else {
        return;
    };
    let components = controller.components();
    for kind in definitions::needed(components) {
        definitions::after(cluster, kind, findings).await;
    }
    if components.kinds.kustomize {
        // Without the right to list all Deployments it is not known who runs.
        let others = installed::controllers(cluster).await.ok();
        releases::check(cluster, others.as_deref(), findings).await;
    }
    if components.kinds.source {
        charts::check(cluster, components, findings).await;
    }
    if controller
        .arguments
        .iter()
        .any(|one| one == "--enable-leader-election=true")
    {
        match cluster.stamps(&Resource::of(&POD, true), namespace, SELECTOR).await {
            Ok(pods) => {
                let pods: Vec<String> = pods.iter().map(|pod| pod.name.clone()).collect();
                leases::after(cluster, namespace, components, &pods, findings).await;
            }
            Err(error) => findings.unknown("leases", format!("cannot list the pods of bumpwright: {error}")),
        }
    }
    account(cluster, workload, controller, findings).await;
    services(cluster, namespace, controller, findings).await;
}

/// The Deployment or StatefulSet of the installation.
async fn workloads(cluster: &Cluster, namespace: &str, findings: &mut Findings) -> Vec<(Controller, Value)> {
    let name = ObjectName::new(namespace, "bumpwright");
    let mut workloads = Vec::new();
    let mut is_known = true;
    for kind in WORKLOADS {
        match cluster.fetch(&Resource::of(kind, true), &name).await {
            Ok(one) => workloads.push((Controller::of(kind, &one), one.clone())),
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                is_known = false;
                findings.unknown(
                    word(kind),
                    format!("cannot read {}: {error}", installed::workload(kind)),
                );
            }
        }
    }
    let [one, several] = WORKLOADS.map(installed::workload);
    match workloads.len() {
        0 if is_known => findings.fail(
            "deployment",
            format!("neither {one} nor {several} is in the namespace {namespace}: run `bumpwright install`"),
        ),
        2 => findings.fail(
            "deployment",
            format!(
                "{one} and {several} are both in the namespace {namespace}, and one waits for the leases of the other: run `bumpwright \
                 install`, with --shards for the second"
            ),
        ),
        _ => {}
    }
    workloads
}

/// The word for programs.
fn word(kind: &Kind) -> &'static str {
    if *kind == STATEFUL_SET {
        "statefulset"
    } else {
        "deployment"
    }
}

async fn rollout(cluster: &Cluster, controller: &Controller, workload: &Value, findings: &mut Findings) {
    let (word, object) = (word(controller.kind), installed::workload(controller.kind));
    match rollout::of(cluster, controller.kind, &controller.namespace, workload).await {
        Rollout::Done if controller.replicas == 0 => {
            findings.warn(word, format!("{object} has 0 replicas: nothing is reconciled"));
        }
        Rollout::Done => findings.ok(word, rollout::ready(controller.kind, controller.replicas)),
        Rollout::NotYet(why) => findings.fail(word, format!("{object} is not ready: {why}")),
        Rollout::Failed(why) => findings.fail(word, format!("{object} {why}")),
    }
    let image = &controller.image;
    if is_of_this_version(image) {
        findings.ok("version", format!("{image} has the version of this program as its tag"))
    } else {
        findings.warn("version", format!("{image} runs, and this program is {VERSION}"))
    }
}

/// Whether the tag of an image is the version of this program. A digest beside it does not matter.
fn is_of_this_version(image: &str) -> bool {
    let (_, tag, _) = LatestRef::split(image);
    tag == Some(VERSION)
}

/// The rights of the process on what it serves.
async fn account(cluster: &Cluster, workload: &Value, controller: &Controller, findings: &mut Findings) {
    let name = match at(workload, "/spec/template/spec/serviceAccountName") {
        "" => "default",
        name => name,
    };
    let account = ObjectName::new(&controller.namespace, name);
    let components = controller.components();
    let status: Vec<(&Kind, String)> = CONTROLLERS
        .iter()
        .filter(|(name, _)| components.controllers().contains(name))
        .flat_map(|(_, kinds)| *kinds)
        .chain(HELM.iter().filter(|_| components.kinds.helm))
        .map(|kind| (*kind, format!("{}/status", kind.plural)))
        .collect();
    let watched: Vec<&Kind> = definitions::needed(components).collect();
    let questions = questions(&watched, &status, controller);
    let shown = format!("the ServiceAccount {account}");
    match rights::denied(cluster, Some(&account), &questions).await {
        Ok(denied) if denied.is_empty() => findings.ok("rights", format!("{shown} has the rights that its kinds need")),
        Ok(denied) => findings.fail(
            "rights",
            format!("{shown} may not {}: run `bumpwright install` again", denied.join(", ")),
        ),
        Err(error) => findings.unknown("rights", format!("cannot ask what {shown} may do: {error}")),
    }
}

/// The requests of the process to the API server: of the kinds that it watches, and of those that it
/// reconciles, with their status.
fn questions<'a>(
    watched: &[&'a Kind],
    reconciled: &'a [(&'a Kind, String)],
    controller: &'a Controller,
) -> Vec<AccessQuestion<'a>> {
    let (scope, namespace) = (controller.scope(), controller.namespace.as_str());
    let mut questions = vec![
        rights::question("get", "", "secrets", scope),
        rights::question("create", "", "events", scope),
    ];
    for kind in watched {
        questions.extend(["get", "list", "watch"].map(|verb| rights::question(verb, kind.group, kind.plural, scope)));
    }
    for (kind, status) in reconciled {
        questions.extend([kind.plural, status.as_str()].map(|path| rights::question("patch", kind.group, path, scope)));
    }
    // Several processes look for each other, and the last lease of a lost one is deleted.
    let of_several: &[&str] = if controller.is_shared() {
        &["list", "delete"]
    } else {
        &[]
    };
    for verb in ["get", "create", "patch"].iter().chain(of_several) {
        questions.push(rights::question(verb, "coordination.k8s.io", "leases", namespace));
    }
    questions
}

/// Whether what is served can be reached.
async fn services(cluster: &Cluster, namespace: &str, controller: &Controller, findings: &mut Findings) {
    let components = controller.components();
    if controller.is_shared() {
        // Each process has its own address.
        service(cluster, namespace, "bumpwright-shards", "9090", findings).await;
    } else if components.kinds.source {
        service(cluster, namespace, "bumpwright-artifacts", "artifacts", findings).await;
    }
    if components.webhooks {
        service(cluster, namespace, "bumpwright-webhooks", "webhooks", findings).await;
        webhook_secret(cluster, namespace, findings).await;
    }
}

/// Whether a Service leads to a port of the pods, by its name or number.
async fn service(cluster: &Cluster, namespace: &str, name: &str, port: &str, findings: &mut Findings) {
    let service = cluster
        .fetch(&Resource::of(&SERVICE, true), &ObjectName::new(namespace, name))
        .await;
    match service {
        Ok(service) => {
            let selects = at(&service, "/spec/selector/app") == "bumpwright";
            let leads = items(&service, "/spec/ports").any(|one| leads_to(one, port));
            if selects && leads {
findings.ok("services", format!("service/{name} leads to the port {port} of bumpwright"))
} else {
findings.fail("services", format!("service/{name} does not lead to the port {port} of app=bumpwright"))
}
        }
        Err(error) if error.is_not_found() => findings.fail(
            "services",
            format!("service/{name} is missing, so the port {port} of bumpwright cannot be reached: run `bumpwright install` again"),
        ),
        Err(error) => findings.unknown("services", format!("cannot read service/{name}: {error}")),
    }
}

fn leads_to(port: &Value, wanted: &str) -> bool {
    match port.get("targetPort") {
        Some(Value::Number(number)) => number.to_string() == wanted,
        Some(Value::String(name)) => name == wanted,
        _ => false,
    }
}

/// Whether there are tokens, without which all webhooks are refused. Its content is not read.
async fn webhook_secret(cluster: &Cluster, namespace: &str, findings: &mut Findings) {
    let name = ObjectName::new(namespace, "bumpwright-webhooks");
    match cluster.fetch_metadata(&Resource::of(&SECRET, true), &name).await {
        Ok(_) => findings.ok("webhooks", "secret/bumpwright-webhooks is there"),
        Err(error) if error.is_not_found() => findings.fail(
            "webhooks",
            "secret/bumpwright-webhooks is missing: all webhooks are refused (docs/guides/webhooks.md)",
        ),
        Err(error) => findings.unknown("webhooks", format!("cannot read secret/bumpwright-webhooks: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_tags() {
        for (image, expected) in [
            ("ghcr.io/bumpwright/bumpwright:VERSION", true),
            ("localhost:5000/bumpwright:VERSION@sha256:0a", true),
            ("bumpwright:VERSION", true),
            ("ghcr.io/bumpwright/bumpwright:VERSION1", false),
            ("ghcr.io/bumpwright/bumpwright:VERSION-rc.1", false),
            ("ghcr.io/bumpwright/bumpwright:vVERSION", false),
            ("ghcr.io/bumpwright/bumpwright@sha256:0a", false),
            ("VERSION:5000/bumpwright", false),
            ("", false),
        ] {
            assert_eq!(
                is_of_this_version(&image.replace("VERSION", VERSION)),
                expected,
                "{image}"
            );
        }
    }
}
