//! Answers of Vault: data keys, and errors in the words of its library for Go, which SOPS passes
//! on (`vault/api`, *ParseSecret*, *ResponseError*).

use serde_json::{Map, Value};
use ureq::http::StatusCode;
use zeroize::Zeroizing;

use super::error::AnswerError;
use crate::encoded::decode;
use crate::request::Plaintext;
use bumpwright_gostd::Base64;
use bumpwright_http::{Answer, scrubbed};
use bumpwright_secret::Secret;
use bumpwright_text::between;

/// Parses the data key of an answer to `PUT`. `secrets` are those of the request.
pub(crate) fn data_key(answer: Answer, secrets: &[&Secret]) -> Result<Plaintext, AnswerError> {
    let status = answer.status;
    if status.is_success() || status.is_redirection() {
        return plaintext(data(&Zeroizing::new(answer.body))?);
    }
    if status == StatusCode::NOT_FOUND {
        match data(&answer.body) {
            Err(AnswerError::Eof) => return Err(AnswerError::Empty),
            Err(error) => return Err(without(&error, secrets)),
            Ok(_) => {}
        }
    }
    Err(AnswerError::Refused(refused(&answer, secrets)))
}

/// Parses the token of an answer to a login, if any. `secrets` are those of the request.
pub(crate) fn client_token(answer: Answer, secrets: &[&Secret]) -> Result<Option<Secret>, AnswerError> {
    let status = answer.status;
    if !status.is_success() && !status.is_redirection() {
        return match (status == StatusCode::NOT_FOUND, data(&answer.body)) {
            (true, Err(AnswerError::Eof)) => Ok(None),
            (true, Err(error)) => Err(without(&error, secrets)),
            _ => Err(AnswerError::Refused(refused(&answer, secrets))),
        };
    }
    let body = Zeroizing::new(answer.body);
    let Some(mut document) = document(&body)? else {
        return Ok(None);
    };
    // Moved out, not copied: the rest of the answer is not wiped.
    match document
        .get_mut("auth")
        .and_then(|auth| auth.get_mut("client_token"))
        .map(Value::take)
    {
        Some(Value::String(token)) => Ok(Some(Secret::new(token)).filter(|token| !token.is_empty())),
        _ => Ok(None),
    }
}

/// An error without the secrets of the request, which the server may have quoted.
fn without(error: &AnswerError, secrets: &[&Secret]) -> AnswerError {
    AnswerError::Refused(scrubbed(&error.to_string(), secrets.iter().copied()))
}

/// The fields of an answer beside its data.
const OTHERS: [&str; 8] = [
    "request_id",
    "lease_id",
    "lease_duration",
    "renewable",
    "warnings",
    "auth",
    "wrap_info",
    "mount_type",
];

/// Parses an answer; none when it is empty or null.
fn document(body: &[u8]) -> Result<Option<Map<String, Value>>, AnswerError> {
    if body.is_empty() {
        return Ok(None);
    }
    match first(body)? {
        Value::Null => Ok(None),
        Value::Object(document) => Ok(Some(document)),
        other => Err(AnswerError::Type(kind(&other))),
    }
}

/// The data of an answer, which is all of it when it has none of the usual fields.
fn data(body: &[u8]) -> Result<Option<Map<String, Value>>, AnswerError> {
    let Some(mut document) = document(body)? else {
        return Ok(None);
    };
    let fields = document.len();
    let name = document.keys().find(|name| name.eq_ignore_ascii_case("data")).cloned();
    match name.and_then(|name| document.remove(&name)) {
        Some(Value::Object(data)) => return Ok(Some(data)),
        None | Some(Value::Null) => {}
        Some(other) => return Err(AnswerError::Data(kind(&other))),
    }
    let is_filled = |name: &&str| field(&document, name).is_some_and(filled);
    if OTHERS.iter().any(is_filled) {
        return Ok(None);
    }
    match (document.get("errors"), fields) {
        (Some(_), 1) | (None, 0) => Ok(None),
        (Some(errors), _) => {
            let errors = texts(errors).into_iter().flatten();
            Err(AnswerError::Errors(errors.map(str::to_owned).collect()))
        }
        (None, _) => Ok(Some(document)),
    }
}

fn plaintext(data: Option<Map<String, Value>>) -> Result<Plaintext, AnswerError> {
    let data = data.ok_or(AnswerError::Empty)?;
    let text = match data.into_iter().find(|(name, _)| name == "plaintext") {
        None => return Err(AnswerError::NoPlaintext),
        Some((_, Value::String(text))) => Zeroizing::new(text),
        Some(_) => return Err(AnswerError::NoText),
    };
    decode(text.as_bytes(), Base64::Standard).map_err(|_| AnswerError::Encoding)
}

/// Parses the first value of a text; the rest is ignored.
fn first(body: &[u8]) -> Result<Value, AnswerError> {
    match serde_json::Deserializer::from_slice(body).into_iter().next() {
        None => Err(AnswerError::Eof),
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) if error.is_eof() => Err(AnswerError::Cut),
        // The parser's own message may quote the answer.
        Some(Err(error)) => Err(AnswerError::NotJson {
            line: error.line(),
            column: error.column(),
        }),
    }
}

/// Gets a field in any case.
fn field<'d>(document: &'d Map<String, Value>, name: &str) -> Option<&'d Value> {
    let fits = |(other, _): &(&String, &Value)| other.eq_ignore_ascii_case(name);
    document.iter().find(fits).map(|(_, value)| value)
}

/// Whether a field differs from Go's zero value.
fn filled(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

fn texts(list: &Value) -> Option<Vec<&str>> {
    list.as_array()?.iter().map(Value::as_str).collect()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The errors of an error response; none when it is not Vault's.
fn errors(body: &[u8]) -> Option<String> {
    let document = match first(body).ok()? {
        Value::Null => return Some(String::new()),
        Value::Object(document) => document,
        _ => return None,
    };
    match field(&document, "errors") {
        None | Some(Value::Null) => Some(String::new()),
        Some(list) => Some(texts(list)?.iter().map(|error| format!("* {error}")).collect()),
    }
}

fn refused(answer: &Answer, secrets: &[&Secret]) -> String {
    let (kind, said) = match errors(&answer.body) {
        Some(errors) => ("Errors", errors),
        None => ("Raw Message", String::from_utf8_lossy(&answer.body).into_owned()),
    };
    let namespace = answer
        .header("x-vault-namespace")
        .filter(|name| !matches!(*name, "" | "root/"));
    let namespace = between("Namespace: ", namespace, "\n");
    let (url, status) = (bumpwright_http::shown(&answer.url), answer.status.as_u16());
    let said = scrubbed(&said, secrets.iter().copied());
    format!("Error making API request.\n\n{namespace}URL: PUT {url}\nCode: {status}. {kind}:\n\n{said}")
}
