//! An event, as a controller means it.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Serialize;
use thiserror::Error;

/// The prefix of annotations that go with each event of their object (`fluxcd/pkg/apis/event`, `Group`).
const PREFIX: &str = "event.toolkit.fluxcd.io/";

/// The object that an event is about (core/v1, `ObjectReference`); what is empty is not written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// The kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The id that the API server gave it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Group and version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The version of the object that was looked at.
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
    /// Whether the notification-controller can use it.
    pub(super) fn usable(&self) -> Result<(), UnusableReference> {
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

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// Something was done.
    Normal,
    /// Something went wrong.
    Warning,
    /// Nothing had to be done. In the cluster it is Normal; the notification-controller does not get it.
    Trace,
}

impl EventType {
    /// The type in the Kubernetes API.
    pub(super) fn in_cluster(self) -> &'static str {
        match self {
            Self::Warning => "Warning",
            Self::Normal | Self::Trace => "Normal",
        }
    }
}

/// Something that happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is about.
    pub object: ObjectReference,
    /// How much it matters.
    pub event_type: EventType,
    /// Why, in one word.
    pub reason: String,
    /// What, for people. It is not cut: core/v1 has no limit, and Flux' recorder cuts nothing.
    pub message: String,
    /// Details for machines, such as the revision: annotations in the cluster, metadata for the
    /// notification-controller.
    pub annotations: BTreeMap<String, String>,
    /// Flux' controller for the kind, such as `image-automation-controller`.
    pub controller: String,
    /// When.
    pub at: SystemTime,
}

impl Event {
    /// Adds those annotations of the object that are for its events; they win over the event's own.
    #[must_use]
    pub fn with_annotations_of<'a>(mut self, object: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let ours = object.into_iter().filter(|(key, _)| key.starts_with(PREFIX));
        self.annotations
            .extend(ours.map(|(key, value)| (key.to_owned(), value.to_owned())));
        self
    }
}
