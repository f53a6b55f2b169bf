//! Verification of Notation's signatures over OCI artifacts: by certificates and a trust policy, as source-controller
//! v1.9.3 does with notation-go v1.3.2. Nobody is asked whether a certificate is revoked: where that is enforced,
//! certificates that name a server for it do not count.

mod cbor;
mod cose;
mod envelope;
mod headers;
mod jws;
mod manifest;
mod names;
mod policy;

use serde::Deserialize;

use crate::x509::{Certificate, Timestamp};
use bumpwright_budget::Exceeded;
use bumpwright_gostd::decode_pem;
use envelope::Envelope;
pub use manifest::{EnvelopeLayer, envelope_layer, signatures};
use names::Name;
pub use names::{NameError, NameProblem};
use policy::{Check, Policy, Statement};
pub use policy::{PolicyError, StatementError, VerificationError};

/// The type of signatures among an artifact's referrers.
pub(crate) const ARTIFACT_TYPE: &str = "application/vnd.cncf.notary.signature";
const JWS: &str = "application/jose+json";
const COSE: &str = "application/cose";
const PAYLOAD: &str = "application/vnd.cncf.notary.payload.v1+json";
/// The entry of a Secret with the trust policy, and how those with certificates end.
pub(super) const TRUST_POLICY: &str = "trustpolicy.json";
const SUFFIXES: [&str; 2] = [".crt", ".pem"];
/// Greatest size of an envelope in bytes, of signatures that are read, and of certificates in a Secret.
pub const MAX_ENVELOPE: usize = 4 << 20;
/// Greatest number of signatures of an artifact that are verified.
pub const MAX_SIGNATURES: usize = 50;
/// Greatest number of referrers of an artifact that are read, to find its signatures.
pub const MAX_REFERRERS: usize = 1_000;
const MAX_CERTIFICATES: usize = 256;

/// Whether an entry of a Secret has certificates, by its name.
pub(super) fn is_certificate(key: &str) -> bool {
    SUFFIXES.iter().any(|suffix| key.ends_with(suffix))
}

/// Why an artifact is not verified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotationError {
    /// The Secret has no trust policy.
    #[error("'{TRUST_POLICY}' not found in secret '{0}'")]
    NoPolicy(String),
    /// The trust policy is not valid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// An entry of the Secret has no certificates; its key.
    #[error("failed to parse certificate '{0}'")]
    Certificate(String),
    /// The Secret has no certificates.
    #[error("no certificates found in secret '{0}'")]
    NoCertificates(String),
    /// The Secret has too many.
    #[error("secret '{name}' has {count} certificates; {MAX_CERTIFICATES} at most are read")]
    TooManyCertificates {
        name: String,
        /// How many it has.
        count: usize,
    },
    /// The registry does not list what refers to the artifact; its words, or why they are not a list.
    #[error("the signatures among the referrers of the artifact cannot be listed: {0}")]
    Referrers(String),
    /// The artifact is not signed.
    #[error("no signature is associated with {0:?}, make sure the artifact was signed successfully")]
    Unsigned(String),
    /// No statement of the trust policy is about the repository.
    #[error("artifact {0:?} has no applicable trust policy statement: none of registryScopes is its repository or '*'")]
    Scope(String),
    /// Not enough memory to read a signature.
    #[error("no memory to read a signature: {0}")]
    NoMemory(#[from] Exceeded),
    /// No signature counts: why the first one does not.
    #[error("signature verification failed: {0}")]
    Failed(Box<Self>),
    /// The envelope is of another type.
    #[error("its envelope is of the type {0:?}, neither {JWS} nor {COSE}")]
    Format(String),
    #[error("the envelope is not one of Notation")]
    Envelope,
    #[error("a signed header of the envelope is missing or invalid")]
    Headers,
    /// A signed header that only a plugin understands.
    #[error("it has a critical header that needs a plugin")]
    Plugin,
    #[error("its certificates are no chain of a code signer, from its own to a root that signed itself")]
    Certificates,
    #[error("the signature is not by the key of its certificate")]
    Signature,
    #[error("it is the signature of another artifact")]
    OtherArtifact,
    /// No certificate is trusted.
    #[error("none of its certificates is trusted (trustStores)")]
    Untrusted,
    /// The signer is not trusted.
    #[error("its signer is not trusted (trustedIdentities)")]
    Identity,
    #[error("the signature has expired")]
    Expired,
    /// A certificate was not valid.
    #[error(
        "a certificate of the signature was not valid at the time of signing, or has expired and has no timestamp that is trusted"
    )]
    Validity,
    #[error(
        "whether its certificates are revoked cannot be known, since no OCSP or CRL server is asked; \
         signatureVerification.override.revocation may be \"log\" or \"skip\""
    )]
    Revocation,
}

/// What an artifact's signature comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Verified,
    /// It is let pass: the trust policy skips it, or only audits who signed.
    Ignored,
}

/// Who is trusted, by a Secret with certificates and a trust policy.
#[derive(Clone, Debug)]
pub struct NotationTrust {
    policy: Policy,
    certificates: Vec<Certificate>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    target_artifact: Target,
}

#[derive(Deserialize)]
struct Target {
    digest: String,
}

/// The blob of a signature with its media type.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    /// The type of the layer.
    pub media_type: &'a str,
    pub envelope: &'a [u8],
}

