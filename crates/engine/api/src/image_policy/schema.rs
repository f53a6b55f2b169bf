//! The schema of `ImagePolicy` (`image.toolkit.fluxcd.io`: v1beta1, v1beta2, v1).

use crate::schema::crd::{AGE, CustomResource, READY, STATUS, column, version};
use crate::schema::shared::{duration, namespaced_ref, reconciled_status, suspend};
use crate::schema::structural::{Schema, object, one_of, string};

pub(crate) fn definition() -> CustomResource {
    let columns = [
        column("Image", ".status.latestRef.name"),
        column("Tag", ".status.latestRef.tag"),
        READY,
        STATUS,
        AGE,
    ];
    CustomResource {
        group: "image.toolkit.fluxcd.io",
        kind: "ImagePolicy",
        plural: "imagepolicies",
        short_names: &["imgpol", "imagepol"],
        category: "fluxcd-images",
        versions: vec![
            version("v1", &columns),
            version("v1beta2", &columns),
            version("v1beta1", &[column("LatestImage", ".status.latestImage")]),
        ],
        spec: spec(),
        status: status(),
    }
}

/// `digestReflectionPolicy` (with its default), `interval` and `suspend` are v1beta2's and v1's.
fn spec() -> Schema {
    object()
        .field(
            "imageRepositoryRef",
            namespaced_ref().about("The ImageRepository to choose from").required(),
        )
        .field("policy", choice().required())
        .field("filterTags", filter())
        .field(
            "digestReflectionPolicy",
            one_of(&["Always", "IfNotPresent", "Never"])
                .default("Never".into())
                .about("Whether status.latestRef has the digest, and whether it is looked up again"),
        )
        .field(
            "interval",
            duration().about("How often the digest is looked up; with digestReflectionPolicy Always only"),
        )
        .field("suspend", suspend())
        .rule(
            "!has(self.interval) || (has(self.digestReflectionPolicy) && self.digestReflectionPolicy == 'Always')",
            "spec.interval is only accepted when spec.digestReflectionPolicy is set to 'Always'",
        )
        .rule(
            "has(self.interval) || !has(self.digestReflectionPolicy) || self.digestReflectionPolicy != 'Always'",
            "spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'",
        )
}

fn choice() -> Schema {
    let range = string().about("A range of versions, such as 1.x or >=1.0.0 <2.0.0");
    let order = || {
        one_of(&["asc", "desc"])
            .default("asc".into())
            .about("Which end is the newest: asc the last or largest, desc the first or smallest")
    };
    object()
        .about("How a tag is chosen: one of the three")
        .field("semver", object().field("range", range.required()))
        .field("alphabetical", object().field("order", order()))
        .field("numerical", object().field("order", order()))
}

fn filter() -> Schema {
    object()
        .about("Which tags are looked at")
        .field(
            "pattern",
            string().about("A regular expression (RE2) that a tag must match"),
        )
        .field(
            "extract",
            string().about("What of the match is compared, such as $1 or ${name}"),
        )
}

/// `latestImage` is v1beta1's, `observedPreviousImage` that of the first releases of
/// v1beta2 (N-043, docs/decisions.md C36).
fn status() -> Schema {
    reconciled_status()
        .field("latestRef", image_ref().about("The image that was chosen last"))
        .field(
            "observedPreviousRef",
            image_ref().about("The image that was chosen before"),
        )
        .field("latestImage", string().about("latestRef in one text"))
        .field(
            "observedPreviousImage",
            string().about("observedPreviousRef in one text"),
        )
}

/// An image with its tag, as a status has it (`ImageRef`).
pub(crate) fn image_ref() -> Schema {
    object()
        .field("name", string().required())
        .field("tag", string().required())
        .field("digest", string())
}
