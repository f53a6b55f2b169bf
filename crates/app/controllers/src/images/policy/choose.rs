//! The choice of a policy among the tags, behind the guards of its annotations (docs/cli.md, *Annotations*).

use std::sync::Arc;
use std::time::Duration;

use super::error::Error;
use super::trust;
use crate::dereference;
use crate::images::context::ImagesContext;
use bumpwright_api::{ImagePolicy, ImageRepository, Objects};
use bumpwright_gostd::Time;
use bumpwright_policy::{Guards, LatestRef};
use bumpwright_runtime::blocking::Interrupted;
use bumpwright_runtime::{blocking, clock};
use bumpwright_scan::{Asked, Chosen, NoImage, Tags, choose};

/// The least pause before an image is checked again that a guard refused.
pub(super) const REFUSED: Duration = Duration::from_secs(60);

/// The image of a policy.
#[derive(Debug)]
pub(super) enum Choice {
    Chosen(LatestRef),
    /// A guard keeps the previous image, or gave way to a lower one, for this reason.
    Kept(LatestRef, String),
}

/// The input of a choice.
pub(super) struct Candidates {
    pub(super) repository: ImageRepository,
    pub(super) tags: Tags,
    pub(super) before: Option<LatestRef>,
}

/// The longest pause before an image that is too young is checked again: a tag may move.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The time until then, and a second for clocks that round.
fn until(then: &Time) -> Duration {
    let left = then.since(&clock::now()).as_std();
    (left + Duration::from_secs(1)).min(DAY)
}

impl Choice {
    fn of(image: LatestRef, passed_over: &[String]) -> Self {
        match passed_over {
            [] => Self::Chosen(image),
            passed_over => Self::Kept(image, passed_over.join("\n")),
        }
    }
}

impl Candidates {
    /// Chooses for `policy`, and says when to do so again if not only after a change.
    pub(super) async fn choose(
        self,
        context: &Arc<ImagesContext>,
        policy: &ImagePolicy,
        guards: &Guards,
    ) -> Result<(Choice, Option<Duration>), Error> {
        if let (Err(refusal), Some(kept)) = (guards.check_hold(&clock::now()), &self.before) {
            return Ok((Choice::Kept(kept.clone(), refusal.to_string()), None));
        }
        let mut objects = dereference::of(&context.shared, &self.repository)
            .await
            .map_err(|error| Error::Failed(format!("failed to configure authentication options: {error}")))?;
        if let Some(verification) = &guards.verification {
            trust::add(context, policy, &verification.signers, &mut objects).await?;
        }
        let before = self.before.clone();
        let is_listed = |tag: &String| self.tags.tags.contains(tag);
        let is_listed = before.as_ref().is_some_and(|before| is_listed(&before.tag));
        let repository = self.repository.clone();
        let (chosen, again) = match &guards.promotion {
            Some(promotion) => self.promoted(context, policy, promotion, objects).await?,
            None => {
                let chosen = self.newest(context, policy.clone(), objects, None).await?;
                (chosen, None)
            }
        };
        let due = match &chosen {
            Ok(Chosen { due, .. }) | Err(NoImage::Refused { due, .. }) => due.as_ref().map(until),
            Err(_) => None,
        };
        let again = again.into_iter().chain(due).min();
        if let Ok(Chosen { image, .. }) = &chosen
            && let Err(refusal) = guards.check_failed(image)
        {
            // What it chose before stays, which may be the version that failed: automations hold it.
            let written = before.filter(|before| before.name == image.name);
            let written = written.unwrap_or_else(|| image.clone());
            return Ok((Choice::Kept(written, refusal.to_string()), again));
        }
        if let Ok(Chosen { image, .. }) = &chosen {
            repository
                .check(image)
                .map_err(|error| Error::Failure(error.to_string()))?;
        }
        let choice = match (chosen, before) {
            (Ok(Chosen { image, passed_over, .. }), Some(before)) if before.name == image.name => {
                let rule = policy.chooser();
                let rule = rule.map_err(|error| Error::InvalidPolicy(error.to_string()))?;
                match guards.check_downgrade(&rule, &before.tag, &image.tag) {
                    // What is gone from the registry goes, unless nothing lower is wanted at all.
                    Err(refusal) if is_listed || guards.refuses_downgrade => Choice::Kept(before, refusal.to_string()),
                    _ => Choice::of(image, &passed_over),
                }
            }
            (Ok(Chosen { image, passed_over, .. }), _) => Choice::of(image, &passed_over),
            (Err(error @ NoImage::Refused { stays: true, .. }), Some(before)) => {
                Choice::Kept(before, error.to_string())
            }
            (Err(error @ NoImage::Refused { .. }), _) => {
                return Err(Error::ImageRefused {
                    message: error.to_string(),
                    retry: again.unwrap_or_else(|| context.shared.settings.requeue_dependency.max(REFUSED)),
                });
            }
            (Err(error @ (NoImage::Digest { .. } | NoImage::Verification(_))), _) => {
                return Err(Error::Failed(error.to_string()));
            }
            (Err(error), _) => return Err(Error::Failure(error.to_string())),
        };
        Ok((choice, again))
    }

    /// The newest image that the policy allows, of tags that are proven if they have to be, and with this digest if it
    /// is. Blocks on registries for digests, ages and signatures, so it has a thread of its own.
    pub(super) async fn newest(
        self,
        context: &Arc<ImagesContext>,
        policy: ImagePolicy,
        objects: Objects,
        digest: Option<String>,
    ) -> Result<Result<Chosen, NoImage>, Interrupted> {
        let context = Arc::clone(context);
        let work = move || {
            let subject = Asked {
                policy: &policy,
                repository: &self.repository,
                tags: &self.tags,
                before: self.before.as_ref(),
                is_proven: true,
                digest: digest.as_deref(),
            };
            choose(&context.scanner, &subject, &objects, &clock::now())
        };
        blocking::ask(work).await
    }
}
