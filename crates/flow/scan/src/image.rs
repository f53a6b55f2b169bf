//! The image name in an `ImageRepository` (image-reflector-controller v1.2.0, `ParseImageReference`).

use bumpwright_api::{ImageRepository, RepositoryKind};
use bumpwright_policy::{NoReference, Reference, Validation};

/// Why `spec.image` is not a repository (`ImageURLInvalid`), in the controller's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidImage {
    /// It has a URL scheme.
    #[error("image '{image}' should not include URL scheme; remove '{scheme}://'")]
    Scheme {
        /// As written.
        image: String,
        scheme: String,
    },
    /// It has a tag.
    #[error("image '{image}' should not include a tag; remove ':{tag}'")]
    Tag {
        /// As written.
        image: String,
        tag: String,
    },
    /// It cannot be parsed.
    #[error(transparent)]
    NoReference(#[from] NoReference),
}

/// Parses `spec.image` of a repository: what is not a repository of a registry has an address, which may have capitals.
pub fn reference_of(repository: &ImageRepository) -> Result<Reference, InvalidImage> {
    let image = &repository.spec.image;
    let is_address = repository.kind().is_ok_and(|kind| kind != RepositoryKind::Oci);
    match Reference::of_address(image).filter(|_| is_address) {
        Some(address) => Ok(address),
        None => repository_reference(image),
    }
}

/// Parses `spec.image` of a registry.
pub fn repository_reference(image: &str) -> Result<Reference, InvalidImage> {
    if let Some((scheme, _)) = image.split_once("://") {
        return Err(InvalidImage::Scheme {
            image: image.to_owned(),
            scheme: scheme.to_owned(),
        });
    }
    let reference = Reference::parse(image, Validation::Weak)?;
    let below = image.strip_prefix(reference.registry()).unwrap_or(image);
    match below.split(':').nth(1) {
        Some(tag) => Err(InvalidImage::Tag {
            image: image.to_owned(),
            tag: tag.to_owned(),
        }),
        None => Ok(reference),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of image-reflector-controller v1.2.0, `TestParseImageReference`, and its neighbours.
    #[test]
    fn n_055_what_names_no_repository_is_refused_in_the_controllers_words() {
        for (image, expected) in [
            ("example.com/foo/bar", "example.com/foo/bar"),
            ("localhost:5000/app", "localhost:5000/app"),
            ("app", "index.docker.io/library/app"),
            (
                "https://example.com/foo/bar",
                "image 'https://example.com/foo/bar' should not include URL scheme; remove 'https://'",
            ),
            (
                "example.com/foo/bar:v1",
                "image 'example.com/foo/bar:v1' should not include a tag; remove ':v1'",
            ),
            (
                "example.com:5000/foo/bar:v1",
                "image 'example.com:5000/foo/bar:v1' should not include a tag; remove ':v1'",
            ),
            ("example.com/Foo", "could not parse reference: example.com/Foo"),
        ] {
            let said = match repository_reference(image) {
                Ok(reference) => reference.context(),
                Err(error) => error.to_string(),
            };
            assert_eq!(said, expected, "{image}");
        }
    }
}
