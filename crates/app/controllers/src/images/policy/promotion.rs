//! The choice of a policy that promotes: of all tags the one that another stage has proven (docs/guides/promotion.md).

use std::sync::Arc;
use std::time::Duration;

use super::choose::Candidates;
use super::error::Error;
use super::stage;
use super::stage_error::StageError;
use crate::images::context::ImagesContext;
use bumpwright_api::{ImagePolicy, Objects};
use bumpwright_gostd::RFC_3339;
use bumpwright_policy::{self as policy, GuardRefusal, LatestRef, Promotion};
use bumpwright_rollout::{Proof, Version};
use bumpwright_runtime::clock;
use bumpwright_scan::{Chosen, NoImage};
use bumpwright_text::between;

/// The longest pause between two looks: pods are not watched.
const LOOK: Duration = Duration::from_secs(60);

/// A choice, and when to look at the stage again.
pub(super) type Promoted = (Result<Chosen, NoImage>, Option<Duration>);

/// Why nothing can be taken from the stage.
struct Waiting {
    why: String,
    again: Duration,
}

impl From<String> for Waiting {
    fn from(why: String) -> Self {
        Self { why, again: LOOK }
    }
}

impl From<StageError> for Waiting {
    fn from(error: StageError) -> Self {
        error.to_string().into()
    }
}

impl Candidates {
    /// The choice. The stage is asked only if there is something newer than what was chosen before.
    pub(super) async fn promoted(
        mut self,
        context: &Arc<ImagesContext>,
        policy: &ImagePolicy,
        promotion: &Promotion,
        objects: Objects,
    ) -> Result<Promoted, Error> {
        let own = policy.metadata.namespace_or_default();
        stage::check_access(context, own, promotion)?;
        let rule = policy.chooser();
        let rule = rule.map_err(|error| Error::InvalidPolicy(error.to_string()))?;
        let newest = rule.latest(&self.tags.tags).ok().map(str::to_owned);
        let before = self.before.clone().filter(|before| before.name == self.tags.image);
        let is_known = newest
            .as_ref()
            .is_none_or(|newest| before.as_ref().is_some_and(|before| before.tag == *newest));
        let refused = Refused {
            image: format!("{}:{}", self.tags.image, between("", newest.as_deref(), "")),
            promotion,
        };
        let repository = self.tags.canonical.clone();
        let mut proof = None;
        if !is_known {
            let found = stage::proof(context, own, promotion, &repository).await;
            let found = found.map_err(Waiting::from);
            let found = found.and_then(|found| self.usable(&rule, before.as_ref(), found));
            match found.and_then(|found| soaked(found, promotion)) {
                Ok(found) => {
                    self.tags.tags = vec![found.version.tag.clone()];
                    proof = Some(found);
                }
                Err(waiting) => return Ok(refused.by(waiting)),
            }
        }
        let digest = proof.as_ref().and_then(|proof| proof.version.digest.clone());
        let chosen = self.newest(context, policy.clone(), objects, digest).await?;
        let is_newest = chosen
            .as_ref()
            .ok()
            .is_none_or(|chosen| Some(&chosen.image.tag) == newest.as_ref());
        let again = (!is_newest).then_some(LOOK);
        let wanted = match &chosen {
            Ok(Chosen { image, .. }) if image.digest.is_some() && Some(image) != before.as_ref() => Version {
                tag: image.tag.clone(),
                digest: image.digest.clone(),
            },
            _ => return Ok((chosen, again)),
        };
        let found = match proof {
            Some(proof) => Ok(proof),
            None => {
                let found = stage::proof(context, own, promotion, &repository).await;
                found.map_err(Waiting::from).and_then(|found| soaked(found, promotion))
            }
        };
        match found {
            Ok(proof) if proof.version == wanted => Ok((chosen, again)),
            Ok(proof) => Ok(refused.by(format!("it runs {}, not {wanted}", proof.version).into())),
            Err(waiting) => Ok(refused.by(waiting)),
        }
    }

    /// Whether what is proven may be chosen.
    fn usable(&self, rule: &policy::ImagePolicy, before: Option<&LatestRef>, proof: Proof) -> Result<Proof, Waiting> {
        let tag = &proof.version.tag;
        let is_allowed = |tag: &String| rule.latest(std::slice::from_ref(tag)).is_ok();
        let is_listed = |tag: &String| self.tags.tags.contains(tag);
        if before.is_some_and(|before| before.tag == *tag) {
            return Err(format!("it runs {tag}").into());
        }
        if !is_listed(tag) {
            return Err(format!("it runs {tag}, which is not among the scanned tags").into());
        }
        if !is_allowed(tag) {
            return Err(format!("it runs {tag}, which the policy's rule and filter leave out").into());
        }
        // What was proven before stays, unless it is not allowed any more.
        if let Some(before) = before.filter(|before| is_listed(&before.tag) && is_allowed(&before.tag))
            && rule.compare(tag, &before.tag).is_some_and(std::cmp::Ordering::is_lt)
        {
            return Err(format!("it runs {tag}, which is lower than {}", before.tag).into());
        }
        Ok(proof)
    }
}

/// Checks that the time in good health is over.
fn soaked(proof: Proof, promotion: &Promotion) -> Result<Proof, Waiting> {
    let Some(left) = proof.left(promotion.soak, &clock::now()) else {
        return Ok(proof);
    };
    let until = proof.since.add(promotion.soak);
    Err(Waiting {
        why: format!(
            "it runs {} in good health since {}; that has to last until {}",
            proof.version,
            proof.since.written(RFC_3339),
            until.written(RFC_3339)
        ),
        again: u64::try_from(left.0).map_or(LOOK, Duration::from_nanos).min(LOOK),
    })
}

/// The newest image, which is not taken.
struct Refused<'a> {
    image: String,
    promotion: &'a Promotion,
}

impl Refused<'_> {
    fn by(&self, waiting: Waiting) -> Promoted {
        let refusal = GuardRefusal::NotProven {
            promotion: Some(self.promotion.clone()),
            why: waiting.why,
        };
        let refused = NoImage::Refused {
            image: self.image.clone(),
            refusal: Box::new(refusal),
            stays: true,
            due: None,
        };
        (Err(refused), Some(waiting.again))
    }
}
