//! From Secrets to the settings of a peer, to signers and to GitHub Apps, in Flux's words (fluxcd/pkg `runtime/secrets` v0.110.0).

mod error;
mod github_app;
mod proxy;
mod signing;
mod tls;

pub use error::AccessError;
pub use github_app::{github_app, names_github_app};
pub use proxy::proxy;
pub use signing::{SigningKeyError, signer};
pub use tls::{given_tls, older_keys, tls};
