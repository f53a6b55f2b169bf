//! The scanned tags in a small database on disk, so that policies work after a restart without waiting for registries.

mod checksum;
mod store;

pub use checksum::checksum;
pub use store::{Scanned, TagStore, TagsError};
