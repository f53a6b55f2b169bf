//! RSA keys, and signed tokens verified with them.

use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

/// An RSA key and a certificate for it, made by openssl.
pub struct Rsa {
    pub key: String,
    pub certificate: String,
    der: Vec<u8>,
}

impl Rsa {
    /// None when openssl is missing.
    pub fn make(folder: &Path) -> Option<Self> {
        if !crate::has("openssl", "openssl") {
            return None;
        }
        let arguments = "req -x509 -newkey rsa:2048 -nodes -keyout rsa.key -out rsa.crt -subj /CN=x -days 2";
        let mut command = Command::new("openssl");
        let command = command
            .args(arguments.split(' '))
            .current_dir(folder)
            .stderr(Stdio::null());
        assert!(command.status().unwrap().success());
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let certificate = read("rsa.crt");
        let base64: String = certificate.lines().filter(|line| !line.starts_with('-')).collect();
        Some(Self {
            key: read("rsa.key"),
            der: STANDARD.decode(base64).unwrap(),
            certificate,
        })
    }

    /// The `x5t#S256` of the certificate (RFC 7517).
    pub fn thumbprint(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.der))
    }

    /// Header and claims of a token, once its signature is verified with the public key.
    pub fn verified(
        &self,
        token: &str,
        algorithm: &dyn rustls_pki_types::SignatureVerificationAlgorithm,
    ) -> (Json, Json) {
        let (text, signature) = token.rsplit_once('.').unwrap();
        let certificate = rustls_pki_types::CertificateDer::from(self.der.as_slice());
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let certificate = webpki::EndEntityCert::try_from(&certificate).unwrap();
        certificate
            .verify_signature(algorithm, text.as_bytes(), &signature)
            .unwrap();
        let (header, claims) = text.split_once('.').unwrap();
        let json = |part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        (json(header), json(claims))
    }
}
