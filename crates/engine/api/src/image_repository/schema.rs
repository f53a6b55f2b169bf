//! The schema of `ImageRepository` (`image.toolkit.fluxcd.io`: v1beta1, v1beta2, v1).

use crate::manifest::emit::Yaml;
use crate::schema::crd::{AGE, CustomResource, READY, STATUS, column, version};
use crate::schema::shared::{access_from, duration, local_ref, reconciled_status, short_duration, suspend};
use crate::schema::structural::{Schema, boolean, integer, list, object, one_of, string, time};

pub(crate) fn definition() -> CustomResource {
    let tags = column("Tags", ".status.lastScanResult.tagCount");
    let last_scan = column("Last scan", ".status.lastScanResult.scanTime");
    let columns = [
        column("Image", ".spec.image"),
        tags,
        READY,
        STATUS,
        last_scan.wide(),
        AGE,
    ];
    CustomResource {
        group: "image.toolkit.fluxcd.io",
        kind: "ImageRepository",
        plural: "imagerepositories",
        short_names: &["imgrepo", "imagerepo"],
        category: "fluxcd-images",
        versions: vec![
            version("v1", &columns),
            version("v1beta2", &columns),
            version("v1beta1", &[last_scan, tags]),
        ],
        spec: spec(),
        status: status(),
    }
}

/// `insecure`, `provider` and `proxySecretRef` are v1beta2's and v1's, and so are the defaults.
fn spec() -> Schema {
    object()
        .field("image", string().about("The image's name, without scheme, tag or digest").required())
        .field("interval", duration().about("How often the tags are read").required())
        .field("timeout", short_duration().about("Deadline of one scan; the interval when absent"))
        .field("secretRef", local_ref().about("A Secret with a Docker configuration"))
        .field(
            "serviceAccountName",
            string()
                .max_length(253)
                .about("The service account whose pull secrets are used, or whose identity at the provider"),
        )
        .field("certSecretRef", local_ref().about("A Secret with ca.crt, tls.crt, tls.key"))
        .field("proxySecretRef", local_ref().about("A Secret with the proxy's address, username, password"))
        .field(
            "provider",
            one_of(&["generic", "aws", "azure", "gcp"])
                .default("generic".into())
                .about("Where the login comes from"),
        )
        .field("insecure", boolean().about("Whether the registry may be asked without TLS"))
        // v1beta1 accepted any number, but with more than these no tags are read (N-053).
        .field(
            "exclusionList",
            list(&string())
                .max_items(25)
                .default(Yaml::texts([r"^.*\.sig$"]))
                .about("Regular expressions (RE2) of tags that are left out"),
        )
        .field("accessFrom", access_from())
        .field("suspend", suspend())
}

/// `latestTags`, `revision` and `observedExclusionList` are v1beta2's and v1's.
fn status() -> Schema {
    let scan = object()
        .about("The last scan that succeeded")
        .field("tagCount", integer().required())
        .field("scanTime", time())
        .field("latestTags", list(&string()).about("Some of the tags"))
        .field("revision", string().about("A digest of the tags"));
    reconciled_status()
        .field(
            "canonicalImageName",
            string().about("The image's name with the registry's host"),
        )
        .field("lastScanResult", scan)
        .field("observedExclusionList", list(&string()))
}
