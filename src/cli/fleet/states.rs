//! Two states of the clusters of a repository.

use std::collections::{BTreeMap, BTreeSet};

use super::args::Reading;
use super::open::Opened;
use crate::cli::console::complain;
use crate::cli::error::CliError;
use bumpwright_fleet::{CheckSettings, Fleet, Memo, RenderedReleases, aligned, both, differing, entries, overlays};

/// The clusters of two states, in the same order.
type Both = (Vec<Fleet>, Vec<Fleet>);

pub(super) struct States {
    pub(super) old: Opened,
    pub(super) new: Opened,
}

impl States {
    /// Opens both: two revisions, or a revision and the files on disk.
    ///
    /// # Errors
    /// A revision or entry that does not exist, or that cannot be read; for users.
    pub(super) fn open(reading: &Reading, from: &str, to: Option<&str>) -> Result<Self, CliError> {
        if reading.revision.is_some() {
            return Err(CliError::new(
                "--ref is for one state: --from and --to name the two that are compared",
            ));
        }
        let old = Opened::at(reading, Some(from))?;
        let new = old.other(reading, to)?;
        if old.entries.is_empty() && new.entries.is_empty() {
            return Err(old.no_entry());
        }
        // Of a misspelt one nothing would differ.
        let is_nowhere = |entry: &&String| !old.has(entry) && !new.has(entry);
        if let Some(entry) = old.entries.iter().chain(&new.entries).find(is_nowhere) {
            return Err(CliError::new("neither of the two states has such a file or folder").at(entry));
        }
        Ok(Self { old, new })
    }

    /// How both are checked, before they are read: [`Opened::check_settings`].
    pub(super) fn check_settings(&mut self, reading: &Reading) -> Result<CheckSettings, CliError> {
        self.old.check_settings(reading)?;
        self.new.check_settings(reading)
    }

    /// The files that both have and whose content differs; none where one of them is on disk.
    pub(super) fn changed_files(&self) -> BTreeSet<String> {
        self.old.changed_files(&self.new).into_iter().flatten().collect()
    }

    /// What a cluster reconciled before, or without Flux the overlays, that the new state does not have and that are not
    /// among the entries.
    pub(super) fn gone(&self) -> Vec<String> {
        let tree = self.old.repository.tree();
        let mut before = entries(&*tree);
        if before.is_empty() {
            before = overlays(&*tree);
        }
        before.retain(|folder| !self.new.has(folder) && !self.new.entries.contains(folder));
        before
    }

    /// The clusters of either, in the same order. What cannot be read in a fleet is reported.
    ///
    /// # Errors
    /// An entry that cannot be read; for users.
    pub(super) fn fleets(&self) -> Result<Both, CliError> {
        let releases = |_: &str| RenderedReleases::All;
        let memo = Memo::default();
        let before = self.old.fleets_or_none(&memo, &releases)?;
        let memo = self.old.known_for(&memo, &self.new);
        let after = self.new.fleets_or_none(&memo, &releases)?;
        Ok(told(before, after))
    }

    /// The same without the releases that install the same in both: they are not rendered.
    pub(super) fn differing(&self) -> Result<Both, CliError> {
        if self.old.settings.charts.is_none() {
            return self.fleets();
        }
        if let Some((before, after)) = self.side_by_side()? {
            return Ok(told(before, after));
        }
        let compared = |_: &str| RenderedReleases::Compared;
        let memo = Memo::default();
        let before = self.old.fleets_or_none(&memo, &compared)?;
        let new_memo = self.old.known_for(&memo, &self.new);
        let after = self.new.fleets_or_none(&new_memo, &compared)?;
        let both = before.iter().filter_map(|fleet| {
            let other = after.iter().find(|other| other.entry == fleet.entry)?;
            Some((fleet.entry.as_str(), differing(fleet, other)))
        });
        let both: BTreeMap<&str, [RenderedReleases; 2]> = both.collect();
        let of = |entry: &str, side: usize| {
            let releases = both.get(entry).and_then(|sides| sides.get(side));
            releases.cloned().unwrap_or(RenderedReleases::All)
        };
        let old = self.old.fleets_or_none(&memo, &|entry| of(entry, 0))?;
        let new = self.new.fleets_or_none(&new_memo, &|entry| of(entry, 1))?;
        Ok(told(old, new))
    }
}

impl States {
    /// The same where both states have the same entries, which are walked once each; none if they do not, or if
    /// that is not enough.
    fn side_by_side(&self) -> Result<Option<Both>, CliError> {
        if self.old.entries != self.new.entries {
            return Ok(None);
        }
        let [old, new] = [&self.old, &self.new].map(|opened| {
            let mut settings = opened.settings.clone();
            if let Some(charts) = &mut settings.charts {
                charts.releases = RenderedReleases::Compared;
            }
            settings
        });
        let memo = Memo::default();
        let Some(before) = self.old.walked(&memo, &old)? else {
            return Ok(None);
        };
        let new_memo = self.old.known_for(&memo, &self.new);
        let Some(after) = self.new.walked(&new_memo, &new)? else {
            return Ok(None);
        };
        let pairs = before.into_iter().zip(after);
        let pairs: Option<Vec<(Fleet, Fleet)>> = pairs.map(|(before, after)| both(before, after)).collect();
        Ok(pairs.map(|pairs| pairs.into_iter().unzip()))
    }
}

/// Tells what cannot be read, and brings both states into the same order.
fn told(before: Vec<Fleet>, after: Vec<Fleet>) -> Both {
    for fleet in before.iter().chain(&after) {
        fleet.problems.iter().for_each(complain);
    }
    aligned(before, after)
}
