//! Git without a work tree: transports, fetch, trees, commits, packs and push.

mod transport;

pub use transport::{Connection, Protocol, Service, Transport, TransportError};
