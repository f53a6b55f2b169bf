//! The flags of `reconcile`.

use clap::Args;

use crate::cli::view::args::Place;
use bumpwright_api::GoDuration;

/// Arguments of `reconcile`.
#[derive(Debug, Args)]
#[command(after_long_help = RECONCILE_HELP)]
pub struct Reconcile {
    /// The object: a kind and a name, or KIND/NAME
    #[arg(value_name = "KIND NAME", required = true, num_args = 1..=3)]
    pub words: Vec<String>,

    /// First its source: of a policy its ImageRepository, of a HelmRelease its chart and what that is of
    #[arg(long)]
    pub with_source: bool,

    /// Of a HelmRelease: install or upgrade it once, also without a change
    #[arg(long)]
    pub force: bool,

    /// Of a HelmRelease: forget its failures, so that it is tried again
    #[arg(long)]
    pub reset: bool,

    /// How long it may take, and its source as well
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub timeout: GoDuration,

    /// Where it is.
    #[command(flatten)]
    pub place: Place,
}

const RECONCILE_HELP: &str = "\
Annotates the object as `flux reconcile` does, and waits until its controller has done it: bumpwright or Flux's. KIND is spelled as \
kubectl or flux does: kustomization, ks, automation, image update, image repository, source git, helmrelease, hr.

Examples:
  bumpwright reconcile kustomization apps --with-source
  bumpwright reconcile image update all -n team-a
  bumpwright reconcile gitrepository/fleet --timeout 1m
  bumpwright reconcile helmrelease web -n shop --with-source --reset

Exit codes:
  0  it is ready
  1  it is not: it failed, or was not ready in time
  2  an error: it is not there, is suspended, or may not be changed

Documentation: docs/guides/status.md";
