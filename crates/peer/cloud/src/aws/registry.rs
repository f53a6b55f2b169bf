//! Amazon ECR: hosts of its registries, and logins at them (Amazon ECR API Reference and Amazon ECR Public API
//! Reference, *GetAuthorizationToken*).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::credentials::{Aws, AwsCredentials};
use super::endpoint::{ECR, ECR_PUBLIC, endpoint, is_region};
use super::sigv4::Signer;
use super::sts::signed_post;
use crate::fields::{self, Seconds};
use crate::services::{json, unusable};
use crate::{CloudError, RegistryLogin};
use bumpwright_secret::Secret;

/// What is accepted, for messages. Since `fluxcd/pkg/auth` 0.66 Flux's pattern has both ends, too.
const PATTERN: &str = concat!(
    r"^[0-9]{12}\.dkr[.-]ecr(?:-fips)?\.[^/.]+\.(amazonaws\.com(?:\.cn)?|amazonaws\.eu|sc2s\.sgov\.gov|c2s\.ic\.gov|",
    r"cloud\.adc-e\.uk|csp\.hci\.ic\.gov|on\.aws|on\.amazonwebservices\.com\.cn)$",
);
/// The hosts of Amazon ECR Public: the second one has IPv6, too.
const PUBLIC: [&str; 2] = ["public.ecr.aws", "ecr-public.aws.com"];
/// The length of an AWS account's number.
const ACCOUNT: usize = 12;
const SUFFIXES: [&str; 9] = [
    "amazonaws.com",
    "amazonaws.com.cn",
    "amazonaws.eu",
    "sc2s.sgov.gov",
    "c2s.ic.gov",
    "cloud.adc-e.uk",
    "csp.hci.ic.gov",
    "on.aws",
    "on.amazonwebservices.com.cn",
];

/// A registry of Amazon's. All private ones of a region share one login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AwsRegistry {
    Public,
    Private { region: String },
}

impl AwsRegistry {
    /// Parses `ACCOUNT.dkr.ecr[-fips].REGION.amazonaws.com` and its like in other partitions, or a host of ECR Public.
    /// Host names that only contain such a name are none.
    ///
    /// # Errors
    /// [`CloudError::Unfit`].
    pub(crate) fn parse(host: &str) -> Result<Self, CloudError> {
        let name = host.split_once(':').map_or(host, |(name, _port)| name);
        if PUBLIC.contains(&name) {
            return Ok(Self::Public);
        }
        let region = Self::region_of(name).filter(|region| is_region(region));
        region
            .map(|region| Self::Private {
                region: region.to_owned(),
            })
            .ok_or_else(|| CloudError::Unfit(format!("invalid AWS registry: '{host}'. must match {PATTERN}")))
    }

    fn region_of(name: &str) -> Option<&str> {
        let (account, rest) = [".dkr.ecr", ".dkr-ecr"]
            .into_iter()
            .find_map(|mark| name.split_once(mark))?;
        if account.len() != ACCOUNT || !account.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let rest = rest.strip_prefix("-fips").unwrap_or(rest).strip_prefix('.')?;
        let (region, suffix) = rest.split_once('.')?;
        SUFFIXES.contains(&suffix).then_some(region)
    }

