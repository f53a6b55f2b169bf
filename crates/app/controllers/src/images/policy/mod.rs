//! `ImagePolicy`: chooses from the tags that were scanned (image-reflector-controller v1.2, *ImagePolicy*), behind the
//! guards of its annotations (docs/cli.md, *Annotations*).

mod access_from;
pub(crate) mod book;
mod choose;
mod dereference;
mod error;
pub(crate) mod labels;
mod promotion;
mod stage;
mod stage_error;
mod status;
mod trust;

use std::sync::Arc;
use std::time::Duration;

use super::context::ImagesContext;
use super::repository::scanned;
use super::triggers;
use crate::parts::Parts;
use crate::parts::registered::Registered;
use crate::parts::watching::{Caches, Watch};
use crate::settings::{Kinds, Settings};
use bumpwright_api::ImagePolicy;
use bumpwright_kube::{ClusterError, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, Kind, Object};
use bumpwright_policy::{FAILED_VERSIONS, FailedVersions, Guards, LatestRef};
use bumpwright_runtime::triggers::own;
use bumpwright_runtime::{Action, Outcome, Queue, Reconcile, ReconcileRequest, Status};
use bumpwright_scan::reference_of;
use choose::{Candidates, Choice, REFUSED};
use error::Error;

#[derive(Debug)]
pub(crate) struct ImagePolicies(Arc<ImagesContext>);

impl Reconcile for ImagePolicies {
    const KIND: &'static Kind = &IMAGE_POLICY;
    const CONTROLLER: &'static str = "image-reflector-controller";
    const ACTION: Action = Action::SelectImage;

    async fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Outcome {
        match self.run(request.object).await {
            Ok(chosen) => {
                if let Some(object) = forget_released(request).await {
                    request.wrote(status, object);
                }
                status::ready(status, chosen)
            }
            Err(error) => {
                if matches!(error, Error::ImageRefused { .. }) {
                    status::without_image(status);
                }
                error.into()
            }
        }
    }
}

impl Registered for ImagePolicies {
    fn is_enabled(kinds: Kinds) -> bool {
        kinds.reflector
    }

    fn watches(_settings: &Settings) -> Vec<Watch> {
        vec![
            Watch::ours(Self::KIND),
            Watch::ours(&IMAGE_REPOSITORY),
            Watch::when_needed(&KUSTOMIZATION),
        ]
    }

    fn triggers(caches: &Caches, queue: &Arc<Queue>) {
        let policies = caches.of(Watch::ours(Self::KIND));
        own(&policies, queue);
        triggers::policies_of_repository(&caches.of(Watch::ours(&IMAGE_REPOSITORY)), &policies, queue);
        triggers::policies_of_kustomization(&caches.of(Watch::when_needed(&KUSTOMIZATION)), &policies, queue);
    }

    fn reconciler(parts: &Parts) -> Option<Self> {
        Some(Self(ImagesContext::of(parts)))
    }
}

/// Forgets the failures of versions that are released: they are on trial again.
async fn forget_released(request: &ReconcileRequest<'_>) -> Option<Object> {
    let annotations = &request.object.annotations;
    let text = annotations.get(FAILED_VERSIONS)?;
    let pairs = annotations.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let failed = Guards::read(pairs).ok()?.failed;
    if failed == FailedVersions::parse(text) {
        return None;
    }
    let written = request.annotate(FAILED_VERSIONS, failed.text().as_deref()).await;
    let log = |error: &ClusterError| {
        request
            .log
            .error(error, "unable to forget the failures of released versions");
        if matches!(error, ClusterError::Conflict(_)) {
            request.come_back(SOON);
        }
    };
    written.inspect_err(log).ok()
}

/// When to look again at failures that were written meanwhile.
const SOON: Duration = Duration::from_secs(1);

struct Valid {
    policy: ImagePolicy,
    guards: Guards,
    /// The interval for refreshing the digest.
    interval: Option<Duration>,
}

/// The choice of a policy.
struct Chosen {
    choice: Choice,
    before: Option<LatestRef>,
    /// When to choose again: to refresh the digest, for signatures that may still come, or to look at another stage.
    after: Option<Duration>,
}

impl ImagePolicies {
    async fn run(&self, object: &Object) -> Result<Chosen, Error> {
        let context = &self.0;
        let valid = validate(object)?;
        let (object, repository) = dereference::repository(context, &valid.policy).await?;
        let canonical = reference_of(&repository)
            .map_err(|error| Error::ImageUrlInvalid(error.to_string()))?
            .context();
        let rule = valid.policy.chooser();
        rule.map_err(|error| Error::InvalidPolicy(error.to_string()))?;
        let scanned = scanned(&object, &canonical);
        let tags = dereference::tags(context, (&object, &repository), canonical, &scanned).await?;
        let before = valid.policy.latest_ref().ok().flatten();
        let candidates = Candidates {
            repository,
            tags,
            before: before.clone(),
        };
        let (choice, again) = candidates.choose(context, &valid.policy, &valid.guards).await?;
        // A signature may come after its image, and changes no tag.
        let is_kept = matches!(choice, Choice::Kept(..)) && valid.guards.verification.is_some();
        let signed = is_kept.then(|| context.shared.settings.requeue_dependency.max(REFUSED));
        let after = [valid.interval, again, signed].into_iter().flatten().min();
        Ok(Chosen { choice, before, after })
    }
}

fn validate(object: &Object) -> Result<Valid, Error> {
    let policy: ImagePolicy = object
        .read(&IMAGE_POLICY)
        .map_err(|error| Error::InvalidSpec(error.to_string()))?;
    let (_, interval) = policy
        .digest_reflection()
        .map_err(|error| Error::IntervalNotConfigured(error.to_string()))?;
    let guards = policy
        .guards()
        .map_err(|error| Error::InvalidAnnotation(error.to_string()))?;
    let interval = interval
        .and_then(|interval| u64::try_from(interval.0).ok())
        .map(Duration::from_nanos);
    Ok(Valid {
        policy,
        guards,
        interval,
    })
}
