//! The objects of a Bucket, for a command: with the keys that the manifests name, else with the user's identity at the
//! provider's own address.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::cli::error::{Attempt as _, CliError};
use bumpwright_api::{Bucket, Objects};
use bumpwright_budget::Budget;
use bumpwright_cloud::{ServiceAccounts, TokenCache, TokenRefusal};
use bumpwright_connect::{Clouds, bucket};
use bumpwright_fleet::SourceFiles;
use bumpwright_http::Job;
use bumpwright_source::{BucketPick, fetch_bucket};

/// The hosts of providers: a host is one of them, or ends with one after a dot.
const HOSTS: [(&str, &[&str]); 3] = [
    ("aws", &["amazonaws.com", "amazonaws.com.cn"]),
    ("gcp", &["storage.googleapis.com"]),
    ("azure", &["blob.core.windows.net"]),
];

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
    let host = spec.endpoint.split(':').next().unwrap_or(&spec.endpoint);
    let hosts = HOSTS
        .iter()
        .find(|(provider, _)| *provider == spec.provider)
        .map(|(_, hosts)| *hosts);
    let Some(hosts) = hosts else {
        return Ok(());
    };
    let is_its = |own: &&str| host == *own || host.strip_suffix(own).is_some_and(|rest| rest.ends_with('.'));
    if spec.insecure || !hosts.iter().any(is_its) {
        let text = format!(
            "spec.endpoint: your own identity is not sent to {}, which is not an address of {}",
            spec.endpoint, spec.provider
        );
        return Err(CliError::new(text).hint("name a Secret with keys in spec.secretRef"));
    }
    Ok(())
}
