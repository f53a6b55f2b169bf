//! The source of a Kustomization: which object, whether it may be used, what it has made (kustomize-controller, `getSource`;
//! K-015 … K-020).

use super::status::Revision;
use crate::controllers::context::Context;
use crate::controllers::sources::artifacts;
use bumpwright_api::{Artifact, Kustomization};
use bumpwright_kube::Cache;
use bumpwright_runtime::Outcome;

/// The annotation of an OCI artifact that names what it was made from.
const ORIGIN: &str = "org.opencontainers.image.revision";

/// What a source has made.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The archive.
    pub(crate) artifact: Artifact,
    /// How it is called.
    pub(crate) revision: Revision,
}

/// Why there is nothing to build from.
pub(crate) enum Missing {
    /// Not by the settings of ours: why, to be told.
    Denied(String),
    /// The object, or what it should make, is not there yet.
    Later(Outcome),
}

/// The artifact of the source that a Kustomization names.
///
/// # Errors
/// What to do instead.
pub(crate) async fn find(context: &Context, kustomization: &Kustomization) -> Result<Found, Missing> {
    let (reference, name) = (&kustomization.spec.source_ref, kustomization.source());
    let denied = |why: &str| Missing::Denied(format!("can't access '{}/{name}', {why}", reference.kind));
    let is_own = name.namespace == kustomization.metadata.namespace_or_default();
    if context.settings.no_cross_namespace_refs && !is_own {
        return Err(denied("cross-namespace references have been blocked"));
    }
    if reference.kind == "ExternalArtifact" && !context.settings.gates.external_artifact {
        return Err(denied("ExternalArtifact feature gate is disabled"));
    }
    let Some(cache) = cache(context, &reference.kind) else {
        let message = format!("source `{}` kind '{}' not supported", reference.name, reference.kind);
        return Err(Missing::Later(Outcome::backoff("ArtifactFailed", &message)));
    };
    let found = match context.settings.gates.direct_source_fetch {
        true => context.cluster.get(cache.kind(), &name).await.map(std::sync::Arc::new),
        false => context.watched(cache, &name).await,
    };
    let source = found.map_err(|error| {
        Missing::Later(match error.is_not_found() {
            true => Outcome::RequeueAfter {
                reason: "ArtifactFailed",
                message: error.to_string(),
                after: kustomization.spec.retry_interval(),
            },
            false => Outcome::backoff("ArtifactFailed", &format!("unable to get source '{name}': {error}")),
        })
    })?;
    let artifact = source.status().get("artifact").and_then(artifacts::read);
    let Some(artifact) = artifact else {
        return Err(Missing::Later(later(context, "Source artifact not found")));
    };
    let revision = Revision {
        revision: artifact.revision.clone(),
        origin: artifact.metadata.get(ORIGIN).cloned().unwrap_or_default(),
    };
    Ok(Found { artifact, revision })
}

/// It is looked at again soon.
pub(crate) fn later(context: &Context, what: &str) -> Outcome {
    let after = context.settings.requeue_dependency;
    Outcome::RequeueAfter {
        reason: "ArtifactFailed",
        message: format!("{what}, retrying in {}", bumpwright_runtime::clock::duration(after)),
        after,
    }
}

fn cache<'a>(context: &'a Context, kind: &str) -> Option<&'a Cache> {
    let caches = [
        &context.sources,
        &context.oci_sources,
        &context.bucket_sources,
        &context.external_artifacts,
    ];
    let found = caches.into_iter().find(|cache| cache.kind().kind == kind);
    found.map(|cache| &**cache)
}
