//! Envelopes of Notation in JSON (JWS, RFC 7515), as notation-core-go v1.3.0 reads them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::NotationError;
use super::envelope::{Envelope, Headers};
use super::headers::{AUTHENTIC_TIME, EXPIRY, SCHEME, TIME, Unchecked};
use crate::x509::Certificate;
use bumpwright_budget::Few;
use bumpwright_gostd::{RFC_3339, Time};

/// Greatest number of certificates of a signature.
pub(super) const MAX_CHAIN: usize = 10;
/// Greatest size of the signed headers in bytes: they take many times as much once they are read.
const MAX_HEADERS: usize = 64 << 10;

#[derive(Deserialize)]
struct Json {
    payload: String,
    protected: String,
    signature: String,
    header: Unprotected,
}

#[derive(Deserialize)]
struct Unprotected {
    #[serde(default)]
    x5c: Few<String, MAX_CHAIN>,
    #[serde(default, rename = "io.cncf.notary.timestampSignature")]
    timestamp: Option<String>,
}

pub(super) fn read(text: &[u8]) -> Result<Envelope, NotationError> {
    let json: Json = serde_json::from_slice(text).map_err(|_| NotationError::Envelope)?;
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| NotationError::Envelope);
    let certificate = |text: &String| Certificate::read(&STANDARD.decode(text).ok()?);
    let is_whole = json.header.x5c.left_out == 0;
    let chain: Option<Vec<_>> = json.header.x5c.iter().filter(|_| is_whole).map(certificate).collect();
    let timestamp = json.header.timestamp.map(|text| STANDARD.decode(text));
    if json.protected.len() > MAX_HEADERS {
        return Err(NotationError::Headers);
    }
    let headers: Map<String, Value> =
        serde_json::from_slice(&decode(&json.protected)?).map_err(|_| NotationError::Envelope)?;
    Ok(Envelope {
        headers: read_headers(&headers)?,
        payload: decode(&json.payload)?,
        signed: format!("{}.{}", json.protected, json.payload).into_bytes(),
        signature: decode(&json.signature)?,
        chain: chain
            .filter(|chain| !chain.is_empty())
            .ok_or(NotationError::Certificates)?,
        timestamp: timestamp.transpose().map_err(|_| NotationError::Envelope)?,
    })
}

fn read_headers(headers: &Map<String, Value>) -> Result<Headers, NotationError> {
    let text = |name: &str| headers.get(name).and_then(Value::as_str);
    let time = |name: &str| match headers.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let time = value
                .as_str()
                .and_then(|text| Time::parse(RFC_3339, text.as_bytes()).ok());
            time.map(|time| Some(time.unix_seconds())).ok_or(NotationError::Headers)
        }
    };
    let critical = headers.get("crit").and_then(Value::as_array);
    let critical: Option<Vec<&str>> = critical.and_then(|all| all.iter().map(Value::as_str).collect());
    let unchecked = Unchecked {
        algorithm: text("alg").unwrap_or_default(),
        content_type: text("cty").unwrap_or_default(),
        critical: critical.ok_or(NotationError::Headers)?,
        scheme: text(SCHEME),
        time: time(TIME)?,
        authentic_time: time(AUTHENTIC_TIME)?,
        expiry: time(EXPIRY)?,
    };
    unchecked.check()
}
