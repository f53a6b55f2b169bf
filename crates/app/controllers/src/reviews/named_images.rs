//! The images that ImageRepositories of a namespace name: registries are asked about these alone, as the scans of the
//! ImageRepositories ask them, since whoever opens a request names any image.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;

use crate::images::origins::{AskedRepository, ImageOrigins, OriginError, canonical, scanned};
use bumpwright_api::ImageRepository;
use bumpwright_budget::Share;
use bumpwright_fleet::{ImageRegistries, image_parts};
use bumpwright_http::{Deadline, Job};
use bumpwright_json::Texts as _;
use bumpwright_registry::Origin;
use bumpwright_runtime::Log;

/// The time for all images of a request: after that registries are asked about no other.
const LIMIT: Duration = Duration::from_secs(15);

/// The ImageRepositories that may be asked. Its calls block, outside of the runtime's threads.
pub(super) struct NamedImages {
    origins: Arc<ImageOrigins>,
    /// By their images in full.
    repositories: BTreeMap<String, AskedRepository>,
    runtime: Handle,
    /// What answers are on the account of.
    memory: Share,
    log: Log,
    /// When the first image was asked about.
    end: OnceLock<Deadline>,
}

impl fmt::Debug for NamedImages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.repositories.keys()).finish()
    }
}

impl NamedImages {
    /// `repositories` are the ImageRepositories of a namespace, which `memory` belongs to.
    pub(super) fn new(origins: &Arc<ImageOrigins>, repositories: Vec<Value>, memory: Share, log: Log) -> Self {
        let asked = |one: Value| {
            let uid = one.text_at("/metadata/uid").to_owned();
            let repository: ImageRepository = serde_json::from_value(one).ok()?;
            Some((scanned(&repository)?, AskedRepository { uid, repository }))
        };
        Self {
            origins: Arc::clone(origins),
            repositories: repositories.into_iter().filter_map(asked).collect(),
            runtime: Handle::current(),
            memory,
            log,
            end: OnceLock::new(),
        }
    }

    /// The ImageRepository of an image, which has no version.
    pub(super) fn named(&self, image: &str) -> Option<&AskedRepository> {
        self.repositories.get(&canonical(image)?)
    }

    /// What a version was built from.
    ///
    /// # Errors
    /// The registry does not answer, refuses, or does not have it.
    pub(super) fn origin(&self, repository: &AskedRepository, version: &str) -> Result<Origin, OriginError> {
        self.origins.origin(&self.runtime, repository, version)
    }

    /// Does something on the account of the namespace.
    pub(super) fn on_account<T>(&self, ask: impl FnOnce() -> T) -> T {
        Job::on(self.memory.clone()).run(ask)
    }
}

impl ImageRegistries for NamedImages {
    fn has(&self, image: &str) -> Option<bool> {
        let (name, version) = image_parts(image)?;
        let repository = self.named(name)?;
        if self.end.get_or_init(|| Deadline::after(LIMIT)).passed() {
            return None;
        }
        match self.on_account(|| self.origin(repository, version)) {
            Ok(_) => Some(true),
            Err(error) if error.is_absent() => Some(false),
            Err(error) => {
                self.log
                    .info(&format!("whether image {image} exists is not known: {error}"));
                None
            }
        }
    }

    fn left_out(&self, count: usize) {
        self.log
            .info(&format!("registries were not asked for {count} images of a request"));
    }
}
