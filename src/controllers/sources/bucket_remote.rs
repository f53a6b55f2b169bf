//! How a Bucket is reached: its spec with its Secrets and its identity, with source-controller's refusals in its order (v1.9,
//! `setupCredentials`, `createBucketProvider`).

use std::time::Duration;

use super::error::SourceError;
use crate::controllers::context::Context;
use crate::controllers::tokens::{self, GateClosed};
use bumpwright_api::{Bucket, BucketSts, LocalRef, ObjectName, Objects};
use bumpwright_cloud::{CloudError, Requester, Use};
use bumpwright_connect::{self as connect, CloudRoute, ProviderAccount};
use bumpwright_http::{Peer, Proxy, Tls};
use bumpwright_kube::BUCKET;
use bumpwright_object_store::{BucketError, BucketProvider, Keys, ObjectError, Settings, Sts, StsProvider};
use bumpwright_secret::Secret;

/// The time limit where the spec has none.
const TIMEOUT: Duration = Duration::from_secs(60);

const ACCESS: &str = "AuthenticationFailed";

/// `spec.timeout`
pub(crate) fn timeout(bucket: &Bucket) -> Duration {
    bucket.spec.timeout.map_or(TIMEOUT, |timeout| timeout.as_std())
}

/// What a bucket's error is to its reconciliation.
pub(crate) fn refused(error: &BucketError) -> SourceError {
    let refused = SourceError::fetch(error.reason(), error.to_string());
    match error.is_stalling() {
        true => refused.stalled(),
        false => refused,
    }
}

/// The settings to open a bucket with.
///
/// # Errors
/// What refuses the reconciliation.
pub(crate) fn settings(context: &Context, bucket: &Bucket, objects: &Objects) -> Result<Settings, SourceError> {
    let account = ProviderAccount::of(bucket).given();
    tokens::check_gate(context.settings.gates, account, "spec.serviceAccountName")
        .map_err(|closed| SourceError::fetch(GateClosed::REASON, closed.to_string()).stalled())?;
    let reading = Reading { bucket, objects };
    let given = reading.given().map_err(|why| SourceError::fetch(ACCESS, why))?;
    let settled = settled(context, &reading, given);
    settled.map_err(|error| refused(&error))
}

/// What the Secrets say.
struct Given {
    secret: Option<Keys>,
    proxy: Option<Proxy>,
    tls: Tls,
    sts: Option<Sts>,
}

struct Reading<'a> {
    bucket: &'a Bucket,
    objects: &'a Objects,
}

impl Reading<'_> {
    fn given(&self) -> Result<Given, String> {
        let spec = &self.bucket.spec;
        let sts = spec.sts.as_ref();
        let secret = self.keys(spec.secret_ref.as_ref(), "secret")?;
        let sts_secret = self.keys(sts.and_then(|sts| sts.secret_ref.as_ref()), "STS secret")?;
        let proxy = match &spec.proxy_secret_ref {
            None => None,
            Some(reference) => {
                let proxy = self
                    .secret(reference)
                    .and_then(|secret| connect::proxy(secret).map_err(text));
                Some(proxy.map_err(|why| format!("failed to get proxy URL: {why}"))?)
            }
        };
        let tls = self.tls(spec.cert_secret_ref.as_ref(), "TLS config")?;
        let sts_tls = self.tls(sts.and_then(|sts| sts.cert_secret_ref.as_ref()), "STS TLS config")?;
        let sts = sts.map(|sts| {
            let peer = Peer {
                tls: sts_tls,
                proxy: proxy.clone(),
                ..Peer::default()
            };
            self.sts(sts, sts_secret, peer)
        });
        Ok(Given {
            secret,
            proxy,
            tls,
            sts,
        })
    }

    fn sts(&self, sts: &BucketSts, secret: Option<Keys>, peer: Peer) -> Sts {
        Sts {
            // The schema has no third one.
            provider: match sts.provider.as_str() {
                "ldap" => StsProvider::Ldap,
                _ => StsProvider::Aws,
            },
            endpoint: sts.endpoint.clone(),
            secret,
            has_certificates: sts.cert_secret_ref.is_some(),
            peer: Peer {
                timeout: timeout(self.bucket),
                ..peer
            },
        }
    }

    fn beside(&self, name: &str) -> ObjectName {
        ObjectName::new(self.bucket.metadata.namespace_or_default(), name)
    }

    fn keys(&self, reference: Option<&LocalRef>, what: &str) -> Result<Option<Keys>, String> {
        let Some(reference) = reference else { return Ok(None) };
        let name = self.beside(&reference.name);
        let failed = |why: String| format!("failed to get {what} '{name}': {why}");
        let found = self.objects.secret(&name);
        let found = found.ok_or_else(|| failed(format!("secrets {:?} not found", name.name)))?;
        let entries = found.entries().map_err(|error| failed(error.to_string()))?;
        let value = |value: &[u8]| Secret::new(String::from_utf8_lossy(value).into_owned());
        Ok(Some(Keys {
            name: name.name.clone(),
            data: entries
                .into_iter()
                .map(|(key, bytes)| (key.to_owned(), value(bytes)))
                .collect(),
        }))
    }

    fn secret(&self, reference: &LocalRef) -> Result<&bumpwright_api::Secret, String> {
        let name = self.beside(&reference.name);
        let secret = self.objects.secret(&name);
        secret.ok_or_else(|| format!("secret '{name}' not found"))
    }

    fn tls(&self, reference: Option<&LocalRef>, what: &str) -> Result<Tls, String> {
        let Some(reference) = reference else {
            return Ok(Tls::default());
        };
        let tls = self
            .secret(reference)
            .and_then(|secret| connect::tls(secret).map_err(text));
        Ok(Tls {
            beside_system: true,
            ..tls.map_err(|why| format!("failed to get {what}: {why}"))?
        })
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn settled(context: &Context, reading: &Reading<'_>, given: Given) -> Result<Settings, BucketError> {
    let (bucket, spec) = (reading.bucket, &reading.bucket.spec);
    let provider = BucketProvider::named(&spec.provider);
    // With a key of its own nobody has to be asked for one.
    let (service_account, aws_sts) = match given.secret {
        Some(_) => (None, None),
        None => {
            let account = ProviderAccount::of(bucket).identity(&context.accounts, reading.objects, Use::Bucket);
            let account = account.map_err(|error| nobody(provider, &spec.bucket_name, error))?;
            let address = Settings::sts_of_aws(provider, given.sts.as_ref(), account.as_ref())?;
            (account, address)
        }
    };
    let requester = Requester {
        kind: BUCKET.kind,
        namespace: bucket.metadata.namespace_or_default().to_owned(),
        name: bucket.metadata.name.clone(),
    };
    let route = CloudRoute {
        peer: Peer {
            proxy: given.proxy.clone(),
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
        secret: given.secret,
        sts: given.sts,
        service_account,
        peer: Peer {
            tls: given.tls,
            proxy: given.proxy,
            timeout: timeout(bucket),
            ..Peer::default()
        },
        cloud: context.clouds.by(route).asked_by(requester),
    })
}

/// Upstream asks AWS for its identity at once, and others with their first request.
fn nobody(provider: BucketProvider, bucket: &str, error: CloudError) -> BucketError {
    match provider {
        BucketProvider::Aws | BucketProvider::Generic => BucketError::Identity(error),
        BucketProvider::Gcp | BucketProvider::Azure => BucketError::Unconfirmed {
            bucket: bucket.to_owned(),
            cause: Box::new(ObjectError::Identity(error)),
        },
    }
}
