//! Why no signature of an image counts.

use thiserror::Error;

use super::verify::MAX_IDENTITIES;
use bumpwright_api::{InvalidSecret, ObjectName, TRUSTED_ROOT};
use bumpwright_runtime::blocking::Interrupted;
use bumpwright_source::Unresolved;
use bumpwright_verify::cosign::CosignError;
use bumpwright_verify::notation::NotationError;
use bumpwright_verify::sigstore::TrustedRootError;

/// The text follows the name of the provider, in Flux's words where it has any.
#[derive(Debug, Error)]
pub(in crate::sources) enum SignatureError {
    #[error("unsupported verification provider: {0}")]
    UnknownProvider(String),
    /// Notation needs a Secret; the text has what is verified.
    #[error("verification secret cannot be empty: '{0}'")]
    NoReference(String),
    #[error("secrets {0:?} not found")]
    NoSecret(String),
    /// The data of the Secret is not base64.
    #[error(transparent)]
    Secret(#[from] InvalidSecret),
    #[error("no public keys found in secret '{0}'")]
    NoPublicKeys(ObjectName),
    #[error("failed to read trusted root from secret '{0}': secrets {root:?} not found", root = .0.name)]
    NoRootSecret(ObjectName),
    #[error("failed to read trusted root from secret '{name}': {cause}")]
    RootSecret {
        name: ObjectName,
        cause: Box<InvalidSecret>,
    },
    #[error("failed to read trusted root from secret '{0}': '{TRUSTED_ROOT}' not found in secret '{0}'")]
    NoRoot(ObjectName),
    #[error("unable to parse trusted root: {0}")]
    Root(#[from] TrustedRootError),
    /// Without a key anybody could sign.
    #[error("without a key, spec.verify.matchOIDCIdentity has to say who may sign")]
    NoIdentity,
    #[error(
        "spec.verify.matchOIDCIdentity has {0} identities, {MAX_IDENTITIES} are allowed; a regular expression can accept many"
    )]
    TooManyIdentities(usize),
    #[error("spec.verify.matchOIDCIdentity: {0}")]
    Pattern(#[from] bumpwright_re2::Error),
    /// The digest of the tag is unknown.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    #[error(transparent)]
    Cosign(#[from] CosignError),
    #[error(transparent)]
    Notation(#[from] NotationError),
    /// The object is deleted meanwhile, or the process ends.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}
