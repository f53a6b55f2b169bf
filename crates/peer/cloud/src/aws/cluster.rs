//! Amazon EKS: descriptions of clusters (Amazon EKS API Reference, *DescribeCluster*), and tokens for them, which are
//! presigned *GetCallerIdentity* requests (EKS Best Practices, *Controlling access to EKS clusters*; K-118).

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use url::Url;

use super::credentials::{Aws, AwsCredentials};
use super::endpoint::{EKS, STS, endpoint};
use super::sigv4::{Signer, Unsigned};
use crate::login::cluster::{ClusterLogin, ClusterPlace, no_token};
use crate::services::{json, unusable};
use crate::{Cloud, CloudError, Environment, WorkloadIdentity};
use bumpwright_http::{Deadline, Request};
use bumpwright_secret::Secret;

const PATTERN: &str = r"^arn:aws[\w-]*:eks:([^:]{1,100}):[0-9]{1,30}:cluster/(.{1,200})$";
/// How long a cluster accepts a token, whatever its presigned URL says.
const LIFE: Duration = Duration::from_secs(900);

/// The parts of a cluster's ARN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arn<'a> {
    region: &'a str,
    name: &'a str,
}

impl<'a> Arn<'a> {
    /// # Errors
    /// [`CloudError::Unfit`], with Flux' text.
    pub(crate) fn parse(text: &'a str) -> Result<Self, CloudError> {
        let unfit = || CloudError::Unfit(format!("invalid EKS cluster ARN: '{text}'. must match {PATTERN}"));
        Self::find(text).ok_or_else(unfit)
    }

    fn find(text: &'a str) -> Option<Self> {
        let (partition, rest) = text.strip_prefix("arn:aws")?.split_once(":eks:")?;
        let (region, rest) = rest.split_once(':')?;
        let (account, name) = rest.split_once(":cluster/")?;
        let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let good = partition.bytes().all(word)
            && (1..=100).contains(&region.chars().count())
            && (1..=30).contains(&account.len())
            && account.bytes().all(|byte| byte.is_ascii_digit())
            && (1..=200).contains(&name.chars().count())
            && !name.contains('\n');
        good.then_some(Self { region, name })
    }
}

#[derive(Deserialize)]
struct DescribeResponse {
    cluster: Option<Cluster>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cluster {
    #[serde(default)]
    endpoint: Option<String>,
    #[serde(default)]
    certificate_authority: Option<Authority>,
}

#[derive(Deserialize)]
struct Authority {
    #[serde(default)]
    data: Option<String>,
}

impl Cloud {
    /// A login at a cluster of EKS.
    pub(crate) fn aws_cluster(
        &self,
        place: &ClusterPlace,
        account: Option<&WorkloadIdentity>,
        deadline: Deadline,
    ) -> Result<ClusterLogin, CloudError> {
        let arn = Arn::parse(&place.cluster)?;
        // Counted from before the requests, to be on the safe side.
        let now = SystemTime::now();
        let credentials = self.aws_credentials(arn.region, account, deadline).map_err(no_token)?;
        let cluster = place.completed(|| self.aws(arn.region, deadline).described(place, arn, &credentials))?;
        let url = presigned(arn, &credentials, now)?;
        let token = format!("k8s-aws-v1.{}", URL_SAFE_NO_PAD.encode(url.expose()));
        ClusterLogin::new(cluster, Secret::new(token), now.checked_add(LIFE))
    }
}

impl Aws<'_> {
    /// Address and authorities of a cluster.
    fn described(
        &self,
        place: &ClusterPlace,
        arn: Arn<'_>,
        credentials: &AwsCredentials,
    ) -> Result<(String, String), CloudError> {
        let failed = |error: CloudError| error.within(format!("failed to describe EKS cluster '{}'", place.cluster));
        let cluster = self.describe(arn, credentials).map_err(failed)?;
        let authority = cluster.certificate_authority.and_then(|authority| authority.data);
        let ca = place.decoded_authorities("EKS", &authority.unwrap_or_default())?;
        Ok((cluster.endpoint.unwrap_or_default(), ca))
    }

