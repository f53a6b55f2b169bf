//! The signed headers, whatever their encoding.

use super::NotationError;
use super::envelope::Headers;

pub(super) const EXPIRY: &str = "io.cncf.notary.expiry";
pub(super) const SCHEME: &str = "io.cncf.notary.signingScheme";
pub(super) const TIME: &str = "io.cncf.notary.signingTime";
pub(super) const AUTHENTIC_TIME: &str = "io.cncf.notary.authenticSigningTime";

/// Headers as they are in an envelope; times are in seconds since 1970.
pub(super) struct Unchecked<'a> {
    pub(super) algorithm: &'a str,
    pub(super) content_type: &'a str,
    pub(super) critical: Vec<&'a str>,
    pub(super) scheme: Option<&'a str>,
    pub(super) time: Option<i64>,
    pub(super) authentic_time: Option<i64>,
    pub(super) expiry: Option<i64>,
}

impl Unchecked<'_> {
    /// The headers, if those of the scheme are present and critical, and no others.
    pub(super) fn check(self) -> Result<Headers, NotationError> {
        let is_authority = match self.scheme {
            Some("notary.x509") => false,
            Some("notary.x509.signingAuthority") => true,
            _ => return Err(NotationError::Headers),
        };
        let mut wanted = vec![SCHEME];
        wanted.extend(self.expiry.map(|_| EXPIRY));
        wanted.extend(is_authority.then_some(AUTHENTIC_TIME));
        // What is critical and not known here is for a plugin.
        if self.critical.iter().any(|name| !wanted.contains(name)) {
            return Err(NotationError::Plugin);
        }
        if wanted.iter().any(|name| !self.critical.contains(name)) {
            return Err(NotationError::Headers);
        }
        let signed_at = match (is_authority, self.time, self.authentic_time) {
            (false, Some(time), None) | (true, None, Some(time)) => time,
            _ => return Err(NotationError::Headers),
        };
        Ok(Headers {
            algorithm: self.algorithm.to_owned(),
            content_type: self.content_type.to_owned(),
            is_authority,
            signed_at,
            expiry: self.expiry,
        })
    }
}
