//! Logins at AWS, Azure and Google against stubs that check every request, including signatures and tokens.

mod aws;
mod azure;
mod google;
mod workload;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bumpwright_cloud::{
    Cloud, CloudError, CredentialSettings, Endpoints, Environment, Provider, RegistryLogin, WorkloadIdentity,
};
use bumpwright_http::{Deadline, Peer};
use bumpwright_secret::Secret;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::rsa::Rsa;
use bumpwright_testkit::stub_http::StubHttp;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use url::Url;

const HUNTER: &str = "hunter2/hunter2+hunter2=";

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(120))
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
