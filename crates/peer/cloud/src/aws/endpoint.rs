//! Endpoints of AWS' services: partitions and regions, and overrides in the environment.

use url::Url;

use crate::services::address;
use crate::{CloudError, Environment};

/// A service: its names in variables, signatures and hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AwsService {
    /// The end of `AWS_ENDPOINT_URL_…`.
    variable: &'static str,
    /// The service of the signature.
    pub(crate) signed: &'static str,
    /// The first part of its host: the default one, and the dual-stack one.
    hosts: (&'static str, &'static str),
    /// The same for FIPS.
    fips_hosts: (&'static str, &'static str),
}

pub(crate) const STS: AwsService = AwsService {
    variable: "STS",
    signed: "sts",
    hosts: ("sts", "sts"),
    fips_hosts: ("sts-fips", "sts-fips"),
};
pub(crate) const ECR: AwsService = AwsService {
    variable: "ECR",
    signed: "ecr",
    hosts: ("api.ecr", "ecr"),
    fips_hosts: ("api.ecr-fips", "ecr-fips"),
};
pub(crate) const ECR_PUBLIC: AwsService = AwsService {
    variable: "ECR_PUBLIC",
    signed: "ecr-public",
    hosts: ("api.ecr-public", "ecr-public"),
    fips_hosts: ("api.ecr-public-fips", "api.ecr-public-fips"),
};
pub(crate) const KMS: AwsService = AwsService {
    variable: "KMS",
    signed: "kms",
    hosts: ("kms", "kms"),
    fips_hosts: ("kms-fips", "kms-fips"),
};

pub(crate) const EKS: AwsService = AwsService {
    variable: "EKS",
    signed: "eks",
    hosts: ("eks", "eks"),
    fips_hosts: ("fips.eks", "eks-fips"),
};

