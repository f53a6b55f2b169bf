//! The schema of `OCIRepository` (`source.toolkit.fluxcd.io`: v1beta2, v1).

use crate::schema::crd::{AGE, CustomResource, READY, STATUS, column, version};
use crate::schema::shared::{duration, local_ref, reconciled_status, short_duration, suspend};
use crate::schema::source::{artifact, ignore, image_verification, proxy_secret_ref, timeout};
use crate::schema::structural::{Schema, boolean, object, one_of, string};

pub(crate) fn definition() -> CustomResource {
    let columns = [column("URL", ".spec.url"), READY, STATUS, AGE];
    CustomResource {
        group: "source.toolkit.fluxcd.io",
        kind: "OCIRepository",
        plural: "ocirepositories",
        short_names: &["ocirepo"],
        category: "fluxcd-sources",
        versions: vec![version("v1", &columns), version("v1beta2", &columns)],
        spec: spec(),
        status: status(),
    }
}

fn spec() -> Schema {
    object()
        .field(
            "url",
            string().pattern("^oci://.*$").about("Where to pull from").required(),
        )
        .field("ref", reference())
        .field(
            "layerSelector",
            layer_selector().about("Which layer has the files, and whether it is unpacked"),
        )
        .field(
            "interval",
            duration().about("How often to look for a new digest").required(),
        )
        .field("timeout", timeout(short_duration()))
        .field("secretRef", local_ref().about("A Secret with a Docker configuration"))
        .field(
            "serviceAccountName",
            string().about("The service account whose pull secrets are used, or whose identity at the provider"),
        )
        .field(
            "certSecretRef",
            local_ref().about("A Secret with ca.crt, tls.crt, tls.key"),
        )
        .field("proxySecretRef", proxy_secret_ref())
        .field(
            "provider",
            one_of(&["generic", "aws", "azure", "gcp"])
                .default("generic".into())
                .about("Where the login comes from"),
        )
        .field("verify", image_verification())
        .field("ignore", ignore())
        .field(
            "insecure",
            boolean().about("Whether the registry may be asked without TLS"),
        )
        .field("suspend", suspend())
}

fn reference() -> Schema {
    object()
        .about("What to pull: the first that is there of digest, semver, tag; latest when absent")
        .field("digest", string())
        .field("semver", string().about("A range of versions over the tags"))
        .field(
            "semverFilter",
            string().about("A regular expression that the tags must match"),
        )
        .field("tag", string())
}

fn layer_selector() -> Schema {
    object()
        .field("mediaType", string())
        .field("operation", one_of(&["extract", "copy"]))
}

/// `contentConfigChecksum` is v1beta2's, `sourceVerificationFingerprint` v1's.
fn status() -> Schema {
    reconciled_status()
        .field("artifact", artifact())
        .field("observedIgnore", string())
        .field("observedLayerSelector", layer_selector())
        .field("sourceVerificationFingerprint", string())
        .field("url", string())
        .field("contentConfigChecksum", string())
}
