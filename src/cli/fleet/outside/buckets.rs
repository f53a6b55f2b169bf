//! The objects of a Bucket, for a command: with the keys that the manifests name, else with the user's identity at the
//! provider's own address.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use url::Url;

use crate::cli::error::{Attempt as _, CliError};
use bumpwright_api::{Bucket, Objects};
use bumpwright_budget::Budget;
use bumpwright_cloud::{ServiceAccounts, TokenCache, TokenRefusal};
use bumpwright_connect::{Clouds, bucket};
use bumpwright_fleet::SourceFiles;
use bumpwright_http::Job;
use bumpwright_source::{BucketPick, fetch_bucket};

/// The files of a Bucket.
///
/// # Errors
/// It is not valid, or its objects cannot be had.
pub(super) fn files(
    object: &Value,
    objects: &Objects,
    timeout: Duration,
    budget: &Budget,
) -> Result<SourceFiles, CliError> {
    let wanted: Bucket = serde_json::from_value(object.clone())?;
    check(&wanted)?;
    let accounts = ServiceAccounts {
        default: None,
        issue: Arc::new(|_, _| Err(TokenRefusal::NoCluster)),
    };
    let clouds = Clouds::new(TokenCache::default());
    let settings = bucket::settings(&wanted, objects, &accounts, &clouds)?;
    let timeout = bucket::timeout(&wanted).min(timeout);
    let pick = BucketPick {
        settings,
        prefix: wanted.spec.prefix.clone(),
        ignore: wanted.spec.ignore.clone(),
        made: None,
        timeout,
    };
    let file = || tempfile::tempfile().at("a temporary file");
    let fetched = Job::within(timeout.saturating_mul(2), || fetch_bucket(&pick, file, &budget.spool));
    match fetched?.files {
        // The ignore rules of a Bucket have been applied to the list.
        Some(files) => Ok(SourceFiles::whole(files, None)),
        None => Ok(SourceFiles::whole(bumpwright_source::Files::default(), None)),
    }
}

/// Without keys the user's own identity is sent: to the provider alone, and not to an address that a manifest chooses.
fn check(wanted: &Bucket) -> Result<(), CliError> {
    let spec = &wanted.spec;
    if !spec.service_account_name.is_empty() {
        let text = format!(
            "spec.serviceAccountName: only a cluster issues tokens of the ServiceAccount {:?}",
            spec.service_account_name
        );
        return Err(CliError::new(text));
    }
    if spec.secret_ref.is_some() {
        return Ok(());
    }
    if spec.sts.is_some() && spec.provider == "aws" {
        return Err(CliError::new(
            "spec.sts: your own identity is not sent to a token service",
        ));
    }
    if !["aws", "gcp", "azure"].contains(&spec.provider.as_str()) {
        return Ok(());
    }
    // Who chooses the authority or the proxy reads what is sent through them.
    if spec.cert_secret_ref.is_some() || spec.proxy_secret_ref.is_some() {
        let text = "spec.certSecretRef, spec.proxySecretRef: your own identity is not sent by them";
        return Err(CliError::new(text).hint("name a Secret with keys in spec.secretRef"));
    }
    if spec.insecure || !is_own_address(&spec.provider, &spec.endpoint) {
        let text = format!(
            "spec.endpoint: your own identity is not sent to {}, which is not an address of {}",
            spec.endpoint, spec.provider
        );
        return Err(CliError::new(text).hint("name a Secret with keys in spec.secretRef"));
    }
    Ok(())
}

/// Whether an endpoint is the object store of a provider, where nobody else has a server.
fn is_own_address(provider: &str, endpoint: &str) -> bool {
    let with_scheme = if endpoint.contains("://") {
        endpoint.to_owned()
    } else {
        format!("https://{endpoint}")
    };
    let url = Url::parse(&with_scheme).ok();
    let plain = url.filter(|url| url.scheme() == "https" && url.username().is_empty() && url.password().is_none());
    let host = plain.as_ref().and_then(|url| url.host_str());
    let Some((first, rest)) = host.and_then(|host| host.split_once('.')) else {
        return false;
    };
    match provider {
        // Machines and load balancers of anybody are below amazonaws.com, too.
        "aws" => {
            let is_amazon = |suffix: &str| rest == suffix || rest.ends_with(&format!(".{suffix}"));
            ["s3", "s3-fips"].contains(&first) && (is_amazon("amazonaws.com") || is_amazon("amazonaws.com.cn"))
        }
        "gcp" => host == Some("storage.googleapis.com"),
        "azure" => rest == "blob.core.windows.net",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_own_address;

    #[test]
    fn an_identity_goes_to_the_object_store_of_its_provider_alone() {
        for (provider, endpoint) in [
            ("aws", "s3.amazonaws.com"),
            ("aws", "s3.dualstack.eu-west-1.amazonaws.com:443"),
            ("aws", "s3.cn-north-1.amazonaws.com.cn"),
            ("gcp", "storage.googleapis.com"),
            ("azure", "https://account.blob.core.windows.net"),
        ] {
            assert!(is_own_address(provider, endpoint), "{endpoint}");
        }
        for (provider, endpoint) in [
            ("aws", "s3.example"),
            ("aws", "s3.amazonaws.com:x@evil.example"),
            ("aws", "s3.amazonaws.com@evil.example"),
            ("aws", "s3.amazonaws.com.evil.example"),
            ("aws", "ec2-192-0-2-1.compute-1.amazonaws.com"),
            ("aws", "s3-1234.eu-west-1.elb.amazonaws.com"),
            ("gcp", "s3.amazonaws.com"),
            ("gcp", "storage.googleapis.com:x@evil.example"),
            ("azure", "http://account.blob.core.windows.net"),
            ("azure", "https://account.blob.core.windows.net.evil.example"),
        ] {
            assert!(!is_own_address(provider, endpoint), "{endpoint}");
        }
    }
}
