//! The flags of `demo`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `demo`.
#[derive(Debug, Args)]
#[command(after_long_help = DEMO_HELP)]
pub struct Demo {
    /// Keep the repository in this folder, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

const DEMO_HELP: &str = "\
Examples:
  bumpwright demo
  # Leave the repository to look at
  bumpwright demo --keep /tmp/demo

Exit codes:
  0  done
  2  an error

Documentation: docs/start/markers.md";
