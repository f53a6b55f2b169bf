//! Errors of AWS in the words of its SDK for Go, which SOPS passes on. The id of the request is left out: it differs
//! each time, and would make an event of each retry.

use bumpwright_cloud::CloudError;
use bumpwright_gostd::CorruptInput;
use thiserror::Error;

/// Errors of KMS with a type in the SDK (`service/kms/types/errors.go`, of the operation *Decrypt*); others
/// are an `api error`.
const MODELED: [&str; 11] = [
    "DependencyTimeoutException",
    "DisabledException",
    "DryRunOperationException",
    "IncorrectKeyException",
    "InvalidCiphertextException",
    "InvalidGrantTokenException",
    "InvalidKeyUsageException",
    "KMSInternalException",
    "KMSInvalidStateException",
    "KeyUnavailableException",
    "NotFoundException",
];

/// Why AWS does not do what is asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum AwsRefusal {
    /// The credentials of a Secret are not whole.
    #[error("get identity: get credentials: failed to refresh cached credentials, static credentials are empty")]
    EmptyCredentials,
    /// No credentials were found.
    #[error("get identity: get credentials: failed to refresh cached credentials, {0}")]
    NoCredentials(#[source] CloudError),
    /// It refuses, or does not answer.
    #[error("{}", said(.0))]
    Cloud(#[source] CloudError),
    /// Its answer has no data key.
    #[error("deserialization failed, failed to decode response body")]
    Answer,
}

/// Why AWS KMS does not decrypt a data key, in the words of SOPS.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum AwsError {
    #[error("error base64-decoding encrypted data key: {0}")]
    Encoding(#[from] CorruptInput),
    #[error("no valid ARN found in '{0}'")]
    Arn(String),
    #[error("failed to assume role '{role}': operation error STS: AssumeRole, {problem}")]
    Role {
        role: String,
        #[source]
        problem: Box<AwsRefusal>,
    },
    #[error("failed to decrypt sops data key with AWS KMS: operation error KMS: Decrypt, {0}")]
    Decrypt(#[from] AwsRefusal),
}

/// The text of an error of AWS, or of a missing answer.
fn said(error: &CloudError) -> String {
    match error {
        CloudError::Refused {
            status, code, message, ..
        } => {
            let said = match code.as_str() {
                "" => message.clone(),
                code if MODELED.contains(&code) => format!("{code}: {message}"),
                code => format!("api error {code}: {message}"),
            };
            format!("https response error StatusCode: {status}, {said}")
        }
        CloudError::Net { cause, .. } => cause.to_string(),
        other => other.to_string(),
    }
}
