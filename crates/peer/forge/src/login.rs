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
    /// What a server may repeat of a request, and nobody else is to see: also the header, as it was sent.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        match self {
            Self::Nobody => Vec::new(),
            Self::Token(token) => vec![token.clone()],
            Self::Basic { username, password } => {
                let header = basic_header(username, password);
                let pair = header.expose().strip_prefix("Basic ").map(Secret::from);
                std::iter::once(password.clone()).chain(pair).collect()
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_http::scrubbed;

    #[test]
    fn a_header_that_a_server_repeats_is_not_shown() {
        let login = Login::Basic {
            username: "bot".to_owned(),
            password: Secret::from("t0ken-of-bot"),
        };
        let said = "bad login: Basic Ym90OnQwa2VuLW9mLWJvdA== (t0ken-of-bot)";
        assert_eq!(scrubbed(said, &login.secrets()), "bad login: Basic *** (***)");
    }
}
