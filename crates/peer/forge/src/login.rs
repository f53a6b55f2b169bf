//! Logins at forges.

use super::dialect::{Dialect, Tokens};
use bumpwright_http::basic_header;
use bumpwright_secret::Secret;

/// A login at a forge.
#[derive(Clone, Debug, Default)]
pub enum Login {
    /// None; for previews, which send no requests.
    #[default]
    Nobody,
    Token(Secret),
    /// A user name with a password or token, as Git uses it.
    Basic {
        username: String,
        /// The password or token.
        password: Secret,
    },
}

impl Login {
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        match self {
            Self::Nobody => None,
            Self::Token(secret) | Self::Basic { password: secret, .. } => Some(secret),
        }
        .into_iter()
    }

    pub(super) fn header(&self, dialect: &Dialect) -> Option<Secret> {
        let scheme = |scheme: &str, token: &Secret| Secret::new(format!("{scheme} {}", token.expose()));
        Some(match (self, dialect.tokens) {
            (Self::Nobody, _) => return None,
            (Self::Token(token) | Self::Basic { password: token, .. }, Tokens::Bearer) => scheme("Bearer", token),
            (Self::Token(token), Tokens::OrPassword(word)) => scheme(word, token),
            (Self::Basic { username, password }, Tokens::OrPassword(_)) => basic_header(username, password),
        })
    }
}
