//! The source of a Kustomization and its artifact (kustomize-controller, `getSource`; K-015 … K-020).

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::context::KustomizationsContext;
use super::error::Error;
use super::status::Revision;
use crate::parts::context::Context;
use crate::sources::{KINDS, artifacts};
use bumpwright_api::{Artifact, Kustomization};
use bumpwright_kube::{KUSTOMIZATION, Kind, Object};

/// The source of a Kustomization.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) object: Arc<Object>,
    pub(crate) kind: &'static Kind,
    pub(crate) artifact: Artifact,
    /// The revision of the archive.
    pub(crate) revision: Revision,
}

/// The artifact of the source that a Kustomization names.
///
/// # Errors
/// The source may not be used, or has no artifact yet.
pub(crate) async fn source(context: &KustomizationsContext, kustomization: &Kustomization) -> Result<Source, Error> {
    let shared = &context.shared;
    let (reference, name) = (&kustomization.spec.source_ref, kustomization.source());
    let denied = |why: &str| Error::AccessDenied(format!("can't access '{}/{name}', {why}", reference.kind));
    let is_own = name.namespace == kustomization.metadata.namespace_or_default();
    if shared.settings.no_cross_namespace_refs && !is_own {
        return Err(denied("cross-namespace references have been blocked"));
    }
    if reference.kind == "ExternalArtifact" && !shared.settings.gates.external_artifact {
        return Err(denied("ExternalArtifact feature gate is disabled"));
    }
    let mut sources = context.sources.iter();
    let Some(cache) = sources.find(|cache| cache.kind().kind == reference.kind) else {
        let message = format!("source `{}` kind '{}' not supported", reference.name, reference.kind);
        return Err(Error::SourceUnreadable(message));
    };
    let found = if shared.settings.gates.direct_source_fetch {
        shared.cluster.get(cache.kind(), &name).await.map(Arc::new)
    } else {
        shared.watched(cache, &name).await
    };
    let source = found.map_err(|error| {
        if error.is_not_found() {
            Error::SourceNotFound(error.to_string())
        } else {
            Error::SourceUnreadable(format!("unable to get source '{name}': {error}"))
        }
    })?;
    let artifact = source.status().get("artifact").and_then(artifacts::read);
    let Some(artifact) = artifact else {
        return Err(not_ready(shared, "Source artifact not found"));
    };
    let revision = Revision {
        revision: artifact.revision.clone(),
        origin: artifact
            .metadata
            .get(artifacts::ORIGIN_REVISION)
            .cloned()
            .unwrap_or_default(),
    };
    Ok(Source {
        object: source,
        kind: cache.kind(),
        artifact,
        revision,
    })
}

/// The pause between two checks whether a source was reconciled.
const LOOK: Duration = Duration::from_millis(250);

/// The pause of a Kustomization whose source this process serves and has not reconciled yet: its status says where
/// another process served the artifact, which has ended. That lasts `--requeue-dependency` at most.
pub(crate) fn postponed(context: &KustomizationsContext, object: &Object) -> Option<Duration> {
    let (shared, settings) = (&context.shared, &context.shared.settings);
    let since = shared.serving.since()?;
    // Others serve those with other labels, and other members those that are dealt to them.
    let serves_all = settings.scope.labels.is_none() && settings.shards.is_none();
    if !serves_all || object.deleting || since.elapsed() >= settings.requeue_dependency {
        return None;
    }
    let kustomization = object.read::<Kustomization>(&KUSTOMIZATION).ok()?;
    let mut kinds = KINDS.into_iter();
    let kind = kinds.find(|kind| kind.kind == kustomization.spec.source_ref.kind)?;
    let name = kustomization.source();
    let source = context.sources.iter().find(|cache| cache.kind() == kind)?.get(&name)?;
    let is_suspended = source.field("spec").get("suspend") == Some(&Value::Bool(true));
    (!is_suspended && !shared.first_rounds.is_over(kind.kind, &name)).then_some(LOOK)
}

/// Whether the source has another artifact by now, or the same one at another address: where a process that served it
/// has ended or is paused, another one has taken the source over.
pub(crate) fn is_replaced(context: &KustomizationsContext, source: &Source) -> bool {
    // The cache may be older than what was read past it.
    if context.shared.settings.gates.direct_source_fetch {
        return false;
    }
    let cache = context.sources.iter().find(|cache| cache.kind() == source.kind);
    let now = cache.and_then(|cache| cache.get(&source.object.name));
    let now = now.filter(|now| now.resource_version != source.object.resource_version);
    let artifact = now.and_then(|now| artifacts::read(now.status().get("artifact")?));
    artifact.is_some_and(|artifact| artifact.url != source.artifact.url)
}

/// The source has no artifact yet.
pub(crate) fn not_ready(context: &Context, what: &'static str) -> Error {
    let after = context.settings.requeue_dependency;
    Error::SourceNotReady { what, after }
}
