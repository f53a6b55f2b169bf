//! What a run is to set.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::hooks::Hooks;
use crate::error::RunError;
use crate::policy::policies::Policies;
use crate::rollout::PutBack;
use bumpwright_api::LabelSelector;
use bumpwright_edit::{Formats, Reason, Skip};
use bumpwright_nearest::nearest;
use bumpwright_policy::{PolicyName, Windows};
use bumpwright_rules::Rules;

/// The policies to apply, for which automation, and below which path.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    /// `namespace/name` of the automation; none for a plain run.
    pub automation: Option<String>,
    /// The folder of the files as people wrote it, with its slash, for messages; empty for the current one and for a
    /// remote.
    pub folder: String,
    /// Only policies of this namespace count (IUA-002).
    pub namespace: Option<String>,
    /// Only policies selected by this label selector count; validated.
    pub selector: Option<LabelSelector>,
    /// `update.path`: a folder or file of the repository; none for all of it.
    pub path: Option<String>,
    /// The policies that were given; those of the repository itself come after them.
    pub policies: Arc<Policies>,
    /// Policies that somebody has named for this run: without a marker for each of them nothing is written.
    pub asked: BTreeSet<PolicyName>,
    pub hooks: Hooks,
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

impl Edits {
    /// Whether markers name all policies that were asked for, as far as markers could be read.
    ///
    /// # Errors
    /// One that no marker names, with the one that was probably meant.
    pub(crate) fn check_asked(&self, named: &BTreeSet<PolicyName>, skips: &[Skip]) -> Result<(), RunError> {
        let Some(policy) = self.asked.difference(named).next() else {
            return Ok(());
        };
        if skips.iter().any(|skip| may_hide_marker(skip.reason)) {
            return Ok(());
        }
        let named: Vec<String> = named.iter().map(PolicyName::marker).collect();
        let policy = policy.marker();
        let near = nearest(&policy, named.iter().map(String::as_str)).map(str::to_owned);
        Err(RunError::Unmarked { policy, near })
    }
}

/// Whether a marker may be there that could not be read.
fn may_hide_marker(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Unparsable | Reason::MalformedMarker | Reason::NotAScalar | Reason::TooLarge | Reason::UnmatchedRule
    )
}

/// How reverts are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RespectReverts {
    /// How many commits are looked at.
    pub commits: u32,
    /// The address by which commits of the automation are known; without one, any value that was set back counts.
    pub author: Option<String>,
}
