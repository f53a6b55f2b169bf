//! The one place where controllers report events: to the cluster, to the notification-controller, and with
//! `--log-level=trace` to the log (`fluxcd/pkg/runtime/events/recorder.go`).

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::cluster_event::ClusterEvent;
use super::record::{Event, EventType};
use super::sink::EventSink;
use crate::logging::log::{Level, Log};
use crate::logging::redaction::Redaction;
use crate::logging::timestamp::{kubernetes_time, unix_nanos};

/// Distributes events. A clone is cheap; any thread may use it, and none waits.
#[derive(Clone)]
pub struct Recorder(Arc<Inner>);

struct Inner {
    redaction: Redaction,
    /// `reportingInstance`.
    host: String,
    cluster: Box<dyn Fn(ClusterEvent) + Send + Sync>,
    sink: Option<EventSink>,
    log: Log,
}

impl Recorder {
    /// Creates a recorder that passes Events for the cluster to `cluster`, which must not block: it queues them for
    /// a [`Correlator`](crate::observe::Correlator) and a Kubernetes client. `host` is the machine's name.
    #[must_use]
    pub fn new(
        host: impl Into<String>,
        redaction: Redaction,
        log: Log,
        sink: Option<EventSink>,
        cluster: impl Fn(ClusterEvent) + Send + Sync + 'static,
    ) -> Self {
        let (host, cluster) = (host.into(), Box::new(cluster));
        Self(Arc::new(Inner {
            redaction,
            host,
            cluster,
            sink,
            log,
        }))
    }

    /// Reports an event, redacted, to the cluster and, unless it is a trace, to the notification-controller.
    pub fn record(&self, event: Event) {
        let event = self.redacted(event);
        let Inner {
            host,
            cluster,
            sink,
            log,
            ..
        } = &*self.0;
        let object = &event.object;
        let log = log
            .with("name", object.name.as_str())
            .with("namespace", object.namespace.as_str());
        let log = log.with("reconciler kind", object.kind.as_str());
        if log.shows(Level::Trace) {
            trace(&log, &event);
        }
        cluster(ClusterEvent::new(&event));
        let Some(sink) = sink.as_ref().filter(|_| event.event_type != EventType::Trace) else {
            return;
        };
        match event.object.usable() {
            Ok(()) => sink.push(notification(&event, host).to_string(), log),
            Err(error) => log.error(&error, "unable to record event"),
        }
    }

    fn redacted(&self, mut event: Event) -> Event {
        let redaction = &self.0.redaction;
        for text in [&mut event.message, &mut event.reason]
            .into_iter()
            .chain(event.annotations.values_mut())
        {
            *text = redaction.text(text).into_owned();
        }
        event
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("host", &self.0.host)
            .finish_non_exhaustive()
    }
}

fn trace(log: &Log, event: &Event) {
    let annotations = json!(event.annotations);
    match event.event_type {
        EventType::Warning => log
            .with("annotations", annotations)
            .error(&event.reason, &event.message),
        EventType::Normal | EventType::Trace => {
            let log = log.with("reason", event.reason.as_str());
            log.with("annotations", annotations).info(&event.message);
        }
    }
}

/// The event for the notification-controller (`fluxcd/pkg/apis/event/v1`).
fn notification(event: &Event, host: &str) -> Value {
    let severity = match event.event_type {
        EventType::Warning => "error",
        EventType::Normal => "info",
        EventType::Trace => "trace",
    };
    let mut body = json!({
        "involvedObject": event.object,
        "severity": severity,
        "timestamp": kubernetes_time(unix_nanos(event.at)),
        "message": event.message,
        "reason": event.reason,
        "action": event.action,
        "reportingController": event.controller,
    });
    if let Value::Object(fields) = &mut body {
        if let Some(related) = &event.related {
            fields.insert("relatedObject".to_owned(), json!(related));
        }
        if !event.annotations.is_empty() {
            fields.insert("metadata".to_owned(), json!(event.annotations));
        }
        if !host.is_empty() {
            fields.insert("reportingInstance".to_owned(), json!(host));
        }
    }
    body
}
