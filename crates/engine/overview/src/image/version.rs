//! Versions of images: as statuses have them, and as objects name them.

use bumpwright_policy::{LatestRef, Reference, Validation};
use bumpwright_text::Cuts;
use serde::Serialize;

use crate::facts::ImageRef;

/// The most bytes of an image that is read: a name may have 255, a tag 128, and a digest 135.
const LONGEST: usize = 1_000;

/// A version of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// The image without its tag.
    pub name: String,
    pub tag: String,
    /// Digest; empty where it is not reflected.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
}

impl Version {
    /// Whether a status has this one.
    pub(crate) fn is(&self, image: &ImageRef) -> bool {
        (&self.name, &self.tag, &self.digest) == (&image.name, &image.tag, &image.digest)
    }

    /// The version of an image with a tag or a digest; none of other texts.
    pub(crate) fn of_image(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let name = bare(text);
        let (tagged, digest) = text.split_once('@').unwrap_or((text, ""));
        let tag = tagged.strip_prefix(name).and_then(|rest| rest.strip_prefix(':'));
        let version = Self {
            name: name.to_owned(),
            tag: tag.unwrap_or("").to_owned(),
            digest: digest.to_owned(),
        };
        (!version.spelled().is_empty()).then_some(version)
    }

    /// The tag, or the digest without one.
    pub(crate) fn spelled(&self) -> &str {
        if self.tag.is_empty() { &self.digest } else { &self.tag }
    }

    /// Whether an object's image is this version; a tag or digest that one of them leaves out is not compared.
    pub(crate) fn is_met_by(&self, image: &Self) -> bool {
        let is_same = |own: &str, other: &str| own.is_empty() || other.is_empty() || own == other;
        is_same(&self.tag, &image.tag) && is_same(&self.digest, &image.digest)
    }
}

impl From<&ImageRef> for Version {
    fn from(image: &ImageRef) -> Self {
        Self {
            name: image.name.clone(),
            tag: image.tag.clone(),
            digest: image.digest.clone(),
        }
    }
}

impl From<LatestRef> for Version {
    fn from(image: LatestRef) -> Self {
        Self {
            name: image.name,
            tag: image.tag,
            digest: image.digest.unwrap_or_default(),
        }
    }
}

/// `name:tag`, with the digest where it is reflected.
impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.name, self.tag)?;
        match self.digest.as_str() {
            "" => Ok(()),
            digest => write!(f, "@{digest}"),
        }
    }
}

/// The name of an image without tag and digest.
pub(crate) fn bare(image: &str) -> &str {
    let image = image.before('@');
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    }
}

/// The name of an image with the registry and folder that may be left out: `index.docker.io/library/nginx`.
pub(crate) fn full(name: &str) -> String {
    let parsed = Reference::parse(name, Validation::Weak);
    parsed.map_or_else(|_| name.to_owned(), |reference| reference.context())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::of_image(text).unwrap()
    }

    #[test]
    fn images_are_read_with_tag_and_digest() {
        let parts = |text: &str| {
            let Version { name, tag, digest } = version(text);
            [name, tag, digest]
        };
        assert_eq!(parts("acme/web:1.0"), ["acme/web", "1.0", ""]);
        assert_eq!(
            parts("host:5000/web:1.0@sha256:00"),
            ["host:5000/web", "1.0", "sha256:00"]
        );
        assert_eq!(parts("host:5000/web@sha256:00"), ["host:5000/web", "", "sha256:00"]);
        assert_eq!(Version::of_image("host:5000/web"), None);
        assert_eq!(Version::of_image(&format!("web:{}", "1".repeat(LONGEST))), None);
    }

    #[test]
    fn what_is_left_out_of_a_version_is_not_compared() {
        for (chosen, image, is_met) in [
            ("web:1.0", "web:1.0", true),
            ("web:1.0", "web:1.1", false),
            ("web:1.0", "web:1.0@sha256:00", true),
            ("web:1.0@sha256:00", "web:1.0", true),
            ("web:1.0@sha256:00", "web:1.0@sha256:01", false),
            ("web:1.0@sha256:00", "web@sha256:01", false),
        ] {
            assert_eq!(version(chosen).is_met_by(&version(image)), is_met, "{chosen} {image}");
        }
    }

    #[test]
    fn names_of_docker_hub_are_one() {
        for name in [
            "nginx",
            "library/nginx",
            "docker.io/library/nginx",
            "index.docker.io/library/nginx",
        ] {
            assert_eq!(full(name), "index.docker.io/library/nginx", "{name}");
        }
        assert_eq!(full("ghcr.io/acme/web"), "ghcr.io/acme/web");
    }
}
