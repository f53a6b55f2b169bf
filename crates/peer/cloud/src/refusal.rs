//! Error answers of services: code and message, in the formats of all the services, without any secret.

use serde_json::Value;
use ureq::http::StatusCode;
use url::Url;

use super::{CloudError, xml};
use bumpwright_http::{Answer, scrubbed, shown};
use bumpwright_secret::Secret;
use bumpwright_text::Cuts;

/// A service's error code and message; either may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ErrorDetails {
    pub(super) code: String,
    pub(super) message: String,
}

impl ErrorDetails {
    pub(super) fn error(self, doing: &str, url: &Url, status: StatusCode) -> CloudError {
        CloudError::Refused {
            doing: doing.to_owned(),
            url: shown(url),
            status: status.as_u16(),
            code: self.code,
            message: self.message,
        }
    }
}

/// Parses an error answer. Services echo requests (AWS: the canonical request of a signature), so
/// `secrets` are removed before it is truncated.
pub(super) fn error_details(answer: &Answer, secrets: &[&Secret]) -> ErrorDetails {
    let body = String::from_utf8_lossy(&answer.body);
    let details = match serde_json::from_str::<Value>(&body) {
        Ok(document) => in_json(&document, answer.header("x-amzn-errortype")),
        Err(_) if body.trim_start().starts_with('<') => in_xml(&body),
        Err(_) => ErrorDetails {
            code: String::new(),
            message: body.into_owned(),
        },
    };
    ErrorDetails {
        code: scrubbed(&details.code, secrets.iter().copied()),
        message: scrubbed(&details.message, secrets.iter().copied()),
    }
}

/// AWS: `__type`, `message` or `Message`; OAuth 2.0 (RFC 6749, *Error Response*): `error`,
/// `error_description`; Google's interfaces: `error: {status, message}`; registries: `errors: [{code,
/// message}]`; AWS' endpoints for containers: `code`, `message`.
fn in_json(document: &Value, header: Option<&str>) -> ErrorDetails {
    let error = document.get("error");
    let of_list = document.get("errors").and_then(|errors| errors.get(0));
    let text = |parent: Option<&Value>, names: &[&str]| {
        let found = names.iter().find_map(|name| parent?.get(name)?.as_str());
        found.map(str::to_owned)
    };
    let top = Some(document);
    let code = text(top, &["__type"])
        .or_else(|| header.map(str::to_owned))
        .or_else(|| error.and_then(Value::as_str).map(str::to_owned))
        .or_else(|| text(error, &["status"]))
        .or_else(|| text(of_list, &["code"]))
        .or_else(|| text(top, &["code", "Code"]))
        .unwrap_or_default();
    let message = text(top, &["message", "Message", "error_description"])
        .or_else(|| text(error, &["message"]))
        .or_else(|| text(of_list, &["message"]))
        .unwrap_or_default();
    // com.amazonaws.ecr#AccessDeniedException, AccessDeniedException:http://…
    ErrorDetails {
        code: code.behind_last('#').before(':').to_owned(),
        message,
    }
}

/// AWS' query protocol; a web page has no details.
fn in_xml(document: &str) -> ErrorDetails {
    ErrorDetails {
        code: xml::error_part(document, "Code"),
        message: xml::error_part(document, "Message"),
    }
}

/// Whether AWS' error is temporary despite a status other than 429 and 5xx: throttling, or an unreachable identity
/// provider (SDK: `aws/retry`, *DefaultThrottleErrorCodes*; `stscreds`, *WebIdentityRoleProvider*).
pub(super) fn is_passing(status: StatusCode, code: &str) -> bool {
    const CODES: [&str; 10] = [
        "IDPCommunicationError",
        "InvalidIdentityToken",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
    ];
    status == StatusCode::BAD_REQUEST && CODES.contains(&code)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ureq::http::HeaderMap;

    use super::*;

    fn answer(body: &str) -> Answer {
        Answer {
            url: Url::parse("https://example.com/").unwrap(),
            redirected: false,
            status: StatusCode::BAD_REQUEST,
            headers: HeaderMap::new(),
            body: body.as_bytes().to_vec(),
            held: None,
        }
    }

    #[test]
    fn every_service_is_understood() {
        let rows = [
            (
                r#"{"__type":"com.amazonaws.ecr#AccessDeniedException","Message":"no"}"#,
                "AccessDeniedException",
                "no",
            ),
            (
                "<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredTokenException</Code><Message>old</Message></Error>",
                "ExpiredTokenException",
                "old",
            ),
            (
                r#"{"error":"invalid_client","error_description":"AADSTS7000215: bad","error_codes":[1]}"#,
                "invalid_client",
                "AADSTS7000215: bad",
            ),
            (
                r#"{"error":{"code":403,"message":"denied","status":"PERMISSION_DENIED"}}"#,
                "PERMISSION_DENIED",
                "denied",
            ),
            (
                r#"{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}"#,
                "UNAUTHORIZED",
                "authentication required",
            ),
            (r#"{"code":"AccessDenied","message":"pod"}"#, "AccessDenied", "pod"),
            ("not found\n", "", "not found"),
            ("<html><title>proxy</title></html>", "", ""),
            ("[1]", "", ""),
            ("", "", ""),
        ];
        for (body, code, message) in rows {
            let found = error_details(&answer(body), &[]);
            assert_eq!((found.code.as_str(), found.message.as_str()), (code, message), "{body}");
        }
    }

    #[test]
    fn secrets_do_not_come_back() {
        let token = Secret::new("t0ken".repeat(1000));
        let body = format!(
            r#"{{"message":"{} should be {}","__type":"x"}}"#,
            "a".repeat(1900),
            token.expose()
        );
        let found = error_details(&answer(&body), &[&token, &Secret::new("t0k")]);
        assert!(found.message.ends_with("should be ***"), "{}", found.message);
        let found = error_details(&answer("got client_secret=a%2Bb%3D and a+b="), &[&Secret::new("a+b=")]);
        assert_eq!(found.message, "got client_secret=*** and ***");
    }
}
