//! Logs, as zap with controller-runtime writes them, since `flux logs` and others read them: [`Log`]; `line` is the
//! form of a line, `writer` the thread that writes, `tracing_bridge` other crates' warnings. All texts go through one
//! [`Redaction`].

pub(crate) mod line;
pub(crate) mod log;
pub(crate) mod redaction;
pub(crate) mod timestamp;
pub(crate) mod tracing_bridge;
pub(crate) mod writer;

pub use log::{Encoding, Level, Log, LogOptions, UnknownName};
pub use redaction::Redaction;
pub use tracing_bridge::{AlreadyBridged, bridge_tracing};
