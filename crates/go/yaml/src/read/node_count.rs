//! How many nodes a document makes, and how many of them by aliases.

use super::error::ReadError;
use crate::place::Place;

/// Nodes that aliases may add to one document, whatever its size.
const MAX_ALIASED: usize = 1_000_000;

/// The number of nodes read, and how many of them are copies by aliases.
#[derive(Default)]
pub(crate) struct NodeCount {
    pub(crate) total: usize,
    aliased: usize,
}

impl NodeCount {
    /// Counts copied nodes. The limit on their share is go-yaml's.
    pub(crate) fn copy(&mut self, nodes: usize, place: Place) -> Result<(), ReadError> {
        self.aliased = self.aliased.saturating_add(nodes);
        self.total = self.total.saturating_add(nodes);
        let few = self.aliased <= 100 || self.total <= 1000;
        #[allow(clippy::cast_precision_loss)] // a ratio
        let share = self.aliased as f64 / self.total as f64;
        if self.aliased > MAX_ALIASED || (!few && share > allowed_share(self.total)) {
            Err(ReadError::yaml(place, "document contains excessive aliasing"))
        } else {
            Ok(())
        }
    }
}

/// The share of copies that a document with this many nodes may have: 99 % for small ones, 10 % for huge ones.
fn allowed_share(total: usize) -> f64 {
    const LOW: usize = 400_000;
    const HIGH: usize = 4_000_000;
    #[allow(clippy::cast_precision_loss)] // a ratio
    match total {
        ..=LOW => 0.99,
        HIGH.. => 0.10,
        _ => 0.99 - 0.89 * ((total - LOW) as f64 / (HIGH - LOW) as f64),
    }
}
