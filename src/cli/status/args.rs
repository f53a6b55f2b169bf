//! The flags of `status`.

use clap::Args;

use crate::cli::view::args::{Places, Shape};

/// Arguments of `status`.
#[derive(Debug, Args)]
#[command(after_long_help = STATUS_HELP)]
pub struct Status {
    /// Where to look.
    #[command(flatten)]
    pub places: Places,

    /// Print it again when something changes, until it is interrupted
    #[arg(long, short = 'w', conflicts_with = "exit_code")]
    pub watch: bool,

    /// Exit with 1 if something is broken or stuck
    #[arg(long)]
    pub exit_code: bool,

    /// The output format
    #[arg(long, short = 'o', value_name = "FORMAT", value_enum, default_value_t = Shape::Text)]
    pub output: Shape,
}

const STATUS_HELP: &str = "\
Only objects are read, so that it works beside Flux's controllers too.

Examples:
  bumpwright status
  # Of all namespaces, for as long as it runs
  bumpwright status -A --watch
  # In a pipeline: fail if something needs attention
  bumpwright status -A --exit-code
  bumpwright status -o json | jq -r '.attention[] | .id + \" \" + .reason'

Exit codes:
  0  shown
  1  with --exit-code: something is broken or stuck
  2  an error

Documentation: docs/guides/status.md";
