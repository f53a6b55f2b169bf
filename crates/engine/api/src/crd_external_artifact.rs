//! The schema of `ExternalArtifact` (`source.toolkit.fluxcd.io`: v1): sources of other controllers.

use super::crd::{AGE, CustomResource, READY, STATUS, column, version};
use super::schema::{anything, map, object, string};
use super::schema_meta::{conditions, source_ref};
use super::schema_source::digested_artifact;

pub(super) fn definition() -> CustomResource {
    CustomResource {
        group: "source.toolkit.fluxcd.io",
        kind: "ExternalArtifact",
        plural: "externalartifacts",
        short_names: &["ea"],
        category: "fluxcd-sources",
        versions: vec![version(
            "v1",
            &[AGE, READY, STATUS, column("Source", ".spec.sourceRef.name")],
        )],
        spec: object().field(
            "sourceRef",
            source_ref(string()).about("The object that the artifact was made from"),
        ),
        status: object()
            .field("artifact", digested_artifact())
            .field("conditions", conditions())
            .field(
                "exportedInputs",
                map(&anything()).about("Data of the object that the artifact was made from, for templates"),
            ),
    }
}
