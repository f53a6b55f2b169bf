//! Two states of the clusters of a repository.

use super::args::Reading;
use super::open::Opened;
use crate::cli::console::complain;
use bumpwright_fleet::{Fleet, Memo, aligned};

/// Two states: the clusters of either, in the same order.
pub(super) struct States {
    pub(super) opened: [Opened; 2],
    pub(super) before: Vec<Fleet>,
    pub(super) after: Vec<Fleet>,
}

impl States {
    /// Reads both: two revisions, or a revision and the files on disk. What cannot be read in a fleet is told.
    ///
    /// # Errors
    /// A revision or entry that does not exist, or that cannot be read; for users.
    pub(super) fn read(reading: &Reading, from: &str, to: Option<&str>) -> Result<Self, String> {
        if reading.revision.is_some() {
            return Err("--ref is for one state: --from and --to name the two that are compared".to_owned());
        }
        let old = Opened::at(reading, Some(from))?;
        let new = old.other(reading, to)?;
        if old.entries.is_empty() && new.entries.is_empty() {
            return Err(old.no_entry());
        }
        // Of a misspelt one nothing would differ.
        let is_nowhere = |entry: &&String| !old.has(entry) && !new.has(entry);
        if let Some(entry) = old.entries.iter().chain(&new.entries).find(is_nowhere) {
            return Err(format!("{entry}: neither of the two states has such a file or folder"));
        }
        let memo = Memo::default();
        let before = old.fleets_or_none(&memo)?;
        let memo = old.known_for(&memo, &new);
        let after = new.fleets_or_none(&memo)?;
        for fleet in before.iter().chain(&after) {
            fleet.problems.iter().for_each(|problem| complain(problem));
        }
        let (before, after) = aligned(before, after);
        Ok(Self {
            opened: [old, new],
            before,
            after,
        })
    }
}
