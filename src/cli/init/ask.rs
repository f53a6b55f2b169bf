//! The tags of images, from their registries, with the user's own logins.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cli::images::Images;
use crate::cli::policy::repository;
use crate::cli::words;
use bumpwright_api::{ImageRepository, Objects};
use bumpwright_policy::{Reference, Validation};
use bumpwright_propose::{Answers, Proposal};
use bumpwright_registry::{Login, LoginLocations, UserKeychain};

/// How many images are asked about in one run.
const MOST_IMAGES: usize = 1000;

/// What the registries have.
pub(super) struct Asked {
    pub(super) answers: Answers,
    scanned: BTreeSet<String>,
}

/// Asks the registries of these images, several at a time.
pub(super) fn tags<'i>(images: impl Iterator<Item = &'i String>) -> Asked {
    let names: Vec<&String> = images.collect();
    let (asked, more) = names.split_at(names.len().min(MOST_IMAGES));
    let repositories: Vec<Arc<ImageRepository>> = asked.iter().map(|image| Arc::new(repository(image))).collect();
    let registries = Images::new(&Objects::default());
    registries.scan(&repositories);
    let answer = |repository: &ImageRepository| match registries.batch().tags(repository) {
        Some(Ok(tags)) => Ok(tags.tags.clone()),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("its registry was not asked".to_owned()),
    };
    let mut answers: Answers = asked
        .iter()
        .zip(&repositories)
        .map(|(image, repository)| ((*image).clone(), answer(repository)))
        .collect();
    for image in more {
        let why = format!("{MOST_IMAGES} images are asked about in one run; write these, and run again");
        answers.insert((*image).clone(), Err(why));
    }
    let scanned = registries.notes();
    Asked { answers, scanned }
}

impl Asked {
    /// What is worth knowing: of the scans, and which registries the cluster may need logins for.
    pub(super) fn notes(&self, proposal: &Proposal, has_secret: bool) -> Vec<String> {
        let mut notes: Vec<String> = self.scanned.iter().cloned().collect();
        let new = proposal.policies.iter().filter(|policy| !policy.is_known);
        let images: BTreeSet<&String> = new.map(|policy| &policy.image).collect();
        if has_secret || images.is_empty() {
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
