//! The HTTP/1 server of this program: artifacts, metrics, probes and webhooks are handlers of it.
//!
//! ```text
//! listen ─▶ serve: accept ─▶ ConnectionLimit ─▶ connection: hyper over TimedStream
//!        ─▶ handler: Request ─▶ Response<Body>
//! ```
//!
//! hyper reads and writes HTTP. What it does not have is here, since these servers are open to everybody in the
//! cluster, and webhooks to forges: a bound on connections that clients who send nothing cannot use up
//! ([`connections`]), and time limits for each phase of a connection, slow readers among them ([`stream`]). The handler
//! gets requests that are complete.
//!
//! Files are read in chunks and written, not passed by `sendfile`, which hyper cannot do.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing))]

mod body;
mod connection;
mod connections;
mod limits;
mod listen;
mod progress;
mod response;
mod server;
mod stream;

pub use body::{Body, Piece};
pub use limits::Limits;
pub use listen::listen;
pub use response::{blocking, refusal};
pub use server::serve;
