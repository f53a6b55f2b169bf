//! The flags of `kustomize`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `kustomize`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct Kustomize {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What is done with kustomization files.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Rewrite deprecated fields
    Fix(Fix),
    /// Change the kustomization of the current folder
    Edit(Edit),
    /// Make a kustomization in the current folder
    Create(Create),
}

/// Arguments of `kustomize fix`.
#[derive(Debug, Args)]
#[command(after_long_help = FIX_HELP)]
pub struct Fix {
    /// Kustomization files, and folders that are searched for them [default: the current folder]
    #[arg(value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,

    /// Write the files [default: print the changes as a unified diff]
    #[arg(long)]
    pub write: bool,
}

/// Arguments of `kustomize edit`.
#[derive(Debug, Args)]
#[command(after_long_help = EDIT_HELP)]
pub struct Edit {
    /// What is changed
    #[command(subcommand)]
    pub what: Edited,
}

/// What `kustomize edit` changes.
#[derive(Debug, Subcommand)]
pub enum Edited {
    /// Set fields
    Set(Set),
}

/// Arguments of `kustomize edit set`.
#[derive(Debug, Args)]
#[command(after_long_help = EDIT_HELP)]
pub struct Set {
    /// Which ones
    #[command(subcommand)]
    pub what: SetWhat,
}

/// What `kustomize edit set` sets.
#[derive(Debug, Subcommand)]
pub enum SetWhat {
    /// Set name, tag and digest of images
    Image(SetImage),
}

/// Arguments of `kustomize edit set image`.
#[derive(Debug, Args)]
#[command(after_long_help = SET_IMAGE_HELP)]
pub struct SetImage {
    /// NAME=NEWNAME[:TAG][@DIGEST], NAME:TAG[@DIGEST] or NAME@DIGEST; `*` keeps what is there
    #[arg(value_name = "IMAGE", required = true)]
    pub images: Vec<String>,
}

/// Arguments of `kustomize create`.
#[derive(Debug, Args)]
#[command(after_long_help = CREATE_HELP)]
pub struct Create {
    /// Add the manifests of the current folder as resources
    #[arg(long)]
    pub autodetect: bool,

    /// Look into folders, too; one with a kustomization is a resource itself
    #[arg(long)]
    pub recursive: bool,

    /// Resources to add, with commas
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub resources: Vec<String>,
}

const HELP: &str = "\
Only the bytes of what changes are written: comments, order and style of the rest stay.

Examples:
  # Deprecated fields of all kustomizations of a repository
  bumpwright kustomize fix --write clusters
  # The tag of an image
  bumpwright kustomize edit set image ghcr.io/acme/web:2.0.0

Exit codes:
  0  done, or nothing to do
  2  an error

Documentation: docs/guides/kustomizations.md";

const FIX_HELP: &str = "\
bases, imageTags, commonLabels, patchesStrategicMerge, patchesJson6902, patches that are names, and env of generators become what they \
are called now, with the result of `kustomize edit fix`. Each file is built before and after: a field with which the objects would differ \
stays as it is, as patchesJson6902 where the file sets names, namespaces or labels that a patch names. What cannot be rewritten is reported \
with the reason.

Examples:
  # Show the changes
  bumpwright kustomize fix clusters
  # Make them
  bumpwright kustomize fix --write clusters/production/kustomization.yaml

Exit codes:
  0  done, or nothing to do
  2  an error, or a file or a field that cannot be rewritten; the others are

Documentation: docs/guides/kustomizations.md";

const EDIT_HELP: &str = "\
Examples:
  # A tag
  bumpwright kustomize edit set image ghcr.io/acme/web:2.0.0
  # A digest, and another name
  bumpwright kustomize edit set image web=ghcr.io/acme/web@sha256:4d1ee2

Exit codes:
  0  written, or nothing to do
  2  an error; nothing was written

Documentation: docs/guides/kustomizations.md";

const SET_IMAGE_HELP: &str = "\
The entry of `images` with the name is replaced, or added: as `kustomize edit set image`, but the rest of the file stays as it is.

Examples:
  # A tag
  bumpwright kustomize edit set image ghcr.io/acme/web:2.0.0
  # Another registry, with the tag that is there
  bumpwright kustomize edit set image 'web=registry.example.com/web:*'

Exit codes:
  0  written, or nothing to do
  2  an error; nothing was written

Documentation: docs/guides/kustomizations.md";

const CREATE_HELP: &str = "\
Examples:
  # Of all manifests of this folder
  bumpwright kustomize create --autodetect
  # And of the folders in it
  bumpwright kustomize create --autodetect --recursive

Exit codes:
  0  written
  2  an error, such as a kustomization that is there; nothing was written

Documentation: docs/guides/kustomizations.md";
