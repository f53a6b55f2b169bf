//! Sigstore's trusted root (`trusted_root.json`, version 0.1 and 0.2 of its format): authorities and logs
//! whose keys are known.

use serde::Deserialize;

use super::json::{Bytes, bytes_of};
use crate::cosign::public_key::PublicKey;
use crate::x509::Certificate;
use bumpwright_gostd::{RFC_3339, Time};

/// Greatest size of the text in bytes, and greatest number of authorities and of logs of each kind.
const MAX_TEXT: usize = 1 << 20;
const MAX_PARTS: usize = 64;
/// Greatest number of certificates in a chain.
pub(super) const MAX_CHAIN: usize = 8;
/// That of Sigstore's public instance, as its client for Python has it. `refresh`, beside it, takes a newer one.
const PUBLIC: &[u8] = include_bytes!("public-good.json");
/// Where the trusted root that ships is from, and when.
pub const PUBLIC_ROOT: &str = "sigstore 4.5.1 at PyPI, 2026-11-26";
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.trustedroot";

/// Why a text is not a trusted root.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustedRootError {
    /// It is too large.
    #[error("the trusted root has more than {MAX_TEXT} bytes")]
    Size,
    /// It is not valid JSON of this form.
    #[error("the trusted root is not JSON of Sigstore's format: {0}")]
    Json(String),
    /// It is of another kind or version.
    #[error("the trusted root's mediaType is not {MEDIA_TYPE}")]
    MediaType,
    /// A part cannot be read.
    #[error("{0} of the trusted root cannot be read")]
    Part(String),
    /// It has too many parts.
    #[error("the trusted root has more than {MAX_PARTS} {0}")]
    Many(&'static str),
    #[error("the trusted root has no {0}")]
    Missing(&'static str),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    media_type: String,
    #[serde(default)]
    tlogs: Vec<LogJson>,
    #[serde(default)]
    certificate_authorities: Vec<AuthorityJson>,
    #[serde(default)]
    ctlogs: Vec<LogJson>,
    #[serde(default)]
    timestamp_authorities: Vec<AuthorityJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogJson {
    public_key: KeyJson,
    log_id: IdJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeyJson {
    raw_bytes: Bytes,
    #[serde(default)]
    key_details: String,
    #[serde(default)]
    valid_for: PeriodJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IdJson {
    key_id: Bytes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthorityJson {
    cert_chain: ChainJson,
    #[serde(default)]
    valid_for: PeriodJson,
}

#[derive(Deserialize)]
struct ChainJson {
    #[serde(default)]
    certificates: Vec<CertificateJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CertificateJson {
    pub(super) raw_bytes: Bytes,
}

#[derive(Default, Deserialize)]
struct PeriodJson {
    start: Option<String>,
    end: Option<String>,
}

/// Seconds since 1970, open where absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Period(Option<i64>, Option<i64>);

/// An authority: its own certificate or those of intermediates, and the root at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Authority {
    pub(super) chain: Vec<Certificate>,
    pub(super) period: Period,
}

/// A log with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Log {
    pub(super) id: Vec<u8>,
    pub(super) key: PublicKey,
    pub(super) period: Period,
}

/// Authorities and logs that are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedRoot {
    pub(super) authorities: Vec<Authority>,
    pub(super) logs: Vec<Log>,
    pub(super) certificate_logs: Vec<Log>,
    pub(super) timestamp_authorities: Vec<Authority>,
}

impl TrustedRoot {
    /// That of Sigstore's public instance, as of [`PUBLIC_ROOT`].
    #[must_use]
    pub fn public() -> Self {
        // A test reads it; without authorities nobody's signature counts.
        Self::read(PUBLIC).unwrap_or_default()
    }

    /// Reads a `trusted_root.json`.
    pub fn read(text: &[u8]) -> Result<Self, TrustedRootError> {
        if text.len() > MAX_TEXT {
            return Err(TrustedRootError::Size);
        }
        let json: Json = serde_json::from_slice(text).map_err(|error| TrustedRootError::Json(error.to_string()))?;
        if !json.media_type.starts_with(MEDIA_TYPE) {
            return Err(TrustedRootError::MediaType);
        }
        let root = Self {
            authorities: authorities("certificateAuthorities", json.certificate_authorities)?,
            logs: logs("tlogs", json.tlogs)?,
            certificate_logs: logs("ctlogs", json.ctlogs)?,
            timestamp_authorities: authorities("timestampAuthorities", json.timestamp_authorities)?,
        };
        match (root.authorities.is_empty(), root.logs.is_empty()) {
            (true, _) => Err(TrustedRootError::Missing("certificateAuthorities")),
            (_, true) => Err(TrustedRootError::Missing("tlogs")),
            _ => Ok(root),
        }
    }
}

impl Period {
    fn read(json: &PeriodJson) -> Option<Self> {
        let time = |text: &Option<String>| match text {
            None => Some(None),
            Some(text) => Some(Some(Time::parse(RFC_3339, text.as_bytes()).ok()?.unix_seconds())),
        };
        Some(Self(time(&json.start)?, time(&json.end)?))
    }

    pub(super) fn has(self, seconds: i64) -> bool {
        self.0.is_none_or(|start| start <= seconds) && self.1.is_none_or(|end| seconds <= end)
    }
}

fn authorities(name: &'static str, list: Vec<AuthorityJson>) -> Result<Vec<Authority>, TrustedRootError> {
    if list.len() > MAX_PARTS {
        return Err(TrustedRootError::Many(name));
    }
    let read = |json: &AuthorityJson| {
        let chain = &json.cert_chain.certificates;
        let fits = (1..=MAX_CHAIN).contains(&chain.len());
        let chain = chain.iter().filter(|_| fits);
        let chain: Option<Vec<_>> = chain
            .map(|certificate| Certificate::read(&certificate.raw_bytes.0))
            .collect();
        Some(Authority {
            chain: chain.filter(|chain| !chain.is_empty())?,
            period: Period::read(&json.valid_for)?,
        })
    };
    let list = list.iter().enumerate();
    list.map(|(at, json)| read(json).ok_or_else(|| TrustedRootError::Part(format!("{name}[{at}]"))))
        .collect()
}

/// Logs. Those with keys of kinds that are not known here are left out: what they vouch for is not verified then.
fn logs(name: &'static str, list: Vec<LogJson>) -> Result<Vec<Log>, TrustedRootError> {
    if list.len() > MAX_PARTS {
        return Err(TrustedRootError::Many(name));
    }
    let is_supported = |json: &LogJson| {
        let details = json.public_key.key_details.as_str();
        let kinds = ["PKIX_ECDSA_P256_SHA_256", "PKIX_ED25519"];
        kinds.contains(&details) || details.starts_with("PKIX_RSA_PKCS1V15") || details.starts_with("PKCS1_RSA_PKCS1V5")
    };
    let read = |json: &LogJson| {
        Some(Log {
            id: bytes_of(&json.log_id.key_id, 64)?,
            key: PublicKey::from_der(&json.public_key.raw_bytes.0)?,
            period: Period::read(&json.public_key.valid_for)?,
        })
    };
    let list = list.iter().enumerate().filter(|(_, json)| is_supported(json));
    list.map(|(at, json)| read(json).ok_or_else(|| TrustedRootError::Part(format!("{name}[{at}]"))))
        .collect()
}
