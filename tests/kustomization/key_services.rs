//! Data keys decrypted at AWS KMS (moto), Google Cloud KMS, Azure Key Vault and Vault (servers that check every request
//! and decrypt), with every credential, in their order; and the recorded requests and errors of the real SOPS.

mod aws;
mod azure;
mod entries;
mod gcp;
mod recorded;
mod vault;
mod vault_login;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bumpwright_cloud::{Cloud, CloudError, CredentialSettings, Endpoints, Environment, WorkloadIdentity};
use bumpwright_http::{Deadline, Peer};
use bumpwright_kms::{Services, StaticCredentials};
use bumpwright_secret::Secret;
use bumpwright_sops::{KeyError, KeyService, KeyServices, MasterKey, SecretError};
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value as Json, json};
use sha2::Sha256;

/// Part of every secret here.
const HUNTER: &str = "hunter2/hunter2+hunter2=";
/// A data key, which is as secret.
const DATA_KEY: &[u8; 32] = b"hunter2hunter2hunter2hunter2hunt";
const CREATED: &str = "2026-01-01T00:00:00Z";

/// Entries of a Secret, variables, annotations.
type Pairs<'a> = &'a [(&'a str, &'a str)];

/// The servers of this test are on this machine, whatever proxies it has.
fn peer() -> Peer {
    Peer {
        environment: false,
        ..Peer::default()
    }
}

fn cloud_through(peer: Peer, variables: &[(&str, &str)]) -> Cloud {
    Cloud::new(
        Environment::from_iter(variables.iter().copied()),
        Endpoints::default(),
        peer,
    )
}

fn cloud(variables: &[(&str, &str)]) -> Cloud {
    cloud_through(peer(), variables)
}

fn read(entries: &[(&str, &str)]) -> Result<StaticCredentials, SecretError> {
    let data: Vec<(&str, &[u8])> = entries.iter().map(|(key, value)| (*key, value.as_bytes())).collect();
    StaticCredentials::read("apps/keys", &data)
}

fn given(entries: &[(&str, &str)]) -> StaticCredentials {
    read(entries).unwrap()
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(60))
}

fn services(cloud: Cloud, entries: &[(&str, &str)]) -> Services {
    Services::new(cloud, given(entries), Ok(None), soon())
}

/// A ServiceAccount whose tokens name whom they are for.
fn account(annotations: &[(&str, &str)]) -> Result<Option<WorkloadIdentity>, CloudError> {
    Ok(Some(WorkloadIdentity {
        namespace: "apps".to_owned(),
        name: "decryptor".to_owned(),
        annotations: annotations
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect(),
        credential: CredentialSettings::default(),
        issue: Arc::new(|request, _| Ok(Secret::new(format!("{HUNTER} for {}", request.audiences.join(","))))),
    }))
}

fn plain(services: &Services, key: &MasterKey) -> Vec<u8> {
    services.decrypt(key).unwrap().to_vec()
}

/// Why a key cannot be decrypted; nothing of a secret is in it.
fn failure(services: &Services, key: &MasterKey) -> String {
    let said = services.decrypt(key).unwrap_err();
    assert!(
        !format!("{said} {said:?} {services:?}").contains("hunter2"),
        "{said} {services:?}"
    );
    said.to_string()
}

fn body(request: &Request) -> Json {
    serde_json::from_slice(&request.body).unwrap()
}

fn refusal(status: u16, body: &Json) -> Reply {
    let mut reply = Reply::json(body);
    reply.status = status;
    reply
}

/// A service's own way to encrypt: a stream from its key and a number, and a sum over it.
fn sealed(key: &str, plain: &[u8]) -> Vec<u8> {
    let stream = Hmac::<Sha256>::new_from_slice(key.as_bytes())
        .unwrap()
        .chain_update("stream");
    let stream = stream.finalize().into_bytes();
    let mut bytes: Vec<u8> = plain.iter().zip(stream).map(|(a, b)| a ^ b).collect();
    bytes.extend(sum(key, &bytes));
    bytes
}

fn opened(key: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    let (bytes, given) = sealed.split_at_checked(sealed.len().checked_sub(8)?)?;
    let plain = || self::sealed(key, bytes)[..bytes.len()].to_vec();
    (sum(key, bytes) == given).then(plain)
}

fn sum(key: &str, bytes: &[u8]) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(key.as_bytes())
        .unwrap()
        .chain_update(bytes);
    mac.finalize().into_bytes()[..8].to_vec()
}
