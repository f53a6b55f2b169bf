//! Google Cloud KMS (Cloud KMS API, *cryptoKeys.decrypt*; SOPS, `gcpkms/keysource.go`; K-143). Requests use REST, and
//! errors have the words of gRPC, which SOPS uses.

use serde::Deserialize;
use serde_json::json;
use url::Url;
use zeroize::Zeroizing;

use super::encoded::{decode, encode};
use super::request::{KeyRequest, Plaintext};
use bumpwright_cloud::{CloudError, google_kms};
use bumpwright_gostd::{Base64, quote};
use bumpwright_http::Request;
use bumpwright_secret::Secret;
use bumpwright_sops::KeyError;

#[derive(Deserialize)]
struct Decrypted {
    #[serde(default, deserialize_with = "super::encoded::secret")]
    plaintext: Zeroizing<String>,
}

impl KeyRequest<'_> {
    pub(super) fn gcp_kms(&self, resource: &str, enc: &str) -> Result<Plaintext, KeyError> {
        let no_service = |why: String| KeyError::new(format!("cannot create GCP KMS service: {why}"));
        if !is_key(resource) {
            return Err(no_service(format!("no valid resource ID found in {}", quote(resource))));
        }
        let url = address(
            &google_kms(self.cloud).map_err(|e| no_service(e.to_string()))?,
            resource,
        );
        let ciphertext = decode(enc.as_bytes(), Base64::Standard).map_err(|e| KeyError::new(e.to_string()))?;
        let failed = |said: String| {
            KeyError::new(format!(
                "failed to decrypt sops data key with GCP KMS key: rpc error: {said}"
            ))
        };
        let token = self.google_token().map_err(|e| {
            failed(format!(
                "code = Unauthenticated desc = transport: per-RPC creds failed due to error: {e}"
            ))
        })?;
        let bearer = Secret::new(format!("Bearer {}", token.expose()));
        let body = json!({"name": resource, "ciphertext": encode(&ciphertext)});
        let request = Request::post(url, "application/json", body.to_string()).authorization(bearer.clone());
        let doing = "decrypt with Google Cloud KMS";
        let answer = self
            .cloud
            .send(doing, request, &[&token, &bearer], self.deadline)
            .map_err(|e| failed(refused(e)))?;
        let body = Zeroizing::new(answer.body);
        let unread = || {
            failed(format!(
                "code = Internal desc = the answer of {} cannot be used",
                answer.url
            ))
        };
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
fn refused(error: CloudError) -> String {
    match error {
        CloudError::Refused { code, message, .. } if !code.is_empty() => {
            let code = match code.as_str() {
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
