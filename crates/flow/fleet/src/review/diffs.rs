//! What differs between two states of clusters, and what is to be said of it, without a check of either.

use super::{State, compared};
use crate::diff::{FleetDiff, differences};
use crate::verify::followed::{KEPT_CHART, kept_charts};

/// What differs between two states of the same clusters, which are in the same order. Notes are about what could not be
/// built, so that it is not known what differs, and about charts that the cluster keeps.
#[must_use]
pub fn diffs(before: State<'_>, after: State<'_>) -> Vec<FleetDiff> {
    let states = compared(before, after);
    let clusters = before.fleets.iter().zip(after.fleets).zip(&states);
    let diffs = clusters.map(|((old, new), state)| {
        let mut diff = differences(new, &state.owners);
        diff.unknown = state.uncompared.len();
        for one in state.uncompared.iter().filter_map(|one| one.unknown()) {
            diff.note(one.node, Some(&one.problem), one.message);
        }
        for node in kept_charts(old, new) {
            diff.note(node, None, KEPT_CHART.to_owned());
        }
        diff
    });
    diffs.collect()
}
