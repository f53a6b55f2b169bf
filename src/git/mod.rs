//! Git without a work tree: transports, fetch, trees, commits, packs and push.

mod checkout;
mod commit;
mod edits;
mod error;
mod lock;
mod mirror;
mod objects;
mod pack;
mod push;
mod transport;
mod tree;

pub use checkout::{Also, Checkout, ChooseTag, Fetched, RemoteRef, Tip};
pub use commit::{Commit, CommitInfo, Person};
pub use edits::NewObjects;
pub use error::GitError;
pub use gix::ObjectId;
pub use mirror::{Mirror, MirrorOptions};
pub use objects::{Found, Objects};
pub use pack::Pack;
pub use push::{Push, PushStatus, RefUpdate};
pub use transport::{Connection, Protocol, Service, Transport, TransportError};
pub use tree::{Entry, EntryKind, Tree};
