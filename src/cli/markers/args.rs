//! The flags of `markers`, as typed.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};

use crate::cli::flag_values::Format;
use bumpwright_edit::Formats;

/// Arguments of `markers`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, args_conflicts_with_subcommands = true)]
pub struct Markers {
    /// What to do with them [default: list them]
    #[command(subcommand)]
    pub change: Option<Change>,

    /// What is looked at
    #[command(flatten)]
    pub place: PlaceFlags,

    /// The output format
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub output: Format,
}

/// What to do with markers.
#[derive(Debug, Subcommand)]
pub enum Change {
    /// List markers, as without a subcommand
    List(List),
    /// Put a marker on each field that holds a version of an image
    Add(Add),
    /// Remove markers
    Remove(Remove),
}

/// Where markers are looked for.
#[derive(Debug, Args)]
pub struct PlaceFlags {
    /// Files, and folders that are searched: for YAML, and files of other formats where they are read
    /// [default: the current folder]
    #[arg(value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
}

/// Arguments of `markers list`.
#[derive(Debug, Args)]
#[command(after_long_help = LIST_HELP)]
pub struct List {
    /// What is looked at
    #[command(flatten)]
    pub place: PlaceFlags,

    /// The output format
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub output: Format,
}

/// Arguments of `markers add`.
#[derive(Debug, Args)]
#[command(after_long_help = ADD_HELP)]
pub struct Add {
    /// All fields of this image, named without a tag
    #[arg(long, value_name = "IMAGE", required_unless_present = "field")]
    pub image: Option<String>,

    /// This field: a line, and a column if there are several values on it; may be repeated
    #[arg(long, value_name = "FILE:LINE[:COLUMN]", conflicts_with_all = ["image", "paths"])]
    pub field: Vec<String>,

    /// What of the image is in the field of --field: image, name, tag, digest, or tag@digest for both in one field
    #[arg(long, value_name = "PART", requires = "field", default_value = "image", value_parser = ["image", "name", "tag", "digest", "tag@digest"])]
    pub part: String,

    /// The policy that the markers name
    #[arg(long, value_name = "NS:POLICY")]
    pub policy: String,

    /// Fields of these formats too: docker, env, hcl, ini, json, make, properties, shell, template, toml,
    /// or all; with commas
    #[arg(long, value_name = "FORMATS")]
    pub formats: Option<Formats>,

    /// Render the charts of HelmReleases with --image, to see which of their values are images; false:
    /// the names of keys decide
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub helm: bool,

    /// Take charts of HelmRepositories from this folder first: NAME-VERSION.tgz, or a folder NAME
    #[arg(long, value_name = "DIR", value_parser = crate::cli::flag_values::folder, conflicts_with = "field")]
    pub charts: Option<PathBuf>,

    /// Write the files [default: print the changes as a unified diff]
    #[arg(long)]
    pub write: bool,

    /// What is changed
    #[command(flatten)]
    pub place: PlaceFlags,
}

/// Arguments of `markers remove`.
#[derive(Debug, Args)]
#[command(after_long_help = REMOVE_HELP)]
pub struct Remove {
    /// Only markers of this policy [default: all]
    #[arg(long, value_name = "NS:POLICY")]
    pub policy: Option<String>,

    /// The marker of this field, as `bumpwright markers` lists it; may be repeated
    #[arg(long, value_name = "FILE:LINE[:COLUMN]", conflicts_with = "paths")]
    pub field: Vec<String>,

    /// Files of these formats too: docker, env, hcl, ini, json, make, properties, shell, template, toml,
    /// or all; with commas
    #[arg(long, value_name = "FORMATS")]
    pub formats: Option<Formats>,

    /// Write the files [default: print the changes as a unified diff]
    #[arg(long)]
    pub write: bool,

    /// What is changed
    #[command(flatten)]
    pub place: PlaceFlags,
}

const HELP: &str = "\
Files of all formats are listed; `update` edits those that are not YAML where --formats asks for them.

Examples:
  # Every marker, with what its field holds
  bumpwright markers clusters/production
  # Mark the fields of an image
  bumpwright markers add --image ghcr.io/acme/web --policy flux-system:web \\
    --write apps

Exit codes:
  0  done, or nothing to do
  2  an error

Documentation: docs/start/markers.md";

const LIST_HELP: &str = "\
Files of all formats are listed; `update` edits those that are not YAML where --formats asks for them.

Examples:
  # Every marker, with what its field holds
  bumpwright markers list clusters/production
  # For programs
  bumpwright markers list --output json

Exit codes:
  0  done, or nothing to do
  2  an error

Documentation: docs/start/markers.md";

const ADD_HELP: &str = "\
Fields: references of the image with a tag or a digest; in a kustomization's `images` newName, newTag and digest; in values of HelmReleases \
what their charts make the image of, else repository and tag beside each other; in other formats (--formats) references of the image. A marker is put after its value, on the line \
above where the format has no comments there or would take them for a part of the value, and in JSON in a member beside it. What cannot be \
marked is reported with the reason.

Examples:
  # Show the changes
  bumpwright markers add --image ghcr.io/acme/web --policy flux-system:web \\
    apps
  # Make them
  bumpwright markers add --image ghcr.io/acme/web --policy flux-system:web \\
    --write apps
  # In Terraform and Dockerfiles too
  bumpwright markers add --formats hcl,docker --image ghcr.io/acme/web \\
    --policy flux-system:web --write .
  # Mark one field
  bumpwright markers add --field apps/values.yaml:12 --part tag \\
    --policy flux-system:web --write

Exit codes:
  0  done, or nothing to do
  2  an error

Documentation: docs/start/markers.md";

const REMOVE_HELP: &str = "\
Examples:
  # Show what would change
  bumpwright markers remove apps
  # Markers of one policy
  bumpwright markers remove --policy flux-system:web --write apps
  # The marker of one field
  bumpwright markers remove --field apps/values.yaml:12 --write

Exit codes:
  0  done, or nothing to do
  2  an error

Documentation: docs/start/markers.md";
