//! Logins at AWS, Azure and Google against stubs that look at every request: signatures are made anew, tokens verified.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

#[path = "cloud/aws.rs"]
mod aws;
#[path = "cloud/azure.rs"]
mod azure;
#[path = "cloud/google.rs"]
mod google;
mod support;
#[path = "cloud/workload.rs"]
mod workload;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bumpwright::cloud::{Cloud, CloudError, Endpoints, Environment, Provider, RegistryLogin, WorkloadIdentity};
use bumpwright::net::{Deadline, Peer, Secret};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use support::http_server::Request;
use support::reply::Reply;
use support::stub_http::StubHttp;
use url::Url;

const HUNTER: &str = "hunter2/hunter2+hunter2=";

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(30))
}

/// The endpoints of this test are on this machine, whatever proxies it has.
fn cloud_at(variables: &[(&str, &str)], endpoints: Endpoints) -> Cloud {
    let peer = Peer {
        environment: false,
        ..Peer::default()
    };
    Cloud::new(Environment::from_iter(variables.iter().copied()), endpoints, peer)
}

fn cloud(variables: &[(&str, &str)]) -> Cloud {
    cloud_at(variables, Endpoints::default())
}

fn login(cloud: &Cloud, provider: Provider, host: &str) -> Result<RegistryLogin, CloudError> {
    cloud.registry_login(provider, host, None, soon())
}

fn failure(cloud: &Cloud, provider: Provider, host: &str) -> String {
    let said = login(cloud, provider, host).unwrap_err();
    assert!(!format!("{said} {said:?}").contains("hunter2"), "{said}");
    said.to_string()
}

fn in_seconds(seconds: u64) -> u64 {
    (SystemTime::now() + Duration::from_secs(seconds))
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

fn body(request: &Request) -> &str {
    std::str::from_utf8(&request.body).unwrap()
}

fn url(text: &str) -> Option<Url> {
    Some(Url::parse(text).unwrap())
}

fn refusal(status: u16, body: &Json) -> Reply {
    Reply::bytes(status, "application/json", body.to_string())
}

/// An RSA key and a certificate for it, made by openssl.
struct Rsa {
    key: String,
    certificate: String,
    der: Vec<u8>,
}

impl Rsa {
    fn make(folder: &Path) -> Option<Self> {
        if !support::has("openssl", "openssl") {
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

    fn thumbprint(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(&self.der))
    }

    /// Header and claims of a token, once its signature is verified with the public key.
    fn verified(&self, token: &str, algorithm: &dyn rustls_pki_types::SignatureVerificationAlgorithm) -> (Json, Json) {
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