    /// The region of the registry and its roles (Amazon ECR Public User Guide,
    /// *Registry authentication*: always us-east-1).
    pub(crate) fn region(&self) -> &str {
        match self {
            Self::Public => "us-east-1",
            Self::Private { region } => region,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Private {
    #[serde(default)]
    authorization_data: Vec<Data>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Public {
    authorization_data: Option<Data>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Data {
    #[serde(default, deserialize_with = "fields::secret_if_any")]
    authorization_token: Option<Secret>,
    expires_at: Option<Seconds>,
}

impl Aws<'_> {
    /// A login at a registry.
    ///
    /// # Errors
    /// When the service refuses, or its answer is not usable; Flux' words for the latter.
    pub(crate) fn registry_login(
        &self,
        registry: &AwsRegistry,
        with: &AwsCredentials,
    ) -> Result<RegistryLogin, CloudError> {
        let (service, target, kind) = match registry {
            AwsRegistry::Public => (ECR_PUBLIC, "SpencerFrontendService.GetAuthorizationToken", "ECR Public"),
            AwsRegistry::Private { .. } => (ECR, "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken", "ECR"),
        };
        let doing = format!("get a login for {kind} in {} as {}", self.region, with.access_key_id);
        let url = endpoint(self.environment, service, self.region)?;
        let signer = Signer {
            credentials: with,
            region: self.region,
            service: service.signed,
        };
        let (request, secrets) = signed_post(
            &signer,
            &url,
            "application/x-amz-json-1.1",
            Some(target),
            Secret::new("{}"),
        );
        let secrets: Vec<&Secret> = secrets.iter().collect();
        let answer = self.services.send(&doing, request, &secrets, self.deadline)?;
        let data = match registry {
            AwsRegistry::Public => json::<Public>(&doing, answer)?.authorization_data,
            AwsRegistry::Private { .. } => json::<Private>(&doing, answer)?.authorization_data.into_iter().next(),
        };
        let unusable = |detail: &str| unusable(&doing, &url, detail);
        let data = data.ok_or_else(|| unusable("no authorization data returned"))?;
        let token = data
            .authorization_token
            .ok_or_else(|| unusable("authorization token is nil"))?;
        let expires = data
            .expires_at
            .ok_or_else(|| unusable("authorization token expiration is nil"))?;
        let (username, password) = pair(&token).map_err(unusable)?;
        Ok(RegistryLogin {
            username,
            password,
            expires: expires.since_1970(),
        })
    }
}

/// Splits a token, which is Base64 of `NAME:PASSWORD`.
fn pair(token: &Secret) -> Result<(String, Secret), &'static str> {
    let decoded = STANDARD
        .decode(token.expose())
        .map_err(|_| "failed to parse authorization token")?;
    let decoded = Zeroizing::new(decoded);
    let text = std::str::from_utf8(&decoded).map_err(|_| "invalid authorization token format")?;
    match text.split_once(':') {
        Some((name, password)) if !password.contains(':') => Ok((name.to_owned(), Secret::new(password))),
        _ => Err("invalid authorization token format"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn registries() {
        let rows = [
            ("012345678901.dkr.ecr.us-east-1.amazonaws.com", Some("us-east-1")),
            ("012345678901.dkr.ecr.us-east-1.amazonaws.com:443", Some("us-east-1")),
            (
                "012345678901.dkr.ecr-fips.us-gov-west-1.amazonaws.com",
                Some("us-gov-west-1"),
            ),
            ("012345678901.dkr.ecr.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("012345678901.dkr-ecr.eu-west-1.on.aws", Some("eu-west-1")),
            (
                "012345678901.dkr.ecr.eusc-de-east-1.amazonaws.eu",
                Some("eusc-de-east-1"),
            ),
            (
                "012345678901.dkr-ecr.cn-north-1.on.amazonwebservices.com.cn",
                Some("cn-north-1"),
            ),
            ("public.ecr.aws", Some("us-east-1")),
            ("ecr-public.aws.com", Some("us-east-1")),
            ("public.ecr.aws.example.org", None),
            ("ecr-public.aws.com.example.org", None),
            ("012345678901.dkr.ecr.us-east-1.amazonaws.com.nc", None),
            ("prefix-012345678901.dkr.ecr.us-east-1.amazonaws.com", None),
            ("01234567890.dkr.ecr.us-east-1.amazonaws.com", None),
            ("0123456789012.dkr.ecr.us-east-1.amazonaws.com", None),
            ("012345678901.dkr.ecr.us-east-1.amazonaws.com.example.org", None),
            ("012345678901.dkr.ecr.x#.amazonaws.com", None),
            ("012345678901.dkr.ecr.us-east-1.example.com", None),
            ("dkr.ecr.us-east-1.amazonaws.com", None),
            ("gcr.io", None),
            ("", None),
        ];
        for (host, region) in rows {
            let registry = AwsRegistry::parse(host);
            assert_eq!(registry.as_ref().ok().map(AwsRegistry::region), region, "{host}");
        }
        let said = AwsRegistry::parse("ghcr.io").unwrap_err().to_string();
        assert_eq!(said, format!("invalid AWS registry: 'ghcr.io'. must match {PATTERN}"));
    }

    #[test]
    fn pairs() {
        let pair = |text: &str| pair(&Secret::new(text)).map(|(name, password)| (name, password.expose().to_owned()));
        assert_eq!(pair("QVdTOnB3"), Ok(("AWS".to_owned(), "pw".to_owned())));
        assert_eq!(pair("QVdTOnB3OjE="), Err("invalid authorization token format"));
        assert_eq!(pair("%"), Err("failed to parse authorization token"));
    }
}
