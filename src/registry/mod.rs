//! OCI distribution: which tags a repository has, what they point to, how old it is.
//!
//! [`Registry`] asks; what is asked goes through a `session`, which shows the login that the registry wants: `ping` ▶
//! `challenge` ▶ `realm` ▶ `token`. Threads that need the same answer wait for one `flight`.

mod address;
mod age;
mod challenge;
mod client;
mod detail;
mod digest;
mod error;
mod flight;
mod link;
mod login;
mod manifest;
mod ping;
mod realm;
mod refusal;
mod session;
mod tags;
mod token;
mod token_answer;

pub use client::Registry;
pub use error::RegistryError;
pub use login::Login;
pub use refusal::Refusal;
