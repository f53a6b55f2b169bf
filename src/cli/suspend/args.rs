//! The flags of `suspend` and `resume`.

use clap::Args;

use crate::cli::view::args::Place;
use bumpwright_api::GoDuration;

/// Arguments of `suspend`.
#[derive(Debug, Args)]
#[command(after_long_help = SUSPEND_HELP)]
pub struct Suspend {
    /// What is suspended.
    #[command(flatten)]
    pub objects: Objects,
}

/// Objects of a kind.
#[derive(Debug, Args)]
pub struct Objects {
    /// The objects: a kind with their names, or each as KIND/NAME
    #[arg(value_name = "KIND NAME", required = true, num_args = 1..)]
    pub words: Vec<String>,

    /// All objects of the kind in the namespace
    #[arg(long)]
    pub all: bool,

    /// Where they are.
    #[command(flatten)]
    pub place: Place,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
#[command(after_long_help = RESUME_HELP)]
pub struct Resume {
    /// What is resumed.
    #[command(flatten)]
    pub objects: Objects,

    /// Wait until they are reconciled
    #[arg(long)]
    pub wait: bool,

    /// With --wait: how long, for each
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub timeout: GoDuration,
}

const SUSPEND_HELP: &str = "\
Sets spec.suspend: the objects stay as they are, and are not reconciled. `flux suspend` does the same. KIND is spelled as kubectl or \
flux does: kustomization, ks, automation, image update, source git, helmrelease, hr.

Examples:
  bumpwright suspend kustomization apps
  bumpwright suspend image update --all -n team-a
  bumpwright suspend ks/apps gitrepository/fleet
  bumpwright suspend helmrelease web -n shop

Exit codes:
  0  suspended
  2  an error; those before it are suspended

Documentation: docs/guides/status.md";

const RESUME_HELP: &str = "\
Examples:
  bumpwright resume kustomization apps
  bumpwright resume automation --all --wait

Exit codes:
  0  resumed, and with --wait ready
  1  with --wait: not ready
  2  an error; those before it are resumed

Documentation: docs/guides/status.md";
