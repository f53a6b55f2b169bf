//! Where versions are listed: images of registries, charts of Helm repositories, tags of Git repositories; and how
//! their hosts are reached.

use std::collections::BTreeMap;

use super::found::Survey;
use super::listed::Listing;
use super::options::{INTERVAL, Options};
use bumpwright_adopt::{Repository, object_name, repository};
use bumpwright_api::{ImageRepository, Object, read_leniently};
use bumpwright_policy::PolicyName;
use bumpwright_text::Cuts;

/// The ImageRepositories to ask for versions: the existing ones, and the others as they would be made.
#[must_use]
pub fn repositories(survey: &Survey, options: &Options) -> BTreeMap<Listing, ImageRepository> {
    let repository = |listing: &Listing| {
        let existing = survey.known.repository(listing, &options.namespace).cloned();
        Some((listing.clone(), existing.or_else(|| made(listing, survey, options))?))
    };
    survey.images.keys().filter_map(repository).collect()
}

/// As it will be read when it is applied.
fn made(listing: &Listing, survey: &Survey, options: &Options) -> Option<ImageRepository> {
    let object = wanted(listing, survey, options);
    let short = listing.image.behind_last('/');
    let name = PolicyName::new(options.namespace.clone(), object_name(short));
    let text = repository(&name, &object, INTERVAL);
    let mut documents = read_leniently("new", text.as_bytes()).documents.into_iter();
    documents.find_map(|document| match document.object {
        Object::ImageRepository(repository) => Some(repository),
        _ => None,
    })
}

/// A new repository: reached as the object that uses it is, else as existing ones for the same host.
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
