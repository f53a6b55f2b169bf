//! The transit engine of HashiCorp Vault and OpenBao (Vault, *Transit secrets engine (API): decrypt data*; SOPS,
//! `hcvault/keysource.go`; K-144, K-146).

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::json;
use ureq::http::{Method, StatusCode};
use url::Url;

use super::answer::data_key;
use super::error::{TransitError, VaultError};
use super::path::{address, decryption};
use super::settings::{VaultSettings, allowed, own_token, own_token_of_list};
use crate::request::{KeyRequest, Plaintext};
use bumpwright_http::{Answer, Request};
use bumpwright_secret::Secret;

/// The pause before a retry at a server that lags behind others.
const BEHIND: Duration = Duration::from_secs(1);

/// A master key at Vault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VaultKey<'k> {
    pub(crate) server: &'k str,
    pub(crate) engine: &'k str,
    pub(crate) name: &'k str,
    pub(crate) enc: &'k str,
}

impl KeyRequest<'_> {
    pub(crate) fn vault(&self, key: VaultKey<'_>) -> Result<Plaintext, VaultError> {
        let path = decryption(key.engine, key.name)?;
        allowed(self.cloud, key.server)?;
        let settings = self
            .vault
            .get_or_init(|| VaultSettings::read(self.cloud).map_err(Arc::new));
        let settings = settings
            .as_ref()
            .map_err(|error| VaultError::Settings(Arc::clone(error)))?;
        let token = match (&self.given.vault, self.logged_in) {
            (Some(token), _) => Some(token.clone()),
            (None, Some(logged_in)) => Some(logged_in.token(self, settings, key.server).map_err(Box::new)?),
            (None, None) if self.listed_only => own_token_of_list(self.cloud)?,
            (None, None) => own_token(self.cloud)?,
        };
        let decrypted = self.transit(key, &path, settings, token.as_ref());
        decrypted.map_err(|problem| {
            let problem = Box::new(problem);
            VaultError::Decrypt { path, problem }
        })
    }

    fn transit(
        &self,
        key: VaultKey<'_>,
        path: &str,
        settings: &VaultSettings,
        token: Option<&Secret>,
    ) -> Result<Plaintext, TransitError> {
        if token.is_some_and(|token| token.expose().chars().any(char::is_control)) {
            return Err(TransitError::Token);
        }
        let server = settings.agent.as_deref().unwrap_or(key.server);
        let url = address(server, path)?;
        let body = Secret::new(json!({"ciphertext": key.enc}).to_string());
        let answer = self.vault_answer(settings, url, &body, token)?;
        let secrets: Vec<&Secret> = token.into_iter().collect();
        Ok(data_key(answer, &secrets)?)
    }

    /// Sends a request, and follows one redirect of a standby server with the token, since that server is trusted.
    pub(crate) fn vault_answer(
        &self,
        settings: &VaultSettings,
        url: Url,
        body: &Secret,
        token: Option<&Secret>,
    ) -> Result<Answer, TransitError> {
        let answer = self.send_with_retries(settings, &put(url, body, settings, token))?;
        if !settings.redirects || !matches!(answer.status.as_u16(), 301 | 302 | 307) {
            return Ok(answer);
        }
        let location = answer.header("location").and_then(|place| answer.url.join(place).ok());
        let location = location.ok_or(TransitError::NoLocation)?;
        match (answer.url.scheme(), location.scheme()) {
            ("http", "http") | (_, "https") => {}
            _ => return Err(TransitError::Downgrade),
        }
        let request = put(location, body, settings, token).redirected_from(answer.url);
        self.send_with_retries(settings, &request)
    }

    /// Sends a request with retries, also when the server lags behind others (412).
    fn send_with_retries(&self, settings: &VaultSettings, request: &Request) -> Result<Answer, TransitError> {
        let mut left = settings.retries;
        loop {
            let answer = settings.client.send(request, self.deadline)?;
            if answer.status != StatusCode::PRECONDITION_FAILED || left == 0 || BEHIND >= self.deadline.left() {
                return Ok(answer);
            }
            left -= 1;
            thread::sleep(BEHIND);
        }
    }
}

/// The largest answer, in bytes: it has one key or one token. Parsed, it may take a hundred times that.
const LARGEST: usize = 64 << 10;

#[expect(
    clippy::disallowed_methods,
    reason = "an answer of Vault; bound: 64 KiB; account: memory of fetches"
)]
fn put(url: Url, body: &Secret, settings: &VaultSettings, token: Option<&Secret>) -> Request {
    let mut request = Request::post(url, "application/json", body.clone())
        .method(Method::PUT)
        .header("x-vault-request", "true")
        .repeatable()
        .without_redirects()
        .limit(LARGEST);
    if let Some(token) = token {
        request = request.secret_header("x-vault-token", token.clone());
    }
    match &settings.namespace {
        Some(namespace) => request.header("x-vault-namespace", namespace.clone()),
        None => request,
    }
}
