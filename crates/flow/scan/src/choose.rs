//! The choice of a policy among the tags of its repository (image-reflector-controller v1.2.0, `applyPolicy` and
//! `updateImageRefs`), and its guards.

use std::collections::BTreeMap;

use super::aged::Aged;
use super::error::ScanError;
use super::scanner::{Scanner, Tags};
use super::verification::{Settings, VerificationError};
use bumpwright_api::{ImagePolicy, ImageRepository, Objects, RepositoryKind};
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
    /// Why higher tags were passed over, with their images (`bumpwright.dev/minimum-age`,
    /// `bumpwright.dev/verify-fallback`).
    pub passed_over: Vec<String>,
    /// When the first of them is old enough.
    pub due: Option<Time>,
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
    #[error("{}", .0.in_full())]
    NoTag(#[from] NoTag),
    /// The registry does not return the digest.
    #[error("failed fetching digest of {image}: {error}")]
    Digest {
        /// Image and tag.
        image: String,
        error: Box<ScanError>,
    },
    /// The age is unknown.
    #[error("the age of {image} cannot be had: {error}")]
    Age {
        /// Image and tag.
        image: String,
        error: Box<ScanError>,
    },
    /// What is needed to verify signatures cannot be had.
    #[error("signatures cannot be verified: {0}")]
    Verification(#[from] VerificationError),
    /// A guard holds the image back.
    #[error("{image}: {refusal}")]
    Refused {
        /// Image and tag.
        image: String,
        refusal: Box<GuardRefusal>,
        /// Whether the previous choice may stay.
        stays: bool,
        /// When the first image is old enough, if that is what is waited for.
        due: Option<Time>,
    },
}

/// A policy and the input of its choice.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
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

/// The rule and the filter of a policy, for what its repository lists.
pub fn chooser(
    policy: &ImagePolicy,
    repository: &ImageRepository,
) -> Result<bumpwright_policy::ImagePolicy, InvalidPolicy> {
    let chooser = policy.chooser()?;
    Ok(match repository.kind() {
        Ok(RepositoryKind::Helm | RepositoryKind::GitTags) => chooser.of_versions(),
        Ok(RepositoryKind::Oci) | Err(_) => chooser,
    })
}

/// The image of a policy. `objects` has the Secrets, `now` is the time against which ages are measured.
pub fn choose(scanner: &Scanner, asked: &Asked<'_>, objects: &Objects, now: &Time) -> Result<Chosen, NoImage> {
    let Asked { policy, tags, .. } = *asked;
    policy.digest_reflection()?;
    let chooser = chooser(policy, asked.repository)?;
    let guards = policy.guards()?;
    if tags.tags.is_empty() {
        return Err(NoImage::NoTags);
    }
    let newest = chooser.latest(&tags.tags)?;
    let is_plain = guards.verification.is_none() && guards.minimum_age.is_none();
    let survey = (!is_plain).then(|| chooser.survey(&tags.tags)).transpose();
    let survey = survey.map_err(NoTag::from)?;
    let mut aged = Aged {
        scanner,
        asked,
        objects,
        guards: &guards,
        now,
        ranked: survey
            .as_ref()
            .map_or_else(|| vec![newest], |survey| survey.ranked().collect()),
        young: BTreeMap::new(),
    };
    let candidate = match &guards.verification {
        None => unverified(&mut aged)?,
        Some(verification) => verified(&mut aged, verification)?,
    };
    let Candidate { tag, digest, .. } = candidate;
    let mut image = named(tags, &tag);
    if !asked.is_proven {
        guards.check_without_cluster().map_err(|refusal| NoImage::Refused {
            image: image.to_string(),
            refusal: Box::new(refusal),
            stays: true,
            due: None,
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
    let passed_over = aged.passed_over().into_iter().chain(candidate.passed_over);
    Ok(Chosen {
        image,
        passed_over: passed_over.collect(),
        due: aged.due(),
    })
}

/// A tag that is chosen.
struct Candidate {
    tag: String,
    /// The digest that was verified.
    digest: Option<String>,
    passed_over: Vec<String>,
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

/// The newest tag that is old enough.
fn unverified(aged: &mut Aged<'_>) -> Result<Candidate, NoImage> {
    let place = aged.next(0)?;
    match place.and_then(|place| aged.ranked.get(place)) {
        Some(tag) => Ok(Candidate {
            tag: (*tag).to_owned(),
            digest: None,
            passed_over: Vec::new(),
        }),
        None => Err(too_young(aged)),
    }
}

/// No tag is old enough.
fn too_young(aged: &Aged<'_>) -> NoImage {
    match aged.refusal() {
        Some((image, refusal)) => NoImage::Refused {
            image: image.to_string(),
            refusal: Box::new(refusal),
            stays: true,
            due: aged.due(),
        },
        None => NoImage::NoTags,
    }
}

/// The newest tag that is old enough, or with a fallback the newest of some, whose signatures count.
fn verified(aged: &mut Aged<'_>, verification: &Verification) -> Result<Candidate, NoImage> {
    let (scanner, asked, objects, now) = (aged.scanner, aged.asked, aged.objects, aged.now);
    let settings = Settings::of(verification, asked.policy, objects, now)?;
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
    let mut from = 0;
    for _ in 0..most {
        let place = aged.next(from)?;
        let Some((place, tag)) = place.and_then(|place| Some((place, *aged.ranked.get(place)?))) else {
            break;
        };
        from = place + 1;
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
        let refusal = GuardRefusal::Unsigned { why: why.to_string() };
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
            due: aged.due(),
        }),
        None => Err(match too_young(aged) {
            NoImage::Refused {
                image, refusal, due, ..
            } => NoImage::Refused {
                image,
                refusal,
                stays,
                due,
            },
            other => other,
        }),
    }
}
