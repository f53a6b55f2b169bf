//! The schema of `HelmChart` (`source.toolkit.fluxcd.io`: v1beta1, v1beta2, v1).

use crate::schema::crd::{AGE, CustomResource, READY, STATUS, column, version};
use crate::schema::shared::{access_from, go_duration, reconciled_status, suspend};
use crate::schema::source::{artifact, image_verification};
use crate::schema::structural::{Schema, boolean, list, object, one_of, string};

pub(crate) fn definition() -> CustomResource {
    let chart = column("Chart", ".spec.chart");
    let wanted = column("Version", ".spec.version");
    let kind = column("Source Kind", ".spec.sourceRef.kind");
    let name = column("Source Name", ".spec.sourceRef.name");
    let columns = [chart, wanted, kind, name, AGE, READY, STATUS];
    CustomResource {
        group: "source.toolkit.fluxcd.io",
        kind: "HelmChart",
        plural: "helmcharts",
        short_names: &["hc"],
        category: "fluxcd-sources",
        versions: vec![
            version("v1", &columns),
            version("v1beta2", &columns),
            version("v1beta1", &[chart, wanted, kind, name, READY, STATUS, AGE]),
        ],
        spec: spec(),
        status: status(),
    }
}

/// `valuesFile` and `accessFrom` are the betas'; `verify` is v1beta2's and v1's, `ignoreMissingValuesFiles` is v1's.
///
/// v1beta1 has no pattern for `interval`.
fn spec() -> Schema {
    let source = object()
        .about("Where it is, in the same namespace")
        .field("apiVersion", string())
        .field(
            "kind",
            one_of(&["HelmRepository", "GitRepository", "Bucket"]).required(),
        )
        .field("name", string().required());
    object()
        .field(
            "chart",
            string()
                .about("Its name in a HelmRepository, or its path in files")
                .required(),
        )
        .field(
            "version",
            string()
                .default("*".into())
                .about("A version or a range, for a HelmRepository"),
        )
        .field("sourceRef", source.required())
        .field(
            "interval",
            go_duration().about("How often to look for a new version").required(),
        )
        .field(
            "reconcileStrategy",
            one_of(&["ChartVersion", "Revision"])
                .default("ChartVersion".into())
                .about("Whether a new revision of files makes a new version of the chart"),
        )
        .field(
            "valuesFiles",
            list(&string()).about("Files whose values, merged in this order, replace those of the chart"),
        )
        .field("valuesFile", string().about("The first of them (betas)"))
        .field(
            "ignoreMissingValuesFiles",
            boolean().about("Whether files that are not there are passed over"),
        )
        .field("verify", image_verification())
        .field("suspend", suspend())
        .field("accessFrom", access_from())
        .rule(
            "!has(self.verify) || self.sourceRef.kind == 'HelmRepository'",
            "spec.verify is only supported when spec.sourceRef.kind is 'HelmRepository'",
        )
}

fn status() -> Schema {
    reconciled_status()
        .field("artifact", artifact())
        .field("observedChartName", string())
        .field("observedSourceArtifactRevision", string())
        .field("observedValuesFiles", list(&string()))
        .field("url", string())
}
