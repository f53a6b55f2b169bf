//! `Bucket` of `source.toolkit.fluxcd.io` (v1beta1, v1beta2, v1): files in object storage.

use serde::{Deserialize, Serialize};

use crate::object::artifact::Artifact;
use crate::object::duration::GoDuration;
use crate::object::meta::{LocalRef, Metadata};

/// A bucket of an object store.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Bucket {
    pub metadata: Metadata,
    pub spec: BucketSpec,
}

/// Location of the objects and connection settings.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BucketSpec {
    /// The bucket, or container.
    pub bucket_name: String,
    /// Host, and optionally port, of the object store.
    pub endpoint: String,
    #[serde(default)]
    pub region: String,
    /// Prefix of the names of the objects to fetch.
    #[serde(default)]
    pub prefix: String,
    /// How often to fetch.
    pub interval: Option<GoDuration>,
    /// Deadline of one fetch.
    pub timeout: Option<GoDuration>,
    /// `generic`, `aws`, `gcp`, `azure`; `generic` when empty.
    #[serde(default)]
    pub provider: String,
    /// A security token service to get the credentials from.
    pub sts: Option<BucketSts>,
    /// Secret with the credentials.
    pub secret_ref: Option<LocalRef>,
    /// Service account whose identity is used at the provider.
    #[serde(default)]
    pub service_account_name: String,
    /// Secret with `ca.crt`, `tls.crt`, `tls.key`.
    pub cert_secret_ref: Option<LocalRef>,
    /// Secret with `address`, `username`, `password` of the proxy.
    pub proxy_secret_ref: Option<LocalRef>,
    /// Whether the endpoint may be reached without TLS.
    #[serde(default)]
    pub insecure: bool,
    /// Files that are left out, in the format of `.gitignore`.
    pub ignore: Option<String>,
    /// Whether no artifacts are made.
    #[serde(default)]
    pub suspend: bool,
}

/// A security token service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BucketSts {
    /// `aws` or `ldap`.
    pub provider: String,
    /// URL of the service.
    pub endpoint: String,
    /// Secret with `username` and `password`.
    pub secret_ref: Option<LocalRef>,
    /// Secret with `ca.crt`, `tls.crt`, `tls.key`.
    pub cert_secret_ref: Option<LocalRef>,
}

/// Status of a bucket, without the conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BucketStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// `spec.ignore` that the artifact was made with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_ignore: Option<String>,
}
