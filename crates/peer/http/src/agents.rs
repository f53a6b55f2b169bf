//! The HTTP agents of one peer, with their reach: addresses of the settings are unrestricted, but a server may redirect
//! only to public addresses, or into a network that it is in itself. The checked address is the one that is connected
//! to, so a name cannot resolve differently in between.

use parking_lot::Mutex;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;
use ureq::{Agent, Timeout};
use url::{Host, Url};

use super::Deadline;
use super::agent::{Peer, SettingsError, agent, through_proxy};
use super::inside::{Networks, network, network_of};
use super::web::host_of;

/// The agents of one peer. Each keeps its connections.
#[derive(Debug)]
pub struct Agents {
    peer: Peer,
    kept: Mutex<Vec<(AgentKey, Agent)>>,
}

/// The key of an agent of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AgentKey {
    secure: bool,
    proxied: bool,
    /// The private networks that it may reach; none for all.
    reach: Option<Networks>,
}

/// Why requests to an address cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Certificates or the proxy's address are not usable.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A server has redirected to a private address.
    #[error(transparent)]
    PrivateAddress(#[from] PrivateAddress),
}

/// A server outside of a private network has redirected to this host inside it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("refused to follow the server to {0}: a private or link-local address")]
pub struct PrivateAddress(String);

impl Agents {
    /// Creates the agents of a peer. Nothing is read yet.
    #[must_use]
    pub fn new(peer: Peer) -> Self {
        Self {
            peer,
            kept: Mutex::default(),
        }
    }

    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The agent for an address of the settings.
    ///
    /// # Errors
    /// [`AgentError::Settings`]
    pub fn to(&self, target: &Url) -> Result<Agent, AgentError> {
        self.agent(target, None)
    }

    /// The agent for `target`, an address from a server at `named`, which is an address of the settings. The same
    /// host is unrestricted. Names are judged by their addresses, or, with a proxy, which resolves them itself,
    /// by the names themselves.
    ///
    /// # Errors
    /// [`AgentError`]; without a proxy it is the request that fails with [`PrivateAddress`].
    pub fn redirected(&self, named: &Url, target: &Url, deadline: Deadline) -> Result<Agent, AgentError> {
        if named.host() == target.host() {
            return self.to(target);
        }
        let reach = self.networks(named, deadline)?;
        if !self.through_proxy(target)? {
            return self.agent(target, Some(reach));
        }
        match target.host().as_ref().and_then(network_of) {
            Some(network) if !reach.holds(network) => Err(inside(host_of(target)).into()),
            _ => self.to(target),
        }
    }

    /// The private networks of a server.
    fn networks(&self, server: &Url, deadline: Deadline) -> Result<Networks, AgentError> {
        let host = server.host();
        if !matches!(host, Some(Host::Domain(_))) || self.through_proxy(server)? {
            return Ok(Networks::default().with(host.as_ref().and_then(network_of)));
        }
        let timeout = NextTimeout {
            after: deadline.left().into(),
            reason: Timeout::Resolve,
            ..NextTimeout::default()
        };
        let uri = server.as_str().parse::<Uri>().ok();
        let resolved = uri.and_then(|uri| {
            DefaultResolver::default()
                .resolve(&uri, &Config::default(), timeout)
                .ok()
        });
        // A server that cannot be resolved is in no private network.
        let resolved = resolved.iter().flat_map(|resolved| resolved.iter());
        Ok(resolved.fold(Networks::default(), |networks, address| {
            networks.with(network(address.ip()))
        }))
    }

    fn through_proxy(&self, target: &Url) -> Result<bool, AgentError> {
        Ok(through_proxy(&self.peer, target).map_err(SettingsError::Proxy)?)
    }

