//! AWS KMS (AWS KMS API Reference, *Decrypt*; SOPS, `kms/keysource.go`; K-137).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::aws_refusal::{AwsError, AwsRefusal};
use super::encoded::decode;
use super::request::{KeyRequest, Plaintext};
use bumpwright_cloud::AwsCredentials;
use bumpwright_gostd::Base64;
use bumpwright_re2::{Budget, Regexp};
use bumpwright_secret::Secret;

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
    pub(super) fn aws_kms(&self, key: AwsKey<'_>) -> Result<Plaintext, AwsError> {
        let blob = decode(key.enc.as_bytes(), Base64::Standard)?;
        let region = region(key.arn).ok_or_else(|| AwsError::Arn(key.arn.to_owned()))?;
        let credentials = match key.role {
            "" => self.aws_credentials(&region)?,
            role => self.aws_role(role, &region).map_err(|problem| AwsError::Role {
                role: role.to_owned(),
                problem: Box::new(problem),
            })?,
        };
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
        let body = Secret::new(body.to_string());
        let answer = self
            .cloud
            .aws_kms("TrentService.Decrypt", body, &region, &credentials, self.deadline)
            .map_err(AwsRefusal::Cloud)?;
        let body = Zeroizing::new(answer.body);
        let decrypted: Decrypted = serde_json::from_slice(&body).map_err(|_| AwsRefusal::Answer)?;
        Ok(decode(decrypted.plaintext.as_bytes(), Base64::Standard).map_err(|_| AwsRefusal::Answer)?)
    }

    /// The credentials of a role that those of the request may assume.
    fn aws_role(&self, role: &str, region: &str) -> Result<AwsCredentials, AwsRefusal> {
        let own = self.aws_credentials(region)?;
        let role = (role, &*session(self.cloud.variable("HOSTNAME")));
        let assumed = self.cloud.aws_role(role, region, &own, self.deadline);
        assumed.map_err(AwsRefusal::Cloud)
    }

    /// The Secret's credentials, else those of the ServiceAccount or of this process.
    fn aws_credentials(&self, region: &str) -> Result<AwsCredentials, AwsRefusal> {
        let credentials = match &self.given.aws {
            Some(keys) if keys.access_key_id.is_empty() || keys.secret_access_key.is_empty() => {
                return Err(AwsRefusal::EmptyCredentials);
            }
            Some(keys) => return Ok(keys.clone()),
            None => self.account(),
        };
        credentials
            .and_then(|account| self.cloud.aws_credentials(region, account, self.deadline))
            .map_err(AwsRefusal::NoCredentials)
    }
}

/// The region of a key; none for a text that is not an ARN of a key.
fn region(arn: &str) -> Option<String> {
    let pattern = Regexp::new(ARN).ok()?;
    let matches = pattern
        .find_all_submatches(arn.as_bytes(), 1, &mut Budget::new(1 << 24, 1 << 24))
        .ok()?;
    let region = matches.first()?.get(1)?;
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
