//! The flags of `get`.

use clap::{Args, ValueEnum};

use crate::cli::view::args::Places;

/// Arguments of `get`.
#[derive(Debug, Args)]
#[command(after_long_help = GET_HELP)]
pub struct Get {
    /// What to show
    #[arg(value_name = "WHAT", value_enum)]
    pub what: What,

    /// Only those of these names
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// Where to look.
    #[command(flatten)]
    pub places: Places,

    /// Only those with these labels, as in app=web,tier!=test
    #[arg(
        long,
        short = 'l',
        value_name = "LABELS",
        default_value = "",
        hide_default_value = true
    )]
    pub selector: String,

    /// The output format; without it a table
    #[arg(long, short = 'o', value_name = "FORMAT", value_enum)]
    pub output: Option<Output>,

    /// Go on with what changes, until it is interrupted
    #[arg(long, short = 'w')]
    pub watch: bool,

    /// No headings
    #[arg(long, alias = "no-headers")]
    pub no_header: bool,
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Image policies with their choice, and how far that is
    #[value(aliases = ["image", "policy", "policies", "imagepolicy", "imagepolicies", "imgpol"])]
    Images,
    /// Image update automations
    #[value(aliases = ["automation", "imageupdateautomation", "imageupdateautomations", "iua"])]
    Automations,
    /// Kustomizations
    #[value(aliases = ["kustomization", "ks"])]
    Kustomizations,
    /// HelmReleases with their charts
    #[value(name = "helmreleases", aliases = ["helmrelease", "hr"])]
    Releases,
    /// Sources: GitRepositories, OCIRepositories, Buckets, ExternalArtifacts, HelmRepositories, HelmCharts
    #[value(aliases = ["source"])]
    Sources,
    /// All of these
    All,
}

/// Formats of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table with more columns
    Wide,
    /// For programs
    Json,
    /// For programs
    Yaml,
    /// Kinds and names alone
    Name,
}

const GET_HELP: &str = "\
Examples:
  bumpwright get images
  bumpwright get kustomizations -A --watch
  # Everything that a team has, with more columns
  bumpwright get all -n team-a -o wide
  # The images that are behind
  bumpwright get images -A -o json | jq '.images[] | select(.stage == \"behind\")'

Exit codes:
  0  shown, also if there is nothing
  2  an error: one of the names is not there, or the cluster does not have the kind

Documentation: docs/guides/status.md";
