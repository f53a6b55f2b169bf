//! What bounds values.

/// Charts and values (each counted with all that is in it) that one rendering may copy. Helm has no limit.
pub(super) const MOST: usize = 5_000_000;
