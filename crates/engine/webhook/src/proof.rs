//! Authentication of a request: signatures over the body, shared tokens, digests in the path. All comparisons take
//! constant time, and all tokens of a provider are tried, so that timing reveals nothing.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq;

use super::tokens::Token;
use super::{Provider, Rejection, Request, Tokens};

/// Prefix of GitLab's signing tokens; the rest is the key in base64 (<https://www.standardwebhooks.com>).
const SIGNING_TOKEN: &str = "whsec_";

/// The proof of a request that the sender has the token.
pub(crate) enum Claim<'a> {
    /// A signature over the body.
    Signature(Algorithm, Vec<u8>),
    /// GitLab: the token itself, or signatures over id, time and body.
    GitLab {
        token: Option<&'a str>,
        signed: Option<Signed<'a>>,
    },
    Token(&'a str),
    /// The digest of the token with the Secret's name and namespace.
    Digest(&'a str),
}

/// The algorithm of a signature.
#[derive(Clone, Copy)]
pub(crate) enum Algorithm {
    Sha1,
    Sha256,
    Sha512,
}

/// The headers of Standard Webhooks.
pub(crate) struct Signed<'a> {
    id: &'a str,
    timestamp: &'a str,
    signatures: &'a str,
}

impl<'a> Claim<'a> {
    /// The claim of a request. It depends on the request only, so that errors reveal nothing about the tokens.
    pub(crate) fn of(provider: Provider, request: &Request<'a>, digest: Option<&'a str>) -> Result<Self, Rejection> {
        match (provider, digest) {
            (Provider::GitHub, None) => github(request),
            (Provider::GitLab, None) => gitlab(request),
            (Provider::Gitea, None) => gitea(request),
            (Provider::Bitbucket, None) => {
                let header = required(provider, request, "X-Hub-Signature")?;
                prefixed(provider, header, "HMAC-SHA256", &[("sha256=", Algorithm::Sha256)])
            }
            (Provider::GenericHmac, None) => {
                let kinds = [("sha256=", Algorithm::Sha256), ("sha512=", Algorithm::Sha512)];
                let header = required(provider, request, "X-Signature")?;
                prefixed(provider, header, "HMAC-SHA256 or HMAC-SHA512", &kinds)
            }
            // Nexus supports nothing else. HMAC-SHA1 is not broken.
            (Provider::Nexus, None) => {
                let header = required(provider, request, "X-Nexus-Webhook-Signature")?;
                Ok(Self::Signature(Algorithm::Sha1, hex(provider, header)?))
            }
            (_, None) => shared(provider, request),
            (_, Some(digest)) if provider.takes_digests() => Ok(Self::Digest(digest)),
            (_, Some(_)) => Err(Rejection::Address),
        }
    }
}

impl Provider {
    /// Whether the sender cannot sign, so that a digest in the path is accepted.
    fn takes_digests(self) -> bool {
        matches!(
            self,
            Self::DockerHub | Self::Registry | Self::Harbor | Self::Quay | Self::Gcr | Self::Acr
        )
    }
}

/// Compares the claim with the tokens of the provider.
pub(crate) fn check(provider: Provider, claim: &Claim<'_>, body: &[u8], tokens: &Tokens) -> Result<(), Rejection> {
    let tokens = tokens.of(provider);
    let proved = tokens
        .iter()
        .fold(false, |proved, token| proved | claim.holds(token, body));
    match claim {
        _ if proved => Ok(()),
        Claim::Digest(_) => Err(Rejection::Digest { provider }),
        _ if tokens.is_empty() => Err(Rejection::NoToken { provider }),
        _ => Err(Rejection::Proof { provider }),
    }
}

impl Claim<'_> {
    fn holds(&self, token: &Token, body: &[u8]) -> bool {
        match self {
            Self::Signature(algorithm, signature) => algorithm.verifies(&token.bytes, &[body], signature),
            Self::Token(text) => same(text.as_bytes(), &token.bytes),
            Self::Digest(text) => same(text.as_bytes(), token.digest().as_bytes()),
            Self::GitLab { token: sent, signed } => match signing_key(&token.bytes) {
                Some(key) => signed.as_ref().is_some_and(|signed| signed.holds(&key, body)),
                None => sent.is_some_and(|sent| same(sent.as_bytes(), &token.bytes)),
            },
        }
    }
}

impl Signed<'_> {
    fn holds(&self, key: &[u8], body: &[u8]) -> bool {
        let parts = [self.id.as_bytes(), b".", self.timestamp.as_bytes(), b".", body];
        let of_first_version = self.signatures.split(' ').filter_map(|text| text.strip_prefix("v1,"));
        of_first_version.take(4).fold(false, |proved, text| {
            let verifies = |signature: Vec<u8>| Algorithm::Sha256.verifies(key, &parts, &signature);
            proved | STANDARD.decode(text).is_ok_and(verifies)
        })
    }
}

