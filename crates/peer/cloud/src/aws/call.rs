//! Signed requests to AWS services for other crates, and roles assumed with credentials.

use super::credentials::AwsCredentials;
use super::endpoint::{KMS, endpoint};
use super::profile::Role;
use super::sigv4::Signer;
use super::sts::signed_post;
use crate::login::logins::fingerprint;
use crate::{Cloud, CloudError};
use bumpwright_http::{Answer, Deadline};
use bumpwright_secret::Secret;

/// The session of an assumed role in seconds (STS API Reference, *AssumeRole*: the default).
const HOUR: u32 = 3600;

impl Cloud {
    /// Calls AWS' Key Management Service of a region (AWS KMS API Reference, *Common parameters*).
    /// `target` is the operation.
    ///
    /// # Errors
    /// [`CloudError`], without any secret.
    pub fn aws_kms(
        &self,
        target: &str,
        body: Secret,
        region: &str,
        with: &AwsCredentials,
        deadline: Deadline,
    ) -> Result<Answer, CloudError> {
        let doing = format!("call AWS KMS in {region} as {}", with.access_key_id);
        let url = endpoint(self.environment(), KMS, region)?;
        let signer = Signer {
            credentials: with,
            region,
            service: KMS.signed,
        };
        let (request, secrets) = signed_post(&signer, &url, "application/x-amz-json-1.1", Some(target), body);
        let secrets: Vec<&Secret> = secrets.iter().collect();
        self.send(&doing, request, &secrets, deadline)
    }

    /// Assumes a role with other credentials; the result is cached while it is fresh.
    ///
    /// # Errors
    /// [`CloudError`] when STS refuses.
    pub fn aws_role(
        &self,
        (arn, session): (&str, &str),
        region: &str,
        with: &AwsCredentials,
        deadline: Deadline,
    ) -> Result<AwsCredentials, CloudError> {
        let role = Role {
            arn: arn.to_owned(),
            session: Some(session.to_owned()),
            external_id: None,
            duration: HOUR,
        };
        let secret = fingerprint(with.secret_access_key.expose());
        let key = format!("role {arn} {session} {region} {} {secret}", with.access_key_id);
        let ends = |credentials: &AwsCredentials| credentials.expires;
        let make = || self.aws(region, deadline).assume_role(&role, with);
        self.kept.get(("credentials", &key), deadline, ends, make)
    }
}
