//! Logins at Azure Blob Storage (source-controller, `azure.NewClient`): the first of an application, a managed
//! identity, the account's key and a shared access signature in the Secret; without a Secret the process' options.

use url::{Url, form_urlencoded};

use super::shared_key::SharedKey;
use super::{AccountError, BucketError, Keys, ObjectError, Settings};
use bumpwright_cloud::{AzureCloud, Cloud, EntraClient, EntraProof, WorkloadIdentity};
use bumpwright_http::{Deadline, host_of};
use bumpwright_secret::Secret;

/// The scope of tokens.
const SCOPE: &str = "https://storage.azure.com/.default";

/// Azure's storage domains: all clouds, and accounts with zones of their own (Azure
/// Storage, *Storage account endpoints*).
const STORAGE: [&str; 5] = [
    ".core.windows.net",
    ".storage.azure.net",
    ".core.chinacloudapi.cn",
    ".core.usgovcloudapi.net",
    ".core.cloudapi.de",
];

#[derive(Debug)]
pub(super) enum Login {
    Key(SharedKey),
    /// The parameters of the signature, as a query.
    Sas(Secret),
    Client {
        client: EntraClient,
        cloud: Cloud,
    },
    Ambient {
        cloud: Cloud,
        account: Option<WorkloadIdentity>,
    },
}

impl Login {
    /// # Errors
    /// [`BucketError::Settings`] for a Secret without a login.
    pub(super) fn of(settings: &Settings, endpoint: &Url) -> Result<Self, BucketError> {
        let cloud = settings.cloud.clone();
        let Some(secret) = &settings.secret else {
            settings.keep_own_token()?;
            return Ok(Self::Ambient {
                cloud,
                account: settings.service_account.clone(),
            });
        };
        if let Some(client) = client(secret) {
            if client.proof == EntraProof::ManagedIdentity {
                settings.keep_own_token()?;
            }
            return Ok(Self::Client { client, cloud });
        }
        if let Some(key) = secret.get("accountKey") {
            let account = account(endpoint).map_err(|host| AccountError::Host {
                secret: secret.name.to_string(),
                host: host.to_owned(),
            })?;
            return Ok(Self::Key(SharedKey::new(account, key)?));
        }
        match secret.get("sasKey") {
            Some(sas) => Ok(Self::Sas(sas_query(sas, endpoint))),
            None => Err(BucketError::Settings(invalid(secret))),
        }
    }

    /// Additional parameters of the address.
    pub(super) fn query(&self) -> Option<&Secret> {
        match self {
            Self::Sas(query) => Some(query),
            _ => None,
        }
    }

    /// Checks whether a token may be sent to a server: one of this process' options, which is valid for all of its
    /// storage at Azure, is sent to Azure alone. Flux sends it to any `spec.endpoint`.
    ///
    /// # Errors
    /// [`ObjectError::Unfit`]
    pub(super) fn check(&self, server: &Url) -> Result<(), ObjectError> {
        let is_own = match self {
            Self::Key(_) | Self::Sas(_) => false,
            Self::Client { client, .. } => client.proof == EntraProof::ManagedIdentity,
            Self::Ambient { .. } => true,
        };
        let host = host_of(server);
        let is_azure = server.port().is_none() && STORAGE.iter().any(|domain| host.ends_with(domain));
        if is_own && server.scheme() == "https" && !is_azure {
            Err(ObjectError::Unfit(format!(
                "the endpoint {} is not at Azure, so no identity of the controller's or of a ServiceAccount is sent there; give a host \
                 below one of {}, or a login in a Secret",
                server.origin().ascii_serialization(),
                STORAGE.map(|domain| domain.trim_start_matches('.')).join(", ")
            )))
        } else {
            Ok(())
        }
    }

    /// The token for the `Authorization` header, if any.
    pub(super) fn token(&self, deadline: Deadline) -> Result<Option<Secret>, ObjectError> {
        let token = match self {
            Self::Key(_) | Self::Sas(_) => return Ok(None),
            Self::Client { client, cloud } => cloud.entra_token_of(client, SCOPE, deadline)?,
            Self::Ambient { cloud, account } => {
                cloud.entra_token(AzureCloud::Public, SCOPE, account.as_ref(), deadline)?
            }
        };
        Ok(Some(token.token))
    }
}

fn client(secret: &Keys) -> Option<EntraClient> {
    let id = secret.get("clientId")?.expose().to_owned();
    let text = |key| secret.get(key).map(|value| value.expose().to_owned());
    let authority = text("authorityHost");
    let proof = match text("tenantId") {
        Some(tenant) if secret.filled("clientSecret").is_some() => EntraProof::Secret {
            tenant,
            authority,
            secret: secret.filled("clientSecret").cloned()?,
        },
        Some(tenant) if secret.filled("clientCertificate").is_some() => EntraProof::Certificate {
            tenant,
            authority,
            pem: secret.filled("clientCertificate").cloned()?,
            send_chain: text("clientCertificateSendChain")
                .is_some_and(|on| on == "1" || on.eq_ignore_ascii_case("true")),
        },
        _ => EntraProof::ManagedIdentity,
    };
    Some(EntraClient { id, proof })
}

/// The account is the first part of the endpoint's host. Without one, the host is the error.
fn account(endpoint: &Url) -> Result<String, &str> {
    let host = host_of(endpoint);
    let labels: Vec<&str> = host.split('.').collect();
    match labels.as_slice() {
        [account, _, _, ..] => Ok((*account).to_owned()),
        _ => Err(host),
    }
}

/// The signature's parameters, completed by those of the endpoint.
fn sas_query(sas: &Secret, endpoint: &Url) -> Secret {
    let own = sas.expose().strip_prefix('?').unwrap_or(sas.expose()).trim();
    let mut pairs: Vec<_> = form_urlencoded::parse(own.as_bytes()).collect();
    let names: Vec<_> = pairs.iter().map(|(name, _)| name.clone()).collect();
    pairs.extend(endpoint.query_pairs().filter(|(name, _)| !names.contains(name)));
    pairs.sort();
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs);
    Secret::new(query.finish())
}

fn invalid(secret: &Keys) -> String {
    match secret.get("authorityHost") {
        // source-controller accepts it, and then sends requests to an empty address.
        Some(_) => format!(
            "invalid '{}' secret data: 'authorityHost' alone is not an identity; give 'tenantId', 'clientId' and 'clientSecret' too",
            secret.name
        ),
        None => format!(
            "invalid '{}' secret data: requires a 'clientId' or 'accountKey' field, a combination of 'tenantId', 'clientId' and \
             'clientSecret', or 'tenantId', 'clientId' and 'clientCertificate'",
            secret.name
        ),
    }
}
