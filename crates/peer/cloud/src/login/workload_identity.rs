//! The identity of a Kubernetes ServiceAccount at a cloud, where an object names one (Flux, *Object-level workload
//! identity*; N-050). Commands do not have one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::aws::credentials::{Aws, AwsCredentials};
use crate::azure::identity::Azure;
use crate::endpoints::or_usual;
use crate::google::federation::{Federation, Subject};
use crate::google::identity::Google;
use crate::invalid::{IdentityError, TokenRefusal};
use crate::token::AccessToken;
use crate::{CloudError, CredentialSettings, Provider};
use bumpwright_http::Deadline;
use bumpwright_secret::Secret;

/// A request for a token of a ServiceAccount (Kubernetes API, *TokenRequest*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRequest<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    /// The audiences of the token.
    pub audiences: &'a [&'a str],
    /// Its life; none for the usual one.
    pub expiration: Option<Duration>,
    /// Whether its receiver is the choice of the author of an object: then it must not be good at this cluster's API
    /// server or at a cloud.
    pub for_chosen: bool,
}

/// Issues a token of a ServiceAccount.
pub type IssueToken = dyn Fn(&TokenRequest<'_>, Deadline) -> Result<Secret, TokenRefusal> + Send + Sync;

/// A ServiceAccount whose identity is used instead of this process' own.
#[derive(Clone)]
pub struct WorkloadIdentity {
    pub namespace: String,
    pub name: String,
    /// Its annotations, which name its identity at the cloud.
    pub annotations: BTreeMap<String, String>,
    /// What they say about its tokens.
    pub credential: CredentialSettings,
    pub issue: Arc<IssueToken>,
}

/// The same account with the same annotations and the same issuer.
impl PartialEq for WorkloadIdentity {
    fn eq(&self, other: &Self) -> bool {
        (&self.namespace, &self.name, &self.annotations, &self.credential)
            == (&other.namespace, &other.name, &other.annotations, &other.credential)
            && Arc::ptr_eq(&self.issue, &other.issue)
    }
}

impl fmt::Debug for WorkloadIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkloadIdentity({}/{})", self.namespace, self.name)
    }
}

const ROLE: &str = "eks.amazonaws.com/role-arn";
const TENANT: &str = "azure.workload.identity/tenant-id";
const CLIENT: &str = "azure.workload.identity/client-id";
const EMAIL: &str = "iam.gke.io/gcp-service-account";
const POOL: &str = "gcp.auth.fluxcd.io/workload-identity-provider";

impl WorkloadIdentity {
    fn annotation(&self, key: &str) -> &str {
        self.annotations.get(key).map_or("", String::as_str)
    }

    /// Its identity at a cloud, part of the cache key of its tokens.
    ///
    /// # Errors
    /// [`CloudError::While`], with Flux' text, when an annotation is missing or wrong.
    pub(crate) fn identity(&self, provider: Provider) -> Result<String, CloudError> {
        let identity = match provider {
            Provider::Aws => self.role().map(str::to_owned),
            Provider::Azure => self.entra_client().map(|(tenant, client)| format!("{tenant}/{client}")),
            Provider::Gcp => self.email().map(|email| format!("{email} {}", self.annotation(POOL))),
        };
        let doing = format!(
            "failed to get provider identity from service account '{}/{}' annotations",
            self.namespace, self.name
        );
        let identity = identity.map_err(|error| CloudError::from(error).within(doing))?;
        Ok(format!("{} {identity}", self.own_identity()))
    }

    /// Its identity at this cluster with its audiences, part of the cache key of its tokens.
    pub(crate) fn own_identity(&self) -> String {
        let audiences = match self.credential.audiences.as_slice() {
            [] => String::new(),
            given => format!(" for {given:?}"),
        };
        format!("{}/{}{audiences}", self.namespace, self.name)
    }

    fn role(&self) -> Result<&str, IdentityError> {
        let arn = self.annotation(ROLE);
        const PATTERN: &str = r"^arn:aws[\w-]*:iam::[0-9]{1,30}:role/.{1,200}$";
        is_role(arn).map(|()| arn).ok_or_else(|| invalid(ROLE, arn, PATTERN))
    }

    fn entra_client(&self) -> Result<(&str, &str), IdentityError> {
        let get = |annotation, what| {
            let value = self.annotations.get(annotation).map(String::as_str);
            value.ok_or(IdentityError::Missing { what, annotation })
        };
        Ok((get(TENANT, "tenant")?, get(CLIENT, "client")?))
    }

