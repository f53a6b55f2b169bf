//! Google Cloud KMS (Cloud KMS API, *cryptoKeys.decrypt*; SOPS, `gcpkms/keysource.go`; K-143). Requests use REST, and
//! errors have the words of gRPC, which SOPS uses.

use serde::Deserialize;
use serde_json::json;
use url::Url;
use zeroize::Zeroizing;

use super::encoded::{decode, encode};
use super::request::{KeyRequest, Plaintext};
use bumpwright_cloud::{CloudError, google_kms};
use bumpwright_gostd::{Base64, CorruptInput, quote};
use bumpwright_http::Request;
use bumpwright_secret::Secret;
use thiserror::Error;

/// Why Google Cloud KMS does not decrypt a data key, in the words of SOPS.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum GcpError {
    #[error("cannot create GCP KMS service: no valid resource ID found in {}", quote(.0))]
    Resource(String),
    /// The address of the service is not usable.
    #[error("cannot create GCP KMS service: {0}")]
    Service(#[source] CloudError),
    #[error(transparent)]
    Encoding(#[from] CorruptInput),
    /// No token was issued.
    #[error(
        "failed to decrypt sops data key with GCP KMS key: rpc error: code = Unauthenticated desc = transport: per-RPC creds failed \
         due to error: {0}"
    )]
    Token(#[source] CloudError),
    /// It refuses, or does not answer.
    #[error("failed to decrypt sops data key with GCP KMS key: rpc error: {}", said(.0))]
    Decrypt(#[source] CloudError),
    /// Its answer has no data key; its address.
    #[error(
        "failed to decrypt sops data key with GCP KMS key: rpc error: code = Internal desc = the answer of {0} cannot be used"
    )]
    Answer(String),
}

#[derive(Deserialize)]
struct Decrypted {
    #[serde(default, deserialize_with = "super::encoded::secret")]
    plaintext: Zeroizing<String>,
}

impl KeyRequest<'_> {
    pub(super) fn gcp_kms(&self, resource: &str, enc: &str) -> Result<Plaintext, GcpError> {
        if !is_key(resource) {
            return Err(GcpError::Resource(resource.to_owned()));
        }
        let url = address(&google_kms(self.cloud).map_err(GcpError::Service)?, resource);
        let ciphertext = decode(enc.as_bytes(), Base64::Standard)?;
        let token = self.google_token().map_err(GcpError::Token)?;
        let bearer = Secret::new(format!("Bearer {}", token.expose()));
        let body = json!({"name": resource, "ciphertext": encode(&ciphertext)});
        let request = Request::post(url, "application/json", body.to_string()).authorization(bearer.clone());
        let doing = "decrypt with Google Cloud KMS";
        let answer = self
            .cloud
            .send(doing, request, &[&token, &bearer], self.deadline)
            .map_err(GcpError::Decrypt)?;
        let body = Zeroizing::new(answer.body);
        let unread = || GcpError::Answer(answer.url.to_string());
        let decrypted: Decrypted = serde_json::from_slice(&body).map_err(|_| unread())?;
        decode(decrypted.plaintext.as_bytes(), Base64::Standard).map_err(|_| unread())
    }

    /// Gets a token of the Secret's key, else of the ServiceAccount or of this process.
    fn google_token(&self) -> Result<Secret, CloudError> {
        let token = match &self.given.gcp {
            Some(key) => self.cloud.google_token_of_key("sops.gcp-kms", key, self.deadline)?,
            None => self.cloud.google_token(self.account()?, self.deadline)?,
        };
        Ok(token.token)
    }
}

/// Whether a name matches `^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$` without control
/// characters, which SOPS accepts.
fn is_key(resource: &str) -> bool {
    let parts: Vec<&str> = resource.split('/').collect();
    match parts.as_slice() {
        [
            "projects",
            project,
            "locations",
            location,
            "keyRings",
            ring,
            "cryptoKeys",
            key,
        ] => [project, location, ring, key]
            .iter()
            .all(|name| !name.is_empty() && !name.chars().any(char::is_control)),
        _ => false,
    }
}

fn address(base: &Url, resource: &str) -> Url {
    let mut url = base.clone();
    let name = format!("{resource}:decrypt");
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().push("v1").extend(name.split('/'));
    }
    url
}

/// Google's error in the format of gRPC: `PERMISSION_DENIED` is `PermissionDenied`.
fn said(error: &CloudError) -> String {
    match error {
        CloudError::Refused { code, message, .. } if !code.is_empty() => {
            let code: String = match code.as_str() {
                "CANCELLED" => "Canceled".to_owned(),
                code => code.split('_').map(capitalized).collect(),
            };
            format!("code = {code} desc = {message}")
        }
        CloudError::Refused {
            url, status, message, ..
        } => format!("code = Unknown desc = {url} answered {status}: {message}"),
        CloudError::Net { cause, .. } => format!("code = Unavailable desc = {cause}"),
        other => format!("code = Unknown desc = {other}"),
    }
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
    format!("{first}{}", rest.to_ascii_lowercase())
}
