//! The flags of `trace`.

use clap::Args;

use crate::cli::view::args::{Place, Shape};

/// Arguments of `trace`.
#[derive(Debug, Args)]
#[command(after_long_help = TRACE_HELP)]
pub struct Trace {
    /// The object: a kind and a name, or KIND/NAME
    #[arg(value_name = "KIND NAME", required = true, num_args = 1..=3)]
    pub object: Vec<String>,

    /// Where it is.
    #[command(flatten)]
    pub place: Place,

    /// The output format
    #[arg(long, short = 'o', value_name = "FORMAT", value_enum, default_value_t = Shape::Text)]
    pub output: Shape,
}

const TRACE_HELP: &str = "\
From an object back to the Kustomization that applied it, its source and commit, the automation that writes there, and the policies with \
their tags. A pod is followed to its Deployment first, and what Helm installed to its HelmRelease: by the inventory of the release, the labels \
helm.toolkit.fluxcd.io/name and namespace, or the annotations meta.helm.sh/release-name and release-namespace.

Examples:
  bumpwright trace deployment web -n apps
  bumpwright trace pod/web-6d4cf56db6-x7x2p -n apps
  bumpwright trace kustomization apps -o json
  bumpwright trace helmrelease web -n apps

Exit codes:
  0  shown
  1  no Kustomization has applied it
  2  an error: it is not there, or may not be read

Documentation: docs/guides/status.md";
