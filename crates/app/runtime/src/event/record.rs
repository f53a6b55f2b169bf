//! An event of a controller.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Serialize;
use thiserror::Error;

use super::action::Action;

/// The prefix of annotations that are added to each event of their object (`fluxcd/pkg/apis/event`, `Group`).
const PREFIX: &str = "event.toolkit.fluxcd.io/";

/// The object of an event (core/v1, `ObjectReference`); empty fields are not written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
}

/// A reference that Flux' recorder does not send either.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("cannot send an event to the notification-controller: the object it is about has no {lacks}")]
pub struct UnusableReference {
    lacks: &'static str,
}

impl ObjectReference {
    /// Checks whether the notification-controller accepts it.
    pub(crate) fn usable(&self) -> Result<(), UnusableReference> {
        let parts = [
            ("kind", &self.kind),
            ("name", &self.name),
            ("namespace", &self.namespace),
        ];
        match parts.iter().find(|(_, part)| part.is_empty()) {
            Some((lacks, _)) => Err(UnusableReference { lacks }),
            None => Ok(()),
        }
    }
}

/// The severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    Normal,
    Warning,
    /// Nothing to do. Normal in the cluster; not sent to the notification-controller.
    Trace,
}

impl EventType {
    /// The type in the Kubernetes API.
    pub(crate) fn in_cluster(self) -> &'static str {
        match self {
            Self::Warning => "Warning",
            Self::Normal | Self::Trace => "Normal",
        }
    }
}

/// An event of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub object: ObjectReference,
    /// Another object that it is about, such as the source of a Kustomization. As `action`, it is not part of the Event
    /// in the cluster: core/v1 has it, but Flux' recorder leaves it out.
    pub related: Option<ObjectReference>,
    /// What was done, or failed.
    pub action: Action,
    pub event_type: EventType,
    /// The reason, in one word.
    pub reason: String,
    /// The message. It is not truncated: core/v1 has no limit, and Flux' recorder does not truncate.
    pub message: String,
    /// Details for machines, such as the revision: annotations in the cluster, metadata for the
    /// notification-controller.
    pub annotations: BTreeMap<String, String>,
    /// Flux' controller for the kind, such as `image-automation-controller`.
    pub controller: String,
    pub at: SystemTime,
}

impl Event {
    /// Adds the annotations of the object that are for its events; they override the event's own.
    #[must_use]
    pub fn with_annotations_of<'a>(mut self, object: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let ours = object.into_iter().filter(|(key, _)| key.starts_with(PREFIX));
        self.annotations
            .extend(ours.map(|(key, value)| (key.to_owned(), value.to_owned())));
        self
    }
}
