//! What every controller needs: logs, metrics, probes, events.

mod observe;

pub use observe::*;
