//! AWS KMS (AWS KMS API Reference, *Decrypt*; SOPS, `kms/keysource.go`; K-137).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::aws_refusal::{no_credentials, refused};
use super::encoded::decode;
use super::request::{KeyRequest, Plaintext};
use bumpwright_cloud::AwsCredentials;
use bumpwright_gostd::Base64;
use bumpwright_re2::{Budget, Regexp};
use bumpwright_secret::Secret;
use bumpwright_sops::KeyError;

/// The pattern of keys and aliases in all partitions (SOPS, `arnRegex`).
const ARN: &str = r"^arn:aws[\w-]*:kms:(.+):[0-9]+:(key|alias)/.+$";
/// The longest name of a role's session (SOPS, `roleSessionNameLengthLimit`).
const SESSION: usize = 64;

/// A master key at AWS, without its profile as in Flux, since profiles belong to the encrypting user.
#[derive(Clone, Copy, Debug)]
pub(super) struct AwsKey<'k> {
    pub(super) arn: &'k str,
    pub(super) role: &'k str,
    pub(super) context: &'k BTreeMap<String, Option<String>>,
    pub(super) enc: &'k str,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Decrypted {
    #[serde(default, deserialize_with = "super::encoded::secret")]
    plaintext: Zeroizing<String>,
}

impl KeyRequest<'_> {
    pub(super) fn aws_kms(&self, key: AwsKey<'_>) -> Result<Plaintext, KeyError> {
        let blob = decode(key.enc.as_bytes(), Base64::Standard)
            .map_err(|e| KeyError::new(format!("error base64-decoding encrypted data key: {e}")))?;
        let region = region(key.arn).ok_or_else(|| KeyError::new(format!("no valid ARN found in '{}'", key.arn)))?;
        let mut with = self.aws_credentials(&region);
        if !key.role.is_empty() {
            let failed = |said| {
                KeyError::new(format!(
                    "failed to assume role '{}': operation error STS: AssumeRole, {said}",
                    key.role
                ))
            };
            let own = with.map_err(failed)?;
            let role = (key.role, &*session(self.cloud.variable("HOSTNAME")));
            with = Ok(self
                .cloud
                .aws_role(role, &region, &own, self.deadline)
                .map_err(|e| failed(refused(e)))?);
        }
        let failed = |said| {
            KeyError::new(format!(
                "failed to decrypt sops data key with AWS KMS: operation error KMS: Decrypt, {said}"
            ))
        };
        let with = with.map_err(failed)?;
        let context: BTreeMap<_, _> = key
            .context
            .iter()
            .map(|(name, value)| (name, value.as_deref().unwrap_or_default()))
            .collect();
        let body = json!({
            "CiphertextBlob": super::encoded::encode(&blob),
            "EncryptionContext": context,
            "KeyId": key.arn,
        });
        let answer = self
            .cloud
            .aws_kms(
                "TrentService.Decrypt",
                Secret::new(body.to_string()),
                &region,
                &with,
                self.deadline,
            )
            .map_err(|e| failed(refused(e)))?;
        let body = Zeroizing::new(answer.body);
        let unread = || failed("deserialization failed, failed to decode response body".to_owned());
        let decrypted: Decrypted = serde_json::from_slice(&body).map_err(|_| unread())?;
        decode(decrypted.plaintext.as_bytes(), Base64::Standard).map_err(|_| unread())
    }

    /// The Secret's credentials, else those of the ServiceAccount or of this process. The error is in the SDK's words.
    fn aws_credentials(&self, region: &str) -> Result<AwsCredentials, String> {
        let found = match &self.given.aws {
            Some(keys) if keys.access_key_id.is_empty() || keys.secret_access_key.is_empty() => {
                return Err(no_credentials("static credentials are empty"));
            }
            Some(keys) => return Ok(keys.clone()),
            None => self.account(),
        };
        found
            .and_then(|account| self.cloud.aws_credentials(region, account, self.deadline))
            .map_err(|e| no_credentials(&e.to_string()))
    }
}

/// The region of a key; none for a text that is not an ARN of a key.
fn region(arn: &str) -> Option<String> {
    let pattern = Regexp::new(ARN).ok()?;
    let found = pattern
        .find_all_submatches(arn.as_bytes(), 1, &mut Budget::new(1 << 24, 1 << 24))
        .ok()?;
    let region = found.first()?.get(1)?;
    arn.get(region).map(str::to_owned)
}

/// `sops@HOST` without characters that AWS refuses (SOPS, `stsSessionName`), of the host name in the environment.
fn session(host: Option<&str>) -> String {
    let host = host.unwrap_or("bumpwright");
    // The pattern of SOPS has a range from @ to _, which includes some signs and all capitals.
    let good = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '=' | ',' | '.' | '@'..='_');
    let name: String = "sops@".chars().chain(host.chars().filter(good)).collect();
    name.chars().take(SESSION).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions() {
        for (arn, expected) in [
            (
                "arn:aws:kms:us-west-2:107501996527:key/612d5f0p-p1l3",
                Some("us-west-2"),
            ),
            (
                "arn:aws-cn:kms:cn-north-1:123456789012:key/1234abcd",
                Some("cn-north-1"),
            ),
            ("arn:aws-us-gov:kms:us-gov-west-1:1:alias/a/b", Some("us-gov-west-1")),
            ("arn:aws:kms:a:1:key/b:2:key/c", Some("a:1:key/b")),
            ("arn:aws:kms:us-west-2:107501996527:key/", None),
            ("arn:aws:kms::1:key/a", None),
            ("arn:aws:s3:::my-bucket", None),
            ("not-an-arn", None),
        ] {
            assert_eq!(region(arn).as_deref(), expected, "{arn}");
        }
    }

    #[test]
    fn sessions() {
        assert_eq!(
            session(Some("kustomize-controller-7d9_ü!x")),
            "sops@kustomizecontroller7d9_x"
        );
        assert_eq!(session(None), "sops@bumpwright");
        assert_eq!(session(Some(&"a".repeat(100))).len(), SESSION);
    }
}
