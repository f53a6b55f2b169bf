//! What a run is to set, and who is asked or told of it.

use std::sync::Arc;

use super::announce::Announce;
use super::verify::Verify;
use crate::policy::policies::{Policies, Resolve};
use crate::report::releases::Releases;
use crate::rollout::PutBack;
use bumpwright_api::LabelSelector;
use bumpwright_edit::Formats;
use bumpwright_policy::Windows;
use bumpwright_rules::Rules;

/// The policies to apply, for which automation, and below which path.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    /// `namespace/name` of the automation; none for a plain run.
    pub automation: Option<String>,
    /// Only policies of this namespace count (IUA-002).
    pub namespace: Option<String>,
    /// Only policies selected by this label selector count; validated.
    pub selector: Option<LabelSelector>,
    /// `update.path`: a folder or file of the repository; none for all of it.
    pub path: Option<String>,
    /// The policies that were given; those of the repository itself come after them.
    pub policies: Arc<Policies>,
    /// Chooses images by asking registries; without it the policies' status counts.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// Verifies the edits before they are committed, and says what they change in clusters.
    pub verify: Option<Arc<dyn Verify>>,
    /// Asks for the releases behind what changes.
    pub releases: Option<Arc<dyn Releases>>,
    /// Told of the commit before it is pushed.
    pub announce: Option<Arc<dyn Announce>>,
    /// Fields are put back to what they held, in the place of following policies.
    pub put_back: Option<Arc<PutBack>>,
    /// Leave fields alone that somebody has set back; none to write them.
    pub respect_reverts: Option<RespectReverts>,
    /// Preview only: nothing is written.
    pub dry_run: bool,
    /// When the automation pushes; always without.
    pub windows: Option<Windows>,
    /// The formats beside YAML that are edited.
    pub formats: Formats,
    /// Rules beside those of the repository.
    pub rules: Option<Rules>,
    /// Write fields whatever they hold, as Flux does (gate `OverwriteMismatches`).
    pub overwrite: bool,
}

/// How reverts are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RespectReverts {
    /// How many commits are looked at.
    pub commits: u32,
    /// The address by which commits of the automation are known; without one, any value that was set back counts.
    pub author: Option<String>,
}
