//! The flags of `uninstall`.

use clap::Args;

use crate::cli::cluster::Target;
use bumpwright_api::GoDuration;

/// Arguments of `uninstall`.
#[derive(Debug, Args)]
#[command(after_long_help = UNINSTALL_HELP)]
pub struct Uninstall {
    /// The cluster.
    #[command(flatten)]
    pub target: Target,

    /// Delete the definitions as well, and with them all objects of their kinds
    #[arg(long)]
    pub crds: bool,

    /// Do not ask before definitions are deleted
    #[arg(long, requires = "crds")]
    pub yes: bool,

    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Time limit for the pods to end, and for the objects of definitions to go
    #[arg(long, value_name = "DURATION", default_value = "2m")]
    pub timeout: GoDuration,
}

const UNINSTALL_HELP: &str = "\
Removes what `bumpwright install` made, by the field manager of its objects; other objects stay, and are listed with the reason. \
Definitions and objects stay without --crds. Objects without a controller afterwards lose their finalizer, so that they can be \
deleted; those that a process outside of the cluster serves keep it until the command is run again after its end. What Kustomizations \
have applied stays in any case. The namespace is deleted if `bumpwright install` made it and nothing else \
is in it.

Examples:
  bumpwright uninstall --dry-run
  # The objects stay for Flux, or for another installation
  bumpwright uninstall
  bumpwright uninstall --crds --yes

Exit codes:
  0  done, or nothing to do
  2  an error; the command can be run again

Documentation: docs/start/cluster.md";
