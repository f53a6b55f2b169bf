//! The flags of `demo`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Keep the repository in this folder, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}
