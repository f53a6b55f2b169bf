//! The images that workloads have in another version, whose releases may be asked for.

use std::collections::BTreeSet;

use super::Review;
use bumpwright_update::{ChangedWorkload, ImageStep};

/// The kinds whose images are images for certain: a field `image` of another kind may be anything.
const KINDS: [&str; 8] = [
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
];

impl Review {
    /// The images that workloads have in another version, each step once, in the order of the workloads. Those that
    /// have a value of a Secret in them are left out: registries are not to learn it.
    #[must_use]
    pub fn image_steps(&self) -> Vec<ImageStep> {
        let is_known = |workload: &&ChangedWorkload| KINDS.contains(&workload.object.kind.as_str());
        let images = self.impact.workloads.iter().filter(is_known);
        let images = images.flat_map(|workload| &workload.images);
        let mut known = BTreeSet::new();
        let mut steps: Vec<ImageStep> = Vec::new();
        for image in images.filter(|image| known.insert((image.old.as_str(), image.new.as_str()))) {
            let is_public = [&image.old, &image.new]
                .into_iter()
                .all(|text| self.hide(text) == *text);
            steps.extend(step(&image.old, &image.new).filter(|_| is_public));
        }
        steps
    }
}

/// A step of an image that keeps its name.
pub(super) fn step(old: &str, new: &str) -> Option<ImageStep> {
    let (before, old) = image_parts(old)?;
    let (image, new) = image_parts(new)?;
    (before == image && old != new).then(|| ImageStep {
        image: image.to_owned(),
        old: Some(old.to_owned()),
        new: new.to_owned(),
    })
}

/// The name of an image, and its version: a tag, a digest with `@` before it, or a tag and that.
#[must_use]
pub fn image_parts(image: &str) -> Option<(&str, &str)> {
    let end = image.rfind('/').map_or(0, |at| at + 1);
    let at = end + image.get(end..)?.find([':', '@'])?;
    let (name, version) = (image.get(..at)?, image.get(at..)?);
    Some((name, version.strip_prefix(':').unwrap_or(version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_split_into_name_and_version() {
        for (image, expected) in [
            ("web:1.2", Some(("web", "1.2"))),
            ("localhost:5000/web", None),
            ("localhost:5000/web:1.2", Some(("localhost:5000/web", "1.2"))),
            ("ghcr.io/a/web@sha256:0f", Some(("ghcr.io/a/web", "@sha256:0f"))),
            ("ghcr.io/a/web:1@sha256:0f", Some(("ghcr.io/a/web", "1@sha256:0f"))),
            ("**", None),
            ("", None),
        ] {
            assert_eq!(image_parts(image), expected, "{image}");
        }
    }

    #[test]
    fn only_versions_of_one_image_are_a_step() {
        let versions = |old: &str, new: &str| step(old, new).map(|step| (step.old, step.new));
        let expected = Some((Some("1".to_owned()), "2".to_owned()));
        assert_eq!(versions("a/web:1", "a/web:2"), expected);
        assert_eq!(versions("a/web:1", "b/web:2"), None);
        assert_eq!(versions("a/web:1", "a/web:1"), None);
        assert_eq!(versions("", "a/web:2"), None);
    }
}
