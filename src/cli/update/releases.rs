//! `--release-notes`: what images were built from, by their labels, and what their releases say, by the API of the
//! forge of their source.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::args::Update;
use crate::cli::access;
use crate::cli::error::CliError;
use crate::cli::images::Images;
use bumpwright_api::{ImagePolicy, ImageRepository, ObjectName, Objects};
use bumpwright_forge::Login;
use bumpwright_registry::Origin;
use bumpwright_update::{BumpedImage, ImageRelease, ImageStep, ReleaseForges, Releases, ask_all};

/// Tokens for github.com, as its own tools read them. Without one it answers 60 requests an hour.
const TOKENS: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];

/// The time limit of all images of a run.
const LIMIT: Duration = Duration::from_secs(60);

/// Asks registries for labels, and forges for releases; the same for the same image and release once.
#[derive(Debug)]
pub(super) struct ReleaseNotes {
    objects: Objects,
    /// The registries of the run.
    images: Arc<Images>,
    forges: ReleaseForges,
    origins: Mutex<BTreeMap<(String, String), Origin>>,
}

impl ReleaseNotes {
    /// The token of the job is used where its flags want release notes: whoever writes an annotation does not choose
    /// what the token may see.
    pub(super) fn new(objects: &Objects, images: Arc<Images>, args: &Update) -> Self {
        let token = || TOKENS.iter().find_map(|name| access::variable(name).ok().flatten());
        let login = args.release_notes.then(token).flatten();
        Self {
            objects: objects.clone(),
            images,
            forges: ReleaseForges::new(login.map_or(Login::Nobody, Login::Token)).and(&args.release_notes_api),
            origins: Mutex::default(),
        }
    }

    /// What the labels of a tag say.
    fn origin(&self, image: &BumpedImage<'_>, tag: &str) -> Result<Origin, CliError> {
        let key = (image.image.to_owned(), tag.to_owned());
        let known = self.origins.lock().get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let (policy, repository) = self.described(image)?;
        let origin = self.images.batch().origin(&policy, &repository, tag)?;
        self.origins.lock().insert(key, origin.clone());
        Ok(origin)
    }

    /// The policy and repository that know the login, or plain ones of the image's name.
    fn described(&self, image: &BumpedImage<'_>) -> Result<(ImagePolicy, ImageRepository), CliError> {
        let (namespace, name) = (image.policy.namespace.as_str(), image.policy.name.as_str());
        let policy = self.objects.image_policy(&ObjectName::new(namespace, name));
        let repository = policy.and_then(|policy| self.objects.image_repository(&policy.repository()?));
        if let (Some(policy), Some(repository)) = (policy, repository.filter(|it| it.spec.image == image.image)) {
            return Ok((policy.clone(), repository.clone()));
        }
        let metadata = serde_json::json!({"namespace": namespace, "name": name});
        let policy = serde_json::from_value(serde_json::json!({"metadata": metadata}));
        let repository = serde_json::json!({"metadata": metadata, "spec": {"image": image.image}});
        let repository = serde_json::from_value(repository);
        Ok((policy?, repository?))
    }
}

impl Releases for ReleaseNotes {
    fn releases(&self, images: &[BumpedImage<'_>]) -> (Vec<ImageRelease>, Vec<String>) {
        let ask = |image: &BumpedImage<'_>| {
            let step = ImageStep {
                image: image.image.to_owned(),
                old: image.old.map(str::to_owned),
                new: image.new.to_owned(),
            };
            self.forges.of_image(&step, |tag| self.origin(image, tag))
        };
        ask_all(images, LIMIT, ask).noted()
    }
}
