//! Git without a work tree: mirrors, transports, fetch, trees, commits, packs and push.
//!
//! ```text
//! remote (address, credentials, trust) ─▶ transport (http, ssh, process) ─▶ listing ─▶ transfer ─▶ unpack, delta_tree ─▶ mirror
//! mirror ─▶ objects ─▶ edits (blobs, trees) ─▶ commit ─▶ pack ─▶ push ─▶ report
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod ancestry;
mod checkout;
mod commit;
mod consolidate;
mod conversation;
mod delta;
mod delta_tree;
mod edits;
mod error;
mod fetch;
mod folder;
mod history;
#[cfg(test)]
mod hostile;
mod http;
mod http_answer;
mod http_error;
mod identity;
mod known_hosts;
mod large_delta;
mod layout;
mod listing;
mod lock;
mod mirror;
mod objects;
mod pack;
mod pack_entry;
mod pack_index;
mod pktline;
mod private;
mod process;
mod push;
mod remote;
mod remote_refs;
mod remote_url;
mod report;
mod resolve;
mod revision;
mod send;
mod sideband;
mod ssh;
mod ssh_config;
mod ssh_pattern;
mod ssh_session;
mod store;
mod submodules;
mod transfer;
mod transport;
mod tree;
mod unpack;
mod user;
mod walk;

pub use bumpwright_artifact::Revision;

pub use checkout::{Also, Checkout, ChooseTag, Fetched, RemoteRef, Tip};
pub use commit::{Commit, CommitInfo, Person, add_signature};
pub use edits::NewObjects;
pub use error::GitError;
pub use folder::{discard, mirrors_in, size_on_disk};
pub use gix::ObjectId;
pub use history::{History, Visited};
pub use identity::IdentityKey;
pub use mirror::{Mirror, MirrorAtRest, MirrorOptions};
pub use objects::{FoundEntry, Objects};
pub use pack::Pack;
pub use private::private_folder;
pub use push::{Push, PushStatus, RefUpdate};
pub use remote::{Auth, KnownHosts, Remote, Ssh, open};
pub use remote_refs::{RemoteRefs, remote_tags};
pub use remote_url::{RemoteUrl, Scheme};
pub use report::HookOutcome;
pub use revision::revision;
pub use send::check_reference;
pub use ssh_session::is_encrypted;
pub use submodules::{MOST_SUBMODULES, Submodule, address_of_submodule, submodules_named};
pub use transport::{Connection, Protocol, Service, Transport, TransportError};
pub use tree::{Entry, EntryKind, Tree};
pub use user::credential::{Credential, fill as ask_helpers};
pub use user::instead_of;
pub use walk::Walk;
