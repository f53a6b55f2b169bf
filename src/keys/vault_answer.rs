//! What Vault answers: data keys, and refusals in the words of its library for Go, which SOPS passes on (`vault/api`, *ParseSecret*,
//! *ResponseError*).

use serde::Deserialize;
use serde_json::{Map, Value};
use ureq::http::StatusCode;
use zeroize::Zeroizing;

use super::encoded::{Encoding, decode};
use super::services::Plain;
use crate::net::{Answer, Secret, scrubbed};

#[derive(Deserialize)]
struct Errors {
    #[serde(default)]
    errors: Option<Vec<String>>,
}

/// The data key of an answer to `PUT`. `secrets` are what was sent.
///
/// # Errors
/// In the words of the library.
pub(super) fn data_key(answer: Answer, secrets: &[&Secret]) -> Result<Plain, String> {
    let status = answer.status;
    let fine = status.is_success() || status.is_redirection();
    let is_answer = fine || (status == StatusCode::NOT_FOUND && has_data(&answer.body));
    if !is_answer {
        return Err(refused(&answer, secrets));
    }
    plaintext(&Zeroizing::new(answer.body))
}

fn has_data(body: &[u8]) -> bool {
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let filled = |name: &str, is: fn(&Value) -> bool| document.get(name).is_some_and(is);
    filled("data", |data| data.as_object().is_some_and(|data| !data.is_empty()))
        || filled("warnings", |list| list.as_array().is_some_and(|list| !list.is_empty()))
}

fn plaintext(body: &[u8]) -> Result<Plain, String> {
    if body.is_empty() {
        return Err("transit backend is empty".to_owned());
    }
    let mut document: Map<String, Value> =
        serde_json::from_slice(body).map_err(|_| "the answer is no JSON object".to_owned())?;
    // Without data the whole of the answer counts as such.
    let data = match document.remove("data") {
        Some(Value::Object(data)) => data,
        _ => document,
    };
    let text = match data.into_iter().find(|(name, _)| name == "plaintext") {
        None => return Err("no decrypted data".to_owned()),
        Some((_, Value::String(text))) => Zeroizing::new(text),
        Some(_) => return Err("decrypted plaintext data cannot be cast to string".to_owned()),
    };
    decode(text.as_bytes(), Encoding::Standard)
        .map_err(|_| "cannot decode base64 plaintext into data key bytes".to_owned())
}

fn refused(answer: &Answer, secrets: &[&Secret]) -> String {
    let (kind, said) = match serde_json::from_slice::<Errors>(&answer.body) {
        Ok(Errors { errors }) => {
            let errors = errors.unwrap_or_default();
            ("Errors", errors.iter().map(|error| format!("* {error}")).collect())
        }
        Err(_) => ("Raw Message", String::from_utf8_lossy(&answer.body).into_owned()),
    };
    let namespace = answer
        .header("x-vault-namespace")
        .filter(|name| !matches!(*name, "" | "root/"));
    let namespace = namespace.map(|name| format!("Namespace: {name}\n")).unwrap_or_default();
    let (url, status) = (crate::net::shown(&answer.url), answer.status.as_u16());
    let said = scrubbed(&said, secrets.iter().copied());
    format!("Error making API request.\n\n{namespace}URL: PUT {url}\nCode: {status}. {kind}:\n\n{said}")
}
