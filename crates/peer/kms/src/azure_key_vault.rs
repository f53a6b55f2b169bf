//! Azure Key Vault (Key Vault REST API, *Decrypt*; SOPS, `azkv/keysource.go`; K-138).

use serde::Deserialize;
use serde_json::json;
use ureq::http::{Method, StatusCode};
use url::Url;
use zeroize::Zeroizing;

use super::azure_challenge::Challenge;
use super::azure_error::{AzureError, VaultRefusal};
use super::azure_refusal::refused;
use super::challenges::Challenges;
use super::encoded::{decode, encode_raw_url};
use super::request::{KeyRequest, Plaintext};
use bumpwright_cloud::{AzureCloud, EntraProof};
use bumpwright_gostd::Base64;
use bumpwright_http::{Answer, Request};
use bumpwright_secret::Secret;

/// The API version (Azure SDK for Go, `azkeys` v1.5.0).
const VERSION: &str = "2025-07-01";

impl Challenges {
    fn get(&self, vault: &Url) -> Option<Challenge> {
        let challenges = self.0.lock();
        challenges.get(&vault.origin().ascii_serialization()).cloned()
    }

    fn put(&self, vault: &Url, challenge: Option<&Challenge>) {
        let mut challenges = self.0.lock();
        let origin = vault.origin().ascii_serialization();
        match challenge {
            Some(challenge) => drop(challenges.insert(origin, challenge.clone())),
            None => drop(challenges.remove(&origin)),
        }
    }
}

/// A master key at Azure.
#[derive(Clone, Copy, Debug)]
pub(super) struct AzureKey<'k> {
    pub(super) vault: &'k str,
    pub(super) name: &'k str,
    pub(super) version: &'k str,
    pub(super) enc: &'k str,
}

#[derive(Deserialize)]
struct Decrypted {
    #[serde(default, deserialize_with = "super::encoded::secret")]
    value: Zeroizing<String>,
}

impl KeyRequest<'_> {
    pub(super) fn azure_key_vault(&self, key: AzureKey<'_>) -> Result<Plaintext, AzureError> {
        let blob = decode(key.enc.as_bytes(), Base64::RawUrl)?;
        self.decrypted(key, &blob).map_err(|problem| AzureError::Decrypt {
            vault: key.vault.to_owned(),
            name: key.name.to_owned(),
            version: key.version.to_owned(),
            problem: Box::new(problem),
        })
    }

    fn decrypted(&self, key: AzureKey<'_>, blob: &[u8]) -> Result<Plaintext, VaultRefusal> {
        let url = address(key)?;
        let cached = self.challenges.get(&url);
        let challenge = match &cached {
            Some(cached) => cached.clone(),
            None => self.challenged(&url)?,
        };
        let token = self.entra_token(&challenge)?;
        let answer = self.authorized(&url, blob, &token)?;
        if answer.status == StatusCode::UNAUTHORIZED {
            // The challenge may have changed.
            self.challenges.put(&url, None);
            if cached.is_some() {
                return self.decrypted(key, blob);
            }
        }
        if answer.status != StatusCode::OK {
            return Err(VaultRefusal::Refused(refused(&answer, &[&token])));
        }
        let body = Zeroizing::new(answer.body);
        let unread = || VaultRefusal::Answer(bumpwright_http::shown(&answer.url).to_string());
        let decrypted: Decrypted = serde_json::from_slice(&body).map_err(|_| unread())?;
        decode(decrypted.value.as_bytes(), Base64::RawUrl).map_err(|_| unread())
    }

    /// Requests the challenge of a vault.
    fn challenged(&self, url: &Url) -> Result<Challenge, VaultRefusal> {
        let request = Request::get(url.clone())
            .method(Method::POST)
            .header("accept", "application/json")
            .without_redirects();
        let answer = self.sent(&request)?;
        let header = answer.header("www-authenticate").filter(|header| !header.is_empty());
        match header.filter(|_| answer.status == StatusCode::UNAUTHORIZED) {
            Some(header) => {
                let challenge = Challenge::read(header, url)?;
                self.challenges.put(url, Some(&challenge));
                Ok(challenge)
            }
            None => Err(VaultRefusal::Refused(refused(&answer, &[]))),
        }
    }

    fn authorized(&self, url: &Url, blob: &[u8], token: &Secret) -> Result<Answer, VaultRefusal> {
        let body = json!({"alg": "RSA-OAEP-256", "value": encode_raw_url(blob)});
        let request = Request::post(url.clone(), "application/json", body.to_string())
            .header("accept", "application/json")
            .authorization(format!("Bearer {}", token.expose()))
            .repeatable()
            .without_redirects();
        self.sent(&request)
    }

    fn sent(&self, request: &Request) -> Result<Answer, VaultRefusal> {
        Ok(self.cloud.client().send(request, self.deadline)?)
    }

    /// Gets a token of the Secret's application, else of the ServiceAccount or of this process.
    fn entra_token(&self, challenge: &Challenge) -> Result<Secret, VaultRefusal> {
        let token = match &self.given.azure {
            Some(client) => {
                let (credential, own) = match &client.proof {
                    EntraProof::Secret { tenant, .. } => ("ClientSecretCredential", tenant.as_str()),
                    EntraProof::Certificate { tenant, .. } => ("ClientCertificateCredential", tenant.as_str()),
                    EntraProof::ManagedIdentity => ("", challenge.tenant.as_str()),
                };
                if !challenge.tenant.is_empty() && challenge.tenant != own {
                    let tenant = challenge.tenant.clone();
                    return Err(VaultRefusal::Tenant { credential, tenant });
                }
                self.cloud.entra_token_of(client, &challenge.scope, self.deadline)
            }
            None => self.account().and_then(|account| {
                self.cloud
                    .entra_token(AzureCloud::Public, &challenge.scope, account, self.deadline)
            }),
        };
        Ok(token?.token)
    }
}

/// Builds the address. Tokens are never sent without TLS.
fn address(key: AzureKey<'_>) -> Result<Url, VaultRefusal> {
    if key.name.is_empty() {
        return Err(VaultRefusal::NoName);
    }
    let is_odd = |name: &&str| matches!(*name, "." | "..") || name.chars().any(char::is_control);
    if let Some(name) = [key.name, key.version].into_iter().find(is_odd) {
        return Err(VaultRefusal::Name(name.to_owned()));
    }
    let no_address = || VaultRefusal::Address(key.vault.to_owned());
    let mut url = Url::parse(key.vault)
        .ok()
        .filter(Url::has_host)
        .ok_or_else(no_address)?;
    if url.scheme() != "https" {
        return Err(VaultRefusal::NoTls);
    }
    url.set_query(None);
    let parts = ["keys", key.name, key.version, "decrypt"];
    url.path_segments_mut()
        .map_err(|()| no_address())?
        .pop_if_empty()
        .extend(parts.into_iter().filter(|part| !part.is_empty()));
    url.set_query(Some(&format!("api-version={VERSION}")));
    Ok(url)
}