    fn email(&self) -> Result<&str, IdentityError> {
        let email = self.annotation(EMAIL);
        const PATTERN: &str = r"^[a-zA-Z0-9-]{1,100}@[a-zA-Z0-9-]{1,100}\.iam\.gserviceaccount\.com$";
        if email.is_empty() || is_email(email).is_some() {
            Ok(email)
        } else {
            Err(invalid(EMAIL, email, PATTERN))
        }
    }

    fn pool(&self) -> Result<Option<String>, IdentityError> {
        let pool = self.annotation(POOL);
        const PATTERN: &str =
            r"^projects/\d{1,30}/locations/global/workloadIdentityPools/[^/]{1,100}/providers/[^/]{1,100}$";
        match (pool.is_empty(), is_pool(pool)) {
            (true, _) => Ok(None),
            (false, Some(())) => Ok(Some(format!("//iam.googleapis.com/{pool}"))),
            (false, None) => Err(invalid(POOL, pool, PATTERN)),
        }
    }

    /// Gets a token for its audiences, or for `usual` if it has none.
    pub(crate) fn token(&self, usual: &str, deadline: Deadline) -> Result<Secret, CloudError> {
        self.issued("service account", usual, false, deadline)
    }

    /// Gets a token for a server that the author of an object has chosen.
    pub(crate) fn token_for(&self, server: &str, deadline: Deadline) -> Result<Secret, CloudError> {
        self.issued("service account", server, true, deadline)
    }

    /// The same for the ServiceAccount of this process.
    pub(crate) fn own_token(&self, usual: &str, deadline: Deadline) -> Result<Secret, CloudError> {
        let token = self.issued("controller service account", usual, false, deadline);
        token.map_err(|error| error.within("failed to create provider access token for the controller"))
    }

    fn issued(&self, what: &str, usual: &str, for_chosen: bool, deadline: Deadline) -> Result<Secret, CloudError> {
        let subject = format!(
            "failed to create kubernetes token for {what} '{}/{}'",
            self.namespace, self.name
        );
        let given: Vec<&str> = self.credential.audiences.iter().map(String::as_str).collect();
        let request = TokenRequest {
            namespace: &self.namespace,
            name: &self.name,
            audiences: if given.is_empty() { &[usual] } else { &given },
            expiration: self.credential.expiration,
            for_chosen,
        };
        (self.issue)(&request, deadline).map_err(|refusal| CloudError::invalid(subject, refusal))
    }

    fn within<T>(&self, result: Result<T, CloudError>) -> Result<T, CloudError> {
        let doing = format!(
            "failed to create provider access token for service account '{}/{}'",
            self.namespace, self.name
        );
        result.map_err(|e| e.within(doing))
    }
}

impl Aws<'_> {
    /// Gets credentials of the ServiceAccount's role.
    pub(crate) fn of_workload(&self, workload: &WorkloadIdentity) -> Result<AwsCredentials, CloudError> {
        let token = workload.token("sts.amazonaws.com", self.deadline)?;
        let session = format!("{}.{}.{}.fluxcd.io", workload.name, workload.namespace, self.region);
        let role = workload.role()?;
        workload.within(self.assume_role_by_token(role, Some(&session), &token))
    }
}

impl Azure<'_> {
    /// Gets a token of the ServiceAccount's client.
    pub(crate) fn of_workload(&self, workload: &WorkloadIdentity, scope: &str) -> Result<AccessToken, CloudError> {
        let assertion = workload.token("api://AzureADTokenExchange", self.deadline)?;
        let (tenant, client) = workload.entra_client()?;
        workload.within(self.by_assertion(tenant, client, &assertion, scope))
    }
}

impl Google<'_> {
    /// Gets a token of the ServiceAccount's Google service account, or of the ServiceAccount itself.
    pub(crate) fn of_workload(&self, workload: &WorkloadIdentity) -> Result<AccessToken, CloudError> {
        let failed = |error| CloudError::from(error).within("failed to get provider audience");
        let (for_kubernetes, for_google) = match workload.pool().map_err(failed)? {
            Some(pool) => (pool.clone(), pool),
            None if !workload.credential.audiences.is_empty() => {
                return Err(failed(IdentityError::Audiences));
            }
            None => {
                let (pool, provider) = self
                    .gke_pool()
                    .map_err(|e| e.within("failed to get provider audience"))?;
                let for_google = format!("identitynamespace:{pool}:{provider}");
                (pool, for_google)
            }
        };
        let token = workload.token(&for_kubernetes, self.deadline)?;
        let impersonation = match workload.email()? {
            "" => None,
            email => {
                let mut url = or_usual(
                    self.endpoints.google_credentials.as_ref(),
                    "https://iamcredentials.googleapis.com",
                )?;
                url.set_path(&format!("/v1/projects/-/serviceAccounts/{email}:generateAccessToken"));
                Some((url, 0))
            }
        };
        let federation = Federation {
            audience: &for_google,
            token_type: "urn:ietf:params:oauth:token-type:jwt",
            token_url: self.endpoints.google_sts()?,
            subject: Subject::Token(&token),
            impersonation,
            client: None,
            user_project: "",
        };
        workload.within(self.federated(&federation))
    }
}

