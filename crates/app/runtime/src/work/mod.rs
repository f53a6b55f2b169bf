//! Scheduling: a queue of objects, fair between namespaces, and the threads of reconciliations.

pub mod blocking;
pub mod namespaces;
pub mod permits;
pub mod queue;
mod timers;
