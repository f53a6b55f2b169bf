//! Errors of AWS in the words of its SDK for Go, which SOPS passes on. The id of the request is left out: it differs
//! each time, and would make an event of each retry.

use bumpwright_cloud::CloudError;

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

/// The text of an error of AWS, or of a missing answer.
pub(super) fn refused(error: CloudError) -> String {
    match error {
        CloudError::Refused {
            status, code, message, ..
        } => {
            let said = match code.as_str() {
                "" => message,
                code if MODELED.contains(&code) => format!("{code}: {message}"),
                code => format!("api error {code}: {message}"),
            };
            format!("https response error StatusCode: {status}, {said}")
        }
        CloudError::Net { cause, .. } => cause.to_string(),
        other => other.to_string(),
    }
}

/// The text of missing credentials.
pub(super) fn no_credentials(why: &str) -> String {
    format!("get identity: get credentials: failed to refresh cached credentials, {why}")
}
