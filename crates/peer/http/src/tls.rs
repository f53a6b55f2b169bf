//! Trust in one peer, and the client certificate.

use std::sync::{Arc, OnceLock};

use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

use bumpwright_secret::Secret;
use thiserror::Error;

/// Why certificates or keys are not usable.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The certificate authorities are not PEM.
    #[error("the CA bundle cannot be read: {0}")]
    Authorities(#[source] pem::Error),
    /// One of them is not a certificate.
    #[error("the CA bundle has an invalid certificate: {0}")]
    Authority(#[source] rustls::Error),
    #[error("the CA bundle has no certificate; give PEM text (-----BEGIN CERTIFICATE-----)")]
    NoAuthority,
    /// The client certificate is not PEM.
    #[error("the client certificate cannot be read: {0}")]
    Client(#[source] pem::Error),
    #[error("the client certificate is not in PEM")]
    NoClient,
    /// Its key is not PEM.
    #[error("the client certificate's private key cannot be read ({0}); give it as PEM, not encrypted")]
    Key(#[source] pem::Error),
    /// Its key is not one that the agent uses.
    #[error("the client certificate's private key: {0}")]
    AgentKey(#[source] Box<ureq::Error>),
    /// Its key is that of another certificate.
    #[error("the client certificate and its private key do not work together: {0}")]
    Pair(#[source] rustls::Error),
}

/// Which certificates are trusted for HTTPS, and which is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// A PEM bundle that replaces the system's roots (as Flux's `ca.crt`).
    pub ca: Option<Vec<u8>>,
    /// Whether `ca` is added to the system's roots instead (as an ImageRepository's `certSecretRef` in Flux).
    pub beside_system: bool,
    /// A client certificate chain and its private key, both PEM.
    pub client: Option<(Vec<u8>, Secret)>,
    /// Whether any certificate is accepted, as in Flux only for an OCIRepository with
    /// `insecure` and without `certSecretRef`.
    pub unverified: bool,
}

/// The TLS configuration of the agent.
pub(super) fn config(settings: &Tls) -> Result<TlsConfig, TlsError> {
    let roots = match &settings.ca {
        Some(pem) => match (given_roots(pem)?, system_roots()) {
            (mut roots, RootCerts::Specific(system)) if settings.beside_system => {
                roots.extend(system.iter().cloned());
                RootCerts::new_with_certs(&roots)
            }
            (roots, _) => RootCerts::new_with_certs(&roots),
        },
        None => system_roots(),
    };
    let client = settings
        .client
        .as_ref()
        .map(|(chain, key)| client_certificate(chain, key))
        .transpose()?;
    Ok(TlsConfig::builder()
        .root_certs(roots)
        .client_cert(client)
        .disable_verification(settings.unverified)
        .build())
}

fn given_roots(pem: &[u8]) -> Result<Vec<Certificate<'static>>, TlsError> {
    let ders = certificates(pem).map_err(TlsError::Authorities)?;
    let mut store = rustls::RootCertStore::empty();
    for certificate in &ders {
        store.add(certificate.clone()).map_err(TlsError::Authority)?;
    }
    if store.is_empty() {
        return Err(TlsError::NoAuthority);
    }
    Ok(ders.iter().map(|c| Certificate::from_der(c).to_owned()).collect())
}

/// The system's roots, read once, or the embedded ones where the system has none (a container from scratch).
fn system_roots() -> RootCerts {
    static FOUND: OnceLock<RootCerts> = OnceLock::new();
    let load = || {
        let certificates: Vec<_> = rustls_native_certs::load_native_certs().certs;
        if certificates.is_empty() {
            return RootCerts::WebPki;
        }
        let roots: Vec<_> = certificates
            .iter()
            .map(|c| Certificate::from_der(c).to_owned())
            .collect();
        RootCerts::new_with_certs(&roots)
    };
    FOUND.get_or_init(load).clone()
}

fn client_certificate(chain: &[u8], key: &Secret) -> Result<ClientCert, TlsError> {
    let chain = certificates(chain).map_err(TlsError::Client)?;
    if chain.is_empty() {
        return Err(TlsError::NoClient);
    }
    let pem = key.expose().as_bytes();
    let der = PrivateKeyDer::from_pem_slice(pem).map_err(TlsError::Key)?;
    fits(&chain, der)?;
    let chain: Vec<_> = chain.iter().map(|c| Certificate::from_der(c).to_owned()).collect();
    let key = PrivateKey::from_pem(pem).map_err(|error| TlsError::AgentKey(Box::new(error)))?;
    Ok(ClientCert::new_with_certs(&chain, key))
}

/// Checks whether the TLS library accepts the pair. The agent would panic at the first handshake.
fn fits(chain: &[CertificateDer<'static>], key: PrivateKeyDer<'static>) -> Result<(), TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_client_auth_cert(chain.to_vec(), key)
        })
        .map(|_| ())
        .map_err(TlsError::Pair)
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, pem::Error> {
    CertificateDer::pem_slice_iter(pem).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_without_certificates_is_refused() {
        let none = Tls {
            ca: Some(b"hello".to_vec()),
            ..Tls::default()
        };
        assert!(matches!(config(&none), Err(TlsError::NoAuthority)));
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec();
        let broken = Tls {
            ca: Some(broken),
            ..Tls::default()
        };
        assert!(matches!(config(&broken), Err(TlsError::Authority(_))));
    }
}
