//! What a policy makes of the tags of its repository (image-reflector-controller v1.2.0, `applyPolicy` and
//! `updateImageRefs`), and whether its guards let it through.

use super::error::ScanError;
use super::scanner::{Scanner, Tags};
use bumpwright_api::{ImagePolicy, ImageRepository, Objects};
use bumpwright_gostd::Time;
use bumpwright_policy::{DigestSource, InvalidAnnotation, InvalidPolicy, InvalidReflection, LatestRef, NoTag, Refusal};

/// What a policy chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The image, with its digest if the policy reflects it.
    pub image: LatestRef,
}

/// Why a policy gives no image, in the controller's words where it has some.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoImage {
    /// Its rule or filter (`InvalidPolicy`).
    #[error(transparent)]
    Policy(#[from] InvalidPolicy),
    /// Its digest reflection (`IntervalNotConfigured`).
    #[error(transparent)]
    Reflection(#[from] InvalidReflection),
    /// One of its annotations (`InvalidAnnotation`).
    #[error(transparent)]
    Annotation(#[from] InvalidAnnotation),
    /// The repository has no tags.
    #[error("no tags in the repository")]
    NoTags,
    /// None of the tags will do.
    #[error(transparent)]
    NoTag(#[from] NoTag),
    /// The registry does not tell the digest.
    #[error("failed fetching digest of {image}: {error}")]
    Digest {
        /// Image and tag.
        image: String,
        /// Why not.
        error: Box<ScanError>,
    },
    /// The registry does not tell the age.
    #[error("the age of {image} cannot be had: {error}")]
    Age {
        /// Image and tag.
        image: String,
        /// Why not.
        error: Box<ScanError>,
    },
    /// A guard holds it back.
    #[error("{image}: {refusal}")]
    Refused {
        /// Image and tag.
        image: String,
        /// The guard.
        refusal: Box<Refusal>,
    },
}

/// A policy and what it chooses from.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The policy.
    pub policy: &'a ImagePolicy,
    /// The repository that it names.
    pub repository: &'a ImageRepository,
    /// The tags of that repository.
    pub tags: &'a Tags,
    /// What it chose last, for digests that are kept.
    pub before: Option<&'a LatestRef>,
}

/// The image of a policy. `objects` has the Secrets, `now` is the time that ages are measured at.
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
