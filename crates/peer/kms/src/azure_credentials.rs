//! The forms of `sops.azure-kv` (K-138 to K-142; kustomize-controller, `internal/sops/azkv`).

use super::entry::{Fields, FieldsError};
use bumpwright_cloud::{EntraClient, EntraProof};
use bumpwright_secret::Secret;
use thiserror::Error;

/// The default authority. The environment does not count, as in Flux.
const AUTHORITY: &str = "https://login.microsoftonline.com/";

const TEXTS: [&str; 9] = [
    "tenantId",
    "clientId",
    "clientSecret",
    "clientCertificate",
    "clientCertificatePassword",
    "authorityHost",
    "appId",
    "tenant",
    "password",
];

/// Why the entry is not usable, in Flux' words, without any secret.
#[derive(Clone, Debug, PartialEq, Error)]
pub(super) enum AzureEntryError {
    /// It ends within a character of UTF-16.
    #[error("failed to decode Azure authentication file bytes: unexpected EOF")]
    Encoding,
    #[error("failed to unmarshal Azure authentication file: {0}")]
    Fields(#[from] FieldsError),
    /// The certificate or its key is not usable.
    #[error("clientCertificate {0}")]
    Certificate(String),
    #[error(
        "clientCertificatePassword is for PKCS #12 files, which no text can hold; give clientCertificate as PEM with a key that \
         is not encrypted, and no password"
    )]
    Pkcs12,
    /// It has an application and a tenant alone.
    #[error("invalid data: requires 'clientSecret' or 'clientCertificate' when both 'tenantId' and 'clientId' are set")]
    NoProof,
    /// It has too little.
    #[error(
        "invalid data: requires a 'clientId' field, a combination of 'tenantId', 'clientId' and 'clientSecret', or 'tenantId', \
         'clientId' and 'clientCertificate'"
    )]
    NoClient,
    #[error(
        "invalid tenantID. You can locate your tenantID by following the instructions listed here: \
         https://learn.microsoft.com/partner-center/find-ids-and-domain-names"
    )]
    Tenant,
}

/// Parses an application with a password or a certificate, the format of `az`, or a managed identity.
pub(super) fn client(entry: &[u8]) -> Result<EntraClient, AzureEntryError> {
    let text = decoded(entry).ok_or(AzureEntryError::Encoding)?;
    let fields = Fields::read(&text, "AADConfig", &TEXTS)?;
    let get = |name| fields.text(name);
    let plain = |name| get(name).map(|text| text.map(|text| text.expose().to_owned()));
    let authority = Some(plain("authorityHost")?.unwrap_or_else(|| AUTHORITY.to_owned()));
    let (id, tenant) = (plain("clientId")?, plain("tenantId")?);
    let (secret, pem, password) = (
        get("clientSecret")?,
        get("clientCertificate")?,
        get("clientCertificatePassword")?,
    );
    let send_chain = fields.truth("clientCertificateSendChain")?;
    let az = (plain("appId")?, plain("tenant")?, get("password")?);
    let client = match (id, tenant, secret, pem) {
        (Some(id), Some(tenant), Some(secret), _) => of_password(id, tenant, authority, secret),
        (Some(id), Some(tenant), None, Some(pem)) => {
            if password.is_some() {
                return Err(AzureEntryError::Pkcs12);
            }
            let proof = EntraProof::Certificate {
                tenant,
                authority,
                pem,
                send_chain,
            };
            proof
                .check()
                .map_err(|error| AzureEntryError::Certificate(error.to_string()))?;
            EntraClient { id, proof }
        }
        // Since Flux 2.10; before, the tenant was ignored and the managed identity asked.
        (Some(_), Some(_), None, None) => return Err(AzureEntryError::NoProof),
        (id, ..) => match (az, id) {
            ((Some(id), Some(tenant), Some(secret)), _) => of_password(id, tenant, authority, secret),
            (_, Some(id)) => EntraClient {
                id,
                proof: EntraProof::ManagedIdentity,
            },
            _ => return Err(AzureEntryError::NoClient),
        },
    };
    match &client.proof {
        EntraProof::Secret { tenant, .. } | EntraProof::Certificate { tenant, .. } if !is_tenant(tenant) => {
            Err(AzureEntryError::Tenant)
        }
        _ => Ok(client),
    }
}

fn of_password(id: String, tenant: String, authority: Option<String>, secret: Secret) -> EntraClient {
    let proof = EntraProof::Secret {
        tenant,
        authority,
        secret,
    };
    EntraClient { id, proof }
}

/// Azure SDK for Go, `azidentity`, *validTenantID*.
fn is_tenant(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    !text.is_empty() && text.bytes().all(good)
}

/// Decodes UTF-16 with a byte order mark, as in files of PowerShell.
fn decoded(entry: &[u8]) -> Option<Vec<u8>> {
    let pairs = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, []) = rest.as_chunks() else { return None };
        let units = pairs.iter().map(|pair| unit(*pair));
        let text: String = char::decode_utf16(units)
            .map(|read| read.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        Some(text.into_bytes())
    };
    match entry {
        [0xef, 0xbb, 0xbf, rest @ ..] => Some(rest.to_vec()),
        [0xff, 0xfe, rest @ ..] => pairs(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => pairs(rest, u16::from_be_bytes),
        rest => Some(rest.to_vec()),
    }
}
