//! Certificates made by openssl, and TLS settings for the test servers.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::fixture::repo::run;

/// An authority of our own with a certificate for `localhost` and one for a client, all PEM.
pub struct Certificates {
    pub ca: Vec<u8>,
    pub server: (Vec<u8>, Vec<u8>),
    pub client: (Vec<u8>, Vec<u8>),
}

impl Certificates {
    /// None when openssl is missing.
    pub fn make() -> Option<Self> {
        Self::for_host("localhost")
    }

    /// With a certificate for another host.
    pub fn for_host(host: &str) -> Option<Self> {
        if !crate::has("openssl", "openssl") {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        openssl(
            dir,
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -subj /CN=ca -days 2",
        );
        for (name, usage) in [("server", "serverAuth"), ("client", "clientAuth")] {
            let extensions =
                format!("subjectAltName=DNS:{host}\nextendedKeyUsage={usage}\nbasicConstraints=CA:FALSE\n");
            std::fs::write(dir.join("ext"), extensions).unwrap();
            let key = format!("-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {name}.key");
            openssl(dir, &format!("req {key} -out {name}.csr -subj /CN={name}"));
            openssl(
                dir,
                &format!(
                    "x509 -req -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out {name}.crt -days 2 -extfile ext"
                ),
            );
        }
        let read = |name: &str| std::fs::read(dir.join(name)).unwrap();
        let pair = |name: &str| (read(&format!("{name}.crt")), read(&format!("{name}.key")));
        Some(Self {
            ca: read("ca.crt"),
            server: pair("server"),
            client: pair("client"),
        })
    }

    /// For a server; with `clients`, one that requires a certificate of ours.
    pub fn server_config(&self, clients: bool) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if clients {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(&self.ca).unwrap()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let chain = vec![CertificateDer::from_pem_slice(&self.server.0).unwrap()];
        Arc::new(
            builder
                .with_single_cert(chain, PrivateKeyDer::from_pem_slice(&self.server.1).unwrap())
                .unwrap(),
        )
    }
}

fn openssl(dir: &Path, arguments: &str) {
    run(Command::new("openssl").args(arguments.split(' ')).current_dir(dir));
}
