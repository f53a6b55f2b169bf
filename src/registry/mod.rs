//! OCI distribution: which tags a repository has, what they point to, how old it is; and who logs in where.
//!
//! Logins come from two places. [`Keychain`] holds those of Kubernetes Secrets and chooses as image-reflector-controller
//! does; [`UserKeychain`] holds the user's own, as docker and podman keep them, and asks credential helpers.

mod auth_field;
mod auth_json;
mod config_fault;
mod credential_helper;
mod docker_config;
mod keychain;
mod login;
mod login_error;
mod pull_secret;
mod url_pattern;
mod user_keychain;

pub use config_fault::{AuthFault, ConfigFault};
pub use credential_helper::{CredentialHelpers, HelperError, HelperLogin};
pub use docker_config::DockerConfig;
pub use keychain::{Keychain, Unused};
pub use login::Login;
pub use login_error::LoginError;
pub use pull_secret::{PullSecret, SecretError};
pub use user_keychain::{Places, UserKeychain};
