//! The remote of a GitRepository: from its spec, its Secrets and the identities of providers.

mod identities;
mod repository;
mod source;
mod submodule;

pub use identities::{GitIdentities, GitLoginError};
pub use repository::{GitConnection, RemoteError, of_repository, of_server};
pub use source::of_source;
pub use submodule::{SubmoduleAddressError, of_submodule};
