//! A bound on a server's connections: which one is closed when there are too many.

mod connections;

pub use connections::{Door, Guest};
