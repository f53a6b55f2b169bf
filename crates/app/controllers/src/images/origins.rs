//! What images were built from, as their labels say, and what forges say of the releases of their sources.
//!
//! Labels are what strangers wrote, and a tenant may name any registry. So registries are asked by an ImageRepository
//! alone, as its scans ask them, and forges without a login. Answers are kept for a while: automations run each
//! interval, and registries count reads of manifests as pulls, forges requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::dereference;
use crate::parts::Parts;
use crate::parts::context::Context;
use crate::parts::watching::Watch;
use bumpwright_api::{ImageRepository, ObjectName, RepositoryKind};
use bumpwright_kube::{Cache, ClusterError, IMAGE_REPOSITORY};
use bumpwright_policy::{Reference, Validation};
use bumpwright_registry::Origin;
use bumpwright_scan::{ScanError, Scanner, reference_of};
use bumpwright_update::{Answers, ReleaseForges};

/// How long the answers of forges are kept.
const ANSWERS_KEPT: Duration = Duration::from_secs(1800);

/// How long labels are kept. Those of a version hardly ever change.
const LABELS_KEPT: Duration = Duration::from_secs(24 * 3600);

/// The most images whose labels are kept.
const IMAGES: usize = 1000;

/// Why nothing is known of an image.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OriginError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Object(#[from] serde_json::Error),
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// Asks registries for labels, by ImageRepositories. Its calls block, outside of the runtime's threads.
#[derive(Debug)]
pub(crate) struct ImageOrigins {
    shared: Arc<Context>,
    scanner: Arc<Scanner>,
    repositories: Arc<Cache>,
    kept: Mutex<Kept>,
}

/// Labels and answers, each since a time.
#[derive(Debug)]
struct Kept {
    labels_since: Instant,
    /// By ImageRepository, and image with its version.
    labels: BTreeMap<(ObjectName, String), Origin>,
    answers_since: Instant,
    /// Of the public forges, which all namespaces share: nobody has a login there.
    public: Arc<Answers>,
}

impl Kept {
    fn new() -> Self {
        Self {
            labels_since: Instant::now(),
            labels: BTreeMap::new(),
            answers_since: Instant::now(),
            public: Arc::default(),
        }
    }

    fn fresh(&mut self) -> &mut Self {
        if self.labels_since.elapsed() > LABELS_KEPT {
            (self.labels_since, self.labels) = (Instant::now(), BTreeMap::new());
        }
        if self.answers_since.elapsed() > ANSWERS_KEPT {
            self.answers_since = Instant::now();
            self.public.renew();
        }
        self
    }
}

impl ImageOrigins {
    pub(crate) fn of(parts: &Parts) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(&parts.shared),
            scanner: Arc::clone(&parts.scanner),
            repositories: parts.caches.of(Watch::ours(&IMAGE_REPOSITORY)),
            kept: Mutex::new(Kept::new()),
        })
    }

    /// The public forges, without a login.
    pub(crate) fn forges(&self) -> ReleaseForges {
        ReleaseForges::sharing(Arc::clone(&self.kept.lock().fresh().public))
    }

    /// An ImageRepository, if it may be asked about an image.
    ///
    /// # Errors
    /// It does not exist, or cannot be read.
    pub(crate) fn repository(
        &self,
        runtime: &Handle,
        name: &ObjectName,
        image: &str,
    ) -> Result<Option<ImageRepository>, OriginError> {
        let object = runtime.block_on(self.shared.watched(&self.repositories, name))?;
        let repository: ImageRepository = object.read(&IMAGE_REPOSITORY)?;
        Ok(Some(repository).filter(|repository| may_ask(repository, image)))
    }

    /// What a version of an image of a repository was built from.
    ///
    /// # Errors
    /// The registry does not answer, or refuses; or the login cannot be read.
    pub(crate) fn origin(
        &self,
        runtime: &Handle,
        repository: &ImageRepository,
        version: &str,
    ) -> Result<Origin, OriginError> {
        let key = (repository.name(), format!("{} {version}", repository.spec.image));
        let known = self.kept.lock().fresh().labels.get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let objects = runtime.block_on(dereference::of(&self.shared, repository))?;
        let origin = self.scanner.built_from(repository, &objects, version)?;
        let mut kept = self.kept.lock();
        let labels = &mut kept.fresh().labels;
        if labels.len() >= IMAGES {
            labels.clear();
        }
        labels.insert(key, origin.clone());
        Ok(origin)
    }
}

/// The image in full of a repository that may be asked: one of a registry, and not suspended.
pub(crate) fn scanned(repository: &ImageRepository) -> Option<String> {
    let is_of_registry = repository.kind().is_ok_and(|kind| kind == RepositoryKind::Oci);
    let reference = reference_of(repository).ok();
    let reference = reference.filter(|_| is_of_registry && !repository.spec.suspend);
    reference.map(|reference| reference.context())
}

/// An image in full, with its registry; none if it is not valid.
pub(crate) fn canonical(image: &str) -> Option<String> {
    let reference = Reference::parse(image, Validation::Weak).ok();
    reference.map(|reference| reference.context())
}

fn may_ask(repository: &ImageRepository, image: &str) -> bool {
    let own = scanned(repository);
    own.is_some() && own == canonical(image)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_repository_is_asked_about_its_own_image_alone() {
        let may = |spec: serde_json::Value, kind: &str, image: &str| {
            let annotations = json!({"bumpwright.dev/kind": kind});
            let metadata = json!({"name": "web", "namespace": "apps", "annotations": annotations});
            let repository = json!({"metadata": metadata, "spec": spec});
            may_ask(&serde_json::from_value(repository).unwrap(), image)
        };
        let plain = || json!({"image": "nginx"});
        assert!(may(plain(), "oci", "docker.io/library/nginx"));
        assert!(!may(plain(), "oci", "ghcr.io/library/nginx"));
        assert!(!may(json!({"image": "nginx", "suspend": true}), "oci", "nginx"));
        assert!(!may(
            json!({"image": "charts.example.com/nginx"}),
            "helm",
            "charts.example.com/nginx"
        ));
    }
}
