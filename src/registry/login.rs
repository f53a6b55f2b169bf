//! What a registry is shown: nothing, a name and a password, or a token.

use crate::net::Secret;

/// How to log in to a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// Not at all.
    #[default]
    Anonymous,
    /// With a name and a password, neither of them empty: RFC 7617, or in exchange for a token.
    Basic {
        /// Who.
        username: String,
        /// The password, or a token that stands in for one.
        password: Secret,
    },
    /// With a refresh token, which the token server exchanges for one that the registry takes (OAuth2's
    /// `grant_type=refresh_token`; "Docker Registry v2 authentication using OAuth2").
    IdentityToken(Secret),
    /// With a token that is sent to the registry as it is: `Authorization: Bearer`.
    RegistryToken(Secret),
}
