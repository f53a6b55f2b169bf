//! HelmRepositories and HelmCharts that nobody serves.

use super::findings::Findings;
use crate::cli::install::components::Components;
use crate::cli::installed::at;
use bumpwright_kube::{Cluster, GIT_REPOSITORY, Kind, Resource};

/// Kinds of source-controller that bumpwright serves with the component helm only.
const CHARTS: [Kind; 2] = [
    Kind {
        kind: "HelmChart",
        plural: "helmcharts",
        ..GIT_REPOSITORY
    },
    Kind {
        kind: "HelmRepository",
        plural: "helmrepositories",
        ..GIT_REPOSITORY
    },
];

/// Objects that nobody reconciles when bumpwright has source-controller's lease.
pub(super) async fn check(cluster: &Cluster, components: Components, findings: &mut Findings) {
    if components.kinds.helm {
        return;
    }
    for kind in &CHARTS {
        let listed = cluster.list(&Resource::of(kind, true), "", "").await;
        let (count, first) = match &listed {
            Ok(all) => (all.len(), all.first()),
            // Without the definition there are none.
            Err(error) if error.is_not_found() => continue,
            Err(error) => {
                let what = format!(
                    "cannot list {}, which bumpwright does not serve without the component helm: {error}",
                    kind.plural
                );
                findings.unknown("charts", what);
                continue;
            }
        };
        let Some(first) = first else { continue };
        let (namespace, name) = (at(first, "/metadata/namespace"), at(first, "/metadata/name"));
        findings.warn(
            "charts",
            format!(
                "objects of the kind {}, which bumpwright does not serve without the component helm: {count}, such as \
                 {namespace}/{name}; name helm in --components, or keep source-controller for all sources",
                kind.kind
            ),
        );
    }
}
