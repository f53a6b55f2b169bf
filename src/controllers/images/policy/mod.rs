//! `ImagePolicy`: chooses from the tags that were scanned (image-reflector-controller v1.2, *ImagePolicy*), behind the
//! guards of its annotations (docs/cli.md, *Annotations*).

pub(crate) mod access_from;
pub(crate) mod book;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::controllers::context::Context;
use crate::controllers::gather;
use crate::controllers::images::repository::scanned;
use crate::controllers::tokens;
use access_from::Denied;
use bumpwright_api::{ImagePolicy, ImageRepository, Objects};
use bumpwright_kube::{IMAGE_POLICY, IMAGE_REPOSITORY, Kind, Object};
use bumpwright_policy::{Guards, LatestRef};
use bumpwright_runtime::clock::{self, duration};
use bumpwright_runtime::{Outcome, Reconcile, ReconcileRequest, Status};
use bumpwright_scan::{Asked, NoImage, Scanned, Tags, choose, repository_reference};

/// So often the tags are looked for before a policy waits longer for them.
const LOOKS: u32 = 4;

/// Reconciles `ImagePolicy` objects.
#[derive(Debug)]
pub(crate) struct ImagePolicies(pub(crate) Arc<Context>);

impl Reconcile for ImagePolicies {
    const KIND: &'static Kind = &IMAGE_POLICY;
    const CONTROLLER: &'static str = "image-reflector-controller";

    async fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Outcome {
        self.try_reconcile(request, status)
            .await
            .unwrap_or_else(|outcome| outcome)
    }
}

impl ImagePolicies {
    async fn try_reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Result<Outcome, Outcome> {
        let policy: ImagePolicy = request
            .object
            .read(&IMAGE_POLICY)
            .map_err(|error| Outcome::stalled("InvalidSpec", &error))?;
        let (_, after) = policy
            .digest_reflection()
            .map_err(|error| Outcome::stalled("IntervalNotConfigured", &error))?;
        let guards = policy
            .guards()
            .map_err(|error| Outcome::stalled("InvalidAnnotation", &error))?;
        let (object, repository) = self.repository(&policy).await?;
        let canonical = repository_reference(&repository.spec.image)
            .map_err(|error| Outcome::stalled("ImageURLInvalid", &error))?
            .context();
        tokens::check_gate(
            self.0.settings.gates,
            tokens::given_by_images(&repository),
            "spec.serviceAccountName in the ImageRepository",
        )?;
        policy
            .chooser()
            .map_err(|error| Outcome::stalled("InvalidPolicy", &error))?;
        let scanned = scanned(&object, &canonical);
        let tags = self.tags(&repository, canonical, &scanned).await?;
        let before = policy.latest_ref().ok().flatten();
        let after = after
            .and_then(|after| u64::try_from(after.0).ok())
            .map(Duration::from_nanos);
        let verdict = self.choose(&policy, &guards, repository, tags, before.clone()).await?;
        Ok(concluded(status, before, verdict, after))
    }

    /// The repository that the policy names, if it may be used.
    async fn repository(&self, policy: &ImagePolicy) -> Result<(Arc<Object>, ImageRepository), Outcome> {
        let refused = |reason, error: &dyn std::fmt::Display| {
            Outcome::backoff(reason, &format!("failed to get the referred ImageRepository: {error}"))
        };
        let own = policy.metadata.namespace_or_default();
        let Some(name) = policy.repository() else {
            return Err(Outcome::stalled(
                "InvalidPolicy",
                &"spec.imageRepositoryRef is required",
            ));
        };
        if self.0.settings.no_cross_namespace_refs && name.namespace != own {
            let text = format!("cannot access 'ImageRepository/{name}', cross-namespace references have been blocked");
            return Err(refused("AccessDenied", &text));
        }
        let found = self.0.watched(&self.0.repositories, &name).await;
        let object = found.map_err(|error| match error.is_not_found() {
            true => refused(
                "DependencyNotReady",
                &format!("referenced ImageRepository does not exist: {error}"),
            ),
            false => refused("Failure", &error),
        })?;
        let repository: ImageRepository = object
            .read(&IMAGE_REPOSITORY)
            .map_err(|error| refused("Failure", &error))?;
        let access = access_from::check(&self.0.cluster, own, &name, repository.spec.access_from.as_ref()).await;
        access.map_err(|denied| match denied {
            Denied::Denied(why) => refused("AccessDenied", &format!("access denied: {why}")),
            Denied::Unknown(error) => refused("AccessDenied", &format!("access denied: {error}")),
        })?;
        Ok((object, repository))
    }

    /// The tags that were scanned last. Right after a scan was asked for they may still be on their way.
    async fn tags(&self, repository: &ImageRepository, canonical: String, scanned: &Scanned) -> Result<Tags, Outcome> {
        let mut pause = Duration::from_secs(1);
        for look in 1..=LOOKS {
            let tags =
                self.0.tags.tags(scanned).map_err(|error| {
                    Outcome::backoff("Failure", &format!("failed to read tags from database: {error}"))
                })?;
            if !tags.is_empty() {
                return Ok(Tags {
                    image: repository.spec.image.clone(),
                    canonical,
                    tags,
                    excluded: 0,
                    notes: Vec::new(),
                });
            }
            if look < LOOKS {
                tokio::time::sleep(pause).await;
                pause = pause.mul_f64(1.5);
            }
        }
        let after = self.0.settings.requeue_dependency;
        Err(Outcome::RequeueAfter {
            reason: "DependencyNotReady",
            message: format!("retrying in {} error: no tags in database", duration(after)),
            after,
        })
    }

