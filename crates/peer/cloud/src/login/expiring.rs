//! Logins that expire.

use std::time::SystemTime;

use bumpwright_http::Login;
use bumpwright_secret::Secret;

/// A login and its expiry, if known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpiringLogin {
    pub(crate) login: Login,
    pub(crate) expires: Option<SystemTime>,
}

/// A temporary login at a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryLogin {
    pub username: String,
    pub password: Secret,
    /// When it expires, if known.
    pub expires: Option<SystemTime>,
}
