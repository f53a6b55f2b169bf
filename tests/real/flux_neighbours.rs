//! Flux's controllers that stay when ours take the place of the others: its helm-controller (v1.6.4) installs
//! charts of our sources, its notification-controller (v1.9.3) delivers our events as it delivers Flux's, and its
//! Receivers trigger our objects.

mod events;
mod helm;
mod receivers;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::{Controller, Starter};
use bumpwright_testkit::world::{ObjectKind, World};

/// The cluster of all tests, with our definitions and those of the neighbours. None where a part is missing.
fn cluster() -> Option<&'static Cluster> {
    let cluster = Cluster::shared()?;
    cluster.define();
    crate::beside::define(cluster, "flux-neighbour-crds", &["helm.", "notification."])?;
    let helm = ["source.toolkit.fluxcd.io_helm"];
    crate::beside::define(cluster, "flux-crds", &helm)?;
    Some(cluster)
}

/// One of Flux's controllers.
fn of_flux(name: &str, world: &World<'_>) -> Option<Starter> {
    let folder = world.folder_of(name);
    std::fs::create_dir_all(&folder).unwrap();
    Controller::of_flux(name, &world.cluster.kubeconfig(), &world.namespace, &folder)
}

/// Flux's notification-controller, with its ports for events and for webhooks.
fn notification_controller(world: &World<'_>, (events, webhooks): (u16, u16)) -> Option<Starter> {
    let starter = of_flux("notification-controller", world)?;
    Some(starter.flags(&[
        format!("--events-addr=127.0.0.1:{events}"),
        format!("--receiverAddr=127.0.0.1:{webhooks}"),
    ]))
}

const fn kind(api_version: &'static str, kind: &'static str, plural: &'static str) -> ObjectKind {
    ObjectKind {
        api_version,
        kind,
        plural,
    }
}

const PROVIDER: ObjectKind = kind("notification.toolkit.fluxcd.io/v1beta3", "Provider", "providers");
const ALERT: ObjectKind = kind("notification.toolkit.fluxcd.io/v1beta3", "Alert", "alerts");
const RECEIVER: ObjectKind = kind("notification.toolkit.fluxcd.io/v1", "Receiver", "receivers");
