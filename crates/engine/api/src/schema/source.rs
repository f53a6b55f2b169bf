//! Schemas that the kinds of `source.toolkit.fluxcd.io` share.

use super::shared::local_ref;
use super::structural::{Schema, int64, list, map, object, one_of, string, time};

/// The artifact of a source.
///
/// v1 and v1beta2 require `digest` and `revision`, v1beta1 neither; objects stored with the first releases of v1beta2
/// have `checksum` in place of `digest`. So only what all have is required.
pub(crate) fn artifact() -> Schema {
    object()
        .about("What was fetched last")
        .field("path", string().required())
        .field("url", string().required())
        .field("revision", string())
        .field(
            "digest",
            string().pattern("^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$"),
        )
        .field("lastUpdateTime", time().required())
        .field("size", int64().about("Bytes"))
        .field("metadata", map(&string()))
        .field("checksum", string().about("digest without its algorithm (v1beta1)"))
}

/// The artifact of a kind without v1beta1 and without objects from before digests.
pub(crate) fn digested_artifact() -> Schema {
    object()
        .about("What was fetched last")
        .field("path", string().required())
        .field("url", string().required())
        .field("revision", string().required())
        .field(
            "digest",
            string()
                .pattern("^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$")
                .required(),
        )
        .field("lastUpdateTime", time().required())
        .field("size", int64().about("Bytes"))
        .field("metadata", map(&string()))
}

/// `ignore`, which all sources with files have.
pub(crate) fn ignore() -> Schema {
    string().about("Files that are left out, in the format of .gitignore, in place of the default patterns")
}

/// A Secret with the settings of a proxy.
pub(crate) fn proxy_secret_ref() -> Schema {
    local_ref().about("A Secret with the proxy's address, username, password")
}

/// The deadline of one fetch, from the caller's kind of duration.
pub(crate) fn timeout(duration: Schema) -> Schema {
    duration.default("60s".into()).about("Deadline of one fetch")
}

/// Which signatures of images are checked. `trustedRootSecretRef` is v1's.
pub(crate) fn image_verification() -> Schema {
    let identity = object()
        .field("issuer", string().about("A regular expression").required())
        .field("subject", string().about("A regular expression").required());
    object()
        .about("Which signatures are checked")
        .field(
            "provider",
            one_of(&["cosign", "notation"]).default("cosign".into()).required(),
        )
        .field("secretRef", local_ref().about("A Secret with the public keys"))
        .field(
            "trustedRootSecretRef",
            local_ref().about("A Secret with Sigstore's trusted_root.json"),
        )
        .field(
            "matchOIDCIdentity",
            list(&identity).about("Identities of which one must have signed, without keys"),
        )
}
