//! What images were built from, as their labels say, and what forges say of the releases of their sources.
//!
//! Labels are what strangers wrote, and a tenant may name any registry. So registries are asked by an ImageRepository
//! alone, as its scans ask them, and forges without a login. Answers are kept for a while: automations run each
//! interval, and registries count reads of manifests as pulls, forges requests.

use std::sync::Arc;

use tokio::runtime::Handle;

use crate::dereference;
use crate::images::known_origins::KnownOrigins;
use crate::parts::Parts;
use crate::parts::context::Context;
use crate::parts::watching::Watch;
use bumpwright_api::{ImageRepository, ObjectName, RepositoryKind};
use bumpwright_kube::{Cache, ClusterError, IMAGE_REPOSITORY};
use bumpwright_policy::{Reference, Validation};
use bumpwright_registry::Origin;
use bumpwright_scan::{ScanError, Scanner, reference_of};
use bumpwright_update::ReleaseForges;

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

impl OriginError {
    /// Whether the registry has said that it does not have the image.
    pub(crate) fn is_absent(&self) -> bool {
        let Self::Scan(ScanError::Registry(error)) = self else {
            return false;
        };
        error.status() == Some(404)
    }
}

/// Asks registries for labels, by ImageRepositories. Its calls block, outside of the runtime's threads.
#[derive(Debug)]
pub(crate) struct ImageOrigins {
    shared: Arc<Context>,
    scanner: Arc<Scanner>,
    repositories: Arc<Cache>,
    known: Arc<KnownOrigins>,
}

/// An ImageRepository that may be asked.
#[derive(Debug)]
pub(crate) struct AskedRepository {
    /// One that is made later under its name may be another tenant's.
    pub(crate) uid: String,
    pub(crate) repository: ImageRepository,
}

impl ImageOrigins {
    pub(crate) fn of(parts: &Parts) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(&parts.shared),
            scanner: Arc::clone(&parts.scanner),
            repositories: parts.caches.of(Watch::ours(&IMAGE_REPOSITORY)),
            known: Arc::clone(&parts.origins),
        })
    }

    /// The public forges, without a login, asked on the account of a namespace.
    pub(crate) fn forges(&self, namespace: &str) -> ReleaseForges {
        ReleaseForges::sharing(self.known.public(), namespace)
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
    ) -> Result<Option<AskedRepository>, OriginError> {
        let object = runtime.block_on(self.shared.watched(&self.repositories, name))?;
        let repository: ImageRepository = object.read(&IMAGE_REPOSITORY)?;
        Ok(may_ask(&repository, image).then(|| AskedRepository {
            uid: object.uid.clone(),
            repository,
        }))
    }

    /// What a version of an image of a repository was built from.
    ///
    /// # Errors
    /// The registry does not answer, or refuses; or the login cannot be read.
    pub(crate) fn origin(
        &self,
        runtime: &Handle,
        asked: &AskedRepository,
        version: &str,
    ) -> Result<Origin, OriginError> {
        let AskedRepository { uid, repository } = asked;
        let key = (uid.clone(), format!("{} {version}", repository.spec.image));
        if let Some(known) = self.known.labels(&key) {
            return Ok(known);
        }
        let objects = runtime.block_on(dereference::of(&self.shared, repository))?;
        let origin = self.scanner.built_from(repository, &objects, version)?;
        self.known.keep(key, origin.clone());
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
