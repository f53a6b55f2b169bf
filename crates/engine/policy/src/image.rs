//! The image that a policy chose.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::reference::is_reference;

/// The latest image in a policy's status (`status.latestRef`, docs/decisions.md C36).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LatestRef {
    /// The image's name as in the `ImageRepository`, without tag.
    pub name: String,
    /// The chosen tag.
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
        let text = self.to_string();
        if is_reference(&text) {
            Ok(())
        } else {
            Err(InvalidImage { text })
        }
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
    }
}
