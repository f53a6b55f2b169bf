//! The address of a bucket of S3: the endpoint, the region in its name, and the choice of virtual hosts or
//! paths, as in minio-go (`pkg/s3utils/utils.go`; `api.go`, `makeTargetURL`; `utils.go`, `isValidEndpointURL`).

use std::net::IpAddr;

use url::Url;

use super::{EndpointError, ObjectError};
use bumpwright_cloud::aws_sigv4::escaped;
use bumpwright_http::host_of;

/// A server with the S3 API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    scheme: &'static str,
    /// With a port, unless it is the scheme's default.
    authority: String,
    host: String,
}

impl Endpoint {
    pub(super) fn parse(text: &str, insecure: bool) -> Result<Self, EndpointError> {
        let scheme = if insecure { "http" } else { "https" };
        if text.is_empty() {
            return Err(EndpointError::Empty);
        }
        // An endpoint with a scheme has a path for minio-go.
        let authority = text.strip_suffix('/').unwrap_or(text);
        if authority.contains('/') {
            return Err(EndpointError::Path);
        }
        let standards = || EndpointError::Standards(text.to_owned());
        let url = Url::parse(&format!("{scheme}://{authority}/")).map_err(|_| standards())?;
        let host = host_of(&url).to_owned();
        let plain = url.username().is_empty() && url.password().is_none() && url.path() == "/";
        let is_bare = plain && url.query().is_none() && url.fragment().is_none();
        if !is_bare || !(is_address(&host) || is_domain(&host)) {
            return Err(standards());
        }
        let endpoint = Self {
            scheme,
            authority: url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}")),
            host,
        };
        if endpoint.host.contains(".s3.amazonaws.com") && !endpoint.is_amazon() {
            return Err(EndpointError::Amazon);
        }
        if endpoint.host.contains(".googleapis.com") && !endpoint.is_google() {
            return Err(EndpointError::Google);
        }
        Ok(endpoint)
    }

    /// The region in the host's name.
    pub(super) fn region(&self) -> Option<&str> {
        region_of_host(&self.host)
    }

    pub(super) fn is_amazon(&self) -> bool {
        let usual = ["s3-external-1.amazonaws.com", "s3.amazonaws.com"];
        usual.contains(&self.host.as_str()) || self.region().is_some()
    }

    pub(super) fn is_google(&self) -> bool {
        self.host == "storage.googleapis.com"
    }

    /// Builds the address of a bucket, or of an object in it, in a region.
    ///
    /// # Errors
    /// [`ObjectError::Unfit`] when region or bucket are not valid parts of an address.
    pub(super) fn url(
        &self,
        bucket: &str,
        region: &str,
        key: Option<&str>,
        query: &[(&str, &str)],
    ) -> Result<Url, ObjectError> {
        self.joined(&self.authority_in(region)?, bucket, key, query)
    }

    /// Builds the address of a bucket at the endpoint itself, when its region is unknown.
    pub(super) fn url_without_region(&self, bucket: &str, query: &[(&str, &str)]) -> Result<Url, ObjectError> {
        self.joined(&self.authority, bucket, None, query)
    }

    fn joined(
        &self,
        authority: &str,
        bucket: &str,
        key: Option<&str>,
        query: &[(&str, &str)],
    ) -> Result<Url, ObjectError> {
        let path = key.map_or_else(String::new, |key| escaped(key, true));
        let text = if self.has_hosts_of_buckets(bucket) {
            format!("{}://{bucket}.{authority}/{path}", self.scheme)
        } else {
            format!("{}://{authority}/{bucket}/{path}", self.scheme)
        };
        let unfit = || ObjectError::Unfit(format!("the bucket {bucket:?} has no valid address at {authority}"));
        let mut url = Url::parse(&text).map_err(|_| unfit())?;
        // A name must not change the path.
        let asked = if self.has_hosts_of_buckets(bucket) {
            format!("/{path}")
        } else {
            format!("/{bucket}/{path}")
        };
        if url.path() != asked {
            return Err(unfit());
        }
        if !query.is_empty() {
            let pairs = query
                .iter()
                .map(|(name, value)| format!("{}={}", escaped(name, false), escaped(value, false)));
            url.set_query(Some(&pairs.collect::<Vec<_>>().join("&")));
        }
        Ok(url)
    }

    /// AWS has an endpoint for each region, with dual stack, unless a special one is given.
    fn authority_in(&self, region: &str) -> Result<String, ObjectError> {
        let special = self.host.starts_with("s3-fips") || self.host.ends_with(".vpce.amazonaws.com");
        if !self.is_amazon() || special {
            return Ok(self.authority.clone());
        }
        let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if region.is_empty() || !region.bytes().all(good) {
            return Err(ObjectError::Unfit(format!(
                "the AWS region {region:?} is not a valid region name"
            )));
        }
        let suffix = if region.starts_with("cn-") { ".cn" } else { "" };
        Ok(format!("s3.dualstack.{region}.amazonaws.com{suffix}"))
    }

    /// Whether a bucket is part of the host. A dot in its name would not match the server's certificate.
    fn has_hosts_of_buckets(&self, bucket: &str) -> bool {
        let can = self.scheme != "https" || !bucket.contains('.');
        can && (self.is_amazon() || self.is_google() || self.host.ends_with("aliyuncs.com"))
    }
}

