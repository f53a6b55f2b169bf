//! The schema of `Bucket` (`source.toolkit.fluxcd.io`: v1beta1, v1beta2, v1).

use crate::schema::crd::{AGE, CustomResource, READY, STATUS, column, version};
use crate::schema::shared::{access_from, go_duration, local_ref, reconciled_status, suspend};
use crate::schema::source::{artifact, ignore, proxy_secret_ref, timeout};
use crate::schema::structural::{Schema, boolean, object, one_of, string};

pub(crate) fn definition() -> CustomResource {
    let endpoint = column("Endpoint", ".spec.endpoint");
    let columns = [endpoint, AGE, READY, STATUS];
    CustomResource {
        group: "source.toolkit.fluxcd.io",
        kind: "Bucket",
        plural: "buckets",
        short_names: &[],
        category: "fluxcd-sources",
        versions: vec![
            version("v1", &columns),
            version("v1beta2", &columns),
            version("v1beta1", &[endpoint, READY, STATUS, AGE]),
        ],
        spec: spec(),
        status: status(),
    }
}

/// `accessFrom` is the betas'; `certSecretRef`, `prefix`, `proxySecretRef`, `sts` and provider `azure` are v1beta2's
/// and v1's; `serviceAccountName` is v1's.
///
/// v1beta1 has no pattern for `interval` and `timeout`, v1 has no hours in `timeout`: [`go_duration`].
fn spec() -> Schema {
    let schema = object()
        .field("bucketName", string().required())
        .field(
            "endpoint",
            string().about("Host, and maybe port, of the object storage").required(),
        )
        .field("region", string())
        .field("prefix", string().about("Only objects whose names begin with it"))
        .field("interval", go_duration().about("How often to fetch").required())
        .field("timeout", timeout(go_duration()))
        .field(
            "provider",
            one_of(&["generic", "aws", "gcp", "azure"])
                .default("generic".into())
                .about("Where the credentials come from"),
        )
        .field("sts", sts())
        .field("secretRef", local_ref().about("A Secret with the credentials"))
        .field(
            "serviceAccountName",
            string().about("The service account whose identity is used at the provider"),
        )
        .field(
            "certSecretRef",
            local_ref().about("A Secret with ca.crt, tls.crt, tls.key"),
        )
        .field("proxySecretRef", proxy_secret_ref())
        .field(
            "insecure",
            boolean().about("Whether the endpoint may be asked without TLS"),
        )
        .field("ignore", ignore())
        .field("suspend", suspend())
        .field("accessFrom", access_from());
    RULES
        .iter()
        .fold(schema, |schema, (rule, message)| schema.rule(rule, message))
}

const RULES: &[(&str, &str)] = &[
    (
        "self.provider == 'aws' || self.provider == 'generic' || !has(self.sts)",
        "STS configuration is only supported for the 'aws' and 'generic' Bucket providers",
    ),
    (
        "self.provider != 'aws' || !has(self.sts) || self.sts.provider == 'aws'",
        "'aws' is the only supported STS provider for the 'aws' Bucket provider",
    ),
    (
        "self.provider != 'generic' || !has(self.sts) || self.sts.provider == 'ldap'",
        "'ldap' is the only supported STS provider for the 'generic' Bucket provider",
    ),
    (
        "!has(self.sts) || self.sts.provider != 'aws' || !has(self.sts.secretRef)",
        "spec.sts.secretRef is not required for the 'aws' STS provider",
    ),
    (
        "!has(self.sts) || self.sts.provider != 'aws' || !has(self.sts.certSecretRef)",
        "spec.sts.certSecretRef is not required for the 'aws' STS provider",
    ),
    (
        "self.provider != 'generic' || !has(self.serviceAccountName)",
        "ServiceAccountName is not supported for the 'generic' Bucket provider",
    ),
    (
        "!has(self.secretRef) || !has(self.serviceAccountName)",
        "cannot set both .spec.secretRef and .spec.serviceAccountName",
    ),
];

fn sts() -> Schema {
    object()
        .about("A security token service to get the credentials from")
        .field("provider", one_of(&["aws", "ldap"]).required())
        .field("endpoint", string().pattern("^(http|https)://.*$").required())
        .field("secretRef", local_ref().about("A Secret with username and password"))
        .field(
            "certSecretRef",
            local_ref().about("A Secret with ca.crt, tls.crt, tls.key"),
        )
}

fn status() -> Schema {
    reconciled_status()
        .field("artifact", artifact())
        .field("observedIgnore", string())
        .field("url", string())
}