    async fn choose(
        &self,
        policy: &ImagePolicy,
        guards: &Guards,
        repository: ImageRepository,
        tags: Tags,
        before: Option<LatestRef>,
    ) -> Result<Verdict, Outcome> {
        let now = clock::now();
        if let (Err(refusal), Some(kept)) = (guards.check_hold(&now), &before) {
            return Ok(Verdict::Kept(kept.clone(), refusal.to_string()));
        }
        let objects = gather::of_images(&self.0, &repository).await.map_err(|error| {
            Outcome::backoff(
                "Failed",
                &format!("failed to configure authentication options: {error}"),
            )
        })?;
        let chosen = self
            .ask(policy.clone(), repository, tags, before.clone(), objects)
            .await
            .map_err(|error| Outcome::backoff("Failure", &error))?;
        match (chosen, before) {
            (Ok(image), Some(before)) if before.name == image.name => {
                let rule = policy
                    .chooser()
                    .map_err(|error| Outcome::stalled("InvalidPolicy", &error))?;
                Ok(match guards.check_downgrade(&rule, &before.tag, &image.tag) {
                    Ok(()) => Verdict::Chosen(image),
                    Err(refusal) => Verdict::Kept(before, refusal.to_string()),
                })
            }
            (Ok(image), _) => Ok(Verdict::Chosen(image)),
            (Err(error @ NoImage::Refused { .. }), Some(before)) => Ok(Verdict::Kept(before, error.to_string())),
            (Err(error @ NoImage::Refused { .. }), None) => Err(Outcome::RequeueAfter {
                reason: "ImageRefused",
                message: error.to_string(),
                after: self.0.settings.requeue_dependency.max(Duration::from_secs(60)),
            }),
            (Err(error @ NoImage::Digest { .. }), _) => Err(Outcome::backoff("Failed", &error.to_string())),
            (Err(error), _) => Err(Outcome::backoff("Failure", &error.to_string())),
        }
    }

    async fn ask(
        &self,
        policy: ImagePolicy,
        repository: ImageRepository,
        tags: Tags,
        before: Option<LatestRef>,
        objects: Objects,
    ) -> Result<Result<LatestRef, NoImage>, String> {
        let context = Arc::clone(&self.0);
        let work = move || {
            let asked = Asked {
                policy: &policy,
                repository: &repository,
                tags: &tags,
                before: before.as_ref(),
            };
            choose(&context.scanner, &asked, &objects, &clock::now()).map(|chosen| chosen.image)
        };
        bumpwright_runtime::blocking::ask(work).await
    }
}

/// What became of the choice.
#[derive(Debug)]
enum Verdict {
    Chosen(LatestRef),
    /// A guard keeps what there was, for this reason.
    Kept(LatestRef, String),
}

fn concluded(status: &mut Status, before: Option<LatestRef>, verdict: Verdict, after: Option<Duration>) -> Outcome {
    let (image, kept) = match verdict {
        Verdict::Chosen(image) => (image, None),
        Verdict::Kept(image, why) => (image, Some(why)),
    };
    let fields = &mut status.fields;
    if before.as_ref() != Some(&image) {
        match &before {
            Some(before) => fields.insert("observedPreviousRef".to_owned(), json!(before)),
            None => fields.remove("observedPreviousRef"),
        };
    }
    fields.insert("latestRef".to_owned(), json!(image));
    // What v1beta1 and v1beta2 readers look at (C36).
    fields.insert("latestImage".to_owned(), json!(image.to_string()));
    let message = message(&image, fields.get("observedPreviousRef"), kept.as_deref());
    Outcome::Ready {
        news: (status.message_before() != message).then(|| message.clone()),
        trace: message.clone(),
        message,
        after,
    }
}

/// The message of Ready (image-reflector-controller v1.2, `composeImagePolicyReadyMessage`), with our reason for keeping an
/// older image after it.
fn message(image: &LatestRef, previous: Option<&Value>, kept: Option<&str>) -> String {
    let mut message = format!("Latest image tag for {} resolved to {}", image.name, image.tag);
    if let Some(digest) = &image.digest {
        message.push_str(&format!(" with digest {digest}"));
    }
    let text = |field: &str| previous.and_then(|previous| previous.get(field)?.as_str());
    if let (Some(name), Some(tag)) = (text("name"), text("tag")) {
        let digest = text("digest").filter(|digest| !digest.is_empty());
        let same = (name, tag, digest) == (&image.name, &image.tag, image.digest.as_deref());
        if !same {
            let digest = digest.map(|digest| format!("@{digest}")).unwrap_or_default();
            message.push_str(&format!(" (previously {name}:{tag}{digest})"));
        }
    }
    match kept {
        Some(why) => format!("{message}\n{why}"),
        None => message,
    }
}
