//! The choice of a policy among the tags of its repository (image-reflector-controller v1.2.0, `applyPolicy` and
//! `updateImageRefs`), and its guards.

use super::error::ScanError;
use super::scanner::{Scanner, Tags};
use bumpwright_api::{ImagePolicy, ImageRepository, Objects};
use bumpwright_gostd::Time;
use bumpwright_policy::{
    DigestSource, GuardRefusal, InvalidAnnotation, InvalidPolicy, InvalidReflection, LatestRef, NoTag,
};

/// The choice of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The image, with its digest if the policy reflects it.
    pub image: LatestRef,
}

/// Why a policy has no image, in the controller's words where it has some.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoImage {
    /// An invalid rule or filter (`InvalidPolicy`).
    #[error(transparent)]
    Policy(#[from] InvalidPolicy),
    /// An invalid digest reflection (`IntervalNotConfigured`).
    #[error(transparent)]
    Reflection(#[from] InvalidReflection),
    /// An invalid annotation (`InvalidAnnotation`).
    #[error(transparent)]
    Annotation(#[from] InvalidAnnotation),
    /// The repository has no tags.
    #[error("no tags in the repository")]
    NoTags,
    /// No tag matches.
    #[error(transparent)]
    NoTag(#[from] NoTag),
    /// The registry does not return the digest.
    #[error("failed fetching digest of {image}: {error}")]
    Digest {
        /// Image and tag.
        image: String,
        /// Why not.
        error: Box<ScanError>,
    },
    /// The age is unknown.
    #[error("the age of {image} cannot be had: {error}")]
    Age {
        /// Image and tag.
        image: String,
        /// Why not.
        error: Box<ScanError>,
    },
    /// A guard holds the image back.
    #[error("{image}: {refusal}")]
    Refused {
        /// Image and tag.
        image: String,
        /// The guard.
        refusal: Box<GuardRefusal>,
    },
}

/// A policy and the input of its choice.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The policy.
    pub policy: &'a ImagePolicy,
    /// The repository that it names.
    pub repository: &'a ImageRepository,
    /// The tags of that repository.
    pub tags: &'a Tags,
    /// The previous choice, for digests that are kept.
    pub before: Option<&'a LatestRef>,
}

/// The image of a policy. `objects` has the Secrets, `now` is the time against which ages are measured.
///
/// # Errors
/// [`NoImage`]
pub fn choose(scanner: &Scanner, asked: &Asked<'_>, objects: &Objects, now: &Time) -> Result<Chosen, NoImage> {
    let Asked {
        policy,
        repository,
        tags,
        ..
    } = *asked;
    let (reflection, _) = policy.digest_reflection()?;
    let chooser = policy.chooser()?;
    let guards = policy.guards()?;
    if tags.tags.is_empty() {
        return Err(NoImage::NoTags);
    }
    let tag = chooser.latest(&tags.tags)?;
    let mut image = LatestRef {
        name: tags.image.clone(),
        tag: tag.to_owned(),
        digest: None,
    };
    if guards.minimum_age.is_some() {
        let created = scanner.created(policy, repository, objects, tag);
        let created = created.map_err(|error| NoImage::Age {
            image: image.to_string(),
            error: Box::new(error),
        })?;
        guards
            .check_age(created.as_ref(), now)
            .map_err(|refusal| NoImage::Refused {
                image: image.to_string(),
                refusal: Box::new(refusal),
            })?;
    }
    image.digest = match reflection.source(&image.name, &image.tag, asked.before) {
        DigestSource::Absent => None,
        DigestSource::Known(digest) => Some(digest),
        DigestSource::Registry => {
            let digest = scanner.digest(policy, repository, objects, tag);
            Some(digest.map_err(|error| NoImage::Digest {
                image: image.to_string(),
                error: Box::new(error),
            })?)
        }
    };
    Ok(Chosen { image })
}
