//! The settings in a Bucket's spec and Secrets, and their validation (source-controller, `minio.ValidateSTSProvider`,
//! `ValidateSecret` of each provider).

use std::collections::BTreeMap;
use std::fmt;

use url::Url;

use super::BucketError;
use bumpwright_cloud::{Cloud, CloudError, WorkloadIdentity};
use bumpwright_http::Peer;
use bumpwright_secret::Secret;

/// A value of `spec.provider`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BucketProvider {
    /// `generic`: S3 and compatible stores.
    #[default]
    Generic,
    /// `aws`: S3 with an identity of AWS.
    Aws,
    /// `gcp`: Google Cloud Storage.
    Gcp,
    /// `azure`: Azure Blob Storage.
    Azure,
}

impl BucketProvider {
    /// The provider of a spec; an unknown one is `generic`, as in source-controller.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "aws" => Self::Aws,
            "gcp" => Self::Gcp,
            "azure" => Self::Azure,
            _ => Self::Generic,
        }
    }
}

impl fmt::Display for BucketProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Generic => "generic",
            Self::Aws => "aws",
            Self::Gcp => "gcp",
            Self::Azure => "azure",
        })
    }
}

/// The data of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    pub name: String,
    pub data: BTreeMap<String, Secret>,
}

impl Keys {
    pub(super) fn get(&self, key: &str) -> Option<&Secret> {
        self.data.get(key)
    }

    /// A value that is not empty.
    pub(super) fn filled(&self, key: &str) -> Option<&Secret> {
        self.get(key).filter(|value| !value.is_empty())
    }
}

/// A value of `spec.sts.provider`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StsProvider {
    Aws,
    /// `ldap`: `AssumeRoleWithLDAPIdentity` of MinIO.
    Ldap,
}

impl fmt::Display for StsProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aws => "aws",
            Self::Ldap => "ldap",
        })
    }
}

/// `spec.sts`: a service for temporary credentials.
#[derive(Clone, Debug)]
pub struct Sts {
    pub provider: StsProvider,
    pub endpoint: String,
    /// `spec.sts.secretRef`
    pub secret: Option<Keys>,
    /// Whether `spec.sts.certSecretRef` is set; its content is in `peer`.
    pub has_certificates: bool,
    pub peer: Peer,
}

/// A Bucket's spec, with its Secrets read.
#[derive(Clone, Debug)]
pub struct Settings {
    pub provider: BucketProvider,
    /// `spec.bucketName`
    pub bucket: String,
    pub endpoint: String,
    /// `spec.region`; may be empty.
    pub region: String,
    /// `spec.insecure`: plain HTTP at S3.
    pub insecure: bool,
    /// `spec.secretRef`
    pub secret: Option<Keys>,
    pub sts: Option<Sts>,
    /// `spec.serviceAccountName`, or the default one.
    pub service_account: Option<WorkloadIdentity>,
    /// The connection settings of the store. The timeout, for each request with its body, is `spec.timeout`.
    pub peer: Peer,
    /// The source of identities. For `spec.sts` of AWS its endpoints include the service ([`Settings::sts_of_aws`]).
    pub cloud: Cloud,
}

impl Settings {
    /// The address of AWS' token service in `spec.sts`, for [`bumpwright_cloud::Endpoints`]. `account` is its user.
    ///
    /// # Errors
    /// [`BucketError::Sts`] and [`BucketError::Settings`], in source-controller's words.
    pub fn sts_of_aws(
        provider: BucketProvider,
        sts: Option<&Sts>,
        account: Option<&WorkloadIdentity>,
    ) -> Result<Option<Url>, BucketError> {
        let Some(sts) = sts.filter(|_| provider == BucketProvider::Aws) else {
            return Ok(None);
        };
        fits(provider, sts)?;
        let address = Url::parse(&sts.endpoint).ok().filter(|_| is_sts_of_aws(&sts.endpoint));
        let detail = || format!("invalid STS endpoint: '{}'. must match {STS_PATTERN}", sts.endpoint);
        address.map(Some).ok_or_else(|| no_identity(account, &detail()))
    }