impl NotationTrust {
    /// Reads a Secret's data; `name` is the Secret's in messages.
    ///
    /// # Errors
    /// [`NotationError`]: the policy or a certificate is missing or not valid.
    pub fn read<'a>(name: &str, entries: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Result<Self, NotationError> {
        let entries: Vec<_> = entries.into_iter().collect();
        let policy = entries.iter().find(|(key, _)| *key == TRUST_POLICY);
        let (_, policy) = policy.ok_or_else(|| NotationError::NoPolicy(name.to_owned()))?;
        let mut certificates = Vec::new();
        for (key, value) in entries.iter().filter(|(key, _)| is_certificate(key)) {
            let read = certificates_of(value);
            certificates.extend(read.ok_or_else(|| NotationError::Certificate((*key).to_owned()))?);
        }
        match certificates.len() {
            0 => return Err(NotationError::NoCertificates(name.to_owned())),
            1..=MAX_CERTIFICATES => {}
            count => {
                let name = name.to_owned();
                return Err(NotationError::TooManyCertificates { name, count });
            }
        }
        let policy = Policy::read(policy)?;
        Ok(Self { policy, certificates })
    }

    /// Whether the trust policy skips a repository (`HOST/NAME`).
    ///
    /// # Errors
    /// [`NotationError::Scope`]
    pub fn skips(&self, repository: &str) -> Result<bool, NotationError> {
        Ok(self.statement(repository)?.level.is_none())
    }

    fn statement(&self, repository: &str) -> Result<&Statement, NotationError> {
        let scope = || NotationError::Scope(repository.to_owned());
        self.policy.of(repository).ok_or_else(scope)
    }

    /// Verifies a signature of the artifact with this digest; `now` is the time in seconds since 1970.
    pub fn verify(
        &self,
        repository: &str,
        digest: &str,
        signature: Signature<'_>,
        now: i64,
    ) -> Result<Verdict, NotationError> {
        let statement = self.statement(repository)?;
        let Some(level) = statement.level else {
            return Ok(Verdict::Ignored);
        };
        if signature.envelope.len() > MAX_ENVELOPE {
            return Err(NotationError::Envelope);
        }
        let envelope = match signature.media_type {
            JWS => jws::read(signature.envelope)?,
            COSE => cose::read(signature.envelope)?,
            other => return Err(NotationError::Format(other.chars().take(100).collect())),
        };
        envelope.check_integrity()?;
        let is_authentic = self.authenticity(statement, &envelope);
        let expired = envelope.headers.expiry.is_some_and(|expiry| now >= expiry);
        for (check, failure) in [
            (Check::Authenticity, is_authentic.as_ref().err().cloned()),
            (Check::Expiry, expired.then_some(NotationError::Expired)),
            (
                Check::Timestamp,
                (!self.was_valid(statement, &envelope, now)).then_some(NotationError::Validity),
            ),
            (
                Check::Revocation,
                envelope.is_revocable().then_some(NotationError::Revocation),
            ),
        ] {
            if let Some(failure) = failure
                && level.enforces(check)
            {
                return Err(failure);
            }
        }
        if envelope.headers.content_type != PAYLOAD {
            return Err(NotationError::Envelope);
        }
        let payload: Payload = serde_json::from_slice(&envelope.payload).map_err(|_| NotationError::Envelope)?;
        match (payload.target_artifact.digest == digest, is_authentic.is_ok()) {
            (false, _) => Err(NotationError::OtherArtifact),
            (true, true) => Ok(Verdict::Verified),
            (true, false) => Ok(Verdict::Ignored),
        }
    }

    /// Whether the signer is trusted: a certificate of the chain is, and the signer's name.
    fn authenticity(&self, statement: &Statement, envelope: &Envelope) -> Result<(), NotationError> {
        let store = if envelope.headers.is_authority {
            "signingAuthority"
        } else {
            "ca"
        };
        let is_trusted = |certificate: &Certificate| self.certificates.iter().any(|known| known.der == certificate.der);
        if !statement.stores.iter().any(|kind| kind == store) || !envelope.chain.iter().any(is_trusted) {
            return Err(NotationError::Untrusted);
        }
        let Some(identities) = &statement.identities else {
            return Ok(());
        };
        let leaf = envelope
            .chain
            .first()
            .and_then(|leaf| Name::of_certificate(&leaf.subject));
        if leaf.is_some_and(|leaf| identities.iter().any(|identity| identity.is_part_of(&leaf))) {
            Ok(())
        } else {
            Err(NotationError::Identity)
        }
    }

    /// Whether the certificates were valid when it was signed: by the word of a signing authority, by
    /// a timestamp, or now.
    fn was_valid(&self, statement: &Statement, envelope: &Envelope, now: i64) -> bool {
        if envelope.headers.is_authority {
            return envelope.is_valid_at(envelope.headers.signed_at);
        }
        let stamps = statement.stores.iter().any(|kind| kind == "tsa");
        let has_expired = envelope.chain.iter().any(|certificate| now > certificate.validity.1);
        if !stamps || statement.only_after_expiry && !has_expired {
            return envelope.is_valid_at(now);
        }
        let timestamp = envelope.timestamp.as_deref().and_then(Timestamp::read);
        let by = |root: &Certificate| {
            timestamp
                .as_ref()?
                .verify(&envelope.signature, std::slice::from_ref(root))
        };
        let time = self.certificates.iter().find_map(by);
        time.is_some_and(|time| envelope.is_valid_at(time))
    }
}

/// The certificates of an entry: the first block of PEM, or DER, as Flux reads it.
fn certificates_of(text: &[u8]) -> Option<Vec<Certificate>> {
    let block = decode_pem(text);
    let der = block.as_ref().map_or(text, |block| &block.bytes);
    Certificate::read(der).map(|certificate| vec![certificate])
}
