//! The HTTP agent of one remote: roots, client certificate, proxy. Nothing of it is global to the process.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use ureq::Agent;
use ureq::config::AutoHeaderValue;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};
use url::Url;

use super::proxy::{Proxy, ProxyScheme};
use super::remote::{Auth, Remote, Tls};
use super::{Secret, TransportError};

/// Servers tell git from browsers by this beginning.
const USER_AGENT: &str = concat!("git/2.0 (bumpwright/", env!("CARGO_PKG_VERSION"), ")");

/// The agent for addresses of `target`'s scheme and host. Roots are only read for https.
pub(crate) fn agent(remote: &Remote, target: &Url) -> Result<Agent, TransportError> {
    let refused = |detail: String| TransportError::Config {
        url: remote.url.to_string(),
        detail,
    };
    let proxy = match (&remote.proxy, &remote.auth) {
        (Some(proxy), _) => Some(given_proxy(proxy).map_err(refused)?),
        (None, Auth::User) => environment_proxy(target).map_err(refused)?,
        (None, _) => None,
    };
    let secure = target.scheme() == "https" || proxy.as_ref().is_some_and(|p| p.uri().scheme_str() == Some("https"));
    let tls = if secure {
        tls(&remote.tls).map_err(refused)?
    } else {
        TlsConfig::default()
    };
    Ok(Agent::config_builder()
        .tls_config(tls)
        .proxy(proxy)
        .user_agent(AutoHeaderValue::Provided(Arc::new(USER_AGENT.to_owned())))
        .http_status_as_error(false)
        // Followed by hand: credentials must stay with their host.
        .max_redirects(0)
        .timeout_global(Some(remote.timeout))
        .max_idle_connections(16)
        .max_idle_connections_per_host(8)
        .max_idle_age(Duration::from_secs(15))
        .build()
        .new_agent())
}

fn tls(settings: &Tls) -> Result<TlsConfig, String> {
    let roots = match &settings.ca {
        Some(pem) => RootCerts::new_with_certs(&given_roots(pem)?),
        None => system_roots(),
    };
    let client = settings
        .client
        .as_ref()
        .map(|(chain, key)| client_certificate(chain, key))
        .transpose()?;
    Ok(TlsConfig::builder().root_certs(roots).client_cert(client).build())
}

fn given_roots(pem: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let found = certificates(pem).map_err(|e| format!("the CA bundle cannot be read: {e}"))?;
    let mut store = rustls::RootCertStore::empty();
    for certificate in &found {
        store
            .add(certificate.clone())
            .map_err(|e| format!("the CA bundle holds a bad certificate: {e}"))?;
    }
    if store.is_empty() {
        return Err("the CA bundle holds no certificate; give PEM text (-----BEGIN CERTIFICATE-----)".to_owned());
    }
    Ok(found.iter().map(|c| Certificate::from_der(c).to_owned()).collect())
}

/// The system's, or those that come with the program where the system has none (a container from scratch).
fn system_roots() -> RootCerts {
    let found: Vec<_> = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        return RootCerts::WebPki;
    }
    let roots: Vec<_> = found.iter().map(|c| Certificate::from_der(c).to_owned()).collect();
    RootCerts::new_with_certs(&roots)
}

fn client_certificate(chain: &[u8], key: &Secret) -> Result<ClientCert, String> {
    let chain = certificates(chain).map_err(|e| format!("the client certificate cannot be read: {e}"))?;
    if chain.is_empty() {
        return Err("the client certificate holds no PEM certificate".to_owned());
    }
    let pem = key.expose().as_bytes();
    let der = PrivateKeyDer::from_pem_slice(pem).map_err(|e| {
        format!("the client certificate's private key cannot be read ({e}); give it as PEM, not encrypted")
    })?;
    fits(&chain, der)?;
    let chain: Vec<_> = chain.iter().map(|c| Certificate::from_der(c).to_owned()).collect();
    let key = PrivateKey::from_pem(pem).map_err(|e| format!("the client certificate's private key: {e}"))?;
    Ok(ClientCert::new_with_certs(&chain, key))
}

/// Whether the TLS library takes the pair. The agent would only find out, and panic, at the first handshake.
fn fits(chain: &[CertificateDer<'static>], key: PrivateKeyDer<'static>) -> Result<(), String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_client_auth_cert(chain.to_vec(), key)
        })
        .map(|_| ())
        .map_err(|e| format!("the client certificate and its private key do not work together: {e}"))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, rustls_pki_types::pem::Error> {
    CertificateDer::pem_slice_iter(pem).collect()
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

    #[test]
    fn a_bundle_without_certificates_is_refused() {
        let none = Tls {
            ca: Some(b"hello".to_vec()),
            client: None,
        };
        assert!(tls(&none).unwrap_err().contains("no certificate"));
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec();
        assert!(
            tls(&Tls {
                ca: Some(broken),
                client: None
            })
            .unwrap_err()
            .contains("bad certificate")
        );
    }
}