    /// Refuses to send the token of this process where the Bucket's author can intercept it.
    pub(super) fn keep_own_token(&self) -> Result<(), BucketError> {
        if self.service_account.is_none() && self.peer.is_intercepted() {
            Err(BucketError::Settings(CloudError::intercepted().to_string()))
        } else {
            Ok(())
        }
    }

    /// Checks that `spec.sts` and its Secret match the provider.
    pub(super) fn check_sts(&self) -> Result<(), BucketError> {
        let Some(sts) = &self.sts else { return Ok(()) };
        fits(self.provider, sts)?;
        if let Err(e) = Url::parse(&sts.endpoint) {
            return Err(BucketError::StsAddress {
                endpoint: sts.endpoint.clone(),
                detail: e.to_string(),
            });
        }
        match (&sts.secret, sts.provider) {
            (Some(secret), StsProvider::Ldap)
                if ["username", "password"].iter().any(|key| secret.filled(key).is_none()) =>
            {
                Err(BucketError::Settings(format!(
                    "invalid '{}' secret data for 'ldap' STS provider: required fields username, password",
                    secret.name
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Flux's words around the cause of a missing identity at AWS, of the ServiceAccount or this process.
pub(super) fn no_identity(account: Option<&WorkloadIdentity>, why: &str) -> BucketError {
    let whose = match account {
        Some(account) => format!("service account '{}/{}'", account.namespace, account.name),
        None => "the controller".to_owned(),
    };
    BucketError::Settings(format!(
        "AWS authentication failed: failed to create provider access token for {whose}: {why}"
    ))
}

fn fits(provider: BucketProvider, sts: &Sts) -> Result<(), BucketError> {
    let not_required = |field: &str| {
        format!(
            "spec.sts.{field} is not required for the '{}' STS provider",
            sts.provider
        )
    };
    let wrong = match (provider, sts.provider) {
        (BucketProvider::Aws, StsProvider::Aws) if sts.secret.is_some() => not_required("secretRef"),
        (BucketProvider::Aws, StsProvider::Aws) if sts.has_certificates => not_required("certSecretRef"),
        (BucketProvider::Aws, StsProvider::Aws) | (BucketProvider::Generic, StsProvider::Ldap) => return Ok(()),
        (BucketProvider::Aws | BucketProvider::Generic, other) => {
            format!("STS provider '{other}' is not supported for '{provider}' bucket provider")
        }
        _ => format!("STS configuration is not supported for '{provider}' bucket provider"),
    };
    Err(BucketError::Sts(wrong))
}

/// `fluxcd/pkg/auth/aws`, `stsEndpointPattern`.
const STS_PATTERN: &str = r"^https://(.+\.)?sts(-fips)?(\.[^.]+)?(\.vpce)?\.amazonaws\.com$";

fn is_sts_of_aws(endpoint: &str) -> bool {
    let host = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    let Some(rest) = endpoint
        .strip_prefix("https://")
        .and_then(|rest| rest.strip_suffix(".amazonaws.com"))
        .filter(|rest| host(rest))
    else {
        return false;
    };
    let rest = rest.strip_suffix(".vpce").unwrap_or(rest);
    let labels: Vec<&str> = rest.split('.').collect();
    let service = |label: &str| matches!(label, "sts" | "sts-fips");
    match labels.as_slice() {
        [.., last] if service(last) => true,
        [.., last, region] => service(last) && !region.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_services_of_aws() {
        for (endpoint, expected) in [
            ("https://sts.amazonaws.com", true),
            ("https://sts.eu-west-1.amazonaws.com", true),
            ("https://sts-fips.us-east-1.amazonaws.com", true),
            (
                "https://vpce-002b7cc8966426bc6-njisq19r.sts.us-east-1.vpce.amazonaws.com",
                true,
            ),
            ("https://sts.amazonaws.com.evil.example", false),
            ("https://evil.example/sts.amazonaws.com", false),
            ("https://evil.example#.sts.amazonaws.com", false),
            ("http://sts.amazonaws.com", false),
            ("https://x.amazonaws.com", false),
            ("https://a.b.c.amazonaws.com", false),
        ] {
            assert_eq!(is_sts_of_aws(endpoint), expected, "{endpoint}");
        }
    }
}
