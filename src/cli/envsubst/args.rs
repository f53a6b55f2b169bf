//! The flags of `envsubst`, as typed.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `envsubst`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct Envsubst {
    /// The file to read [default: standard input]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Fail when a variable without a default is not set; else it is empty
    #[arg(long)]
    pub strict: bool,
}

const HELP: &str = "\
Examples:
  # What spec.postBuild.substitute of a Kustomization makes of a file
  REGION=eu-central-1 bumpwright envsubst --strict apps.yaml
  # Of a build, with variables of the environment
  bumpwright build ./apps | bumpwright envsubst

Exit codes:
  0  printed
  2  an error; nothing was printed

Documentation: docs/guides/kustomizations.md";
