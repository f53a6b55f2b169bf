//! The versions of a policy's image that failed in a cluster (docs/guides/rollouts.md): they are not written again
//! until a newer one appears, or a person releases them (`bumpwright.dev/release`).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::image::LatestRef;
use bumpwright_text::{Cuts, Excerpt};

/// The annotation with the failed versions, which automations write.
pub const FAILED_VERSIONS: &str = "state.bumpwright.dev/failed-versions";

/// The most versions that are remembered.
const VERSIONS: usize = 20;

/// The failed versions of a policy: `tag`, `tag@digest` where the digest is reflected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FailedVersions(BTreeMap<String, FailedVersion>);

/// Why a version failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FailedVersion {
    /// The name of the image.
    pub image: String,
    /// The Kustomization that failed with it, `namespace/name`.
    pub kustomization: String,
    /// The message of its Ready condition.
    pub message: String,
    /// The commit that it failed at.
    pub commit: String,
    /// When it was held, in seconds since 1970-01-01 UTC.
    pub at: i64,
}

impl FailedVersions {
    /// Reads the annotation. An invalid text, which only others write, holds nothing back.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Those of a policy with these annotations.
    #[must_use]
    pub fn of(annotations: &BTreeMap<String, String>) -> Self {
        let text = annotations.get(FAILED_VERSIONS);
        text.map(|text| Self::parse(text)).unwrap_or_default()
    }

    /// The text of the annotation; none when no version failed.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| bumpwright_json::written(self))
    }

    /// The same without versions that are released: by tag, or by tag and digest.
    #[must_use]
    pub fn without(&self, released: &[String]) -> Self {
        let is_released = |version: &str| {
            let tag = version.before('@');
            released.iter().any(|one| one == version || one == tag)
        };
        let remaining = self.0.iter().filter(|(version, _)| !is_released(version));
        Self(
            remaining
                .map(|(version, failed)| (version.clone(), failed.clone()))
                .collect(),
        )
    }

    /// Adds a version. The oldest ones are forgotten.
    pub fn add(&mut self, image: &LatestRef, failed: FailedVersion) {
        self.0.insert(version(image), failed);
        while self.0.len() > VERSIONS {
            let oldest = self.0.iter().min_by_key(|(_, failed)| failed.at);
            let Some(oldest) = oldest.map(|(version, _)| version.clone()) else {
                return;
            };
            self.0.remove(&oldest);
        }
    }

    /// Why this image failed, if it did.
    #[must_use]
    pub fn get(&self, image: &LatestRef) -> Option<&FailedVersion> {
        let failed = self.0.get(&version(image))?;
        (failed.image == image.name).then_some(failed)
    }

    /// The versions, with their failures.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FailedVersion)> {
        self.0.iter().map(|(version, failed)| (version.as_str(), failed))
    }

    /// Whether no version failed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn version(image: &LatestRef) -> String {
    match &image.digest {
        Some(digest) => format!("{}@{digest}", image.tag),
        None => image.tag.clone(),
    }
}

impl fmt::Display for FailedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message.first_line();
        write!(f, "it failed in Kustomization {}: {message}", self.kustomization)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn image(tag: &str, digest: Option<&str>) -> LatestRef {
        LatestRef {
            name: "o/app".to_owned(),
            tag: tag.to_owned(),
            digest: digest.map(str::to_owned),
        }
    }

    fn failed(at: i64) -> FailedVersion {
        FailedVersion {
            image: "o/app".to_owned(),
            kustomization: "fs/apps".to_owned(),
            message: "timeout\nmore".to_owned(),
            commit: "c".to_owned(),
            at,
        }
    }

    #[test]
    fn a_failed_version_is_known_by_tag_and_digest() {
        let mut all = FailedVersions::default();
        assert_eq!(all.text(), None);
        all.add(&image("1.2.3", None), failed(1));
        all.add(&image("latest", Some("sha256:a")), failed(2));
        let all = FailedVersions::parse(&all.text().unwrap());
        assert_eq!(
            all.get(&image("1.2.3", None)).unwrap().to_string(),
            "it failed in Kustomization fs/apps: timeout"
        );
        assert!(all.get(&image("1.2.4", None)).is_none());
        assert!(all.get(&image("latest", Some("sha256:b"))).is_none());
        let other = LatestRef {
            name: "x/app".to_owned(),
            ..image("1.2.3", None)
        };
        assert!(all.get(&other).is_none());
        let released = all.without(&["1.2.3".to_owned(), "latest".to_owned()]);
        assert!(released.is_empty() && !all.is_empty());
        for (released, kept) in [
            ("latest@sha256:a", vec!["1.2.3"]),
            ("latest@sha256:b", vec!["1.2.3", "latest@sha256:a"]),
            ("1.2.3", vec!["latest@sha256:a"]),
        ] {
            let rest = all.without(&[released.to_owned()]);
            assert_eq!(rest.iter().map(|(version, _)| version).collect::<Vec<_>>(), kept);
        }
        assert!(FailedVersions::parse("[").is_empty());
        let annotations = BTreeMap::from([(FAILED_VERSIONS.to_owned(), all.text().unwrap())]);
        assert_eq!(FailedVersions::of(&annotations), all);
        assert!(FailedVersions::of(&BTreeMap::new()).is_empty());
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut all = FailedVersions::default();
        for n in 0..30_i64 {
            all.add(&image(&format!("1.0.{n}"), None), failed(n));
        }
        assert_eq!(all.iter().count(), VERSIONS);
        assert!(all.get(&image("1.0.9", None)).is_none() && all.get(&image("1.0.10", None)).is_some());
    }
}
