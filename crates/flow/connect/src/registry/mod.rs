//! How registries are reached: for the scan of an ImageRepository, and as the source that an OCIRepository is.

mod images;
mod keychain;
mod oci;
mod pool;

pub use images::{ImageAccessError, ImageRegistry, LoginSource};
pub use keychain::keychain;
pub use oci::OciRegistry;
pub use pool::Registries;
