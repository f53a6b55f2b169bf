//! Archives of artifacts: tar.gz written as source-controller writes it, and read with guards.

mod block;
mod compress;
mod fault;
mod header;
mod inflate;
mod limits;
mod names;
mod pax;
mod reader;
mod spent;
mod writer;

pub use fault::{ReadError, TooMuch};
pub use limits::{Limits, Links};
pub use reader::{Entry, Kind, Reader, Summary, unpack, unpack_within};
pub use writer::{WriteError, Writer, Written};
