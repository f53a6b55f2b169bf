//! Git without a work tree: transports, fetch, trees, commits, packs and push.

mod ancestry;
mod checkout;
mod commit;
mod consolidate;
mod conversation;
mod credential;
mod edits;
mod error;
mod fetch;
#[cfg(test)]
mod hostile;
mod http;
mod http_answer;
mod http_error;
mod known_hosts;
mod layout;
mod listing;
mod lock;
mod mirror;
mod objects;
mod pack;
mod pktline;
mod process;
mod push;
mod remote;
mod remote_url;
mod report;
mod resolve;
mod send;
mod sideband;
mod ssh;
mod ssh_config;
mod ssh_pattern;
mod ssh_session;
mod store;
mod transfer;
mod transport;
mod tree;

pub(crate) use credential::fill as ask_helpers;

pub use checkout::{Also, Checkout, ChooseTag, Fetched, RemoteRef, Tip};
pub use commit::{Commit, CommitInfo, Person, add_signature};
pub use edits::NewObjects;
pub use error::GitError;
pub use gix::ObjectId;
pub use mirror::{Mirror, MirrorOptions};
pub use objects::{Found, Objects};
pub use pack::Pack;
pub use push::{Push, PushStatus, RefUpdate};
pub use remote::{Auth, KnownHosts, Remote, Ssh, open};
pub use remote_url::{RemoteUrl, Scheme};
pub use report::Became;
pub use send::check_reference;
pub use transport::{Connection, Protocol, Service, Transport, TransportError};
pub use tree::{Entry, EntryKind, Tree};
