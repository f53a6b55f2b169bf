//! What the releases of new images are, for the review of a request
//! (docs/guides/reviews.md#release-notes-in-the-cluster).
//!
//! Labels name sources: forges are asked without a login, also the one of the repository.

use std::sync::Arc;
use std::time::Duration;

use super::named_images::NamedImages;
use crate::images::origins::AskedRepository;
use bumpwright_fleet::Review;
use bumpwright_forge::ReviewServer;
use bumpwright_runtime::Log;
use bumpwright_update::{ImageStep, ReleaseForges, ReleasesApi, ask_all};

/// The time limit of the images of a request.
const LIMIT: Duration = Duration::from_secs(15);

/// Asks about the new images of a review.
pub(super) struct ReleaseNotes {
    images: Arc<NamedImages>,
    forges: ReleaseForges,
    log: Log,
}

impl ReleaseNotes {
    /// The requests are at `server`. `forges` are on the account of the namespace.
    pub(super) fn new(images: &Arc<NamedImages>, forges: ReleaseForges, server: &ReviewServer, log: Log) -> Self {
        let (own, reached) = ReleasesApi::of_server(server);
        Self {
            images: Arc::clone(images),
            forges: forges.and_by(own, reached),
            log,
        }
    }

    /// Adds to a review what is known. Blocks, outside of the runtime's threads. What could not be asked is in the log.
    pub(super) fn add(&self, review: &mut Review) {
        let steps = review.image_steps().into_iter();
        let named = steps.filter_map(|step| {
            let repository = self.images.named(&step.image)?;
            Some((step, repository))
        });
        let named: Vec<(ImageStep, &AskedRepository)> = named.collect();
        let ask = |(step, repository): &(ImageStep, &AskedRepository)| {
            let origin = |version: &str| self.images.origin(repository, version);
            self.forges.of_image(step, origin)
        };
        let asked = self.images.on_account(|| ask_all(&named, LIMIT, ask));
        asked.notes.iter().for_each(|note| self.log.info(note));
        review.releases = asked;
    }
}
