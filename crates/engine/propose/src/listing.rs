//! Where versions are listed: images of registries, charts of Helm repositories, tags of Git repositories; and how
//! their hosts are reached.

use std::collections::BTreeMap;
use std::fmt;

use bumpwright_adopt::{Access, Repository, object_name, repository};
use bumpwright_api::{ImageRepository, Object, RepositoryKind, read_leniently};
use bumpwright_edit::is_same_image;
use bumpwright_policy::{PolicyName, Reference, Validation};

use super::known::Known;
use super::proposal::{INTERVAL, Options};
use super::uses::Survey;

/// What an ImageRepository lists the versions of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listing {
    /// Its `spec.image`.
    pub image: String,
    /// Its kind.
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

    fn host(&self) -> Option<String> {
        let reference = Reference::parse(&self.image, Validation::Weak).ok()?;
        Some(reference.registry().to_owned())
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.image)
    }
}

/// The ImageRepositories to ask for versions: those that are there, the others as they would be made.
#[must_use]
pub fn repositories(survey: &Survey, options: &Options) -> BTreeMap<Listing, ImageRepository> {
    let one = |listing: &Listing| {
        let there = survey.known.repository(listing, &options.namespace).cloned();
        Some((listing.clone(), there.or_else(|| made(listing, survey, options))?))
    };
    survey.images.keys().filter_map(one).collect()
}

/// As it will be read when it is applied.
fn made(listing: &Listing, survey: &Survey, options: &Options) -> Option<ImageRepository> {
    let object = wanted(listing, survey, options);
    let short = listing.image.rsplit('/').next().unwrap_or_default();
    let name = PolicyName::new(options.namespace.clone(), object_name(short));
    let text = repository(&name, &object, INTERVAL);
    let mut documents = read_leniently("new", text.as_bytes()).documents.into_iter();
    documents.find_map(|document| match document.object {
        Object::ImageRepository(repository) => Some(repository),
        _ => None,
    })
}

/// A new repository: reached as the object that uses it is, else as those that are there for the same host.
pub(crate) fn wanted(listing: &Listing, survey: &Survey, options: &Options) -> Repository {
    let used = survey.access.get(listing);
    let mut access = used
        .filter(|used| used.can_log_in() && used.namespace == options.namespace)
        .map(|used| used.access.clone())
        .or_else(|| survey.known.access(listing, &options.namespace))
        .unwrap_or_default();
    access.insecure |= used.is_some_and(|used| used.access.insecure);
    if options.secret.is_some() {
        access.secret.clone_from(&options.secret);
    }
    Repository {
        image: listing.image.clone(),
        kind: listing.kind,
        exclusions: Vec::new(),
        access,
    }
}

/// How an object reaches the versions that it uses; its Secrets are in its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsedAccess {
    pub(crate) namespace: String,
    pub(crate) access: Access,
}

impl UsedAccess {
    fn can_log_in(&self) -> bool {
        let plain = Access {
            insecure: self.access.insecure,
            ..Access::default()
        };
        self.access != plain
    }
}

impl Known {
    /// How the repositories of a namespace that are there reach a host, if all of them do it the same way.
    fn access(&self, listing: &Listing, namespace: &str) -> Option<Access> {
        let host = listing.host()?;
        let mut same = self.repositories(namespace).filter(|one| {
            let own = Listing::oci(one.spec.image.clone());
            one.kind().is_ok_and(|kind| kind == listing.kind) && own.host().as_ref() == Some(&host)
        });
        let first = access(same.next()?);
        same.all(|other| access(other) == first).then_some(first)
    }
}

fn access(repository: &ImageRepository) -> Access {
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
