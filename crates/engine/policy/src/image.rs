//! The image that a policy chose.

use std::fmt;

use bumpwright_semver::Version;
use bumpwright_text::Cuts;
use serde::{Deserialize, Serialize};

use super::reference::{Reference, is_reference};
use super::version::is_version;

/// The latest image in a policy's status (`status.latestRef`, docs/decisions.md C36).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LatestRef {
    /// The image's name as in the `ImageRepository`, without tag.
    pub name: String,
    pub tag: String,
    /// The digest of the tag, if the policy reflects digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// An invalid image reference, with Flux's message. It must not be written to any file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("encountered invalid image ref \"{text}\": could not parse reference: {text}")]
pub struct InvalidImage {
    /// The full reference.
    pub text: String,
}

impl LatestRef {
    /// Splits `NAME[:TAG][@DIGEST]`, without validation of the parts.
    #[must_use]
    pub fn split(text: &str) -> (&str, Option<&str>, Option<&str>) {
        let (image, digest) = match text.split_once('@') {
            Some((image, digest)) => (image, Some(digest)),
            None => (text, None),
        };
        match image.rsplit_once(':') {
            // A colon before the last slash belongs to the registry's port.
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag), digest),
            _ => (image, None, digest),
        }
    }

    /// Checks that this is a valid image reference.
    ///
    /// # Errors
    ///
    /// [`InvalidImage`] for characters or lengths that a registry, repository, tag or digest cannot have.
    pub fn check(&self) -> Result<(), InvalidImage> {
        let text = match (self.tag.as_str(), &self.digest) {
            // An empty tag is not a tag, not the default one.
            ("", None) => format!("{}:", self.name),
            _ => self.to_string(),
        };
        if is_reference(&text) {
            Ok(())
        } else {
            Err(InvalidImage { text })
        }
    }

    /// Checks that this is a valid image reference, or the version of a chart or a tag of a Git repository
    /// (`bumpwright.dev/kind`), which no registry need accept as a tag.
    ///
    /// # Errors
    ///
    /// [`InvalidImage`] for what is neither.
    pub fn check_version(&self) -> Result<(), InvalidImage> {
        self.check().or_else(|invalid| match self.as_version() {
            Some(_) => Ok(()),
            None => Err(invalid),
        })
    }

    /// The parts of the image, or of the version.
    #[must_use]
    pub fn reference(&self) -> Option<Reference> {
        let of_image = Reference::parse(&self.to_string(), super::Validation::Weak).ok();
        of_image.or_else(|| self.as_version())
    }

    fn as_version(&self) -> Option<Reference> {
        let is_version = self.digest.is_none() && is_version(&self.tag);
        Reference::of_address(&self.name)
            .filter(|_| is_version)
            .map(|address| address.with_version(&self.tag))
    }

    /// Whether the tag is a version that can be no slip in a tag of a registry: it has build metadata, or is that of
    /// a package (`app/v1.1.0`, `app@1.1.0`).
    #[must_use]
    pub fn is_clear(&self) -> bool {
        if !self.tag.contains(['+', '/', '@']) {
            return false;
        }
        let last = self.tag.behind_last(['@', '/']);
        Version::parse(last).is_ok()
    }

    /// `NAME:VERSION` of a chart or a Git repository, whose version may have `/` and `@`: a colon in the path is not
    /// that of a port.
    #[must_use]
    pub fn of_version(text: &str) -> Option<Self> {
        let slash = text.find('/')?;
        let (_, path) = text.split_at_checked(slash)?;
        let (path, tag) = path.split_once(':')?;
        let name = text.get(..slash + path.len())?;
        let image = Self {
            name: name.to_owned(),
            tag: tag.to_owned(),
            digest: None,
        };
        image.as_version().is_some().then_some(image)
    }
}

/// The full reference: `name:tag`, `name:tag@digest`, or `name@digest` without a tag.
impl fmt::Display for LatestRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.tag.is_empty() {
            write!(f, ":{}", self.tag)?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_split_and_put_together() {
        for (text, name, tag, digest) in [
            ("o/app:1.0", "o/app", Some("1.0"), None),
            ("host:5000/app", "host:5000/app", None, None),
            (
                "host:5000/app:1.0@sha256:ab",
                "host:5000/app",
                Some("1.0"),
                Some("sha256:ab"),
            ),
            ("app@sha256:ab", "app", None, Some("sha256:ab")),
            ("", "", None, None),
        ] {
            assert_eq!(LatestRef::split(text), (name, tag, digest), "{text}");
            let whole = LatestRef {
                name: name.to_owned(),
                tag: tag.unwrap_or_default().to_owned(),
                digest: digest.map(str::to_owned),
            };
            assert_eq!(whole.to_string(), text);
        }
    }

    /// It is never written to a file.
    #[test]
    fn what_no_registry_takes_is_refused() {
        let image = |tag: &str| LatestRef {
            name: "o/app".to_owned(),
            tag: tag.to_owned(),
            digest: None,
        };
        assert_eq!(image("1.0").check(), Ok(()));
        let text = "o/app:1 0".to_owned();
        assert_eq!(image("1 0").check(), Err(InvalidImage { text }));
        assert_eq!(
            image("").check(),
            Err(InvalidImage {
                text: "o/app:".to_owned()
            })
        );
        let pinned = LatestRef {
            digest: Some(format!("sha256:{}", "a".repeat(64))),
            ..image("")
        };
        assert_eq!(pinned.check(), Ok(()), "a digest alone says which one");
    }

    #[test]
    fn a_version_is_no_tag_of_a_registry() {
        let image = |name: &str, tag: &str| LatestRef {
            name: name.to_owned(),
            tag: tag.to_owned(),
            digest: None,
        };
        for (name, tag) in [
            ("charts.example.com/web", "1.0.1+up2.0.1"),
            ("git.example.com:3000/Acme/App.git", "app/v1.1.0"),
            ("git.example.com/acme/app", "@scope/app@1.1.0"),
        ] {
            let image = image(name, tag);
            assert!(image.check().is_err() && image.check_version().is_ok(), "{image}");
            assert_eq!(LatestRef::of_version(&image.to_string()).as_ref(), Some(&image));
            let reference = image.reference();
            let parts = reference.as_ref().map(|it| (it.text(), it.identifier().as_str()));
            assert_eq!(parts, Some((image.to_string().as_str(), tag)));
        }
        for (name, tag) in [
            ("charts.example.com/web", "1 0"),
            ("charts.example.com/web", ""),
            ("web", "1.0.0+a"),
            ("a/web", "1.0.0+a"),
            ("git.example.com/a b", "1.0.0+a"),
        ] {
            assert!(image(name, tag).check_version().is_err(), "{name} {tag}");
        }
    }
}
