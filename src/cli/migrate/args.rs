//! The flags of `migrate`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `migrate`.
#[derive(Debug, Args)]
#[command(after_long_help = MIGRATE_HELP)]
pub struct Migrate {
    /// Manifests; folders are searched for YAML and JSON files
    #[arg(value_name = "FILE|DIR", required = true)]
    pub paths: Vec<PathBuf>,

    /// Write the files [default: print the changes as a unified diff]
    #[arg(long)]
    pub write: bool,
}

const MIGRATE_HELP: &str = "\
Kinds: ImageRepository, ImagePolicy, ImageUpdateAutomation, GitRepository, OCIRepository, Bucket, HelmRepository, HelmChart,
Kustomization. Objects whose meaning v1 cannot keep stay as they are, and are told with the reason.

Examples:
  # Show the changes
  bumpwright migrate clusters/production
  # Make them
  bumpwright migrate --write clusters/production

Exit codes:
  0  done, or nothing to do
  2  an error, or something that could not be migrated; the rest was all the same

Documentation: docs/behaviour/migration.md";
