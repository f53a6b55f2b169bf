//! A client of OCI registries: tags of a repository, digests, ages and layers of its images; and logins.
//!
//! [`Registry`] is the client. Requests go through a `session`, which authenticates as the registry demands: `ping` ▶
//! `challenge` ▶ `realm` ▶ `token`. Threads that need the same answer wait for one fetch (`cache`).
//!
//! Logins have two sources. [`Keychain`] holds those of Kubernetes Secrets, with the choice of
//! image-reflector-controller; [`UserKeychain`] holds the user's own from docker's and podman's files
//! and from credential helpers.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod address;
mod age;
mod auth_field;
mod auth_json;
mod blob;
mod cache;
mod challenge;
mod client;
mod config_fault;
mod credential_helper;
mod detail;
mod digest;
mod docker_config;
mod error;
mod image;
mod keychain;
mod link;
mod login;
mod login_error;
mod manifest;
mod origin;
mod ping;
mod pull_secret;
mod realm;
mod referrers;
mod refusal;
mod session;
mod tag_list;
mod tag_page;
mod tags;
mod token;
mod token_answer;
mod url_pattern;
mod user_keychain;

pub use blob::Blob;
pub use client::Registry;
pub use config_fault::{AuthFault, ConfigFault};
pub use credential_helper::{CredentialHelpers, HelperError, HelperLogin};
pub use docker_config::DockerConfig;
pub use error::RegistryError;
pub use image::{Image, Layer};
pub use keychain::{Keychain, UnusedSecret};
pub use login::Login;
pub use login_error::LoginError;
pub use origin::Origin;
pub use pull_secret::{PullSecret, SecretError};
pub use refusal::ErrorResponse;
pub use tag_list::TagList;
pub use user_keychain::{LoginLocations, UserKeychain};
