//! The tags that were scanned, kept in a small database on disk: after a restart policies need not wait for registries.

mod checksum;
mod store;

pub use store::{Scanned, TagStore, TagsError};
