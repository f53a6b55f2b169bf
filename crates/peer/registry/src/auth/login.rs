//! Logins at registries: none, a name and a password, or a token.

use bumpwright_secret::Secret;

/// A login at a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Login {
    #[default]
    Anonymous,
    /// A name and a password, neither of them empty: RFC 7617, or in exchange for a token.
    Basic {
        username: String,
        /// The password, or a token in its place.
        password: Secret,
    },
    /// A refresh token, which the token server exchanges for an access token (OAuth2's
    /// `grant_type=refresh_token`; "Docker Registry v2 authentication using OAuth2").
    IdentityToken(Secret),
    /// An access token, sent to the registry unchanged: `Authorization: Bearer`.
    RegistryToken(Secret),
}

/// The login of one server in a configuration or from a helper; empty texts count as missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthEntry {
    pub(crate) username: String,
    pub(crate) password: Secret,
    pub(crate) identity_token: Secret,
    pub(crate) registry_token: Secret,
}

impl AuthEntry {
    /// Whether all fields are missing. An entry with half a login is not empty: it hides later ones.
    pub(crate) fn is_empty(&self) -> bool {
        self.username.is_empty()
            && self.password.is_empty()
            && self.identity_token.is_empty()
            && self.registry_token.is_empty()
    }

    /// The missing members of an entry; `None` when it makes a login.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        match (self.login(), self.username.is_empty(), self.password.is_empty()) {
            (Login::Anonymous, true, false) => Some("'username'"),
            (Login::Anonymous, false, true) => Some("'password'"),
            (Login::Anonymous, ..) => Some("'username' and 'password', and no 'auth'"),
            _ => None,
        }
    }

    /// The login of the entry in go-containerregistry's transport: an access token first; a name without a password, or
    /// the reverse, is not a login.
    pub(crate) fn login(&self) -> Login {
        if !self.registry_token.is_empty() {
            return Login::RegistryToken(self.registry_token.clone());
        }
        if !self.identity_token.is_empty() {
            return Login::IdentityToken(self.identity_token.clone());
        }
        if self.username.is_empty() || self.password.is_empty() {
            return Login::Anonymous;
        }
        Login::Basic {
            username: self.username.clone(),
            password: self.password.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_before_names_and_half_a_login_is_none() {
        let full = AuthEntry {
            username: "u".to_owned(),
            password: "hunter2".into(),
            identity_token: "i".into(),
            registry_token: "r".into(),
        };
        assert_eq!(full.login(), Login::RegistryToken("r".into()));
        let refresh = AuthEntry {
            registry_token: Secret::default(),
            ..full.clone()
        };
        assert_eq!(refresh.login(), Login::IdentityToken("i".into()));
        let half = AuthEntry {
            username: "u".to_owned(),
            ..AuthEntry::default()
        };
        assert_eq!((half.login(), half.is_empty()), (Login::Anonymous, false));
        assert!(!format!("{full:?}").contains("hunter2"));
    }
}
