//! What a fleet needs from elsewhere, with the user's own credentials.

use std::sync::Arc;

use super::args::Reading;
use crate::cli::build::building;
use crate::cli::fetch_bounds::FetchBounds;
use bumpwright_fleet::{Outside, Repository, SourceObject};
use bumpwright_kustomize::tree::{Sealed, World};

/// The user's network, or none.
pub(super) struct UserOutside {
    bounds: FetchBounds,
    offline: bool,
}

impl UserOutside {
    pub(super) const fn new(reading: &Reading) -> Self {
        Self::within(reading.bounds, reading.offline)
    }

    pub(super) const fn within(bounds: FetchBounds, offline: bool) -> Self {
        Self { bounds, offline }
    }
}

impl Outside for UserOutside {
    fn world(&self) -> Box<dyn World + '_> {
        match self.offline {
            true => Box::new(Sealed),
            false => Box::new(building::world(&self.bounds)),
        }
    }

    fn source(&self, source: &SourceObject) -> Result<Arc<dyn Repository>, String> {
        Err(format!("{} is not this repository", source.shown()))
    }
}
