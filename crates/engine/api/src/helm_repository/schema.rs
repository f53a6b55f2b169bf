//! The schema of `HelmRepository` (`source.toolkit.fluxcd.io`: v1beta1, v1beta2, v1).

use crate::schema::crd::{AGE, CustomResource, READY, STATUS, column, version};
use crate::schema::shared::{access_from, go_duration, local_ref, reconciled_status, suspend};
use crate::schema::source::artifact;
use crate::schema::structural::{Schema, boolean, object, one_of, string};

pub(crate) fn definition() -> CustomResource {
    let url = column("URL", ".spec.url");
    let columns = [url, AGE, READY, STATUS];
    CustomResource {
        group: "source.toolkit.fluxcd.io",
        kind: "HelmRepository",
        plural: "helmrepositories",
        short_names: &["helmrepo"],
        category: "fluxcd-sources",
        versions: vec![
            version("v1", &columns),
            version("v1beta2", &columns),
            version("v1beta1", &[url, READY, STATUS, AGE]),
        ],
        spec: spec(),
        status: reconciled_status().field("artifact", artifact()).field("url", string()),
    }
}

/// `certSecretRef`, `insecure`, `provider` and `type` are v1beta2's and v1's.
///
/// v1beta1 has no pattern for `interval`, `timeout` and `url`, and requires `interval`, which v1 does not; with
/// other URLs no version ever fetched anything. v1 has no hours in `timeout`, and alone no default for it: the
/// same as with one.
fn spec() -> Schema {
    object()
        .field(
            "url",
            string()
                .pattern("^(http|https|oci)://.*$")
                .about("Where index.yaml is, or a registry")
                .required(),
        )
        .field(
            "type",
            one_of(&["default", "oci"]).about("Whether there is an index, or the charts are in an OCI registry"),
        )
        .field("interval", go_duration().about("How often to fetch the index"))
        .field("timeout", go_duration().about("Deadline of one fetch"))
        .field(
            "secretRef",
            local_ref().about("A Secret with username and password, or with a Docker configuration for a registry"),
        )
        .field(
            "certSecretRef",
            local_ref().about("A Secret with ca.crt, tls.crt, tls.key"),
        )
        .field(
            "passCredentials",
            boolean().about("Whether hosts of charts get the login that are not the repository's"),
        )
        .field(
            "insecure",
            boolean().about("Whether a registry may be asked without TLS"),
        )
        .field(
            "provider",
            one_of(&["generic", "aws", "azure", "gcp"])
                .default("generic".into())
                .about("Where the login at a registry comes from"),
        )
        .field("suspend", suspend())
        .field("accessFrom", access_from())
}
