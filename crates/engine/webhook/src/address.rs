//! Normalised addresses of Git repositories, since a repository has many spellings.

use std::fmt;
use std::net::Ipv6Addr;

use url::Host;

use super::event::LONGEST_NAME;

/// Hosts with SSH at port 443, and the host that they stand for.
const SSH_OVER_HTTPS: &[(&str, &str)] = &[
    ("ssh.github.com", "github.com"),
    ("altssh.gitlab.com", "gitlab.com"),
    ("altssh.bitbucket.org", "bitbucket.org"),
];

/// The normalised address of a repository.
///
/// Without scheme (except for its effect on the port), user information, default ports, query, slashes at the ends,
/// `.git`, percent-encoding, and upper case: forges compare paths without case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    transport: Transport,
    /// `None` is any host: some senders do not know their address.
    host: Option<String>,
    port: Option<u16>,
    path: String,
}

/// The transport of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Transport {
    Web,
    Ssh,
    Git,
}

impl Address {
    /// Parses `https://`, `http://`, `ssh://`, `git://` and `user@host:path`; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > LONGEST_NAME || text.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return None;
        }
        match text.split_once("://") {
            Some((scheme, rest)) => from_url(&scheme.to_ascii_lowercase(), rest),
            None => from_scp(text),
        }
    }

    /// A path at any host.
    pub(crate) fn at_any_host(path: &str) -> Option<Self> {
        let path = plain_path(path).filter(|path| path.len() <= LONGEST_NAME)?;
        Some(Self {
            transport: Transport::Web,
            host: None,
            port: None,
            path,
        })
    }

    /// The path, in lower case and without `.git`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether both can be the same repository.
    ///
    /// Ports are compared if both addresses use the same transport: those of SSH and HTTP differ at any forge.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        let same_host = self.host.is_none() || other.host.is_none() || self.host == other.host;
        let any_host = self.host.is_none() || other.host.is_none();
        let same_port = any_host || self.transport != other.transport || self.port == other.port;
        same_host && same_port && self.path == other.path
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.host.as_deref().unwrap_or("*"))?;
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        write!(f, "/{}", self.path)
    }
}

fn from_url(scheme: &str, rest: &str) -> Option<Address> {
    let (transport, own_port) = match scheme {
        "https" => (Transport::Web, 443),
        "http" => (Transport::Web, 80),
        "ssh" | "git+ssh" | "ssh+git" => (Transport::Ssh, 22),
        "git" => (Transport::Git, 9418),
        _ => return None,
    };
    let rest = rest.split(['?', '#']).next()?;
    let (authority, path) = rest.split_once('/')?;
    let host = authority.rsplit_once('@').map_or(authority, |(_user, host)| host);
    let (host, port) = host_and_port(host)?;
    located(transport, &host, port.filter(|port| *port != own_port), path)
}

/// Parses `[USER@]HOST:PATH`, where everything before the colon, or an IPv6 address, may be in brackets.
fn from_scp(text: &str) -> Option<Address> {
    let bracket = text.find(']').unwrap_or(0);
    let colon = bracket + text.get(bracket..)?.find(':')?;
    let (host, path) = (text.get(..colon)?, text.get(colon + 1..)?);
    if host.contains('/') {
        return None;
    }
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = inner.filter(|inner| inner.parse::<Ipv6Addr>().is_err()).unwrap_or(host);
    let host = host.rsplit_once('@').map_or(host, |(_user, host)| host);
    let (host, port) = host_and_port(host)?;
    located(Transport::Ssh, &host, port.filter(|port| *port != 22), path)
}

fn located(transport: Transport, host: &str, port: Option<u16>, path: &str) -> Option<Address> {
    let path = plain_path(path)?;
    let alias = SSH_OVER_HTTPS
        .iter()
        .find(|(known, _)| transport == Transport::Ssh && *known == host);
    let (host, port) = alias.map_or((host, port), |(_, host)| (*host, None));
    Some(Address {
        transport,
        host: Some(host.to_owned()),
        port,
        path,
    })
}

/// The host in one spelling (lower case, punycode, no dot at its end), and the port.
fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (text, ""),
    };
    let port = match port {
        "" => None,
        port => Some(port.parse().ok()?),
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = match inner {
        Some(address) => Host::Ipv6(address.parse::<Ipv6Addr>().ok()?),
        None => Host::parse(host).ok()?,
    };
    Some((host.to_string(), port))
}

fn plain_path(path: &str) -> Option<String> {
    let path = percent_decoded(path).to_lowercase();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let path = segments.join("/");
    let path = path.strip_suffix(".git").unwrap_or(&path);
    let path = path.strip_suffix('/').unwrap_or(path);
    (!path.is_empty()).then(|| path.to_owned())
}

fn percent_decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, after @ ..] = rest {
        let escaped = match (first, after) {
            (b'%', [high, low, after @ ..]) => digit(*high).zip(digit(*low)).map(|pair| (pair, after)),
            _ => None,
        };
        match escaped {
            Some(((high, low), after)) => {
                bytes.push(high << 4 | low);
                rest = after;
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
