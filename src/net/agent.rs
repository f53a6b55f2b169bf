//! The HTTP agent of one peer: roots, client certificate, proxy. Nothing of it is global to the process.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::config::AutoHeaderValue;
use ureq::tls::TlsConfig;
use url::Url;

use super::proxy::{Proxy, ProxyScheme};
use super::tls::{self, Tls};

/// How a server is reached. Nothing here is shared with another peer or with the process; `Debug` shows no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Trust and client certificate for `https://`.
    pub tls: Tls,
    /// The proxy to connect through.
    pub proxy: Option<Proxy>,
    /// Whether the environment may name a proxy when none is given.
    pub environment: bool,
    /// The most that one request may take, with its answer.
    pub timeout: Duration,
    /// What we call ourselves.
    pub user_agent: String,
}

impl Default for Peer {
    /// The system's trust, no proxy but the environment's, 60 seconds (Flux's default limit).
    fn default() -> Self {
        Self {
            tls: Tls::default(),
            proxy: None,
            environment: true,
            timeout: Duration::from_secs(60),
            user_agent: concat!("bumpwright/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// Whether requests to `target` go through a proxy.
///
/// # Errors
/// In words, when the environment names one that cannot be used.
pub fn through_proxy(peer: &Peer, target: &Url) -> Result<bool, String> {
    Ok(match &peer.proxy {
        Some(_) => true,
        None => peer.environment && environment_proxy(target)?.is_some(),
    })
}

/// The agent for addresses of `target`'s scheme and host. Roots are only read for https.
///
/// # Errors
/// In words, when certificates or the proxy's address cannot be used.
pub fn agent(peer: &Peer, target: &Url) -> Result<Agent, String> {
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
    Ok(Agent::config_builder()
        .tls_config(tls)
        .proxy(proxy)
        .user_agent(AutoHeaderValue::Provided(Arc::new(peer.user_agent.clone())))
        .http_status_as_error(false)
        // Followed by hand: credentials must stay with their host.
        .max_redirects(0)
        .timeout_global(Some(peer.timeout))
        .max_idle_connections(16)
        .max_idle_connections_per_host(8)
        .max_idle_age(Duration::from_secs(15))
        .build()
        .new_agent())
}

fn given_proxy(proxy: &Proxy) -> Result<ureq::Proxy, String> {
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
    builder
        .build()
        .map_err(|_| "the proxy's address or login holds characters that cannot be sent".to_owned())
}

/// As curl (`man curl`, *ENVIRONMENT*): the scheme's own variable, then `all_proxy`; `HTTP_PROXY` in capitals is not
/// read, because a CGI environment sets it from a request's header.
fn environment_proxy(target: &Url) -> Result<Option<ureq::Proxy>, String> {
    let (host, variables): (_, &[&'static str]) = match (target.host_str(), target.scheme()) {
        (Some(host), "https") => (host, &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
        (Some(host), _) => (host, &["http_proxy", "all_proxy", "ALL_PROXY"]),
        (None, _) => return Ok(None),
    };
    let set = |names: &[&'static str]| {
        let value = |name: &'static str| env::var(name).ok().filter(|v| !v.is_empty()).map(|v| (name, v));
        names.iter().copied().find_map(value)
    };
    let exempt = set(&["no_proxy", "NO_PROXY"]).is_some_and(|(_, list)| exempted(host, &list));
    match set(variables) {
        Some((name, value)) if !exempt => ureq::Proxy::new(&value).map(Some).map_err(|_| {
            format!("the environment variable `{name}` is no proxy address; give http://host:port, or unset it")
        }),
        _ => Ok(None),
    }
}

/// Whether `NO_PROXY` names this host: itself or a domain above it.
fn exempted(host: &str, list: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    list.split([',', ' '])
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .any(|entry| {
            let entry = entry
                .trim_start_matches('*')
                .trim_start_matches('.')
                .to_ascii_lowercase();
            let under = host
                .strip_suffix(&entry)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            entry.is_empty() || under
        })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Secret;
    use super::*;

    #[test]
    fn no_proxy_lists() {
        assert!(exempted("git.example.com", "localhost, .example.com"));
        assert!(exempted("example.com", "example.com"));
        assert!(exempted("a.b", "*"));
        assert!(exempted("[::1]", "::1"));
        assert!(!exempted("badexample.com", "example.com,"));
        assert!(!exempted("git.example.com", ""));
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
        let bad = Proxy {
            address: "ftp://x".to_owned(),
            username: None,
            password: None,
        };
        assert!(given_proxy(&bad).is_err());
    }
}
