//! How YAML is parsed.

use granit_parser::Options;

/// go-yaml's limits: 10,000 levels of each kind.
pub(crate) fn options() -> Options {
    let mut options = Options::default();
    options.flow_nesting_limit = 10_000;
    options.block_nesting_limit = 10_000;
    options
}
