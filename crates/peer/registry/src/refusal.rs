//! Error responses in go-containerregistry's words (`pkg/v1/remote/transport/error.go`), which users know
//! from Flux's conditions.

use std::fmt;

use serde_json::{Map, Value};
use ureq::http::{Method, StatusCode};
use url::Url;

use super::detail::printed;
use super::request::address::shown;
use super::{Login, RegistryError};
use bumpwright_http::{self as net, Answer, NetError, scrubbed};
use bumpwright_secret::Secret;
use bumpwright_text::between;

/// Bytes of a body that are parsed.
const BODY: usize = 64 << 10;

/// An answer with an unexpected status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorResponse {
    /// Method and address, after redirects; `GET https://ghcr.io/v2/acme/app/tags/list?n=1000`.
    pub request: String,
    pub status: u16,
    /// Its error codes of the distribution specification: `NAME_UNKNOWN`, `UNAUTHORIZED`.
    pub codes: Vec<String>,
    pub asker: Asker,
    said: String,
    /// The same without details.
    brief: String,
}

/// What errors show of the details that registries add to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Details {
    /// All, as Go prints them: the words of Flux's conditions.
    #[default]
    Shown,
    /// None: people read code and message.
    LeftOut,
}

/// Who a request to a registry is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Asker {
    /// No login was sent.
    #[default]
    Nobody,
    /// The name of a login.
    User(String),
    /// A token, which has no name.
    Token,
}

impl From<&Login> for Asker {
    fn from(login: &Login) -> Self {
        match login {
            Login::Anonymous => Self::Nobody,
            Login::Basic { username, password } => Self::User(scrubbed(username, std::slice::from_ref(password))),
            Login::IdentityToken(_) | Login::RegistryToken(_) => Self::Token,
        }
    }
}

impl fmt::Display for ErrorResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.request, self.said)
    }
}

impl ErrorResponse {
    /// Parses an answer. `secrets` were sent to the server, which must not be able to put them into a message.
    pub(super) fn of(method: &Method, answer: &Answer, secrets: &[Secret]) -> Self {
        let body = answer.body.get(..BODY).unwrap_or(&answer.body);
        let errors = diagnostics(body);
        let status = status_text(answer.status);
        let of = |text: fn(&Diagnostic) -> String| match errors.as_slice() {
            [] if body.is_empty() && *method == Method::HEAD => {
                format!("unexpected status code {status} (HEAD responses have no body, use GET for details)")
            }
            [] if body.is_empty() => format!("unexpected status code {status}"),
            [] => format!("unexpected status code {status}: {}", String::from_utf8_lossy(body)),
            [only] => text(only),
            several => {
                let texts: Vec<String> = several.iter().map(text).collect();
                format!("multiple errors returned: {}", texts.join("; "))
            }
        };
        Self {
            request: request(method, answer, secrets),
            status: answer.status.as_u16(),
            asker: Asker::Nobody,
            said: scrubbed(&of(Diagnostic::text), secrets),
            brief: scrubbed(&of(Diagnostic::brief), secrets),
            codes: errors.into_iter().map(|error| scrubbed(&error.code, secrets)).collect(),
        }
    }

    /// The same, with codes and messages only.
    pub(super) fn without_details(self) -> Self {
        Self {
            said: self.brief.clone(),
            ..self
        }
    }
}

/// Method and address of a request. After a redirect the address is the server's text.
pub(super) fn request(method: &Method, answer: &Answer, secrets: &[Secret]) -> String {
    let text = format!("{method} {}", shown(&answer.url));
    if answer.redirected {
        scrubbed(&text, secrets)
    } else {
        text
    }
}

/// The error of a request to `asked` without an answer. Addresses of redirects are shown without the secrets that
/// the server has seen.
pub(super) fn unanswered(error: NetError, asked: &Url, secrets: &[Secret]) -> RegistryError {
    let own = error.url() == net::shown(asked) && !matches!(error, NetError::Redirect { .. });
    if own {
        error.into()
    } else {
        error.reworded(|text| scrubbed(text, secrets)).into()
    }
}

/// One error of an answer (distribution-spec v1.1, *Error Codes*).
struct Diagnostic {
    code: String,
    message: String,
    detail: Option<String>,
}

