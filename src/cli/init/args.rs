//! The flags of `init`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args};

use crate::cli::flag_values::{Format, folder};

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct Init {
    /// A folder that is searched for YAML files, or a file; best the root of a repository
    #[arg(value_name = "PATH", default_value = ".")]
    pub path: PathBuf,

    /// Write the new objects and the markers [default: print the changes as a unified diff]
    #[arg(long)]
    pub write: bool,

    /// The new file for the objects, or its folder [default: image-automation.yaml, beside the folder flux-system if
    /// there is one; below .bumpwright where there is no Flux]
    #[arg(long, value_name = "FILE|DIR")]
    pub export_to: Option<PathBuf>,

    /// The namespace of the objects
    #[arg(long, value_name = "NS", default_value = "flux-system", value_parser = NonEmptyStringValueParser::new())]
    pub namespace: String,

    /// Manifests with the Secrets that ImageRepositories in PATH name; a file, a folder, or - for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR")]
    pub filenames: Vec<PathBuf>,

    /// Render the charts of HelmReleases to know which of their values are images; false: the names of keys decide
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub helm: bool,

    /// A folder with charts, as NAME-VERSION.tgz or NAME, which take precedence over those of HelmRepositories and
    /// OCIRepositories
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub charts: Option<PathBuf>,

    /// Only this image or chart, without a tag; may be repeated
    #[arg(long, value_name = "IMAGE")]
    pub image: Vec<String>,

    /// The Secret with the login for the registries of new ImageRepositories [default: as those in use
    /// for the same host]
    #[arg(long, value_name = "NAME")]
    pub secret_ref: Option<String>,

    /// The GitRepository of the automation [default: the only one among the files, or the one in flux-system]
    #[arg(long, value_name = "[NS/]NAME")]
    pub source: Option<String>,

    /// Propose an automation where there is Flux; false: policies and markers only, where CI
    /// commits (`bumpwright update`)
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub automation: bool,

    /// Who makes the commits of the automation, as 'Name <mail>'
    #[arg(long, value_name = "AUTHOR", default_value = AUTHOR)]
    pub author: String,

    /// The output format
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub output: Format,
}

/// An author that nobody is.
pub const AUTHOR: &str = "Fleet Bot <fleet-bot@example.com>";

const HELP: &str = "\
Images are looked for in references with a tag, in `images` of kustomizations, and in values of Helm charts: the chart of a HelmRelease is \
rendered with other values to see which of them are images; without the chart the names of keys decide. Versions of charts in HelmReleases, \
Chart.yaml, `helmCharts` and Applications; tags of OCIRepositories and GitRepositories. Registries are asked for their tags with the logins \
that ImageRepositories there name, if -f has them, else with your own. What a policy takes is in the manner of the tag in use: versions of its major version, its variant, its branch; \
digests where the tag is one that moves, as latest. Each proposal comes with its reason, and so does each image that is left.

Examples:
  # Show what is proposed for the repository in this folder
  bumpwright init
  # Write it, then see what an update would change
  bumpwright init --write && bumpwright update --dry-run
  # One image, with the Secret that the cluster needs for its registry
  bumpwright init --image ghcr.io/acme/web --secret-ref ghcr --write \\
    clusters/production
  # Where CI commits, by `bumpwright update`: policies and markers only
  bumpwright init --automation=false
  # For programs
  bumpwright init --output json

Exit codes:
  0  done, or nothing to propose; what was left is reported with the reason
  2  an error, or something that could not be read; the rest was done

Documentation: docs/guides/init.md";
