//! Git without a work tree: transports, fetch, trees, commits, packs and push.

mod checkout;
mod commit;
mod deadline;
mod edits;
mod error;
mod lock;
mod mirror;
mod objects;
mod pack;
mod process;
mod push;
mod remote;
mod remote_url;
mod secret;
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
pub use remote::{Auth, KnownHosts, Proxy, Remote, Ssh, Tls, open};
pub use remote_url::{RemoteUrl, Scheme};
pub use secret::Secret;
pub use transport::{Connection, Protocol, Service, Transport, TransportError};
pub use tree::{Entry, EntryKind, Tree};
