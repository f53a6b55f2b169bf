//! Entra tokens of this process, from the sources and in the order of Flux (`fluxcd/pkg/auth/azure`,
//! *newDefaultAzureCredential*; Azure SDK for Go, `azidentity`).

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rustls::SignatureScheme;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::json;
use sha2::{Digest, Sha256};
use url::Url;

use crate::form::{FORM, form};
use crate::jwt::{self, KeyError};
use crate::services::{Services, address};
use crate::token::{AccessToken, access_token};
use crate::{CloudError, Environment, files};
use bumpwright_http::{Deadline, Request};
use bumpwright_secret::Secret;

/// One of Microsoft's clouds. It decides the authority that issues tokens, unless `AZURE_AUTHORITY_HOST` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AzureCloud {
    #[default]
    Public,
    /// China (21Vianet).
    China,
    /// The United States government.
    Government,
}

impl AzureCloud {
    fn authority(self) -> &'static str {
        match self {
            Self::Public => "https://login.microsoftonline.com/",
            Self::China => "https://login.chinacloudapi.cn/",
            Self::Government => "https://login.microsoftonline.us/",
        }
    }
}

/// The context of token sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Azure<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) services: &'a Services,
    pub(crate) cloud: AzureCloud,
    pub(crate) deadline: Deadline,
}

/// An application and its proof of identity.
struct Proof<'a> {
    tenant: &'a str,
    client: &'a str,
    /// The authority that issues its tokens, instead of the environment's.
    authority: Option<&'a str>,
    how: ProofMethod<'a>,
}

/// An application or a managed identity of a Secret (`spec.secretRef` of a Bucket).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntraClient {
    /// The application's id, or the managed identity's.
    pub id: String,
    /// Its proof of identity.
    pub proof: EntraProof,
}

/// The proof of identity of an [`EntraClient`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntraProof {
    /// None: the machine issues tokens of its managed identity.
    ManagedIdentity,
    Secret {
        /// The tenant, by id or domain.
        tenant: String,
        /// Who issues its tokens; the cloud's usual authority otherwise.
        authority: Option<String>,
        secret: Secret,
    },
    /// A certificate and its key.
    Certificate {
        /// The tenant, by id or domain.
        tenant: String,
        /// Who issues its tokens; the cloud's usual authority otherwise.
        authority: Option<String>,
        /// Certificate and private key, both in PEM.
        pem: Secret,
        /// Whether the certificates are sent along, for applications that name their issuer and not them.
        send_chain: bool,
    },
}

impl EntraProof {
    /// Checks the proof, without a request.
    ///
    /// # Errors
    /// [`KeyError`], when a certificate or its key cannot be used.
    pub fn check(&self) -> Result<(), KeyError> {
        match self {
            Self::Certificate { pem, .. } => {
                certificate(pem)?;
                jwt::check(pem, SignatureScheme::RSA_PSS_SHA256)
            }
            Self::ManagedIdentity | Self::Secret { .. } => Ok(()),
        }
    }
}

