//! The flags of `message`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `message`.
#[derive(Debug, Args)]
pub struct Message {
    /// The Go template [default: that of the automation in -f, or the built-in message]
    #[arg(long, value_name = "TEXT|@FILE")]
    pub template: Option<String>,

    /// The template's data as JSON: automationObject, values, changes, images; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "from_json")]
    pub data: Option<PathBuf>,

    /// Data from the output of `bumpwright update --output json`; - for standard input
    #[arg(long, value_name = "FILE")]
    pub from_json: Option<PathBuf>,

    /// The ImageUpdateAutomation with the template, values and name; a file, a folder, or - for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR")]
    pub filenames: Vec<PathBuf>,

    /// Ignore unknown fields of manifests in -f
    #[arg(long)]
    pub allow_unknown_fields: bool,
}
