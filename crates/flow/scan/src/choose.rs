//! The choice of a policy among the tags of its repository (image-reflector-controller v1.2.0, `applyPolicy` and
//! `updateImageRefs`), and its guards.

use super::error::ScanError;
use super::scanner::{Scanner, Tags};
use super::verification::Settings;
use bumpwright_api::{ImagePolicy, ImageRepository, Objects};
use bumpwright_gostd::Time;
use bumpwright_policy::{
    DigestSource, GuardRefusal, InvalidAnnotation, InvalidPolicy, InvalidReflection, LatestRef, NoTag, Verification,
};

/// How many tags are tried where lower ones may be taken.
const MOST_TRIED: usize = 10;

/// The choice of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The image, with its digest if the policy reflects it.
    pub image: LatestRef,
    /// Why higher tags were passed over, each with its image (`bumpwright.dev/verify-fallback`).
    pub passed_over: Vec<String>,
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
    /// What is needed to verify signatures cannot be had.
    #[error("signatures cannot be verified: {0}")]
    Verification(String),
    /// A guard holds the image back.
    #[error("{image}: {refusal}")]
    Refused {
        /// Image and tag.
        image: String,
        /// The guard.
        refusal: Box<GuardRefusal>,
        /// Whether the previous choice may stay.
        stays: bool,
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
    /// Whether the tags are proven by the stage that the policy promotes from, or it need not prove them.
    pub is_proven: bool,
    /// The digest that is proven with the first tag: it counts, not the registry's.
    pub digest: Option<&'a str>,
}

impl Asked<'_> {
    /// Where the digest of an image comes from.
    fn source(&self, image: &LatestRef) -> Result<DigestSource, InvalidReflection> {
        let (reflection, _) = self.policy.digest_reflection()?;
        let source = reflection.source(&image.name, &image.tag, self.before);
        let proven = self.digest.filter(|_| self.tags.tags.first() == Some(&image.tag));
        Ok(match (source, proven) {
            (DigestSource::Registry, Some(digest)) => DigestSource::Known(digest.to_owned()),
            (source, _) => source,
        })
    }
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
    policy.digest_reflection()?;
    let chooser = policy.chooser()?;
    let guards = policy.guards()?;
    if tags.tags.is_empty() {
        return Err(NoImage::NoTags);
    }
    let newest = chooser.latest(&tags.tags)?;
    let candidate = match &guards.verification {
        None => Candidate::unverified(newest),
        Some(verification) => verified(scanner, asked, objects, now, (verification, &chooser))?,
    };
    let Candidate { tag, digest, .. } = candidate;
    let mut image = named(tags, &tag);
    if !asked.is_proven {
        guards.check_without_cluster().map_err(|refusal| NoImage::Refused {
            image: image.to_string(),
            refusal: Box::new(refusal),
            stays: true,
        })?;
    }
    if guards.minimum_age.is_some() {
        let created = scanner.created(policy, repository, objects, &tag);
        let created = created.map_err(|error| NoImage::Age {
            image: image.to_string(),
            error: Box::new(error),
        })?;
        if let Some(book) = scanner.notes() {
            book.made(&policy.metadata.object_name(), &image, created.as_ref());
        }
        guards
            .check_age(created.as_ref(), now)
            .map_err(|refusal| NoImage::Refused {
                image: image.to_string(),
                refusal: Box::new(refusal),
                stays: true,
            })?;
    }
    image.digest = match asked.source(&image)? {
        DigestSource::Absent => None,
        DigestSource::Known(digest) => Some(digest),
        // What was verified is what is written, though the tag may have moved on.
        DigestSource::Registry => match digest {
            Some(digest) => Some(digest),
            None => Some(digest_of(scanner, asked, objects, &image)?),
        },
    };
    let passed_over = candidate.passed_over;
    Ok(Chosen { image, passed_over })
}

/// A tag that is chosen.
struct Candidate {
    tag: String,
    /// The digest that was verified.
    digest: Option<String>,
    passed_over: Vec<String>,
}

impl Candidate {
    fn unverified(tag: &str) -> Self {
        Self {
            tag: tag.to_owned(),
            digest: None,
            passed_over: Vec::new(),
        }
    }
}

fn named(tags: &Tags, tag: &str) -> LatestRef {
    LatestRef {
        name: tags.image.clone(),
        tag: tag.to_owned(),
        digest: None,
    }
}

fn digest_of(scanner: &Scanner, asked: &Asked<'_>, objects: &Objects, image: &LatestRef) -> Result<String, NoImage> {
    let digest = scanner.digest(asked.policy, asked.repository, objects, &image.tag);
    digest.map_err(|error| NoImage::Digest {
        image: image.to_string(),
        error: Box::new(error),
    })
}

/// The newest tag, or with a fallback the newest of some, whose signatures count.
fn verified(
    scanner: &Scanner,
    asked: &Asked<'_>,
    objects: &Objects,
    now: &Time,
    (verification, chooser): (&Verification, &bumpwright_policy::ImagePolicy),
) -> Result<Candidate, NoImage> {
    let tags = &asked.tags.tags;
    let settings = Settings::of(verification, asked.policy, objects, now).map_err(NoImage::Verification)?;
    let survey = chooser.survey(tags).map_err(NoTag::from)?;
    let most = if verification.fallback { MOST_TRIED } else { 1 };
    let mut passed_over = Vec::new();
    let mut first = None;
    let noted = scanner.notes().map(|book| (book, asked.policy.metadata.object_name()));
    if let Some((book, name)) = &noted {
        book.verifying(name);
    }
    let judged = |image: &LatestRef| {
        let digest = match asked.source(image)? {
            DigestSource::Known(digest) => digest,
            DigestSource::Absent | DigestSource::Registry => digest_of(scanner, asked, objects, image)?,
        };
        let verdict = scanner.verify(asked.policy, asked.repository, objects, (&digest, &settings, now));
        let verdict = verdict.map_err(|error| NoImage::Digest {
            image: image.to_string(),
            error: Box::new(error),
        })?;
        if let Some((book, name)) = &noted {
            book.judged(name, image, &verdict);
        }
        Ok::<_, NoImage>(verdict.map(|()| digest))
    };
    for tag in survey.ranked().take(most) {
        let image = named(asked.tags, tag);
        let why = match judged(&image)? {
            Ok(digest) => {
                return Ok(Candidate {
                    tag: tag.to_owned(),
                    digest: Some(digest),
                    passed_over,
                });
            }
            Err(why) => why,
        };
        let refusal = GuardRefusal::Unsigned { why };
        passed_over.push(format!("{image}: {refusal}"));
        first.get_or_insert((image, refusal));
    }
    // What was chosen when no signature was wanted, or by other keys, does not stay either.
    let before = asked.before.filter(|before| before.name == asked.tags.image);
    let stays = before.map(&judged).transpose()?.is_some_and(|verdict| verdict.is_ok());
    match first {
        Some((image, refusal)) => Err(NoImage::Refused {
            image: image.to_string(),
            refusal: Box::new(refusal),
            stays,
        }),
        None => Err(NoImage::NoTags),
    }
}
