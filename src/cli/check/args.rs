//! The flags of `check`.

use clap::Args;

use crate::cli::cluster::Target;
use crate::cli::controller::args::INSTALLED_CONTROLLERS;
use crate::cli::flag_values::Format;

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_long_help = CHECK_HELP)]
pub struct Check {
    /// The cluster.
    #[command(flatten)]
    pub target: Target,

    /// Check whether an installation can be made, before one exists
    #[arg(long)]
    pub pre: bool,

    /// With --pre: what is to be installed, as for `install`
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = INSTALLED_CONTROLLERS)]
    pub components: Vec<String>,

    /// With --pre: how many processes are to share the objects, as for `install`
    #[arg(long, value_name = "N", requires = "pre")]
    pub shards: Option<u32>,

    /// The format of the output
    #[arg(long, short = 'o', value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

const CHECK_HELP: &str = "\
A line for each finding: ✔ all is well, ! worth knowing, ✗ not well, ? cannot be found out.

Examples:
  # Before there is an installation
  bumpwright check --pre --components=all
  bumpwright check
  bumpwright check --output json | jq '.checks[] | select(.status != \"ok\")'

Exit codes:
  0  all is well
  1  something is not well
  2  something cannot be found out

Documentation: docs/start/cluster.md";
