//! The flags of `tree`.

use clap::Args;

use crate::cli::view::args::{Place, Shape};

/// Arguments of `tree`.
#[derive(Debug, Args)]
#[command(after_long_help = TREE_HELP)]
pub struct Tree {
    /// The Kustomization or HelmRelease: kustomization NAME, ks/NAME, helmrelease NAME, or hr/NAME
    #[arg(value_name = "KIND NAME", required = true, num_args = 1..=2)]
    pub object: Vec<String>,

    /// Ask for each object how it is
    #[arg(long)]
    pub health: bool,

    /// Where it is.
    #[command(flatten)]
    pub place: Place,

    /// The output format
    #[arg(long, short = 'o', value_name = "FORMAT", value_enum, default_value_t = Shape::Text)]
    pub output: Shape,
}

const TREE_HELP: &str = "\
The objects of its inventory, and those of the Kustomizations and HelmReleases among them, of which the chart is shown. Their health \
is what spec.healthCheckExprs or else kstatus says of them, and takes a request for each. What was applied to another cluster is not \
asked for. Inventories of HelmReleases are written by helm-controller 1.5 and newer.

Examples:
  bumpwright tree kustomization flux-system
  bumpwright tree ks/apps --health
  bumpwright tree helmrelease web -n shop
  bumpwright tree ks/apps -n team-a -o json

Exit codes:
  0  shown
  2  an error

Documentation: docs/guides/status.md";
