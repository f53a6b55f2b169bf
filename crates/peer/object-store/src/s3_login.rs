//! Logins at S3: anonymous, a key of a Secret, an identity at AWS, or credentials of MinIO's token service for a login
//! at LDAP (source-controller, `minio.NewClient`; minio-go, `pkg/credentials/sts_ldap_identity.go`).

use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use url::Url;
use zeroize::Zeroizing;

use super::settings::no_identity;
use super::{BucketError, BucketProvider, Keys, ObjectError, Settings, Sts, StsProvider};
use bumpwright_cloud::{AwsCredentials, xml};
use bumpwright_gostd::{RFC_3339, Time, query_escape};
use bumpwright_http::{Client, Deadline, Request, RetryPolicy, scrubbed, shown};
use bumpwright_secret::Secret;

#[derive(Debug)]
pub(super) enum Login {
    Nobody,
    Key(AwsCredentials),
    Ldap(Box<Ldap>),
}

/// A login at LDAP, with cached credentials of the token service.
#[derive(Debug)]
pub(super) struct Ldap {
    endpoint: Url,
    client: Client,
    username: Secret,
    password: Secret,
    kept: Mutex<Option<AwsCredentials>>,
}

/// How long before their expiry credentials are renewed.
const MARGIN: Duration = Duration::from_secs(10);

/// Flux's text for the identity of this process.
const NO_REGION: &str = "AWS_REGION environment variable is not set in the Flux controller. if \
    you have properly configured IAM Roles for Service Accounts (IRSA) or EKS Pod Identity, please delete/replace the \
    controller pod so the EKS admission controllers can inject this environment variable, or set it manually if the cluster \
    is not EKS";

/// Flux's text for a ServiceAccount, which gets no region of this process.
const NO_REGION_OF_OBJECT: &str =
    "an AWS region is required for authenticating with a service account. please configure one in the object spec";

impl Login {
    /// # Errors
    /// [`BucketError`] for a Secret without keys, and without an identity at AWS.
    pub(super) fn of(settings: &Settings, deadline: Deadline) -> Result<Self, BucketError> {
        match (&settings.secret, settings.provider, &settings.sts) {
            (Some(secret), ..) => Self::of_secret(secret),
            (None, BucketProvider::Aws, _) => {
                let account = settings.service_account.as_ref();
                let set = Some(settings.region.as_str()).filter(|region| !region.is_empty());
                let region = match account {
                    Some(_) => set.ok_or(NO_REGION_OF_OBJECT),
                    None => set.or_else(|| settings.cloud.variable("AWS_REGION")).ok_or(NO_REGION),
                };
                let region = region.map_err(|why| no_identity(account, why))?;
                settings
                    .cloud
                    .aws_credentials(region, account, deadline)
                    .map(Self::Key)
                    .map_err(BucketError::Identity)
            }
            (None, _, Some(sts)) if sts.provider == StsProvider::Ldap => {
                Ldap::of(sts).map(|ldap| Self::Ldap(Box::new(ldap)))
            }
            (None, ..) => Ok(Self::Nobody),
        }
    }

    fn of_secret(secret: &Keys) -> Result<Self, BucketError> {
        let (Some(id), Some(key)) = (secret.get("accesskey"), secret.get("secretkey")) else {
            return Err(BucketError::Settings(format!(
                "invalid '{}' secret data: required fields 'accesskey' and 'secretkey'",
                secret.name
            )));
        };
        if id.is_empty() || key.is_empty() {
            return Ok(Self::Nobody);
        }
        Ok(Self::Key(AwsCredentials {
            access_key_id: id.expose().to_owned(),
            secret_access_key: key.clone(),
            session_token: None,
            expires: None,
        }))
    }

    /// The credentials that sign requests; none for anonymous ones.
    pub(super) fn credentials(&self, deadline: Deadline) -> Result<Option<AwsCredentials>, ObjectError> {
        match self {
            Self::Nobody => Ok(None),
            Self::Key(credentials) => Ok(Some(credentials.clone())),
            Self::Ldap(ldap) => ldap.credentials(deadline).map(Some),
        }
    }
}

impl Ldap {
    fn of(sts: &Sts) -> Result<Self, BucketError> {
        let endpoint = Url::parse(&sts.endpoint).map_err(|e| BucketError::StsAddress {
            endpoint: sts.endpoint.clone(),
            detail: e.to_string(),
        })?;
        // Without a Secret, or a key of it, the server refuses the empty login.
        let value = |key| match sts.secret.as_ref().and_then(|secret| secret.get(key)) {
            Some(value) => value.clone(),
            None => Secret::from(""),
        };
        Ok(Self {
            endpoint,
            client: Client::new(sts.peer.clone(), RetryPolicy::default()),
            username: value("username"),
            password: value("password"),
            kept: Mutex::default(),
        })
    }

    fn credentials(&self, deadline: Deadline) -> Result<AwsCredentials, ObjectError> {
        // The lock is held meanwhile: other callers wait for this answer.
        let mut cached = self.kept.lock();
        let soon = SystemTime::now().checked_add(MARGIN);
        let alive =
            |credentials: &&AwsCredentials| credentials.expires.is_none_or(|end| soon.is_some_and(|at| at < end));
        if let Some(credentials) = cached.as_ref().filter(alive) {
            return Ok(credentials.clone());
        }
        let credentials = self.request_credentials(deadline)?;
        *cached = Some(credentials.clone());
        Ok(credentials)
    }

    fn request_credentials(&self, deadline: Deadline) -> Result<AwsCredentials, ObjectError> {
        let escaped = |text: &Secret| Secret::new(query_escape(text.expose().as_bytes()));
        let form = Secret::new(format!(
            "Action=AssumeRoleWithLDAPIdentity&LDAPPassword={}&LDAPUsername={}&Version=2011-06-15",
            escaped(&self.password).expose(),
            escaped(&self.username).expose(),
        ));
        let request = Request::post(self.endpoint.clone(), "application/x-www-form-urlencoded", form)
            .repeatable()
            .without_redirects();
        let secrets = [&self.password];
        let answer = self
            .client
            .send(&request, deadline)
            .map_err(|e| e.reworded(|text| scrubbed(text, secrets)))?;
        let place = shown(&answer.url);
        let body = Zeroizing::new(answer.body);
        let document = String::from_utf8_lossy(&body);
        let inside = |path: &[&str]| xml::text(&document, path).filter(|text| !text.is_empty());
        if answer.status.as_u16() != 200 {
            let part = |name| inside(&["Error", name]).map(|text| scrubbed(&text, secrets));
            return Err(ObjectError::Refused {
                status: answer.status.as_u16(),
                text: format!(
                    "{place} returned no credentials: {}",
                    part("Message").unwrap_or_else(|| answer.status.to_string())
                ),
                code: part("Code").unwrap_or_default(),
            });
        }
        let field = |name| {
            inside(&["Credentials", name])
                .ok_or_else(|| ObjectError::answer(&place, format!("it has no Credentials/{name}")))
        };
        let expires = field("Expiration")?;
        Ok(AwsCredentials {
            access_key_id: field("AccessKeyId")?,
            secret_access_key: Secret::new(field("SecretAccessKey")?),
            session_token: inside(&["Credentials", "SessionToken"]).map(Secret::new),
            expires: Some(date(&expires).ok_or_else(|| ObjectError::answer(&place, "its Expiration is not a date"))?),
        })
    }
}

fn date(text: &str) -> Option<SystemTime> {
    Time::parse(RFC_3339, text.as_bytes()).ok()?.system()
}
