//! Answers of the token endpoints of Entra and Google (RFC 6749, *Successful Response*).

use std::time::SystemTime;

use serde::Deserialize;

use super::CloudError;
use super::fields::{self, Seconds};
use super::services::{json, unusable};
use bumpwright_http::Answer;
use bumpwright_secret::Secret;

/// A bearer token and when it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessToken {
    pub token: Secret,
    /// When it expires, if the service said so.
    pub expires: Option<SystemTime>,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default, deserialize_with = "fields::secret_if_any")]
    access_token: Option<Secret>,
    #[serde(default)]
    expires_in: Option<Seconds>,
    /// Azure's metadata endpoints: the expiry since 1970.
    #[serde(default)]
    expires_on: Option<Seconds>,
}

/// Parses the token of an answer to a request that was sent at `start`.
///
/// # Errors
/// [`CloudError::Answer`] when the answer has no token.
pub(super) fn access_token(doing: &str, answer: Answer, start: SystemTime) -> Result<AccessToken, CloudError> {
    let url = answer.url.clone();
    let body: Body = json(doing, answer)?;
    let token = body
        .access_token
        .ok_or_else(|| unusable(doing, &url, "it has no access_token"))?;
    let life = body.expires_in.and_then(|seconds| seconds.after(start));
    Ok(AccessToken {
        token,
        expires: life.or_else(|| body.expires_on?.since_1970()),
    })
}
