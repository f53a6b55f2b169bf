//! Trust in one peer, and the client certificate.

use std::sync::{Arc, OnceLock};

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

use bumpwright_secret::Secret;

/// Trust for HTTPS.
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
///
/// # Errors
/// A text, when certificates or keys are not usable.
pub(super) fn config(settings: &Tls) -> Result<TlsConfig, String> {
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

fn given_roots(pem: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let found = certificates(pem).map_err(|e| format!("the CA bundle cannot be read: {e}"))?;
    let mut store = rustls::RootCertStore::empty();
    for certificate in &found {
        store
            .add(certificate.clone())
            .map_err(|e| format!("the CA bundle has an invalid certificate: {e}"))?;
    }
    if store.is_empty() {
        return Err("the CA bundle has no certificate; give PEM text (-----BEGIN CERTIFICATE-----)".to_owned());
    }
    Ok(found.iter().map(|c| Certificate::from_der(c).to_owned()).collect())
}

/// The system's roots, read once, or the embedded ones where the system has none (a container from scratch).
fn system_roots() -> RootCerts {
    static FOUND: OnceLock<RootCerts> = OnceLock::new();
    let load = || {
        let found: Vec<_> = rustls_native_certs::load_native_certs().certs;
        if found.is_empty() {
            return RootCerts::WebPki;
        }
        let roots: Vec<_> = found.iter().map(|c| Certificate::from_der(c).to_owned()).collect();
        RootCerts::new_with_certs(&roots)
    };
    FOUND.get_or_init(load).clone()
}

fn client_certificate(chain: &[u8], key: &Secret) -> Result<ClientCert, String> {
    let chain = certificates(chain).map_err(|e| format!("the client certificate cannot be read: {e}"))?;
    if chain.is_empty() {
        return Err("the client certificate is not in PEM".to_owned());
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

/// Checks whether the TLS library accepts the pair. The agent would panic at the first handshake.
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
        assert!(config(&none).unwrap_err().contains("no certificate"));
        let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec();
        assert!(
            config(&Tls {
                ca: Some(broken),
                ..Tls::default()
            })
            .unwrap_err()
            .contains("invalid certificate")
        );
    }
}
