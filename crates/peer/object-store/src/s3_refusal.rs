//! Error responses of S3, parsed as in minio-go (`api-error-response.go`, `s3-error.go`).

use super::ObjectError;
use bumpwright_cloud::xml;
use bumpwright_http::{Answer, scrubbed};
use bumpwright_secret::Secret;

/// Code, message and region of an error response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct S3Error {
    pub(super) status: u16,
    pub(super) code: String,
    pub(super) message: String,
    /// The bucket's region, if the answer has it.
    pub(super) region: String,
    /// The `Server` header.
    pub(super) server: String,
}

const TEXTS: [(&str, &str); 11] = [
    ("AccessDenied", "Access Denied."),
    ("AllAccessDisabled", "All access to this bucket has been disabled."),
    (
        "AuthorizationHeaderMalformed",
        "The authorization header is malformed; the region is wrong.",
    ),
    ("InternalError", "We encountered an internal error, please try again."),
    (
        "InvalidAccessKeyId",
        "The access key ID you provided does not exist in our records.",
    ),
    ("InvalidBucketName", "The specified bucket is not valid."),
    ("NoSuchBucket", "The specified bucket does not exist."),
    ("NoSuchKey", "The specified key does not exist."),
    (
        "PreconditionFailed",
        "At least one of the pre-conditions you specified did not hold.",
    ),
    (
        "RequestTimeTooSkewed",
        "The difference between the request time and the server's time is too large.",
    ),
    (
        "SignatureDoesNotMatch",
        "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
    ),
];

impl S3Error {
    /// `for_object` decides the meaning of a 404 without a body, as of `HEAD`.
    pub(super) fn of(answer: &Answer, for_object: bool, secrets: &[Secret]) -> Self {
        let body = String::from_utf8_lossy(&answer.body);
        let inside = |name: &str| xml::text(&body, &["Error", name]);
        let (mut code, mut message) = match inside("Code") {
            Some(code) => (code, xml::error_part(&body, "Message")),
            None => of_status(answer, for_object, &body),
        };
        let header = |name| answer.header(name).filter(|value| !value.is_empty());
        if let Some(given) = header("x-minio-error-code") {
            given.clone_into(&mut code);
        }
        if let Some(given) = header("x-minio-error-desc") {
            given.trim_matches('"').clone_into(&mut message);
        }
        let region = inside("Region").filter(|region| !region.is_empty());
        let region = region.or_else(|| header("x-amz-bucket-region").map(str::to_owned));
        let clean = |text: &str| scrubbed(text, secrets);
        Self {
            status: answer.status.as_u16(),
            code: clean(&code),
            message: clean(&message),
            region: region.unwrap_or_default(),
            server: header("server").unwrap_or_default().to_owned(),
        }
    }

    /// The error with minio-go's text.
    pub(super) fn error(self) -> ObjectError {
        let text = match (self.message.as_str(), text_of(&self.code)) {
            ("", Some(text)) => text.to_owned(),
            ("", None) => format!("Error response code {}.", self.code),
            _ if self.code == "InvalidRegion" && !self.region.is_empty() => {
                format!("Region does not match, expecting region ‘{}’.", self.region)
            }
            (message, _) => message.to_owned(),
        };
        if self.code == "NoSuchKey" {
            ObjectError::Missing(text)
        } else {
            ObjectError::Refused {
                status: self.status,
                code: self.code,
                text,
            }
        }
    }
}

fn text_of(code: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(known, _)| *known == code).map(|(_, text)| *text)
}

fn of_status(answer: &Answer, for_object: bool, body: &str) -> (String, String) {
    let code = match (answer.status.as_u16(), for_object) {
        (404, true) => "NoSuchKey",
        (404, false) => "NoSuchBucket",
        (403, _) => "AccessDenied",
        (409, _) => "Conflict",
        (412, _) => "PreconditionFailed",
        _ => "",
    };
    if code == "Conflict" {
        return (code.to_owned(), "Bucket not empty.".to_owned());
    }
    if !code.is_empty() {
        return (code.to_owned(), text_of(code).unwrap_or_default().to_owned());
    }
    let status = answer.status.to_string();
    let words = answer.words();
    let message = if body.trim().is_empty() || words.is_empty() {
        status.clone()
    } else {
        words.chars().take(1024).collect()
    };
    (status, message)
}
