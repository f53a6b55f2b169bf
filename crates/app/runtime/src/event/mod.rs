//! Events, as client-go's and Flux's recorders send them: [`Recorder`]; `cluster_event` and `correlator` for the
//! Kubernetes API, `sink` for the notification-controller. All texts go through one [`Redaction`](crate::Redaction)
//! before they leave.

pub(crate) mod action;
pub(crate) mod cluster_event;
pub(crate) mod correlator;
pub(crate) mod random_id;
pub(crate) mod recency;
pub(crate) mod record;
pub(crate) mod recorder;
pub(crate) mod repeats;
pub(crate) mod sink;
pub(crate) mod token_bucket;

pub use action::Action;
pub use cluster_event::ClusterEvent;
pub use correlator::{Correlated, Correlator};
pub use record::{Event, EventType, ObjectReference, UnusableReference};
pub use recorder::Recorder;
pub use repeats::Repeats;
pub use sink::{EventSink, Retries, SinkError, SinkOptions};
