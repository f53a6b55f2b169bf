//! Events: their content, and the delivery of those for the cluster.

use std::time::SystemTime;

use tokio::sync::mpsc;

use crate::event::action::Action;
use crate::event::cluster_event::ClusterEvent;
use crate::event::correlator::{Correlated, Correlator};
use crate::event::record::{Event, EventType, ObjectReference};
use crate::event::repeats::Repeats;
use crate::logging::log::Log;
use bumpwright_kube::{Cluster, ClusterError, EVENT, Kind, Object};

/// The most events that wait for the API server; client-go's recorder has a thousand.
pub const WAITING: usize = 8_192;

/// The reference to an object.
pub fn reference(object: &Object, kind: &Kind) -> ObjectReference {
    ObjectReference {
        kind: kind.kind.to_owned(),
        namespace: object.name.namespace.clone(),
        name: object.name.name.clone(),
        uid: object.uid.clone(),
        api_version: kind.api_version(),
        resource_version: object.resource_version.clone(),
    }
}

/// The event of an object with an action, a type, a reason and a message.
pub fn event(
    object: &Object,
    kind: &Kind,
    controller: &str,
    action: Action,
    (event_type, reason, message): (EventType, &str, String),
) -> Event {
    let event = Event {
        object: reference(object, kind),
        related: None,
        action,
        event_type,
        reason: reason.to_owned(),
        message,
        annotations: Default::default(),
        controller: controller.to_owned(),
        at: SystemTime::now(),
    };
    let annotations = object.annotations.iter();
    event.with_annotations_of(annotations.map(|(key, value)| (key.as_str(), value.as_str())))
}

/// Writes Events to the cluster, in order, until the channel is closed. One that the API server refuses is lost, as
/// with Go's client: events are best effort.
pub async fn deliver(cluster: Cluster, mut events: mpsc::Receiver<ClusterEvent>, log: Log) {
    let (mut correlator, mut repeats) = (Correlator::new(), Repeats::new());
    while let Some(event) = events.recv().await {
        if repeats.has(&event) {
            continue;
        }
        let written = match correlator.observe(event, SystemTime::now()) {
            Correlated::Drop => Ok(()),
            Correlated::Create { namespace, event } => cluster.create(&EVENT, &namespace, &event).await,
            Correlated::Patch {
                namespace,
                name,
                patch,
                event,
            } => {
                let name = bumpwright_api::ObjectName::new(&namespace, name);
                match cluster.patch(&EVENT, &name, "bumpwright", &patch).await {
                    Err(error) if error.is_not_found() => cluster.create(&EVENT, &namespace, &event).await,
                    other => other.map(drop),
                }
            }
        };
        if let Err(error) = written {
            report(&log, &error);
        }
    }
}

fn report(log: &Log, error: &ClusterError) {
    log.with("error", error.to_string()).debug("unable to write event");
}
