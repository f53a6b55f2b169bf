//! The transit engine of HashiCorp Vault and OpenBao (Vault, *Transit secrets engine (API): decrypt data*; SOPS,
//! `hcvault/keysource.go`; K-144, K-146).

use std::thread;
use std::time::Duration;

use serde_json::json;
use ureq::http::{Method, StatusCode};
use url::Url;

use super::answer::data_key;
use super::path::{address, decryption};
use super::settings::{VaultSettings, allowed, own_token, own_token_of_list};
use crate::request::{KeyRequest, Plaintext};
use bumpwright_http::{Answer, Request};
use bumpwright_secret::Secret;
use bumpwright_sops::KeyError;

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
    pub(crate) fn vault(&self, key: VaultKey<'_>) -> Result<Plaintext, KeyError> {
        let path = decryption(key.engine, key.name).map_err(KeyError::new)?;
        allowed(self.cloud, key.server).map_err(KeyError::new)?;
        let settings = self.vault.get_or_init(|| VaultSettings::read(self.cloud));
        let settings = settings.as_ref().map_err(|e| {
            KeyError::new(format!(
                "cannot create Vault client: error encountered setting up default configuration: {e}"
            ))
        })?;
        let token = match (&self.given.vault, self.logged_in) {
            (Some(token), _) => Some(token.clone()),
            (None, Some(logged_in)) => Some(logged_in.token(self, settings, key.server).map_err(KeyError::new)?),
            (None, None) if self.listed_only => own_token_of_list(self.cloud).map_err(KeyError::new)?,
            (None, None) => own_token(self.cloud).map_err(KeyError::new)?,
        };
        let failed = |said| {
            KeyError::new(format!(
                "failed to decrypt sops data key from Vault transit backend '{path}': {said}"
            ))
        };
        if token
            .as_ref()
            .is_some_and(|token| token.expose().chars().any(char::is_control))
        {
            return Err(failed(NO_TOKEN.to_owned()));
        }
        let server = settings.agent.as_deref().unwrap_or(key.server);
        let url = address(server, &path).map_err(failed)?;
        let body = Secret::new(json!({"ciphertext": key.enc}).to_string());
        let answer = self.vault_answer(settings, url, &body, token.as_ref());
        let answer = answer.map_err(failed)?;
        let secrets: Vec<&Secret> = token.iter().collect();
        data_key(answer, &secrets).map_err(failed)
    }

    /// Sends a request, and follows one redirect of a standby server with the token, since that server is trusted.
    pub(crate) fn vault_answer(
        &self,
        settings: &VaultSettings,
        url: Url,
        body: &Secret,
        token: Option<&Secret>,
    ) -> Result<Answer, String> {
        let answer = self.send_with_retries(settings, &put(url, body, settings, token))?;
        if !settings.redirects || !matches!(answer.status.as_u16(), 301 | 302 | 307) {
            return Ok(answer);
        }
        let location = answer.header("location").and_then(|place| answer.url.join(place).ok());
        let location = location.ok_or("http: no Location header in response")?;
        match (answer.url.scheme(), location.scheme()) {
            ("http", "http") | (_, "https") => {}
            _ => return Err("redirect would cause protocol downgrade".to_owned()),
        }
        let request = put(location, body, settings, token).redirected_from(answer.url);
        self.send_with_retries(settings, &request)
    }

    /// Sends a request with retries, also when the server lags behind others (412).
    fn send_with_retries(&self, settings: &VaultSettings, request: &Request) -> Result<Answer, String> {
        let mut left = settings.retries;
        loop {
            let answer = settings
                .client
                .send(request, self.deadline)
                .map_err(|e| e.to_string())?;
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

const NO_TOKEN: &str = "configured Vault token contains non-printable characters and cannot be used";

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
