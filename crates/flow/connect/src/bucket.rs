//! Connections to Buckets: settings from the spec, its Secrets and its identity, with source-controller's errors in its
//! order (v1.9, `setupCredentials`, `createBucketProvider`).

use std::fmt;
use std::time::Duration;

use super::clouds::{CloudRoute, Clouds};
use super::error::{ConnectError, no_such_secret};
use super::identity::{ProviderAccount, requester};
use super::references::LocalObjects;
use bumpwright_api::{Bucket, BucketSts, LocalRef, Objects};
use bumpwright_cloud::{CloudError, ServiceAccounts, Use};
use bumpwright_http::{Peer, Proxy, Tls};
use bumpwright_object_store::{BucketError, BucketProvider, Keys, ObjectError, Settings, Sts, StsProvider};
use bumpwright_secret::Secret;

/// The default time limit.
const TIMEOUT: Duration = Duration::from_secs(60);

#[must_use]
pub fn timeout(bucket: &Bucket) -> Duration {
    bucket.spec.timeout.map_or(TIMEOUT, |timeout| timeout.as_std())
}

/// The settings of a bucket. `objects` has the objects that it refers to.
pub fn settings(
    bucket: &Bucket,
    objects: &Objects,
    accounts: &ServiceAccounts,
    clouds: &Clouds,
) -> Result<Settings, ConnectError> {
    let local = LocalObjects::of(&bucket.metadata, objects);
    let given = Given::read(bucket, local)?;
    let settings = given.settings(bucket, objects, accounts, clouds);
    settings.map_err(|error| ConnectError::from(&error))
}

impl From<&BucketError> for ConnectError {
    fn from(error: &BucketError) -> Self {
        Self {
            reason: error.reason(),
            message: error.to_string(),
            is_stalling: error.is_stalling(),
        }
    }
}

/// The settings from Secrets.
struct Given {
    secret: Option<Keys>,
    proxy: Option<Proxy>,
    tls: Tls,
    sts: Option<Sts>,
}

impl Given {
    fn read(bucket: &Bucket, local: LocalObjects<'_>) -> Result<Self, ConnectError> {
        let spec = &bucket.spec;
        let sts = spec.sts.as_ref();
        let secret = keys(local, spec.secret_ref.as_ref(), "secret")?;
        let sts_secret = keys(local, sts.and_then(|sts| sts.secret_ref.as_ref()), "STS secret")?;
        let proxy = local
            .proxy(spec.proxy_secret_ref.as_ref())
            .map_err(|error| failed_to_get("proxy URL", error))?;
        let tls = |reference: Option<&LocalRef>, what: &str| {
            let tls = local.tls_beside_system(reference);
            let tls = tls.map_err(|error| failed_to_get(what, error))?;
            Ok::<Tls, ConnectError>(tls.unwrap_or_default())
        };
        let own_tls = tls(spec.cert_secret_ref.as_ref(), "TLS config")?;
        let sts_tls = tls(sts.and_then(|sts| sts.cert_secret_ref.as_ref()), "STS TLS config")?;
        let sts = sts.map(|sts| {
            let peer = Peer {
                tls: sts_tls,
                proxy: proxy.clone(),
                timeout: timeout(bucket),
                ..Peer::default()
            };
            token_service(sts, sts_secret, peer)
        });
        Ok(Self {
            secret,
            proxy,
            tls: own_tls,
            sts,
        })
    }

    fn settings(
        self,
        bucket: &Bucket,
        objects: &Objects,
        accounts: &ServiceAccounts,
        clouds: &Clouds,
    ) -> Result<Settings, BucketError> {
        let spec = &bucket.spec;
        let provider = BucketProvider::named(&spec.provider);
        // With an access key no identity is needed.
        let (service_account, aws_sts) = match self.secret {
            Some(_) => (None, None),
            None => {
                let account = ProviderAccount::of(bucket).identity(accounts, objects, Use::Bucket);
                let account = account.map_err(|error| without_identity(provider, &spec.bucket_name, error))?;
                let address = Settings::sts_of_aws(provider, self.sts.as_ref(), account.as_ref())?;
                (account, address)
            }
        };
        let route = CloudRoute {
            peer: Peer {
                proxy: self.proxy.clone(),
                ..Peer::default()
            },
            aws_sts,
        };
        Ok(Settings {
            provider,
            bucket: spec.bucket_name.clone(),
            endpoint: spec.endpoint.clone(),
            region: spec.region.clone(),
            insecure: spec.insecure,
            secret: self.secret,
            sts: self.sts,
            service_account,
            peer: Peer {
                tls: self.tls,
                proxy: self.proxy,
                timeout: timeout(bucket),
                ..Peer::default()
            },
            cloud: clouds.by(route).asked_by(requester("Bucket", &bucket.metadata)),
        })
    }
}

fn token_service(sts: &BucketSts, secret: Option<Keys>, peer: Peer) -> Sts {
    Sts {
        // The schema allows no third one.
        provider: match sts.provider.as_str() {
            "ldap" => StsProvider::Ldap,
            _ => StsProvider::Aws,
        },
        endpoint: sts.endpoint.clone(),
        secret,
        has_certificates: sts.cert_secret_ref.is_some(),
        peer,
    }
}

fn failed_to_get(what: &str, why: impl fmt::Display) -> ConnectError {
    ConnectError::authentication(format!("failed to get {what}: {why}"))
}

fn keys(local: LocalObjects<'_>, reference: Option<&LocalRef>, what: &str) -> Result<Option<Keys>, ConnectError> {
    let Some(reference) = reference else { return Ok(None) };
    let name = local.name(&reference.name);
    let what = format!("{what} '{name}'");
    let secret = local
        .secret(reference)
        .map_err(|_| failed_to_get(&what, no_such_secret(&name)))?;
    let entries = secret.entries().map_err(|error| failed_to_get(&what, error))?;
    let value = |value: &[u8]| Secret::new(String::from_utf8_lossy(value).into_owned());
    Ok(Some(Keys {
        name: name.name.clone(),
        data: entries
            .into_iter()
            .map(|(key, bytes)| (key.to_owned(), value(bytes)))
            .collect(),
    }))
}

/// Upstream gets its identity at AWS at once, and at others with the first request.
fn without_identity(provider: BucketProvider, bucket: &str, error: CloudError) -> BucketError {
    match provider {
        BucketProvider::Aws | BucketProvider::Generic => BucketError::Identity(error),
        BucketProvider::Gcp | BucketProvider::Azure => BucketError::Unconfirmed {
            bucket: bucket.to_owned(),
            cause: Box::new(ObjectError::Identity(error)),
        },
    }
}
