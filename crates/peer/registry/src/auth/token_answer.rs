//! The answer of a token server.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use ureq::http::Method;
use zeroize::Zeroize;

use super::token::useful;
use crate::RegistryError;
use crate::refusal::request;
use bumpwright_http::Answer;
use bumpwright_secret::Secret;

/// The default lifetime of a token, in seconds ("Token Authentication Specification", *Token Response Fields*).
const LIFE: f64 = 60.0;

/// The longest lifetime: a day.
const LONGEST_LIFE: f64 = 24.0 * 3600.0;

/// A token server's answer.
#[derive(Debug)]
pub(crate) struct TokenAnswer {
    pub(crate) token: Secret,
    pub(crate) refresh: Option<Secret>,
    life: Duration,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    token: Option<String>,
    access_token: Option<String>,
    refresh_token: Option<String>,
    expires_in: Value,
}

impl TokenAnswer {
    /// Parses an answer of status 200; `secrets` were sent to the server.
    ///
    /// # Errors
    /// [`RegistryError::Token`], without any part of the answer: it may be a token.
    pub(crate) fn read(method: &Method, mut answer: Answer, secrets: &[Secret]) -> Result<Self, RegistryError> {
        let wrong = |answer: &Answer, detail: String| RegistryError::Token {
            request: request(method, answer, secrets),
            detail,
        };
        let read = serde_json::from_slice::<Fields>(&answer.body);
        answer.body.zeroize();
        let fields = read.map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            wrong(
                &answer,
                format!("the token server's answer is not the expected JSON ({place})"),
            )
        })?;
        let secret = |text: Option<String>| text.map(Secret::new).filter(|secret| !secret.is_empty());
        let token = secret(fields.access_token).or(secret(fields.token));
        let token = token.ok_or_else(|| wrong(&answer, "no token in bearer response".to_owned()))?;
        if !token.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong(
                &answer,
                "the token has characters that cannot be sent in a header".to_owned(),
            ));
        }
        Ok(Self {
            token,
            refresh: secret(fields.refresh_token),
            life: life(&fields.expires_in),
        })
    }

    /// How long the token may be used, from the time of the request on.
    pub(crate) fn useful(&self) -> Duration {
        useful(self.life)
    }
}

/// A number of seconds, which some servers send as a text.
fn life(value: &Value) -> Duration {
    let seconds = match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    let seconds = seconds.filter(|seconds: &f64| *seconds > 0.0).unwrap_or(LIFE);
    Duration::from_secs_f64(seconds.min(LONGEST_LIFE))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ureq::http::{HeaderMap, StatusCode};

    use super::*;

    fn read(body: &str) -> Result<TokenAnswer, String> {
        let answer = Answer {
            url: "https://auth.example/token?service=r".parse().unwrap(),
            redirected: false,
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: body.as_bytes().to_vec(),
            held: None,
        };
        TokenAnswer::read(&Method::GET, answer, &[]).map_err(|error| error.to_string())
    }

    #[test]
    fn tokens_and_how_long_they_are_used() {
        for (body, token, seconds) in [
            (r#"{"token":"a"}"#, "a", 50),
            (r#"{"token":"a","access_token":"b","expires_in":300}"#, "b", 290),
            (r#"{"token":"a","access_token":"","expires_in":"3600"}"#, "a", 3590),
            (r#"{"access_token":"b","expires_in":8}"#, "b", 6),
            (r#"{"token":"a","expires_in":-1}"#, "a", 50),
            (r#"{"token":"a","expires_in":1e300}"#, "a", 86_390),
            (r#"{"token":"a","expires_in":null,"refresh_token":""}"#, "a", 50),
        ] {
            let answer = read(body).unwrap();
            assert_eq!(
                (answer.token.expose(), answer.useful().as_secs()),
                (token, seconds),
                "{body}"
            );
            assert_eq!(answer.refresh, None);
        }
    }

    #[test]
    fn what_is_no_token_is_not_repeated() {
        for (body, expected) in [
            (
                "{\"token\":\"\",\"hunter2\":\"hunter2\"}",
                "no token in bearer response",
            ),
            ("\"hunter2\"", "not the expected JSON (line 1, column 9)"),
            ("<html>hunter2", "not the expected JSON (line 1, column 1)"),
            ("{\"token\":\"hunter2\\r\\nX: y\"}", "cannot be sent in a header"),
            ("{\"token\":{\"hunter2\":1}}", "not the expected JSON"),
        ] {
            let error = read(body).unwrap_err();
            assert!(
                error.starts_with("GET https://auth.example/token?service=r: "),
                "{error}"
            );
            assert!(error.contains(expected) && !error.contains("hunter2"), "{error}");
        }
    }
}
