//! Go's `url.Parse`, with the texts of its errors.

use super::escape::{EscapeError, Part, escape, unescape};
use super::parts::{Url, UserInfo, is_port};
use crate::ip_address::{AddressError, IpVersion, check_ip};
use crate::quote::quote_bytes;
use thiserror::Error;

/// Why a text is not a URL, as Go's `url.Parse` reports it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("parse {}: {problem}", quote_bytes(.url))]
pub struct UrlError {
    /// The text; without its fragment if that is not the problem.
    pub url: Vec<u8>,
    /// What is wrong with it.
    #[source]
    pub problem: UrlProblem,
}

/// What is wrong with a URL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UrlProblem {
    /// It has a control character.
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    /// It begins with a colon.
    #[error("missing protocol scheme")]
    NoScheme,
    /// A relative URL whose first segment looks like a scheme.
    #[error("first path segment in URL cannot contain colon")]
    ColonInFirstSegment,
    /// The name or password has a character that they cannot have.
    #[error("net/url: invalid userinfo")]
    UserInfo,
    /// An address in brackets is not one of IPv6, or something stands before it.
    #[error("invalid IP-literal")]
    IpLiteral,
    /// A bracket is not closed.
    #[error("missing ']' in host")]
    OpenBracket,
    /// What is in brackets is not an address.
    #[error("invalid host: {0}")]
    Address(#[from] AddressError),
    /// The port is not a number.
    #[error("invalid port {} after host", quote_bytes(.0))]
    Port(Vec<u8>),
    /// An escape cannot be read.
    #[error(transparent)]
    Escape(#[from] EscapeError),
}

impl Url {
    /// Parses a URL, absolute or relative.
    ///
    /// # Errors
    /// Go's: `parse "http://[x": missing ']' in host`.
    pub fn parse(text: &[u8]) -> Result<Self, UrlError> {
        let (url, fragment) = cut(text, b'#');
        let fault = |url: &[u8], problem: UrlProblem| UrlError {
            url: url.to_vec(),
            problem,
        };
        let mut parsed = read(url).map_err(|problem| fault(url, problem))?;
        (parsed.fragment, parsed.raw_fragment) =
            plain_and_written(fragment, Part::Fragment).map_err(|error| fault(text, error.into()))?;
        Ok(parsed)
    }
}

/// Parses the part before the fragment.
fn read(text: &[u8]) -> Result<Url, UrlProblem> {
    if text.iter().any(u8::is_ascii_control) {
        return Err(UrlProblem::ControlCharacter);
    }
    let mut url = Url::default();
    if text == b"*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (mut rest, query) = cut(rest, b'?');
    url.query = query.to_vec();
    url.force_query = query.is_empty() && text.ends_with(b"?");
    if !rest.starts_with(b"/") {
        if !scheme.is_empty() {
            url.opaque = rest.to_vec();
            return Ok(url);
        }
        if cut(rest, b'/').0.contains(&b':') {
            return Err(UrlProblem::ColonInFirstSegment);
        }
    }
    match rest.strip_prefix(b"//") {
        Some(authority) if !scheme.is_empty() || !authority.starts_with(b"/") => {
            let end = authority.iter().position(|byte| *byte == b'/');
            let (authority, path) = authority.split_at(end.unwrap_or(authority.len()));
            (url.user, url.host) = read_authority(&url.scheme, authority)?;
            rest = path;
        }
        _ => url.omit_host = !scheme.is_empty() && rest.starts_with(b"/"),
    }
    (url.path, url.raw_path) = plain_and_written(rest, Part::Path)?;
    Ok(url)
}

/// The text before the first `mark` and the text after it, which is empty if absent.
fn cut(text: &[u8], mark: u8) -> (&[u8], &[u8]) {
    let at = text.iter().position(|byte| *byte == mark).unwrap_or(text.len());
    match text.split_at(at) {
        (before, [_, after @ ..]) => (before, after),
        whole => whole,
    }
}

/// The scheme, which may be empty, and the rest after its colon.
fn split_scheme(text: &[u8]) -> Result<(&[u8], &[u8]), UrlProblem> {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let length = text.iter().position(|byte| !inside(byte)).unwrap_or(text.len());
    match text.split_at(length) {
        (b"", [b':', ..]) => Err(UrlProblem::NoScheme),
        (scheme @ [first, ..], [b':', rest @ ..]) if first.is_ascii_alphabetic() => Ok((scheme, rest)),
        _ => Ok((b"", text)),
    }
}

/// A part unescaped, and as written if escaping it again gives something else.
fn plain_and_written(text: &[u8], part: Part) -> Result<(Vec<u8>, Vec<u8>), EscapeError> {
    let plain = unescape(text, part)?;
    let written = if escape(&plain, part).as_bytes() == text {
        Vec::new()
    } else {
        text.to_vec()
    };
    Ok((plain, written))
}

fn read_authority(scheme: &[u8], text: &[u8]) -> Result<(Option<UserInfo>, Vec<u8>), UrlProblem> {
    let at = text.iter().rposition(|byte| *byte == b'@').unwrap_or(text.len());
    let (user, [_, host @ ..]) = text.split_at(at) else {
        return Ok((None, read_host(scheme, text)?));
    };
    let host = read_host(scheme, host)?;
    let sound = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
    if !user.iter().all(sound) {
        return Err(UrlProblem::UserInfo);
    }
    let (name, password) = cut(user, b':');
    let user = UserInfo {
        name: unescape(name, Part::User)?,
        password: if user.contains(&b':') {
            Some(unescape(password, Part::User)?)
        } else {
            None
        },
    };
    Ok((Some(user), host))
}

fn read_host(scheme: &[u8], text: &[u8]) -> Result<Vec<u8>, UrlProblem> {
    match text.iter().rposition(|byte| *byte == b'[') {
        Some(0) => return read_ip_host(text),
        Some(_) => return Err(UrlProblem::IpLiteral),
        None => {}
    }
    let is_colon = |byte: &u8| *byte == b':';
    // In hosts of other schemes only the last colon counts: databases use lists of hosts with ports.
    let colon = match scheme {
        b"http" | b"https" => text.iter().position(is_colon),
        _ => text.iter().rposition(is_colon),
    };
    if let Some(colon) = colon {
        check_port(text.split_at(colon).1)?;
    }
    Ok(unescape(text, Part::Host)?)
}

/// A host in square brackets.
fn read_ip_host(text: &[u8]) -> Result<Vec<u8>, UrlProblem> {
    let end = text.iter().rposition(|byte| *byte == b']');
    let ([_, host @ ..], [_, port @ ..]) = text.split_at(end.unwrap_or(text.len())) else {
        return Err(UrlProblem::OpenBracket);
    };
    check_port(port)?;
    let zone = host.windows(3).position(|window| window == b"%25");
    let (address, zone) = host.split_at(zone.unwrap_or(host.len()));
    let host = [unescape(address, Part::Host)?, unescape(zone, Part::HostZone)?].concat();
    match check_ip(&host)? {
        IpVersion::V6 => Ok([b"[", host.as_slice(), b"]", port].concat()),
        IpVersion::V4 => Err(UrlProblem::IpLiteral),
    }
}

fn check_port(text: &[u8]) -> Result<(), UrlProblem> {
    if is_port(text) {
        Ok(())
    } else {
        Err(UrlProblem::Port(text.to_vec()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_parts() {
        let url = Url::parse(b"HTTPS://u%40:p:w@h.io:8443/p%20q?x=1?#%41b").unwrap();
        let user = url.user.clone().unwrap();
        assert_eq!(
            (url.scheme.as_slice(), url.host.as_slice()),
            (b"https".as_slice(), b"h.io:8443".as_slice())
        );
        assert_eq!(
            (user.name.as_slice(), user.password.as_deref()),
            (b"u@".as_slice(), Some(b"p:w".as_slice()))
        );
        assert_eq!(
            (url.path.as_slice(), url.query.as_slice()),
            (b"/p q".as_slice(), b"x=1?".as_slice())
        );
        assert_eq!(
            (url.fragment.as_slice(), url.hostname()),
            (b"Ab".as_slice(), b"h.io".as_slice())
        );
        assert_eq!(Url::parse(b"http://[::1]:80/").unwrap().hostname(), b"::1");
    }

    #[test]
    fn says_what_is_wrong_with_a_url() {
        for (text, expected) in [
            (":foo", "missing protocol scheme"),
            ("1a:b", "first path segment in URL cannot contain colon"),
            ("a\nb", "net/url: invalid control character in URL"),
            ("http://[bad", "missing ']' in host"),
            ("http://[::1]x/", "invalid port \"x\" after host"),
            ("http://[1.2.3.4]/", "invalid IP-literal"),
            (
                "http://[::x]/",
                "invalid host: ParseAddr(\"::x\"): each colon-separated field must have at least one digit (at \"x\")",
            ),
            ("http://h:1:2/", "invalid port \":1:2\" after host"),
            ("http://a b/", "invalid character \" \" in host name"),
            ("http://%41/", "invalid URL escape \"%41\""),
            ("/%zz", "invalid URL escape \"%zz\""),
            ("/%4", "invalid URL escape \"%4\""),
            ("http://a b@h/", "net/url: invalid userinfo"),
        ] {
            let expected = format!("parse {}: {expected}", quote_bytes(text.as_bytes()));
            assert_eq!(Url::parse(text.as_bytes()).unwrap_err().to_string(), expected);
        }
    }
}
