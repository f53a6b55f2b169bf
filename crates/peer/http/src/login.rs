//! Logins that are fetched on demand: tokens with a lifetime of minutes or hours.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::{Deadline, basic_header};
use bumpwright_secret::Secret;

/// A login at a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// Basic authentication (RFC 7617).
    Basic {
        /// The user name, which is a token at some providers (AWS CodeCommit).
        username: Secret,
        /// The password or token.
        password: Secret,
    },
    /// A bearer token (RFC 6750).
    Bearer { token: Secret },
}

impl Login {
    /// The value of the `Authorization` header.
    #[must_use]
    pub fn header(&self) -> Secret {
        match self {
            Self::Basic { username, password } => basic_header(username.expose(), password),
            Self::Bearer { token } => Secret::new(format!("Bearer {}", token.expose())),
        }
    }
}

/// Why a [`FetchLogin`] has no login, as its source says.
pub type FetchLoginError = Box<dyn std::error::Error + Send + Sync>;

/// Gets logins for one server, caches and renews them. It is called before each request, so a cached login
/// must be cheap. `Debug` must show no secret.
pub trait FetchLogin: fmt::Debug + Send + Sync {
    /// The identity of the logins, without any secret: it distinguishes mirrors.
    fn identity(&self) -> String;

    /// Gets a valid login. `refused` is one that the server refused: it must not be returned again when
    /// there is another one.
    ///
    /// # Errors
    /// That of the source, without a secret.
    fn login(&self, refused: Option<&Login>, deadline: Deadline) -> Result<Login, FetchLoginError>;
}

/// A shared [`FetchLogin`]. Two are equal when they are the same one.
#[derive(Clone, Debug)]
pub struct Fetched(Arc<dyn FetchLogin>);

impl Fetched {
    #[must_use]
    pub fn new(source: impl FetchLogin + 'static) -> Self {
        Self(Arc::new(source))
    }
}

impl Deref for Fetched {
    type Target = dyn FetchLogin;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref()
    }
}

impl PartialEq for Fetched {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Fetched {}