fn is_address(host: &str) -> bool {
    host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

fn is_domain(host: &str) -> bool {
    let wrong = |c: char| "`~!@#$%^&*()+={}[]|\\\"';:><?/".contains(c);
    let at_ends = host.starts_with(['-', '_', '.']) || host.ends_with(['-', '_']);
    (1..=255).contains(&host.len()) && !at_ends && !host.contains(wrong)
}

fn region_of_host(host: &str) -> Option<&str> {
    // Load balancers and outposts have no region in their names.
    let balancer = host.contains("elb") && (host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn"));
    if host == "s3-external-1.amazonaws.com" || balancer || host.contains(".s3-outposts.") {
        return None;
    }
    const SUFFIX: &str = ".amazonaws.com";
    const CHINA: &str = ".amazonaws.com.cn";
    let between = |start: &str, end: &str| host.strip_prefix(start)?.strip_suffix(end);
    let in_china = |region: &&str| region.starts_with("cn");
    let private = || {
        let rest = host
            .strip_prefix("bucket.vpce-")
            .or_else(|| host.strip_prefix("accesspoint.vpce-"))?;
        Some(rest.strip_suffix(".vpce.amazonaws.com")?.split_once(".s3.")?.1)
    };
    let other = ["xpress-", "dualstack.", "control.", "website-"];
    between("s3-fips.dualstack.", SUFFIX)
        .or_else(|| between("s3-fips.", SUFFIX))
        .or_else(|| between("s3.dualstack.", SUFFIX))
        .or_else(|| between("s3-", SUFFIX))
        .or_else(|| between("s3.", CHINA).filter(in_china))
        .or_else(|| between("s3.dualstack.", CHINA).filter(in_china))
        .or_else(private)
        .or_else(|| between("s3.", SUFFIX).filter(|region| !other.iter().any(|start| region.starts_with(start))))
}

/// Checks the name of a bucket.
///
/// # Errors
/// minio-go's text (`s3utils.CheckValidBucketName`).
pub(super) fn check_bucket_name(name: &str) -> Result<(), ObjectError> {
    let unfit = |text: &str| Err(ObjectError::Unfit(text.to_owned()));
    let parts: Vec<&str> = name.split('.').collect();
    let number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let inner = |b: u8| b.is_ascii_alphanumeric() || b".-_:".contains(&b);
    let ends = [name.as_bytes().first(), name.as_bytes().last()];
    let good = name.bytes().all(inner) && ends.iter().all(|b| b.is_some_and(u8::is_ascii_alphanumeric));
    if name.trim().is_empty() {
        unfit("Bucket name cannot be empty")
    } else if name.len() < 3 {
        unfit("Bucket name cannot be shorter than 3 characters")
    } else if name.len() > 63 {
        unfit("Bucket name cannot be longer than 63 characters")
    } else if parts.len() == 4 && parts.iter().all(number) {
        unfit("Bucket name cannot be an ip address")
    } else if ["..", ".-", "-."].iter().any(|pair| name.contains(pair)) || !good {
        unfit("Bucket name contains invalid characters")
    } else {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_objects() {
        // endpoint, insecure, bucket, region, address of the key `a b/ü`
        for (endpoint, insecure, bucket, region, expected) in [
            (
                "minio.example:9000",
                true,
                "podinfo",
                "x",
                "http://minio.example:9000/podinfo/a%20b/%C3%BC",
            ),
            (
                "minio.example:443",
                false,
                "podinfo",
                "x",
                "https://minio.example/podinfo/a%20b/%C3%BC",
            ),
            (
                "minio.example/",
                false,
                "podinfo",
                "x",
                "https://minio.example/podinfo/a%20b/%C3%BC",
            ),
            (
                "[::1]:9000",
                true,
                "podinfo",
                "x",
                "http://[::1]:9000/podinfo/a%20b/%C3%BC",
            ),
            (
                "s3.amazonaws.com",
                false,
                "podinfo",
                "eu-west-1",
                "https://podinfo.s3.dualstack.eu-west-1.amazonaws.com/a%20b/%C3%BC",
            ),
            (
                "s3.amazonaws.com",
                false,
                "pod.info",
                "eu-west-1",
                "https://s3.dualstack.eu-west-1.amazonaws.com/pod.info/a%20b/%C3%BC",
            ),
            (
                "s3.cn-north-1.amazonaws.com.cn",
                false,
                "podinfo",
                "cn-north-1",
                "https://podinfo.s3.dualstack.cn-north-1.amazonaws.com.cn/a%20b/%C3%BC",
            ),
            (
                "s3-fips.us-gov-west-1.amazonaws.com",
                false,
                "podinfo",
                "us-gov-west-1",
                "https://podinfo.s3-fips.us-gov-west-1.amazonaws.com/a%20b/%C3%BC",
            ),
            (
                "oss-cn-hangzhou.aliyuncs.com",
                false,
                "podinfo",
                "x",
                "https://podinfo.oss-cn-hangzhou.aliyuncs.com/a%20b/%C3%BC",
            ),
            (
                "storage.googleapis.com",
                false,
                "podinfo",
                "x",
                "https://podinfo.storage.googleapis.com/a%20b/%C3%BC",
            ),
        ] {
            let parsed = Endpoint::parse(endpoint, insecure).unwrap();
            let url = parsed.url(bucket, region, Some("a b/ü"), &[]).unwrap();
            assert_eq!(url.as_str(), expected, "{endpoint}");
        }
    }

    #[test]
    fn endpoints_that_are_none() {
        for (endpoint, text) in [
            ("", "Endpoint url cannot be empty."),
            (
                "https://minio.example",
                "Endpoint url cannot have fully qualified paths.",
            ),
            ("minio.example/path", "Endpoint url cannot have fully qualified paths."),
            ("x.s3.amazonaws.com", "Amazon S3 endpoint should be 's3.amazonaws.com'."),
            (
                "foo.googleapis.com",
                "Google Cloud Storage endpoint should be 'storage.googleapis.com'.",
            ),
            (
                "user@minio.example",
                "Endpoint: user@minio.example does not follow ip address or domain name standards.",
            ),
            (
                "-a",
                "Endpoint: -a does not follow ip address or domain name standards.",
            ),
        ] {
            assert_eq!(
                Endpoint::parse(endpoint, false).unwrap_err().to_string(),
                text,
                "{endpoint}"
            );
        }
    }

    #[test]
    fn names_lead_nowhere_else() {
        let endpoint = Endpoint::parse("minio.example", false).unwrap();
        for (bucket, key) in [
            ("podinfo", Some("a/../b")),
            ("podinfo", Some("./b")),
            ("..", None),
            ("a/b?c", None),
        ] {
            assert!(endpoint.url(bucket, "x", key, &[]).is_err(), "{bucket} {key:?}");
        }
        let amazon = Endpoint::parse("s3.amazonaws.com", false).unwrap();
        assert!(amazon.url("podinfo", "evil.example/", None, &[]).is_err());
        for name in ["", "ab", "1.2.3.4", "a..b", "-ab", "a/b", "a b", &"a".repeat(64)] {
            assert!(check_bucket_name(name).is_err(), "{name}");
        }
        for name in ["abc", "a.b-c", "A_b:c"] {
            assert_eq!(check_bucket_name(name), Ok(()));
        }
    }
}
