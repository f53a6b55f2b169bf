//! Git without a work tree: mirrors, transports, fetch, trees, commits, packs and push.
//!
//! ```text
//! remote (address, credentials, trust) ─▶ transport (http, ssh, process)
//!        ─▶ listing ─▶ transfer ─▶ unpack, delta_tree ─▶ mirror
//! mirror ─▶ objects ─▶ edits (blobs, trees) ─▶ commit ─▶ pack ─▶ push ─▶ report
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod error;
#[cfg(test)]
mod hostile;
mod mirror;
mod object;
mod pack;
mod transport;
mod user;
mod wire;

pub use bumpwright_artifact::Revision;

pub use error::GitError;
pub use gix::ObjectId;
pub use mirror::checkout::{Also, Checkout, ChooseTag, Fetched, Tip};
pub use mirror::folder::{discard, mirrors_in, size_on_disk};
pub use mirror::identity::IdentityKey;
pub use mirror::private::private_folder;
pub use mirror::push::PushStatus;
pub use mirror::remote_refs::{RemoteRefs, remote_tags};
pub use mirror::repository::{Mirror, MirrorAtRest, MirrorOptions, OpenError};
pub use object::commit::{Commit, CommitInfo, Person, add_signature};
pub use object::history::{History, Visited};
pub use object::new_objects::NewObjects;
pub use object::objects::{FoundEntry, Objects};
pub use object::revision::revision;
pub use object::submodules::{InvalidModules, MOST_SUBMODULES, Submodule, address_of_submodule, submodules_named};
pub use object::tree::{Entry, EntryKind, Tree};
pub use object::walk::Walk;
pub use pack::made::Pack;
pub use transport::connection::{Connection, Protocol, Service, Transport, TransportError};
pub use transport::open::open;
pub use transport::remote::{Auth, KnownHosts, Remote, Ssh};
pub use transport::remote_url::{RemoteUrl, Scheme};
pub use transport::ssh::output_over_ssh;
pub use transport::ssh_session::is_encrypted;
pub use user::credential::{Credential, fill as ask_helpers};
pub use user::{instead_of, machine_login};
pub use wire::listing::RemoteRef;
pub use wire::report::HookOutcome;
pub use wire::send::check_reference;
pub use wire::send::{Push, RefUpdate};
