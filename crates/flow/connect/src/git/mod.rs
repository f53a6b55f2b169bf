//! How the remote of a GitRepository is reached: from its spec, its Secrets and the identities of providers, for commands and
//! controllers alike.

mod identities;
mod repository;
mod source;

pub use identities::GitIdentities;
pub use repository::{Reached, RemoteError, of_repository, of_server};
pub use source::of_source;
