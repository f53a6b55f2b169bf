//! Addresses and headers: who may see credentials, where a redirect leads.

use std::net::Ipv4Addr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ureq::http::Response;
use url::{Host, Url};

use super::Secret;

/// Where a redirecting answer points to.
#[must_use]
pub fn location<B>(target: &Url, response: &Response<B>) -> Option<Url> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let value = response.headers().get("location")?.to_str().ok()?;
    target.join(value).ok()
}

/// Without user information and fragment: a redirect must not choose who we are.
#[must_use]
pub fn bare(url: &Url) -> Url {
    let mut url = url.clone();
    // Fails only for addresses without a host, which cannot be followed anyway.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    url
}

/// Whether credentials for `base` may go to `target`: the same origin, or the same host after the usual step from http
/// to https.
#[must_use]
pub fn trusted(base: &Url, target: &Url) -> bool {
    let upgraded =
        base.scheme() == "http" && target.scheme() == "https" && base.port().is_none() && target.port().is_none();
    base.origin() == target.origin() || (upgraded && base.host() == target.host())
}

/// Whether an address that `from` gave us is an IP address of the private, loopback or link-local ranges, such as the
/// metadata endpoint of a cloud, and another host than `from` itself. Names are not looked up (as in go-containerregistry's
/// `checkRedirectSSRF`).
#[must_use]
pub fn leads_inside(from: Option<Host<&str>>, to: &Url) -> bool {
    let inside = match to.host() {
        Some(Host::Ipv4(ip)) => is_inside_v4(ip),
        Some(Host::Ipv6(ip)) => {
            let multicast = ip.segments().first().is_some_and(|first| first & 0xff0f == 0xff02);
            ip.to_ipv4_mapped().is_some_and(is_inside_v4)
                || ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
                || multicast
        }
        _ => false,
    };
    inside && to.host() != from
}

fn is_inside_v4(ip: Ipv4Addr) -> bool {
    let multicast = matches!(ip.octets(), [224, 0, 0, _]);
    ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified() || multicast
}

/// The value of an `Authorization` header for basic authentication (RFC 7617).
#[must_use]
pub fn basic_header(username: &str, password: &Secret) -> Secret {
    let pair = Secret::new(format!("{username}:{}", password.expose()));
    Secret::new(format!("Basic {}", STANDARD.encode(pair.expose())))
}

/// Percent-decodes; nothing when empty.
#[must_use]
pub fn decoded(text: &str) -> Option<String> {
    let bytes: Vec<u8> = percent_encoded_bytes(text);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.is_empty()).then_some(text)
}

fn percent_encoded_bytes(text: &str) -> Vec<u8> {
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
    out
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
