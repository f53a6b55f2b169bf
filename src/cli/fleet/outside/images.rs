//! Whether registries have the images of a change, and what these were built from, asked with the user's own logins.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use crate::cli::console::say;
use crate::cli::error::CliError;
use crate::cli::images::refused;
use bumpwright_api::GoDuration;
use bumpwright_connect::registry::Registries;
use bumpwright_fleet::ImageRegistries;
use bumpwright_http::{Deadline, Job, Peer};
use bumpwright_policy::{Reference, Validation};
use bumpwright_registry::{Login, LoginError, LoginLocations, Origin, Registry, RegistryError, UserKeychain};

/// The time limit of one image.
const LIMIT: Duration = Duration::from_secs(10);

/// The registries of a command.
#[derive(Debug)]
pub(in crate::cli::fleet) struct UserRegistries {
    registries: Registries,
    logins: OnceLock<Result<UserKeychain, LoginError>>,
    /// Images that are not known, by their registry, and why the first one is not.
    unknown: Mutex<BTreeMap<String, (usize, String)>>,
    /// How many were not asked for.
    left_out: AtomicUsize,
    limit: Duration,
}

impl UserRegistries {
    /// No image takes longer than `limit`.
    pub(in crate::cli::fleet) fn new(limit: Option<GoDuration>) -> Self {
        Self {
            registries: Registries::of_command(),
            logins: OnceLock::new(),
            unknown: Mutex::default(),
            left_out: AtomicUsize::default(),
            limit: limit.map_or(LIMIT, |limit| limit.as_std().min(LIMIT)),
        }
    }

    /// Reports which images are not known.
    pub(in crate::cli::fleet) fn report(&self) {
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            let text = format!("the change brings too many images: registries were not asked for {left_out} of them");
            say("note", &text);
        }
        for (registry, (count, why)) in std::mem::take(&mut *self.unknown.lock()) {
            let images = if count == 1 {
                "1 image is"
            } else {
                &format!("{count} images are")
            };
            say(
                "note",
                &format!("{registry}: whether {images} there is not known: {why}"),
            );
        }
    }

    fn asked(&self, image: &Reference) -> Result<bool, CliError> {
        let (registry, login) = self.reached(image)?;
        let answer = Job::within(self.limit, || {
            registry.digest(image, &login, Deadline::after(self.limit))
        });
        match answer {
            Ok(_) => Ok(true),
            Err(error) if error.status() == Some(404) => Ok(false),
            Err(error) => Err(explained(error, image)),
        }
    }

    /// Where an image was built from, as its labels say.
    pub(in crate::cli::fleet) fn origin(&self, image: &str) -> Result<Origin, CliError> {
        let image = Reference::parse(image, Validation::Weak)?;
        let (registry, login) = self.reached(&image)?;
        let answer = Job::within(self.limit, || {
            registry.origin(&image, &login, Deadline::after(self.limit))
        });
        answer.map_err(|error| explained(error, &image))
    }

    fn reached(&self, image: &Reference) -> Result<(Arc<Registry>, Login), CliError> {
        let logins = self
            .logins
            .get_or_init(|| UserKeychain::load(&LoginLocations::from_environment()));
        let logins = logins.as_ref().map_err(Clone::clone)?;
        let login = logins.login(image)?;
        let peer = Peer {
            timeout: self.limit,
            ..Peer::default()
        };
        Ok((self.registries.of(image, &peer, false), login))
    }
}

/// An error with the way out, where the registry wants another login.
fn explained(error: RegistryError, image: &Reference) -> CliError {
    let hint = error.refused().map(|asker| refused(asker, image.registry(), None));
    let error = CliError::from(error);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

impl ImageRegistries for UserRegistries {
    fn has(&self, image: &str) -> Option<bool> {
        // One that is not valid is a matter of the schema.
        let reference = Reference::parse(image, Validation::Weak).ok()?;
        match self.asked(&reference) {
            Ok(has) => Some(has),
            Err(why) => {
                let mut unknown = self.unknown.lock();
                let entry = unknown.entry(reference.registry().to_owned());
                entry.or_insert_with(|| (0, why.to_string())).0 += 1;
                None
            }
        }
    }

    fn left_out(&self, count: usize) {
        self.left_out.fetch_add(count, Ordering::Relaxed);
    }
}
