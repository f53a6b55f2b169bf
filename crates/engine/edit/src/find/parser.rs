//! How YAML is parsed.

use granit_parser::{Marker, Options};

/// Where a mark is in the text, in bytes. The parser counts them for every text that it has as a whole.
#[must_use]
pub fn offset(marker: &Marker) -> usize {
    marker.byte_offset().unwrap_or_default()
}

/// go-yaml's limits: 10,000 levels of each kind.
pub(crate) fn options() -> Options {
    let mut options = Options::default();
    options.flow_nesting_limit = 10_000;
    options.block_nesting_limit = 10_000;
    options
}