    fn describe(&self, arn: Arn<'_>, credentials: &AwsCredentials) -> Result<Cluster, CloudError> {
        let doing = format!("describe it at Amazon EKS in {}", arn.region);
        let mut url = endpoint(self.environment, EKS, arn.region)?;
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["clusters", arn.name]);
        }
        let signer = Signer {
            credentials,
            region: arn.region,
            service: EKS.signed,
        };
        let unsigned = Unsigned {
            method: "GET",
            url: &url,
            headers: &[],
            body: b"",
        };
        let signed = signer.sign(unsigned, SystemTime::now());
        let (request, secrets) = signer.put(signed, Request::get(url.clone()));
        let secrets: Vec<&Secret> = secrets.iter().collect();
        let answer = self.services.send(&doing, request, &secrets, self.deadline)?;
        let described: DescribeResponse = json(&doing, answer)?;
        let cluster = described.cluster.filter(|cluster| cluster.endpoint.is_some());
        cluster.ok_or_else(|| unusable(&doing, &url, "it has no cluster with an endpoint yet"))
    }
}

/// A presigned *GetCallerIdentity* request for a cluster, which sends it and so learns the identity. Always to the
/// public endpoint, whatever the environment says: a cluster sends it nowhere else.
fn presigned(arn: Arn<'_>, credentials: &AwsCredentials, at: SystemTime) -> Result<Secret, CloudError> {
    let mut url: Url = endpoint(&Environment::default(), STS, arn.region)?;
    url.set_query(Some("Action=GetCallerIdentity&Version=2011-06-15"));
    let signer = Signer {
        credentials,
        region: arn.region,
        service: STS.signed,
    };
    Ok(signer.presign(&url, ("x-k8s-aws-id", arn.name), LIFE, at))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn k_118_names_of_clusters() {
        let arn = Arn::parse("arn:aws-cn:eks:cn-north-1:123456789012:cluster/my-cluster").unwrap();
        assert_eq!((arn.region, arn.name), ("cn-north-1", "my-cluster"));
        for bad in [
            "",
            "my-cluster",
            "arn:aws:eks::123456789012:cluster/a",
            "arn:aws:eks:eu-west-1:x:cluster/a",
            "arn:aws:eks:eu-west-1:1:cluster/",
            "arn:aws:eks:eu-west-1:1:nodegroup/a",
            "arn:aws.:eks:eu-west-1:1:cluster/a",
        ] {
            let said = Arn::parse(bad).unwrap_err().to_string();
            assert_eq!(
                said,
                format!(
                    "invalid EKS cluster ARN: '{bad}'. must match \
                     ^arn:aws[\\w-]*:eks:([^:]{{1,100}}):[0-9]{{1,30}}:cluster/(.{{1,200}})$"
                )
            );
        }
    }

    /// Made by AWS' SDK for Go (`sts` v1.42.1), with the header that Flux adds.
    #[test]
    fn addresses_are_presigned_as_by_awss_own_library() {
        let at = std::time::UNIX_EPOCH + Duration::from_secs(1_440_938_160);
        let rows = [
            (
                "eu-west-1",
                "sts.eu-west-1.amazonaws.com",
                "",
                "2ec0de873ed13f0e844e7e82c069d9bdae1bbccbf2328846a65002dcb32396ce",
            ),
            (
                "cn-north-1",
                "sts.cn-north-1.amazonaws.com.cn",
                "",
                "bc89eb0b65704e9b737fbd1fc381a58cb486cc4b7106a1335d39e4f4e0d49454",
            ),
            (
                "eu-west-1",
                "sts.eu-west-1.amazonaws.com",
                "S/T+a==",
                "0d71259f8da7dff8955264340584a6cfaffb3821a5a9a8fc6c973433cff9d764",
            ),
        ];
        for (region, host, token, signature) in rows {
            let credentials = AwsCredentials {
                access_key_id: "AKIDEXAMPLE".to_owned(),
                secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
                session_token: Some(Secret::new(token)).filter(|token| !token.is_empty()),
                expires: None,
            };
            let name = format!("arn:aws:eks:{region}:1:cluster/my-cluster");
            let url = presigned(Arn::parse(&name).unwrap(), &credentials, at).unwrap();
            let token = match token {
                "" => "",
                _ => "&X-Amz-Security-Token=S%2FT%2Ba%3D%3D",
            };
            assert_eq!(
                url.expose(),
                format!(
                    "https://{host}/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=\
                     AKIDEXAMPLE%2F20150830%2F{region}%2Fsts%2Faws4_request&X-Amz-Date=20150830T123600Z&X-Amz-Expires=900{token}\
                     &X-Amz-SignedHeaders=host%3Bx-k8s-aws-id&X-Amz-Signature={signature}"
                )
            );
        }
    }
}
