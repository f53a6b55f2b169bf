//! Who is asked or told in the course of a run.

use std::sync::Arc;

use super::announce::Announce;
use super::verify::Verify;
use crate::policy::policies::Resolve;
use crate::report::releases::Releases;

/// Parts of a run that need more than the repository.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    /// Chooses images by asking registries; without it the policies' status counts.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// Verifies the edits before they are committed, and says what they change in clusters.
    pub verify: Option<Arc<dyn Verify>>,
    /// Asks for the releases behind the changes.
    pub releases: Option<Arc<dyn Releases>>,
    /// Gets the commit before it is pushed.
    pub announce: Option<Arc<dyn Announce>>,
}
