//! From Secrets to the settings of a peer and to signers, in Flux's words (fluxcd/pkg `runtime/secrets` v0.110.0).

mod error;
mod proxy;
mod signing;
mod tls;

pub use error::AccessError;
pub use proxy::proxy;
pub use signing::{SigningKeyError, signer};
pub use tls::{given_tls, tls};
