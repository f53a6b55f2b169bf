//! A client of OCI registries: tags of a repository, digests, ages and layers of its images; and logins.
//!
//! [`Registry`] is the client. Requests go through a `request/session`, which authenticates as the registry demands:
//! `request/ping` ▶ `auth/challenge` ▶ `auth/realm` ▶ `auth/token`. Threads that need the same answer wait for one
//! fetch (`cache`).
//!
//! Logins have two sources. [`Keychain`] holds those of Kubernetes Secrets, with the choice of
//! image-reflector-controller; [`UserKeychain`] holds the user's own from docker's and podman's files
//! and from credential helpers.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod auth;
mod cache;
mod detail;
mod error;
mod refusal;
mod request;

pub use auth::config_fault::{AuthFault, ConfigFault};
pub use auth::credential_helper::{CredentialHelpers, HelperError, HelperLogin};
pub use auth::docker_config::DockerConfig;
pub use auth::keychain::{Keychain, NoLogin, UnusedSecret};
pub use auth::login::Login;
pub use auth::login_error::LoginError;
pub use auth::pull_secret::{PullSecret, SecretError};
pub use auth::user_keychain::{LoginLocations, UserKeychain};
pub use error::RegistryError;
pub use refusal::{Asker, Details, ErrorResponse};
pub use request::blob::Blob;
pub use request::client::Registry;
pub use request::image::{Image, Layer};
pub use request::origin::Origin;
pub use request::tag_list::TagList;