impl Algorithm {
    fn verifies(self, key: &[u8], parts: &[&[u8]], signature: &[u8]) -> bool {
        match self {
            Self::Sha1 => verifies::<Hmac<Sha1>>(key, parts, signature),
            Self::Sha256 => verifies::<Hmac<Sha256>>(key, parts, signature),
            Self::Sha512 => verifies::<Hmac<Sha512>>(key, parts, signature),
        }
    }
}

fn verifies<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]], signature: &[u8]) -> bool {
    let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else {
        return false;
    };
    parts.iter().for_each(|part| mac.update(part));
    mac.verify_slice(signature).is_ok()
}

/// Whether two texts are equal, by their hashes, so that not even the length of a token can be measured.
fn same(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one).ct_eq(&Sha256::digest(other)).into()
}

fn signing_key(token: &[u8]) -> Option<Vec<u8>> {
    let text = token.strip_prefix(SIGNING_TOKEN.as_bytes())?;
    STANDARD.decode(text).ok().filter(|key| !key.is_empty())
}

fn github<'a>(request: &Request<'a>) -> Result<Claim<'a>, Rejection> {
    let provider = Provider::GitHub;
    let wanted = "HMAC-SHA256 in X-Hub-Signature-256";
    match request.header("X-Hub-Signature-256")? {
        Some(value) => prefixed(provider, value, wanted, &[("sha256=", Algorithm::Sha256)]),
        None if request.header("X-Hub-Signature")?.is_some() => Err(Rejection::Algorithm { provider, wanted }),
        None => Err(Rejection::NoProof {
            provider,
            header: "X-Hub-Signature-256",
        }),
    }
}

fn gitea<'a>(request: &Request<'a>) -> Result<Claim<'a>, Rejection> {
    let provider = Provider::Gitea;
    for header in ["X-Gitea-Signature", "X-Forgejo-Signature"] {
        if let Some(value) = request.header(header)? {
            return Ok(Claim::Signature(Algorithm::Sha256, hex(provider, value)?));
        }
    }
    Err(Rejection::NoProof {
        provider,
        header: "X-Gitea-Signature",
    })
}

fn gitlab<'a>(request: &Request<'a>) -> Result<Claim<'a>, Rejection> {
    let token = request.header("X-Gitlab-Token")?;
    let headers = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let [id, timestamp, signatures] = headers.map(|name| request.header(name));
    let signed = match (id?, timestamp?, signatures?) {
        (Some(id), Some(timestamp), Some(signatures)) => Some(Signed {
            id,
            timestamp,
            signatures,
        }),
        _ => None,
    };
    match (token, &signed) {
        (None, None) => Err(Rejection::NoProof {
            provider: Provider::GitLab,
            header: "X-Gitlab-Token",
        }),
        _ => Ok(Claim::GitLab { token, signed }),
    }
}

fn shared<'a>(provider: Provider, request: &Request<'a>) -> Result<Claim<'a>, Rejection> {
    let header = required(provider, request, "Authorization")?;
    let token = match header.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => header,
    };
    Ok(Claim::Token(token))
}

fn required<'a>(provider: Provider, request: &Request<'a>, header: &'static str) -> Result<&'a str, Rejection> {
    request.header(header)?.ok_or(Rejection::NoProof { provider, header })
}

/// `ALGORITHM=HEX`
fn prefixed<'a>(
    provider: Provider,
    value: &str,
    wanted: &'static str,
    kinds: &[(&str, Algorithm)],
) -> Result<Claim<'a>, Rejection> {
    let mut algorithms = kinds
        .iter()
        .filter_map(|(prefix, kind)| Some((kind, value.strip_prefix(prefix)?)));
    let (algorithm, digits) = algorithms.next().ok_or(Rejection::Algorithm { provider, wanted })?;
    Ok(Claim::Signature(*algorithm, hex(provider, digits)?))
}

/// The bytes of a signature in hexadecimal digits.
fn hex(provider: Provider, digits: &str) -> Result<Vec<u8>, Rejection> {
    let digit = |byte: &u8| {
        char::from(*byte)
            .to_digit(16)
            .and_then(|value| u8::try_from(value).ok())
    };
    let values: Option<Vec<u8>> = digits.as_bytes().iter().map(digit).collect();
    let values = values.filter(|values| values.len() % 2 == 0 && values.len() <= 128);
    let values = values.ok_or(Rejection::Proof { provider })?;
    let pair = |pair: &[u8]| pair.iter().fold(0, |byte, value| byte << 4 | value);
    Ok(values.chunks(2).map(pair).collect())
}
