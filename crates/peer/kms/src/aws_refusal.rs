//! Refusals of AWS in the words of its SDK for Go, which SOPS passes on. The id of the request is left out: it is another one each
//! time, and would make an event of each retry.

use bumpwright_cloud::CloudError;

/// What KMS calls by name (SDK, `service/kms/types/errors.go`, of the operation *Decrypt*); all else is an `api error`.
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

/// What AWS said, or why nothing.
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

/// Why there is nothing to sign with.
pub(super) fn no_credentials(why: &str) -> String {
    format!("get identity: get credentials: failed to refresh cached credentials, {why}")
}
