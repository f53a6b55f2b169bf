//! Observability of a running controller: logs, metrics, probes, events.
//!
//! All names and texts are those of Flux's controllers, since dashboards, alerts, `flux logs` and the
//! notification-controller read them: log lines as by zap with controller-runtime, metrics with the names of
//! controller-runtime and `fluxcd/pkg/runtime`, events as from client-go's and Flux's recorders.
//!
//! | part | files |
//! |---|---|
//! | logs | [`Log`]; `log_line` is the form of a line, `log_writer` the thread that writes, `tracing_bridge` other crates' warnings |
//! | metrics | [`Metrics`]; `metric` has the kinds of metrics, `exposition` their text, `controller_metrics` a controller and its queue, `process` this process |
//! | probes | [`Checks`], [`Server`]; `listen_address` is Go's syntax |
//! | events | [`Recorder`]; `cluster_event` and `correlator` for the Kubernetes API, `event_sink` for the notification-controller |
//!
//! All texts go through one [`Redaction`] before they leave.

mod action;
mod cluster_event;
mod controller_families;
mod controller_metrics;
mod correlator;
mod event;
mod event_sink;
mod exposition;
mod listen_address;
mod log;
mod log_line;
mod log_writer;
mod metric;
mod metrics;
mod probes;
mod process;
mod random_id;
mod recency;
mod recorder;
mod redaction;
mod repeats;
mod server;
mod server_request;
mod timestamp;
mod token_bucket;
mod tracing_bridge;

pub use action::Action;
pub use cluster_event::ClusterEvent;
pub use controller_metrics::{ControllerMetrics, Finish, Working};
pub use correlator::{Correlated, Correlator};
pub use event::{Event, EventType, ObjectReference, UnusableReference};
pub use event_sink::{EventSink, Retries, SinkError, SinkOptions};
pub use exposition::MetricDescription;
pub use listen_address::{ListenAddress, ListenAddressError};
pub use log::{Encoding, Level, Log, LogOptions, UnknownName};
pub use metric::{Counter, Gauge, Histogram};
pub use metrics::{LoginServer, Metrics, ObjectStatus, TokenCacheMetrics};
pub use probes::{Checks, metrics_page};
pub use process::host_name;
pub use random_id::random_id;
pub use recorder::Recorder;
pub use redaction::Redaction;
pub use repeats::Repeats;
pub use server::{ServeError, Server};
pub use server_request::{Page, PageRequest};
pub use tracing_bridge::{AlreadyBridged, bridge_tracing};
