//! What bounds a chart.

/// Files of a chart. Helm has no limit.
pub(super) const MAX_FILES: usize = 100_000;

/// Bytes of all files of a chart, those of its archives included, as in Helm.
pub const MAX_CHART_BYTES: u64 = 100 << 20;

/// Charts within charts, which Helm does not limit.
pub(super) const MAX_DEPTH: usize = 32;
