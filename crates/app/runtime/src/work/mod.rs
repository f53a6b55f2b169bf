//! What is to be done next, and where: a queue of objects, fair between namespaces, and the threads that work for them.

pub mod blocking;
pub mod namespaces;
pub mod permits;
pub mod queue;
