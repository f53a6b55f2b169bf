//! A list of tags that is asked for.

use std::fmt;

use bumpwright_adopt::Access;
use bumpwright_api::{ImageRepository, RepositoryKind};
use bumpwright_edit::is_same_image;
use bumpwright_policy::{Reference, Validation};

/// What an ImageRepository lists the versions of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listing {
    /// Its `spec.image`.
    pub image: String,
    pub kind: RepositoryKind,
}

impl Listing {
    /// An image of a registry, or a chart there.
    #[must_use]
    pub fn oci(image: impl Into<String>) -> Self {
        let (image, kind) = (image.into(), RepositoryKind::Oci);
        Self { image, kind }
    }

    /// Whether an ImageRepository is about the same.
    pub(crate) fn is_of(&self, repository: &ImageRepository) -> bool {
        let is_same = repository.kind().is_ok_and(|kind| kind == self.kind);
        is_same && is_same_image(&repository.spec.image, &self.image)
    }

    pub(crate) fn host(&self) -> Option<String> {
        let reference = Reference::parse(&self.image, Validation::Weak).ok()?;
        Some(reference.registry().to_owned())
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.image)
    }
}

/// How an object reaches the versions that it uses; its Secrets are in its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsedAccess {
    pub(crate) namespace: String,
    pub(crate) access: Access,
}

impl UsedAccess {
    pub(crate) fn can_log_in(&self) -> bool {
        let plain = Access {
            insecure: self.access.insecure,
            ..Access::default()
        };
        self.access != plain
    }
}

pub(crate) fn access(repository: &ImageRepository) -> Access {
    let spec = &repository.spec;
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let name = |reference: &Option<bumpwright_api::LocalRef>| Some(reference.as_ref()?.name.clone());
    Access {
        secret: name(&spec.secret_ref),
        certificates: name(&spec.cert_secret_ref),
        proxy: name(&spec.proxy_secret_ref),
        service_account: given(&spec.service_account_name),
        provider: given(&spec.provider),
        insecure: spec.insecure,
    }
}
