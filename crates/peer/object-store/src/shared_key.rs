//! Azure Storage's signature of requests with an account's key (Azure Storage, *Authorize with Shared Key*).

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use url::Url;
use zeroize::Zeroizing;

use super::AccountError;
use bumpwright_secret::Secret;

/// An account and its key.
#[derive(Clone)]
pub(super) struct SharedKey {
    account: String,
    key: Secret,
    mac: Hmac<Sha256>,
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key of {}", self.account)
    }
}

impl SharedKey {
    /// # Errors
    /// [`AccountError::Encoding`]
    pub(super) fn new(account: String, key: &Secret) -> Result<Self, AccountError> {
        let bytes = STANDARD.decode(key.expose()).map(Zeroizing::new);
        // A key may have any length (RFC 2104, *Keys*).
        let mac = bytes.ok().and_then(|bytes| Hmac::new_from_slice(&bytes).ok());
        Ok(Self {
            account,
            key: key.clone(),
            mac: mac.ok_or(AccountError::Encoding)?,
        })
    }

    /// The key, which errors must not contain.
    pub(super) fn key(&self) -> &Secret {
        &self.key
    }

    /// The `Authorization` header of a `GET` with only these headers, which begin with `x-ms-` and are ordered by name.
    pub(super) fn authorization(&self, url: &Url, headers: &[(&'static str, String)]) -> Secret {
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}:{value}\n"))
            .collect();
        // Verb, then the eleven headers that are not sent: encoding, language, length, MD5, type,
        // date, the conditions, range.
        let text = format!("GET{}{headers}{}", "\n".repeat(12), self.resource(url));
        let signature = self.mac.clone().chain_update(text).finalize().into_bytes();
        Secret::new(format!("SharedKey {}:{}", self.account, STANDARD.encode(signature)))
    }

    /// The canonical resource: account and path as sent, and the decoded parameters by name.
    fn resource(&self, url: &Url) -> String {
        let mut pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(name, value)| (name.to_lowercase(), value.into_owned()))
            .collect();
        pairs.sort();
        let mut text = format!("/{}{}", self.account, url.path());
        let mut last: Option<String> = None;
        for (name, value) in pairs {
            if last.as_ref() == Some(&name) {
                text.push(',')
            } else {
                text.push_str(&format!("\n{name}:"))
            }
            text.push_str(&value);
            last = Some(name);
        }
        text
    }
}
