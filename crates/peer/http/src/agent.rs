//! The HTTP agent of one peer: roots, client certificate, proxy. None of it is global.

use std::env;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::config::AutoHeaderValue;
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::Resolver;
use url::{Host, Url};

use super::interruptible;
use super::proxy::{InvalidProxy, Proxy, ProxyScheme};
use super::tls::{self, Tls, TlsError};
use thiserror::Error;

/// Why a proxy is not usable. Never with its address, which may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProxyError {
    /// The form of its address is unknown.
    #[error(transparent)]
    Address(#[from] InvalidProxy),
    /// Its address or login cannot be in a request.
    #[error("the proxy's address or login has characters that cannot be sent")]
    Characters,
    /// A variable of the environment has another form.
    #[error("the environment variable `{0}` is not a proxy address; give http://host:port, or unset it")]
    Variable(&'static str),
    /// A variable of the environment has an address whose form is unknown.
    #[error("the environment variable `{name}`: {problem}")]
    VariableAddress {
        name: &'static str,
        #[source]
        problem: InvalidProxy,
    },
}

/// Why no connection can be set up.
#[derive(Debug, Error)]
pub enum SettingsError {
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// Certificates or a key.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// The connection settings of a server. They are not shared with another peer or the process; `Debug` shows no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Trust and client certificate for `https://`.
    pub tls: Tls,
    /// The proxy to connect through.
    pub proxy: Option<Proxy>,
    /// Whether the environment's proxy is used when none is given.
    pub environment: bool,
    /// The time limit of one request, with its answer.
    pub timeout: Duration,
    /// The longest time to connect, and the longest time without a byte of an awaited answer; none where
    /// only time limits count.
    pub silence: Option<Duration>,
    pub user_agent: String,
}

impl Peer {
    /// Whether the author of the settings can intercept the connection: they include the proxy and the trusted CA, or
    /// trust any certificate. Credentials of this process are not sent there.
    #[must_use]
    pub fn is_intercepted(&self) -> bool {
        self.tls.unverified || (self.proxy.is_some() && self.tls.ca.is_some())
    }
}

impl Default for Peer {
    /// The system's trust, only the environment's proxy, 60 seconds (Flux's default limit).
    fn default() -> Self {
        Self {
            tls: Tls::default(),
            proxy: None,
            environment: true,
            timeout: Duration::from_secs(60),
            silence: None,
            user_agent: concat!("bumpwright/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// Whether requests to `target` go through a proxy.
///
/// # Errors
/// The environment's proxy is not usable.
pub(crate) fn through_proxy(peer: &Peer, target: &Url) -> Result<bool, ProxyError> {
    Ok(match &peer.proxy {
        Some(_) => true,
        None => peer.environment && environment_proxy(target)?.is_some(),
    })
}

/// The agent for addresses of `target`'s scheme and host, resolved by `resolver`. Roots are only read for https.
///
/// # Errors
/// Certificates or the proxy's address are not usable.
pub(super) fn agent(peer: &Peer, target: &Url, resolver: impl Resolver) -> Result<Agent, SettingsError> {
    let proxy = match &peer.proxy {
        Some(proxy) => Some(given_proxy(proxy)?),
        None if peer.environment => environment_proxy(target)?,
        None => None,
    };
    let secure = target.scheme() == "https" || proxy.as_ref().is_some_and(|p| p.uri().scheme_str() == Some("https"));
    let tls = if secure {
        tls::config(&peer.tls)?
    } else {
        TlsConfig::default()
    };
    let config = Agent::config_builder()
        .tls_config(tls)
        .proxy(proxy)
        .user_agent(AutoHeaderValue::Provided(Arc::new(peer.user_agent.clone())))
        .http_status_as_error(false)
        // Followed by the client: credentials must stay with their host.
        .max_redirects(0)
        .timeout_global(Some(peer.timeout))
        .timeout_connect(peer.silence)
        .max_idle_connections(16)
        .max_idle_connections_per_host(8)
        .max_idle_age(Duration::from_secs(15))
        // For each connection, also while it is idle.
        .input_buffer_size(32 << 10)
        .output_buffer_size(16 << 10)
        .build();
    Ok(Agent::with_parts(
        config,
        interruptible::connector(peer.silence),
        resolver,
    ))
}

fn given_proxy(proxy: &Proxy) -> Result<ureq::Proxy, ProxyError> {
    let parts = proxy.parts()?;
    let protocol = match parts.scheme {
        ProxyScheme::Http => ureq::ProxyProtocol::Http,
        ProxyScheme::Https => ureq::ProxyProtocol::Https,
        // The proxy resolves the name.
        ProxyScheme::Socks5 => ureq::ProxyProtocol::Socks5h,
    };
    let mut builder = ureq::Proxy::builder(protocol).host(&parts.host).port(parts.port);
    if let Some((name, password)) = &parts.login {
        builder = builder.username(name).password(password.expose());
    }
    builder.build().map_err(|_| ProxyError::Characters)
}

/// The environment's proxy, as in curl (`man curl`, *ENVIRONMENT*): the scheme's own variable, then `all_proxy`;
/// `HTTP_PROXY` in capitals is not read, because a CGI environment sets it from a request's header.
fn environment_proxy(target: &Url) -> Result<Option<ureq::Proxy>, ProxyError> {
    let Some((name, value)) = named_by_environment(target) else {
        return Ok(None);
    };
    let proxy = ureq::Proxy::new(&value).map(Some);
    proxy.map_err(|_| ProxyError::Variable(name))
}

/// The environment's proxy for `target`, for callers without the agent.
///
/// # Errors
/// [`ProxyError::VariableAddress`]
pub fn proxy_of_environment(target: &Url) -> Result<Option<Proxy>, ProxyError> {
    let Some((name, value)) = named_by_environment(target) else {
        return Ok(None);
    };
    let proxy = Proxy::at(if value.contains("://") {
        value
    } else {
        format!("http://{value}")
    });
    match proxy.parts() {
        Ok(_) => Ok(Some(proxy)),
        Err(problem) => Err(ProxyError::VariableAddress { name, problem }),
    }
}

/// The variable that counts for `target`, and its value.
fn named_by_environment(target: &Url) -> Option<(&'static str, String)> {
    let variables: &[&'static str] = match target.scheme() {
        "https" => &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        _ => &["http_proxy", "all_proxy", "ALL_PROXY"],
    };
    let set = |names: &[&'static str]| {
        let value = |name: &'static str| env::var(name).ok().filter(|v| !v.is_empty()).map(|v| (name, v));
        names.iter().copied().find_map(value)
    };
    let exempt = set(&["no_proxy", "NO_PROXY"]).is_some_and(|(_, list)| exempted(target, &list));
    set(variables).filter(|_| !exempt)
}

/// Whether `NO_PROXY` includes the target: its host or a parent domain, an address or a network in CIDR notation, each
/// with or without a port (Go, `golang.org/x/net/http/httpproxy`, `Config.NoProxy`; curl does not support ports).
fn exempted(target: &Url, list: &str) -> bool {
    let Some(host) = target.host() else { return false };
    let port = target.port_or_known_default();
    let mut entries = list.split([',', ' ']).map(str::trim).filter(|entry| !entry.is_empty());
    entries.any(|entry| names(entry, &host, port))
}

fn names(entry: &str, host: &Host<&str>, port: Option<u16>) -> bool {
    let address = match host {
        Host::Domain(_) => None,
        Host::Ipv4(ip) => Some(IpAddr::V4(*ip)),
        Host::Ipv6(ip) => Some(IpAddr::V6(*ip)),
    };
    if let Some(network) = network(entry) {
        return address.is_some_and(|address| network.holds(address));
    }
    let (name, wanted) = match entry.rsplit_once(':') {
        // An IPv6 address has colons of its own.
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => (name, Some(digits.parse().ok())),
        _ => (entry, None),
    };
    if wanted.is_some_and(|wanted| wanted != port) {
        return false;
    }
    let name = name.trim_start_matches('[').trim_end_matches(']');
    if let Ok(given) = name.parse::<IpAddr>() {
        return address == Some(given);
    }
    let domain = name
        .trim_start_matches('*')
        .trim_start_matches('.')
        .to_ascii_lowercase();
    let host = host.to_string();
    let below = || {
        host.strip_suffix(&domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    domain.is_empty() || (address.is_none() && below())
}

/// A network: its address and prefix length.
struct Network(IpAddr, u32);

fn network(entry: &str) -> Option<Network> {
    let (address, bits) = entry.split_once('/')?;
    Some(Network(address.parse().ok()?, bits.parse().ok()?))
}

impl Network {
    fn holds(&self, address: IpAddr) -> bool {
        let (bits, differing, width) = match (self.0, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (self.1, u128::from(own.to_bits() ^ other.to_bits()), 32),
            (IpAddr::V6(own), IpAddr::V6(other)) => (self.1, own.to_bits() ^ other.to_bits(), 128),
            _ => return false,
        };
        // By the whole width nothing is left to differ.
        bits <= width && differing.checked_shr(width - bits).is_none_or(|left| left == 0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_secret::Secret;

    #[test]
    fn no_proxy_lists() {
        for (host, list, expected) in [
            ("git.example.com", "localhost, .example.com", true),
            ("example.com", "example.com", true),
            ("example.com", "EXAMPLE.com:443", true),
            ("example.com", "example.com:5000", false),
            ("example.com:5000", "example.com:5000", true),
            ("example.com:5000", "example.com", true),
            ("a.b", "*", true),
            ("git.example.com", "*.example.com", true),
            ("[::1]", "::1", true),
            ("[::1]:5000", "[::1]:5000", true),
            ("[::1]:5000", "[::1]:5001", false),
            ("[fd00::7]", "fd00::/8", true),
            ("[fd00::7]", "fe00::/8", false),
            ("10.1.2.3", "10.0.0.0/8", true),
            ("10.1.2.3:5000", "192.168.0.0/16,10.1.2.0/24", true),
            ("10.1.3.3", "10.1.2.0/24", false),
            ("10.1.3.3", "0.0.0.0/0", true),
            ("10.1.3.3", "10.1.3.3/99", false),
            ("10.1.2.3", "2.3", false),
            ("badexample.com", "example.com,", false),
            ("git.example.com", "", false),
        ] {
            let target = Url::parse(&format!("https://{host}/")).unwrap();
            assert_eq!(exempted(&target, list), expected, "{host} {list}");
        }
    }

    #[test]
    fn proxies_keep_odd_passwords() {
        let (username, password) = (Some("u@x".to_owned()), Some(Secret::new("p:/ %")));
        let proxy = given_proxy(&Proxy {
            address: "socks5://[::1]:1080".to_owned(),
            username,
            password,
        })
        .unwrap();
        assert_eq!(
            (proxy.port(), proxy.username(), proxy.password()),
            (1080, Some("u@x"), Some("p:/ %"))
        );
        assert!(given_proxy(&Proxy::at("ftp://x")).is_err());
    }
}
