//! From Secrets to the settings of a peer, in Flux's words (fluxcd/pkg `runtime/secrets` v0.110.0).

mod error;
mod proxy;
mod tls;

pub use error::AccessError;
pub use proxy::proxy;
pub use tls::{given_tls, tls};
