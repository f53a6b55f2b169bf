//! What the releases of new images are, for the review of a request (docs/guides/reviews.md#release-notes-in-the-cluster).
//!
//! Whoever opens a request names images, and labels name sources: registries are asked about images that ImageRepositories
//! of the namespace name, as their scans ask them, and forges without a login, also the one of the repository.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;

use crate::images::origins::{AskedRepository, ImageOrigins, canonical, scanned};
use bumpwright_api::ImageRepository;
use bumpwright_budget::Share;
use bumpwright_fleet::Review;
use bumpwright_forge::ReviewServer;
use bumpwright_http::Job;
use bumpwright_json::Texts as _;
use bumpwright_runtime::Log;
use bumpwright_update::{ImageStep, ReleaseForges, ReleasesApi, ask_all};

/// The time limit of the images of a request.
const LIMIT: Duration = Duration::from_secs(15);

/// Asks about the new images of a review.
pub(super) struct ReleaseNotes {
    origins: Arc<ImageOrigins>,
    /// The ImageRepositories that may be asked, by their images in full.
    repositories: BTreeMap<String, AskedRepository>,
    forges: ReleaseForges,
    runtime: Handle,
    /// What answers are on the account of.
    memory: Share,
    log: Log,
}

impl ReleaseNotes {
    /// `repositories` are the ImageRepositories of the `namespace` of the GitRepository, whose requests are at `server`.
    pub(super) fn new(
        origins: &Arc<ImageOrigins>,
        (namespace, repositories): (&str, Vec<Value>),
        server: &ReviewServer,
        memory: Share,
        log: Log,
    ) -> Self {
        let (own, reached) = ReleasesApi::of_server(server);
        let asked = |one: Value| {
            let uid = one.text_at("/metadata/uid").to_owned();
            let repository: ImageRepository = serde_json::from_value(one).ok()?;
            Some((scanned(&repository)?, AskedRepository { uid, repository }))
        };
        Self {
            origins: Arc::clone(origins),
            repositories: repositories.into_iter().filter_map(asked).collect(),
            forges: origins.forges(namespace).and_by(own, reached),
            runtime: Handle::current(),
            memory,
            log,
        }
    }

    /// Adds to a review what is known. Blocks, outside of the runtime's threads. What could not be asked is in the log.
    pub(super) fn add(&self, review: &mut Review) {
        let steps = review.image_steps().into_iter();
        let named = steps.filter_map(|step| {
            let repository = self.repositories.get(&canonical(&step.image)?)?;
            Some((step, repository))
        });
        let named: Vec<(ImageStep, &AskedRepository)> = named.collect();
        let ask = |(step, repository): &(ImageStep, &AskedRepository)| {
            let origin = |version: &str| self.origins.origin(&self.runtime, repository, version);
            self.forges.of_image(step, origin)
        };
        let asked = Job::on(self.memory.clone()).run(|| ask_all(&named, LIMIT, ask));
        asked.notes.iter().for_each(|note| self.log.info(note));
        review.releases = asked;
    }
}