fn invalid(annotation: &'static str, value: &str, pattern: &'static str) -> IdentityError {
    IdentityError::Invalid {
        annotation,
        value: value.to_owned(),
        pattern,
    }
}

fn is_role(arn: &str) -> Option<()> {
    let rest = arn.strip_prefix("arn:aws")?;
    let (partition, rest) = rest.split_once(":iam::")?;
    let (account, name) = rest.split_once(":role/")?;
    let good = partition
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        && is_number(account)
        && (1..=200).contains(&name.chars().count())
        && !name.contains('\n');
    good.then_some(())
}

fn is_email(email: &str) -> Option<()> {
    let (name, project) = email.strip_suffix(".iam.gserviceaccount.com")?.split_once('@')?;
    let good =
        |text: &str| (1..=100).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    (good(name) && good(project)).then_some(())
}

fn is_pool(text: &str) -> Option<()> {
    let (project, rest) = text.strip_prefix("projects/")?.split_once('/')?;
    let (pool, rest) = rest
        .strip_prefix("locations/global/workloadIdentityPools/")?
        .split_once('/')?;
    let provider = rest.strip_prefix("providers/")?;
    let good = |text: &str| (1..=100).contains(&text.chars().count()) && !text.contains('/');
    (is_number(project) && good(pool) && good(provider)).then_some(())
}

fn is_number(text: &str) -> bool {
    (1..=30).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn identity(provider: Provider, annotations: &[(&str, &str)]) -> Result<String, String> {
        let workload = WorkloadIdentity {
            namespace: "apps".to_owned(),
            name: "scanner".to_owned(),
            annotations: annotations
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            credential: CredentialSettings::default(),
            issue: Arc::new(|_, _| Ok(Secret::new("x"))),
        };
        workload.identity(provider).map_err(|e| e.to_string())
    }

    #[test]
    fn annotations() {
        let role = "arn:aws-cn:iam::123456789012:role/scan/er";
        assert_eq!(
            identity(Provider::Aws, &[(ROLE, role)]),
            Ok(format!("apps/scanner {role}"))
        );
        for bad in [
            "",
            "arn:aws:iam::x:role/a",
            "arn:aws:iam::1:role/",
            "arn:aws:iam::1:user/a",
            "xarn:aws:iam::1:role/a",
        ] {
            let expected = format!(
                "failed to get provider identity from service account 'apps/scanner' annotations: invalid \
                 eks.amazonaws.com/role-arn annotation: '{bad}'. must match \
                 ^arn:aws[\\w-]*:iam::[0-9]{{1,30}}:role/.{{1,200}}$"
            );
            assert_eq!(identity(Provider::Aws, &[(ROLE, bad)]), Err(expected));
        }
        assert_eq!(
            identity(Provider::Azure, &[(TENANT, "t"), (CLIENT, "c")]),
            Ok("apps/scanner t/c".to_owned())
        );
        let said = identity(Provider::Azure, &[(TENANT, "t")]).unwrap_err();
        assert!(said.ends_with(
            "azure client ID is not set in the service account annotation azure.workload.identity/client-id"
        ));
        assert_eq!(identity(Provider::Gcp, &[]), Ok("apps/scanner  ".to_owned()));
        assert!(identity(Provider::Gcp, &[(EMAIL, "a@b.iam.gserviceaccount.com")]).is_ok());
        assert!(identity(Provider::Gcp, &[(EMAIL, "a@b.example.com")]).is_err());
        assert_eq!(
            is_pool("projects/1/locations/global/workloadIdentityPools/p/providers/q"),
            Some(())
        );
        assert_eq!(
            is_pool("projects/1/locations/global/workloadIdentityPools/p/providers/q/r"),
            None
        );
    }
}
