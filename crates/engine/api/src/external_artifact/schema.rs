//! The schema of `ExternalArtifact` (`source.toolkit.fluxcd.io`: v1): sources of other controllers.

use crate::schema::crd::{AGE, CustomResource, READY, STATUS, column, version};
use crate::schema::shared::{conditions, source_ref};
use crate::schema::source::digested_artifact;
use crate::schema::structural::{anything, map, object, string};

pub(crate) fn definition() -> CustomResource {
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
