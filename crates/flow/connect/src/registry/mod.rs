//! Connections to registries, for ImageRepositories and OCIRepositories.

mod images;
mod keychain;
mod oci;
mod own_token;
mod pool;

pub use images::{ImageAccessError, ImageRegistry, LoginSource};
pub use keychain::keychain;
pub use oci::OciRegistry;
pub use pool::Registries;
