//! Addresses and headers: the reach of credentials, the targets of redirects.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ureq::http::Response;
use url::{Host, Url};

use super::inside::network_of;
use bumpwright_secret::Secret;

/// The target of a redirect.
#[must_use]
pub fn location<B>(target: &Url, response: &Response<B>) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let value = response.headers().get("location")?.to_str().ok()?;
    target.join(value).ok()
}

/// Removes user information and fragment: a redirect must not choose the identity.
#[must_use]
pub fn bare(url: &Url) -> Url {
    let mut url = url.clone();
    // Fails only for addresses without a host, which cannot be followed anyway.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    url
}

/// Whether credentials for `base` may be sent to `target`: the same origin, or the same host after the usual upgrade
/// from http to https.
#[must_use]
pub fn trusted(base: &Url, target: &Url) -> bool {
    let upgraded =
        base.scheme() == "http" && target.scheme() == "https" && base.port().is_none() && target.port().is_none();
    base.origin() == target.origin() || (upgraded && base.host() == target.host())
}

/// Whether an address from the server `from` is a private IP address ([`super::PrivateAddress`]), such as the metadata
/// endpoint of a cloud, and another host than `from` itself. Names are not resolved (as in go-containerregistry's
/// `checkRedirectSSRF`): that is done on connection.
#[must_use]
pub fn leads_inside(from: Option<Host<&str>>, to: &Url) -> bool {
    let is_inside = match to.host() {
        Some(Host::Domain(_)) | None => false,
        Some(address) => network_of(&address).is_some(),
    };
    is_inside && to.host() != from
}

/// The value of an `Authorization` header for basic authentication (RFC 7617).
#[must_use]
pub fn basic_header(username: &str, password: &Secret) -> Secret {
    let pair = Secret::new(format!("{username}:{}", password.expose()));
    Secret::new(format!("Basic {}", STANDARD.encode(pair.expose())))
}

/// The host of an address as it is written, without its port; empty for an address that leads to no server.
#[must_use]
pub fn host_of(url: &Url) -> &str {
    url.host_str().unwrap_or("")
}

/// Percent-decodes; none when empty.
#[must_use]
pub fn decoded(text: &str) -> Option<String> {
    Some(unescaped(text)).filter(|text| !text.is_empty())
}

/// Percent-decodes; what is not UTF-8 then is replaced.
#[must_use]
pub fn unescaped(text: &str) -> String {
    let hex = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16));
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        match (byte, hex(ahead.next()), hex(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(byte));
                bytes = ahead;
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_inside() {
        let from = Url::parse("https://r.example/v2/").unwrap();
        for (to, inside) in [
            ("http://169.254.169.254/latest/meta-data/", true),
            ("http://10.0.0.1/", true),
            ("http://127.0.0.1:8080/", true),
            ("http://0.0.0.0/", true),
            ("http://[::1]/", true),
            ("http://[fd00:ec2::254]/", true),
            ("http://[::ffff:10.0.0.1]/", true),
            ("http://[fe80::1]/", true),
            ("http://100.64.0.1/", true),
            ("http://[64:ff9b::a9fe:a9fe]/", true),
            ("http://[2002:a00:1::]/", true),
            ("https://192.0.2.1/", false),
            ("https://[2001:db8::1]/", false),
            ("https://blobs.example/", false),
        ] {
            assert_eq!(leads_inside(from.host(), &Url::parse(to).unwrap()), inside, "{to}");
        }
        let own = Url::parse("http://10.0.0.1:5000/").unwrap();
        assert!(!leads_inside(own.host(), &Url::parse("http://10.0.0.1:5001/").unwrap()));
    }
}