enum ProofMethod<'a> {
    Secret(&'a Secret),
    Assertion(&'a Secret),
}

const CLIENT: &str = "AZURE_CLIENT_ID";
const TENANT: &str = "AZURE_TENANT_ID";
const WHAT: &str = "Entra token";
const WAY_OUT: &str = "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or give the pod workload \
                       identity or the machine a managed identity";

impl Azure<'_> {
    /// Gets a token for a scope such as `https://containerregistry.azure.net/.default`: of a service principal in the
    /// environment, of workload identity, or of a managed identity.
    ///
    /// # Errors
    /// [`CloudError::Absent`] when no identity is configured; others when the configured one gets no token.
    pub(crate) fn token(&self, scope: &str) -> Result<AccessToken, CloudError> {
        let mut tried = Vec::new();
        if let (Some(tenant), Some(client)) = (self.environment.get(TENANT), self.environment.get(CLIENT)) {
            if let Some(token) = self.of_service_principal(tenant, client, scope)? {
                return Ok(token);
            }
            if let Some(file) = self.environment.get("AZURE_FEDERATED_TOKEN_FILE") {
                let assertion = files::trimmed(&files::text(file, "AZURE_FEDERATED_TOKEN_FILE")?);
                return self.by_assertion(tenant, client, &assertion, scope);
            }
            let names = "AZURE_CLIENT_SECRET, AZURE_CLIENT_CERTIFICATE_PATH and AZURE_FEDERATED_TOKEN_FILE";
            tried.push(format!("{names} are not set"));
        } else {
            tried.push("AZURE_TENANT_ID and AZURE_CLIENT_ID are not both set".to_owned());
        }
        self.of_managed_identity(self.environment.get(CLIENT), scope)?
            .map_err(|why| {
                tried.push(why.to_string());
                CloudError::Absent {
                    what: WHAT,
                    tried,
                    way_out: WAY_OUT,
                }
            })
    }

    /// Gets a token for a signed assertion, such as a ServiceAccount's token.
    pub(crate) fn by_assertion(
        &self,
        tenant: &str,
        client: &str,
        assertion: &Secret,
        scope: &str,
    ) -> Result<AccessToken, CloudError> {
        let proof = Proof {
            tenant,
            client,
            authority: None,
            how: ProofMethod::Assertion(assertion),
        };
        self.issued(&proof, scope)
    }

    /// Gets a token of a client.
    pub(crate) fn of_client(&self, client: &EntraClient, scope: &str) -> Result<AccessToken, CloudError> {
        let issued = |tenant, authority: &Option<String>, how| {
            let proof = Proof {
                tenant,
                client: &client.id,
                authority: authority.as_deref(),
                how,
            };
            self.issued(&proof, scope)
        };
        match &client.proof {
            EntraProof::ManagedIdentity => {
                let token = self.of_managed_identity(Some(&client.id), scope)?;
                token.map_err(|why| CloudError::Absent {
                    what: WHAT,
                    tried: vec![why.to_string()],
                    way_out: "give the machine the managed identity, or the Secret a tenantId and a clientSecret",
                })
            }
            EntraProof::Secret {
                tenant,
                authority,
                secret,
            } => issued(tenant, authority, ProofMethod::Secret(secret)),
            EntraProof::Certificate {
                tenant,
                authority,
                pem,
                send_chain,
            } => {
                let endpoint = self.endpoint(tenant, authority.as_deref())?;
                let assertion = assertion_of_certificate(&client.id, &endpoint, pem, *send_chain)
                    .map_err(|error| CloudError::invalid("clientCertificate", error))?;
                issued(tenant, authority, ProofMethod::Assertion(&assertion))
            }
        }
    }

    fn of_service_principal(&self, tenant: &str, client: &str, scope: &str) -> Result<Option<AccessToken>, CloudError> {
        const CERTIFICATE: &str = "AZURE_CLIENT_CERTIFICATE_PATH";
        if let Some(secret) = self.environment.get("AZURE_CLIENT_SECRET") {
            let proof = Proof {
                tenant,
                client,
                authority: None,
                how: ProofMethod::Secret(&Secret::new(secret)),
            };
            return self.issued(&proof, scope).map(Some);
        }
        if let Some(path) = self.environment.get(CERTIFICATE) {
            let pem = files::text(path, CERTIFICATE)?;
            let endpoint = self.endpoint(tenant, None)?;
            let assertion = assertion_of_certificate(client, &endpoint, &pem, false)
                .map_err(|error| CloudError::invalid(format!("{CERTIFICATE} ({path})"), error))?;
            return self.by_assertion(tenant, client, &assertion, scope).map(Some);
        }
        if self.environment.get("AZURE_USERNAME").is_some() {
            Err(CloudError::settings(
                "AZURE_USERNAME",
                "logins of people are not supported; set AZURE_CLIENT_SECRET of a service principal",
            ))
        } else {
            Ok(None)
        }
    }

    /// The client credentials flow (Microsoft identity platform, *OAuth 2.0 client credentials flow*).
    fn issued(&self, proof: &Proof<'_>, scope: &str) -> Result<AccessToken, CloudError> {
        const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        let doing = format!(
            "get an Entra token for {scope} as client {} of tenant {}",
            proof.client, proof.tenant
        );
        let mut fields = vec![
            ("client_id", proof.client),
            ("grant_type", "client_credentials"),
            ("scope", scope),
        ];
        let secret = match proof.how {
            ProofMethod::Secret(secret) => {
                fields.push(("client_secret", secret.expose()));
                secret
            }
            ProofMethod::Assertion(assertion) => {
                fields.extend([
                    ("client_assertion_type", ASSERTION),
                    ("client_assertion", assertion.expose()),
                ]);
                assertion
            }
        };
        let request = Request::post(self.endpoint(proof.tenant, proof.authority)?, FORM, form(&fields));
        let start = SystemTime::now();
        let answer = self.services.send(&doing, request, &[secret], self.deadline)?;
        access_token(&doing, answer, start)
    }

    fn endpoint(&self, tenant: &str, authority: Option<&str>) -> Result<Url, CloudError> {
        const VARIABLE: &str = "AZURE_AUTHORITY_HOST";
        let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
        if !tenant.bytes().all(good) || tenant.trim_matches('.').is_empty() {
            return Err(CloudError::settings(
                "the Entra tenant",
                format!("{tenant:?} is neither an id nor a domain"),
            ));
        }
        let (name, authority) = match authority {
            Some(given) => ("authorityHost", given),
            None => (
                VARIABLE,
                self.environment.get(VARIABLE).unwrap_or(self.cloud.authority()),
            ),
        };
        let mut url = address(name, authority)?;
        // Secrets are sent there.
        if url.scheme() != "https" && !is_this_machine(&url) {
            return Err(CloudError::settings(name, "must begin with https://"));
        }
        url.set_path(&format!("/{tenant}/oauth2/v2.0/token"));
        Ok(url)
    }
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// An assertion signed with a certificate's key (Microsoft identity platform, *Application authentication
/// certificate credentials*). Both are in one PEM file.
fn assertion_of_certificate(client: &str, endpoint: &Url, pem: &Secret, send_chain: bool) -> Result<Secret, KeyError> {
    let certificate = certificate(pem)?;
    let thumbprint = URL_SAFE_NO_PAD.encode(Sha256::digest(&certificate));
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(KeyError::Randomness)?;
    let now = SystemTime::now();
    let chain = CertificateDer::pem_slice_iter(pem.expose().as_bytes()).filter_map(Result::ok);
    let chain: Vec<String> = chain.map(|certificate| STANDARD.encode(certificate)).collect();
    let header = if send_chain {
        json!({"alg": "PS256", "typ": "JWT", "x5t#S256": thumbprint, "x5c": chain})
    } else {
        json!({"alg": "PS256", "typ": "JWT", "x5t#S256": thumbprint})
    };
    let claims = json!({
        "aud": endpoint.as_str(),
        "exp": jwt::seconds(now + Duration::from_secs(600)),
        "iss": client,
        "jti": URL_SAFE_NO_PAD.encode(id),
        "nbf": jwt::seconds(now),
        "sub": client,
    });
    jwt::signed(&header, &claims, pem, SignatureScheme::RSA_PSS_SHA256)
}

fn certificate(pem: &Secret) -> Result<CertificateDer<'static>, KeyError> {
    CertificateDer::from_pem_slice(pem.expose().as_bytes()).map_err(|_| KeyError::Certificate)
}