    fn agent(&self, target: &Url, reach: Option<Networks>) -> Result<Agent, AgentError> {
        let way = AgentKey {
            secure: target.scheme() == "https",
            proxied: self.through_proxy(target)?,
            reach,
        };
        let mut agents = self.kept.lock();
        if let Some((_, agent)) = agents.iter().find(|(known, _)| *known == way) {
            return Ok(agent.clone());
        }
        let new = agent(&self.peer, target, GuardedResolver { reach })?;
        agents.push((way, new.clone()));
        Ok(new)
    }
}

fn inside(host: &str) -> PrivateAddress {
    PrivateAddress(host.to_owned())
}

/// A resolver that refuses private addresses other than those within reach.
#[derive(Debug)]
struct GuardedResolver {
    /// None where every address may be reached.
    reach: Option<Networks>,
}

impl Resolver for GuardedResolver {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let Some(reach) = self.reach else { return Ok(found) };
        let mut open = self.empty();
        let allowed = |network| reach.holds(network);
        for address in found.iter().filter(|address| network(address.ip()).is_none_or(allowed)) {
            open.push(*address);
        }
        if open.is_empty() {
            Err(ureq::Error::Other(Box::new(inside(uri.host().unwrap_or_default()))))
        } else {
            Ok(open)
        }
    }
}

/// The agent's error of a redirect to a private address.
pub(super) fn redirected_inside(error: &ureq::Error) -> Option<&PrivateAddress> {
    match error {
        ureq::Error::Other(error) => error.downcast_ref(),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::time::Duration;

    use super::super::Proxy;
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn soon() -> Deadline {
        Deadline::after(Duration::from_secs(20))
    }

    fn direct() -> Agents {
        Agents::new(Peer {
            environment: false,
            ..Peer::default()
        })
    }

    /// Whether a server on this machine is reached after a redirect from `named` to it as `host`.
    fn reached(named: &str, host: &str) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = url(&format!("http://{host}:{port}/"));
        let agent = direct().redirected(&url(named), &target, soon()).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .unwrap();
        });
        match agent.get(target.as_str()).call() {
            Ok(_) => Ok(()),
            Err(error) => Err(redirected_inside(&error).unwrap().to_string()),
        }
    }

    #[test]
    fn names_and_addresses_are_judged_by_where_they_are() {
        let said = |host: &str| format!("refused to follow the server to {host}: a private or link-local address");
        for host in ["127.0.0.1", "localhost", "0x7f.1"] {
            let shown = if host == "localhost" { host } else { "127.0.0.1" };
            // From public and from other private networks.
            for named in ["http://198.51.100.7/", "http://10.0.0.1/", "http://nowhere.invalid/"] {
                assert_eq!(reached(named, host), Err(said(shown)), "{named} {host}");
            }
            // From this machine itself.
            for named in ["http://127.0.0.9/", "http://localhost:1/", "http://[::1]/"] {
                assert_eq!(reached(named, host), Ok(()), "{named} {host}");
            }
        }
    }

    #[test]
    fn behind_a_proxy_names_are_judged_by_their_sound() {
        let agents = Agents::new(Peer {
            proxy: Some(Proxy::at("http://10.0.0.1:3128")),
            ..Peer::default()
        });
        let led = |named: &str, target: &str| agents.redirected(&url(named), &url(target), soon()).map(drop);
        for target in [
            "http://localhost/",
            "http://169.254.169.254/latest",
            "http://metadata.google.internal/",
            "https://kubernetes.default.svc/api",
            "http://[::ffff:10.0.0.9]/",
        ] {
            let refused = led("https://git.example.com/a.git", target);
            assert!(matches!(refused, Err(AgentError::PrivateAddress(_))), "{target}");
        }
        led("https://git.example.com/", "https://other.example.com/").unwrap();
        led("http://a.default.svc/", "http://b.default.svc/").unwrap();
        led("http://10.0.0.1/", "http://192.168.0.1/").unwrap();
        assert!(led("http://a.default.svc/", "http://metadata.google.internal/").is_err());
    }
}
