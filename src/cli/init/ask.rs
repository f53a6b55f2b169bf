//! The tags of images, from their registries, with the logins that their repositories name, else the user's own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cli::images::{Images, said};
use crate::cli::words;
use bumpwright_api::{ImageRepository, Objects};
use bumpwright_policy::{Reference, Validation};
use bumpwright_propose::{Answers, Listing, Proposal};
use bumpwright_registry::{Login, LoginLocations, UserKeychain};

/// How many images are asked about in one run.
const MOST_IMAGES: usize = 1000;

/// What the registries have.
pub(super) struct Asked {
    pub(super) answers: Answers,
    scanned: BTreeSet<String>,
    /// Images whose repositories say how to log in.
    with_login: BTreeSet<String>,
}

/// Asks the registries of these repositories, several at a time; `objects` has the Secrets that they name.
pub(super) fn tags(repositories: BTreeMap<Listing, ImageRepository>, objects: &Objects) -> Asked {
    let mut pending = repositories.into_iter();
    let requests: Vec<(Listing, Arc<ImageRepository>)> = pending
        .by_ref()
        .take(MOST_IMAGES)
        .map(|(listing, repository)| (listing, Arc::new(repository)))
        .collect();
    let repositories: Vec<Arc<ImageRepository>> =
        requests.iter().map(|(_, repository)| Arc::clone(repository)).collect();
    let registries = Images::new(objects);
    registries.scan(&repositories);
    let answer = |repository: &ImageRepository| match registries.batch().tags(repository) {
        Some(Ok(tags)) => Ok(tags.tags.clone()),
        Some(Err(error)) => Err(said(&error, repository) + &without_secret(repository, objects)),
        None => Err("its registry was not asked".to_owned()),
    };
    let logs_in = |repository: &&Arc<ImageRepository>| {
        let spec = &repository.spec;
        spec.secret_ref.is_some() || !spec.service_account_name.is_empty() || repository.provider() != "generic"
    };
    let with_login = repositories.iter().filter(logs_in);
    let with_login = with_login.map(|repository| repository.spec.image.clone()).collect();
    let scanned = registries.notes();
    let mut answers: Answers = requests
        .into_iter()
        .map(|(listing, repository)| (listing, answer(&repository).map_err(Into::into)))
        .collect();
    for (listing, _) in pending {
        let why = format!("{MOST_IMAGES} images are asked about in one run; write these, and run again");
        answers.insert(listing, Err(why.into()));
    }
    Asked {
        answers,
        scanned,
        with_login,
    }
}

/// The Secret that a repository names and that is not at hand.
fn without_secret(repository: &ImageRepository, objects: &Objects) -> String {
    let secret = repository
        .spec
        .secret_ref
        .as_ref()
        .map(|secret| repository.beside(&secret.name));
    match secret.filter(|secret| objects.secret(secret).is_none()) {
        Some(secret) => format!("; Secret {secret}, which it logs in with in the cluster, is not among -f"),
        None => String::new(),
    }
}

impl Asked {
    /// What is worth knowing: of the scans, and which registries the cluster may need logins for.
    pub(super) fn notes(&self, proposal: &Proposal) -> Vec<String> {
        let mut notes: Vec<String> = self.scanned.iter().cloned().collect();
        let new = proposal.policies.iter().filter(|policy| !policy.is_known);
        let images = new.map(|policy| &policy.listing.image);
        let images: BTreeSet<&String> = images.filter(|image| !self.with_login.contains(*image)).collect();
        if images.is_empty() {
            return notes;
        }
        let Ok(keychain) = UserKeychain::load(&LoginLocations::from_environment()) else {
            return notes;
        };
        let registry = |image: &&String| {
            let reference = Reference::parse(image, Validation::Weak).ok()?;
            let is_own = keychain.login(&reference).is_ok_and(|login| login != Login::Anonymous);
            is_own.then(|| reference.registry().to_owned())
        };
        let registries: BTreeSet<String> = images.iter().filter_map(registry).collect();
        if !registries.is_empty() {
            let names: Vec<String> = registries.into_iter().collect();
            notes.push(format!(
                "your own login was used for {}: the cluster may need one too, in a Secret that --secret-ref names",
                words::some(&names)
            ));
        }
        notes
    }
}
