//! The flags of `message`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `message`.
#[derive(Debug, Args)]
#[command(after_long_help = MESSAGE_HELP)]
pub struct Message {
    /// The Go template [default: the automation's in -f, or the built-in message]
    #[arg(long, value_name = "TEXT|@FILE")]
    pub template: Option<String>,

    /// The template's data as JSON: automationObject, values, changes, images, impact; - for standard input
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

const MESSAGE_HELP: &str = "\
Examples:
  # The template of an automation, with example changes
  bumpwright message -f automation.yaml
  bumpwright message --template 'Update {{ len .Changed.Changes }} images'
  # The changes of a folder
  bumpwright update --dry-run --output json | bumpwright message \\
    --from-json - --template @template.txt

Exit codes:
  0  rendered
  2  an error: in the template, its data, or a manifest

Documentation: docs/guides/messages.md";
