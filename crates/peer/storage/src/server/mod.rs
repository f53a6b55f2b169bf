//! The HTTP server of artifacts: as Go's file server answers for them, and no more than that.

mod conditions;
mod connection;
mod http_date;
mod limits;
mod listen;
mod ranges;
mod reply;
mod request;
mod resource;
mod send;

pub use limits::Limits;
pub use listen::{FileServer, ListenError, listen};
