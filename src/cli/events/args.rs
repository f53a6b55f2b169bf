//! The flags of `events`.

use clap::{Args, ValueEnum};

use crate::cli::view::args::{Places, Shape};

/// Arguments of `events`.
#[derive(Debug, Args)]
#[command(after_long_help = EVENTS_HELP)]
pub struct Events {
    /// Where to look.
    #[command(flatten)]
    pub places: Places,

    /// Only those about this object
    #[arg(long = "for", value_name = "KIND/NAME")]
    pub object: Option<String>,

    /// Only events of these types
    #[arg(long, value_name = "TYPE", value_delimiter = ',', value_enum, ignore_case = true)]
    pub types: Vec<EventType>,

    /// No headings
    #[arg(long, alias = "no-headers")]
    pub no_header: bool,

    /// The output format
    #[arg(long, short = 'o', value_name = "FORMAT", value_enum, default_value_t = Shape::Text)]
    pub output: Shape,
}

/// Types of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventType {
    /// What went as it should
    #[value(name = "Normal")]
    Normal,
    /// What did not
    #[value(name = "Warning")]
    Warning,
}

const EVENTS_HELP: &str = "\
Events about sources, images, automations and Kustomizations, the latest last. A cluster keeps them for an hour, unless it is set up \
otherwise.

Examples:
  bumpwright events -A --types Warning
  bumpwright events --for kustomization/apps

Exit codes:
  0  shown, also if there are none
  2  an error

Documentation: docs/guides/status.md";