/// Prefix of regions, DNS suffix, DNS suffix of dual-stack hosts (SDK: `awsrulesfn/partitions.json`).
/// Regions of no other partition are in the first one.
const PARTITIONS: [(&str, &str, &str); 7] = [
    ("", "amazonaws.com", "api.aws"),
    ("cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
    ("eusc-", "amazonaws.eu", "api.amazonwebservices.eu"),
    ("us-iso-", "c2s.ic.gov", "api.aws.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov", "api.aws.scloud"),
    ("eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
    ("us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
];

/// The endpoint of a service in a region: `AWS_ENDPOINT_URL_<SERVICE>`, `AWS_ENDPOINT_URL` (SDKs
/// and Tools Reference Guide, *Service-specific endpoints*), or its host, which
/// `AWS_USE_FIPS_ENDPOINT` and `AWS_USE_DUALSTACK_ENDPOINT` choose.
///
/// # Errors
/// [`CloudError::Settings`] when a variable is not an address, or the region is not valid.
pub(crate) fn endpoint(environment: &Environment, service: AwsService, region: &str) -> Result<Url, CloudError> {
    let own = format!("AWS_ENDPOINT_URL_{}", service.variable);
    let given = [own.as_str(), "AWS_ENDPOINT_URL"]
        .into_iter()
        .find_map(|name| Some((name, environment.get(name)?)));
    if let Some((name, value)) = given.filter(|_| !environment.is_true("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) {
        return address(name, value);
    }
    if !is_region(region) {
        return Err(CloudError::settings(
            format!("the AWS region {region:?}"),
            "is not a valid region name",
        ));
    }
    let partition = PARTITIONS.iter().rfind(|(start, ..)| region.starts_with(start));
    let (_, suffix, dual) = partition.unwrap_or(&("", "amazonaws.com", "api.aws"));
    let is_dual = environment.is_true("AWS_USE_DUALSTACK_ENDPOINT");
    // In these regions STS is always FIPS, on one host; so is EKS over IPv4.
    let all_fips = service.signed == STS.signed || (service.signed == EKS.signed && !is_dual);
    let all_fips = all_fips && region.starts_with("us-gov-");
    let (host, dual_host) = if environment.is_true("AWS_USE_FIPS_ENDPOINT") && !all_fips {
        service.fips_hosts
    } else {
        service.hosts
    };
    let (host, suffix) = if is_dual { (dual_host, dual) } else { (host, suffix) };
    address("the service's address", &format!("https://{host}.{region}.{suffix}/"))
}

/// Whether a text is a valid region name, and so a safe part of a host.
pub(crate) fn is_region(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(good) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        type Row = (
            &'static [(&'static str, &'static str)],
            AwsService,
            &'static str,
            &'static str,
        );
        let rows: &[Row] = &[
            (&[], ECR, "eu-west-1", "https://api.ecr.eu-west-1.amazonaws.com/"),
            (&[], ECR, "cn-north-1", "https://api.ecr.cn-north-1.amazonaws.com.cn/"),
            (&[], STS, "us-isob-east-1", "https://sts.us-isob-east-1.sc2s.sgov.gov/"),
            (&[], STS, "us-gov-west-1", "https://sts.us-gov-west-1.amazonaws.com/"),
            (
                &[],
                ECR_PUBLIC,
                "us-east-1",
                "https://api.ecr-public.us-east-1.amazonaws.com/",
            ),
            (
                &[("AWS_USE_FIPS_ENDPOINT", "true")],
                ECR,
                "us-east-2",
                "https://api.ecr-fips.us-east-2.amazonaws.com/",
            ),
            (
                &[("AWS_USE_FIPS_ENDPOINT", "true")],
                STS,
                "us-gov-west-1",
                "https://sts.us-gov-west-1.amazonaws.com/",
            ),
            (&[], KMS, "eu-west-1", "https://kms.eu-west-1.amazonaws.com/"),
            (&[], EKS, "cn-north-1", "https://eks.cn-north-1.amazonaws.com.cn/"),
            (
                &[("AWS_USE_FIPS_ENDPOINT", "true")],
                EKS,
                "us-east-1",
                "https://fips.eks.us-east-1.amazonaws.com/",
            ),
            (
                &[("AWS_USE_FIPS_ENDPOINT", "true")],
                EKS,
                "us-gov-west-1",
                "https://eks.us-gov-west-1.amazonaws.com/",
            ),
            (
                &[
                    ("AWS_USE_FIPS_ENDPOINT", "true"),
                    ("AWS_USE_DUALSTACK_ENDPOINT", "true"),
                ],
                EKS,
                "us-gov-west-1",
                "https://eks-fips.us-gov-west-1.api.aws/",
            ),
            (
                &[
                    ("AWS_USE_FIPS_ENDPOINT", "true"),
                    ("AWS_USE_DUALSTACK_ENDPOINT", "true"),
                ],
                KMS,
                "us-gov-west-1",
                "https://kms-fips.us-gov-west-1.api.aws/",
            ),
            (
                &[("AWS_USE_DUALSTACK_ENDPOINT", "true")],
                ECR,
                "cn-north-1",
                "https://ecr.cn-north-1.api.amazonwebservices.com.cn/",
            ),
            (
                &[("AWS_USE_DUALSTACK_ENDPOINT", "true")],
                STS,
                "eu-west-1",
                "https://sts.eu-west-1.api.aws/",
            ),
            (
                &[
                    ("AWS_ENDPOINT_URL", "http://h:1"),
                    ("AWS_ENDPOINT_URL_ECR", "http://e:2"),
                ],
                ECR,
                "x",
                "http://e:2/",
            ),
            (
                &[
                    ("AWS_ENDPOINT_URL", "http://h:1"),
                    ("AWS_ENDPOINT_URL_ECR", "http://e:2"),
                ],
                STS,
                "x",
                "http://h:1/",
            ),
            (
                &[
                    ("AWS_ENDPOINT_URL", "http://h:1"),
                    ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "TRUE"),
                ],
                STS,
                "eu-west-1",
                "https://sts.eu-west-1.amazonaws.com/",
            ),
        ];
        for (variables, service, region, expected) in rows {
            let environment = Environment::from_iter(variables.iter().copied());
            assert_eq!(endpoint(&environment, *service, region).unwrap().as_str(), *expected);
        }
    }

    #[test]
    fn no_hosts() {
        for region in ["", "a/b", "a#", "a.b", "-a", "a@b"] {
            assert!(endpoint(&Environment::default(), STS, region).is_err(), "{region}");
        }
        let bad = Environment::from_iter([("AWS_ENDPOINT_URL", "ftp://x")]);
        let said = endpoint(&bad, STS, "a").unwrap_err().to_string();
        assert_eq!(
            said,
            "AWS_ENDPOINT_URL: is not an address; give https://host or http://host:port"
        );
    }
}
