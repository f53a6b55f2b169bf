//! Archives of artifacts: a writer of source-controller's tar.gz, and a strict reader.

mod block;
mod compress;
mod fault;
mod header;
mod inflate;
mod limits;
mod names;
mod packer;
mod pax;
mod reader;
mod spent;
mod writer;

pub use fault::{Limit, ReadError};
pub use limits::{Limits, Links};
pub use packer::{Marks, Packer};
pub use reader::{Entry, EntryKind, Reader, Summary, unpack, unpack_within};
pub use writer::{WriteError, Writer, Written};
