//! The schema of `GitRepository` (`source.toolkit.fluxcd.io`: v1beta1, v1beta2, v1).

use crate::schema::crd::{AGE, CustomResource, READY, STATUS, column, version};
use crate::schema::shared::{access_from, go_duration, local_ref, reconciled_status, suspend};
use crate::schema::source::{artifact, ignore, proxy_secret_ref, timeout};
use crate::schema::structural::{Schema, boolean, list, object, one_of, string};

pub(crate) fn definition() -> CustomResource {
    let url = column("URL", ".spec.url");
    let columns = [url, AGE, READY, STATUS];
    CustomResource {
        group: "source.toolkit.fluxcd.io",
        kind: "GitRepository",
        plural: "gitrepositories",
        short_names: &["gitrepo"],
        category: "fluxcd-sources",
        versions: vec![
            version("v1", &columns),
            version("v1beta2", &columns),
            version("v1beta1", &[url, READY, STATUS, AGE]),
        ],
        spec: spec(),
        status: status(),
    }
}

/// `accessFrom` and `gitImplementation` are v1beta1's and v1beta2's; `provider`, `proxySecretRef`, `serviceAccountName`
/// and `sparseCheckout` v1's; `certSecretRef` is ours (docs/decisions.md C33).
///
/// v1beta1 has no pattern for `interval` and `timeout`, v1 has no hours in `timeout`: [`go_duration`].
fn spec() -> Schema {
    object()
        .field(
            "url",
            string()
                .pattern("^(http|https|ssh)://.*$")
                .about("Where to clone from")
                .required(),
        )
        .field("ref", git_ref().about("What to check out; branch master when absent"))
        .field("interval", go_duration().about("How often to fetch").required())
        .field("timeout", timeout(go_duration()))
        .field("secretRef", local_ref().about("A Secret with the credentials"))
        .field("certSecretRef", local_ref().about("A Secret with ca.crt, tls.crt, tls.key"))
        .field("proxySecretRef", proxy_secret_ref())
        .field(
            "provider",
            one_of(&["generic", "aws", "azure", "github"]).about("Where the credentials come from; generic when absent"),
        )
        .field(
            "serviceAccountName",
            string().about("The service account whose identity is used at the provider"),
        )
        .field("verify", verify())
        .field("ignore", ignore())
        .field("include", list(&include()).about("Files of other repositories to add"))
        .field("recurseSubmodules", boolean())
        .field("sparseCheckout", list(&string()).about("Folders to check out; all when absent"))
        .field("suspend", suspend())
        .field("accessFrom", access_from())
        // The betas have go-git as default. With one schema it would be written into v1 objects, too; since it has
        // no effect, it is left out.
        .field(
            "gitImplementation",
            one_of(&["go-git", "libgit2"]).about("Accepted without effect (v1beta1, v1beta2)"),
        )
        .rule(
            "!has(self.serviceAccountName) || (has(self.provider) && (self.provider == 'azure' || self.provider == \
             'aws'))",
            "serviceAccountName can only be set when provider is 'azure' or 'aws'",
        )
}

/// The reference to check out: the first of commit (of a branch), name, semver, tag, branch that is set.
pub(crate) fn git_ref() -> Schema {
    object()
        .field("branch", string())
        .field("tag", string())
        .field("semver", string().about("A range of versions over the tags"))
        .field(
            "name",
            string().about("A full reference name, such as refs/pull/420/head"),
        )
        .field("commit", string())
}

/// The betas require `mode` and accept `head` only; v1 has a default, so that it is always present. `secretRef` is
/// optional in v1beta1 and required in the others; so it is optional here.
fn verify() -> Schema {
    object()
        .about("Which signatures are checked")
        .field(
            "mode",
            one_of(&["head", "HEAD", "Tag", "TagAndHEAD"]).default("HEAD".into()),
        )
        .field("secretRef", local_ref().about("A Secret with the public keys"))
}

fn include() -> Schema {
    object()
        .field(
            "repository",
            local_ref().about("A GitRepository of the namespace").required(),
        )
        .field("fromPath", string())
        .field("toPath", string())
}

/// `contentConfigChecksum` and `url` are the betas', `observedSparseCheckout`, `sourceVerificationMode` and
/// `sourceVerificationFingerprint` v1's.
fn status() -> Schema {
    reconciled_status()
        .field("artifact", artifact())
        .field("includedArtifacts", list(&artifact()))
        .field("observedIgnore", string())
        .field("observedInclude", list(&include()))
        .field("observedRecurseSubmodules", boolean())
        .field("observedSparseCheckout", list(&string()))
        .field("sourceVerificationMode", string())
        .field("sourceVerificationFingerprint", string())
        .field("url", string())
        .field("contentConfigChecksum", string())
}
