//! The core/v1 Event that client-go's recorder writes (`tools/record/event.go`, `makeEvent`).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::random_id::random_id;
use super::record::{Event, EventType, ObjectReference};
use crate::logging::timestamp::{kubernetes_time, unix_nanos};

/// The longest name of an object (RFC 1123, as in apimachinery).
const LONGEST_NAME: usize = 253;

/// An Event of the Kubernetes API. Times are nanoseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterEvent {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) object: ObjectReference,
    pub(crate) event_type: &'static str,
    /// Whether it is for people who look on only: a run that found nothing new.
    pub(crate) is_trace: bool,
    pub(crate) reason: String,
    pub(crate) message: String,
    /// `source.component`.
    pub(crate) component: String,
    /// Whether it is repeated in `reportingComponent`; not so in combined events.
    pub(crate) reporting: bool,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) count: u32,
}

impl ClusterEvent {
    /// The Event for a single occurrence. It has a name of its own, and is in the namespace of its object,
    /// or in `default`.
    #[must_use]
    pub fn new(event: &Event) -> Self {
        let at = unix_nanos(event.at);
        let namespace = Some(event.object.namespace.clone()).filter(|namespace| !namespace.is_empty());
        let name = Some(name(&event.object, at)).filter(|name| is_subdomain(name));
        Self {
            name: name.unwrap_or_else(random_id),
            namespace: namespace.unwrap_or_else(|| "default".to_owned()),
            annotations: event.annotations.clone(),
            object: event.object.clone(),
            event_type: event.event_type.in_cluster(),
            is_trace: event.event_type == EventType::Trace,
            reason: event.reason.clone(),
            message: event.message.clone(),
            component: event.controller.clone(),
            reporting: true,
            first: at,
            last: at,
            count: 1,
        }
    }

    /// The Event that combines many with different messages (`events_cache.go`, `EventAggregate`).
    pub(crate) fn combined(&self, now: i64) -> Self {
        Self {
            name: name(&self.object, now),
            annotations: BTreeMap::new(),
            message: format!("(combined from similar events): {}", self.message),
            reporting: false,
            first: now,
            last: now,
            count: 1,
            ..self.clone()
        }
    }

    /// The object for the request.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), json!(self.name));
        metadata.insert("namespace".to_owned(), json!(self.namespace));
        if !self.annotations.is_empty() {
            metadata.insert("annotations".to_owned(), json!(self.annotations));
        }
        let mut event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": metadata,
            "involvedObject": self.object,
            "source": {"component": self.component},
            "firstTimestamp": kubernetes_time(self.first),
            "lastTimestamp": kubernetes_time(self.last),
            "count": self.count,
            "type": self.event_type,
            "eventTime": null,
            "reportingComponent": if self.reporting { self.component.as_str() } else { "" },
            "reportingInstance": "",
        });
        if let Value::Object(fields) = &mut event {
            for (key, text) in [("reason", &self.reason), ("message", &self.message)] {
                if !text.is_empty() {
                    fields.insert(key.to_owned(), json!(text));
                }
            }
        }
        event
    }

    /// The changes to the existing Event: a strategic merge patch (and a merge patch as well).
    pub(crate) fn patch(&self) -> Value {
        let mut patch = json!({"count": self.count, "lastTimestamp": kubernetes_time(self.last)});
        if let Value::Object(fields) = &mut patch
            && !self.message.is_empty()
        {
            fields.insert("message".to_owned(), json!(self.message));
        }
        patch
    }
}

fn name(object: &ObjectReference, at: i64) -> String {
    let sign = if at < 0 { "-" } else { "" };
    format!("{}.{sign}{:x}", object.name, at.unsigned_abs())
}

/// apimachinery's `NameIsDNSSubdomain`: small letters, digits, dashes and dots, and each part begins and ends with a
/// letter or digit.
fn is_subdomain(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.iter().all(|byte| inside(*byte) || *byte == b'-')
            && bytes.first().is_some_and(|byte| inside(*byte))
            && bytes.last().is_some_and(|byte| inside(*byte))
    };
    name.len() <= LONGEST_NAME && name.split('.').all(part)
}
