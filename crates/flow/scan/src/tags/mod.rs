//! The scanned tags in a small database on disk, so that policies work after a restart without waiting for registries.

mod checksum;
mod room;
mod store;
mod stored;

pub use checksum::checksum;
pub use store::{Refused, Scanned, TagStore, TagsError};
