//! What the user's own Git knows: its configuration, its credential helpers, `~/.netrc`.
//! Read for [`Auth::User`](super::Auth::User) only.

mod config;
pub(crate) mod credential;
mod netrc;
mod program;

pub(crate) use config::authorization;
pub use config::instead_of;
pub use netrc::machine_login;