impl Diagnostic {
    fn of(value: &Value) -> Self {
        let text = |name| {
            field(value.as_object(), name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let detail = field(value.as_object(), "detail").filter(|detail| !detail.is_null());
        Self {
            code: text("code").to_owned(),
            message: text("message").to_owned(),
            detail: detail.map(printed),
        }
    }

    fn text(&self) -> String {
        let detail = between("; ", self.detail.as_ref(), "");
        format!("{}: {}{detail}", self.code, self.message)
    }

    /// Code and message, of which one may be missing; what else there is, if both are.
    fn brief(&self) -> String {
        match (self.code.as_str(), self.message.as_str()) {
            ("", "") => self.detail.clone().unwrap_or_default(),
            ("", text) | (text, "") => text.to_owned(),
            (code, message) => format!("{code}: {message}"),
        }
    }
}

/// Parses the errors of a body; empty when it is not JSON, or has none.
fn diagnostics(body: &[u8]) -> Vec<Diagnostic> {
    let text = String::from_utf8_lossy(body);
    let value: Option<Value> = serde_json::from_str(&text).ok();
    let fields = value.as_ref().and_then(Value::as_object);
    let errors = field(fields, "errors").and_then(Value::as_array);
    let errors: Vec<Diagnostic> = errors.into_iter().flatten().map(Diagnostic::of).collect();
    let telling = |error: &Diagnostic| !error.code.is_empty() || !error.message.is_empty() || error.detail.is_some();
    if errors.iter().any(telling) { errors } else { Vec::new() }
}

/// Gets a field in any case, as Go.
fn field<'a>(object: Option<&'a Map<String, Value>>, name: &str) -> Option<&'a Value> {
    let object = object?;
    object.get(name).or_else(|| {
        object
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    })
}

/// `404 Not Found`, with Go's names where they differ.
fn status_text(status: StatusCode) -> String {
    let name = match status.as_u16() {
        203 => "Non-Authoritative Information",
        413 => "Request Entity Too Large",
        414 => "Request URI Too Long",
        416 => "Requested Range Not Satisfiable",
        425 => "Too Early",
        _ => status.canonical_reason().unwrap_or_default(),
    };
    format!("{} {name}", status.as_u16())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            url: "https://r.example/v2/a/tags/list?n=1000".parse().unwrap(),
            redirected: false,
            status: StatusCode::from_u16(status).unwrap(),
            headers: ureq::http::HeaderMap::new(),
            body: body.as_bytes().to_vec(),
            held: None,
        }
    }

    #[test]
    fn words_of_go_containerregistry() {
        for (status, body, expected) in [
            (
                404,
                r#"{"errors":[{"code":"NAME_UNKNOWN","message":"repository name not known to registry","detail":{"name":"app"}}]}"#,
                "NAME_UNKNOWN: repository name not known to registry; map[name:app]",
            ),
            (
                401,
                r#"{"errors":[{"code":"UNAUTHORIZED","message":"authentication required","detail":[{"Type":"repository","Class":"","Name":"a","Action":"pull"}]}]}"#,
                "UNAUTHORIZED: authentication required; [map[Action:pull Class: Name:a Type:repository]]",
            ),
            (
                403,
                r#"{"Errors":[{"code":"DENIED","message":"no"},{"code":"X"},{"message":"m","detail":false}]}"#,
                "multiple errors returned: DENIED: no; X: ; : m; false",
            ),
            (
                404,
                "404 page not found\n",
                "unexpected status code 404 Not Found: 404 page not found",
            ),
            (503, "", "unexpected status code 503 Service Unavailable"),
            (413, "", "unexpected status code 413 Request Entity Too Large"),
            (
                418,
                r#"{"errors":[]}"#,
                r#"unexpected status code 418 I'm a teapot: {"errors":[]}"#,
            ),
            (
                499,
                r#"{"errors":["x"]}"#,
                r#"unexpected status code 499 : {"errors":["x"]}"#,
            ),
        ] {
            let refusal = ErrorResponse::of(&Method::GET, &answer(status, body), &[]);
            let expected = format!("GET https://r.example/v2/a/tags/list?n=1000: {expected}");
            assert_eq!(refusal.to_string(), expected, "{body}");
        }
        let head = ErrorResponse::of(&Method::HEAD, &answer(404, ""), &[]).to_string();
        assert!(
            head.ends_with("404 Not Found (HEAD responses have no body, use GET for details)"),
            "{head}"
        );
    }

    #[test]
    fn people_read_codes_and_messages_only() {
        for (body, expected) in [
            (
                r#"{"errors":[{"code":"NAME_UNKNOWN","message":"not known","detail":{"name":"app"}}]}"#,
                "NAME_UNKNOWN: not known",
            ),
            (
                r#"{"errors":[{"code":"DENIED","detail":["a"]},{"message":"no"},{"detail":{"a":1}}]}"#,
                "multiple errors returned: DENIED; no; map[a:1]",
            ),
            ("not found\n", "unexpected status code 404 Not Found: not found"),
        ] {
            let refusal = ErrorResponse::of(&Method::GET, &answer(404, body), &[]).without_details();
            let expected = format!("GET https://r.example/v2/a/tags/list?n=1000: {expected}");
            assert_eq!(refusal.to_string(), expected.trim_end(), "{body}");
        }
    }

    #[test]
    fn a_server_cannot_give_secrets_away() {
        let secrets = [Secret::new("hunter2"), Secret::new("e")];
        let body = "you said Bearer hunter2\x1b[31m, hunter2";
        let text = ErrorResponse::of(&Method::GET, &answer(403, body), &secrets).to_string();
        assert!(text.ends_with(": you said Bearer ***[31m, ***"), "{text}");
        let long = "x".repeat(1 << 20);
        assert!(
            ErrorResponse::of(&Method::GET, &answer(403, &long), &[])
                .to_string()
                .len()
                < 3000
        );
    }
}
