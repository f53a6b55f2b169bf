//! `fleet` as typed.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand, ValueEnum};

use super::review_args::{CommentArgs, OutputParser, ReviewOutput};
use crate::cli::byte_size::ByteSize;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::fetch_bounds::FetchBounds;
use crate::cli::flag_values::folder;
use bumpwright_api::GoDuration;
use bumpwright_budget::{self as budget, Memory, Share};
use bumpwright_schemas::Schemas;
use bumpwright_update::ReleasesApi;

/// Arguments of `fleet`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Fleet {
    /// A command; without one the fleet is shown.
    #[command(subcommand)]
    pub command: Option<FleetCommand>,

    /// Show
    #[command(flatten)]
    pub show: Show,
}

/// Commands of `fleet`.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Say what would go wrong in the cluster, each with its place
    Check(Box<Check>),
    /// Show what differs between two revisions of the cluster, by Kustomization and object
    Diff(Box<Diff>),
    /// Say what a change does to the cluster, and what is dangerous about it, for a pull request
    Review(Box<Review>),
}

/// Arguments of `fleet review`.
#[derive(Debug, Args)]
#[command(after_long_help = REVIEW_HELP)]
pub struct Review {
    /// The revision that the change is for, such as origin/main: compared is from the last commit that
    /// both have in common
    #[arg(long, value_name = "REV")]
    pub from: String,

    /// The revision with the change [default: the files on disk]
    #[arg(long, value_name = "REV")]
    pub to: Option<String>,

    /// The output format; with =FILE it is written to a file. One that is printed and any number of files may be given
    #[arg(long, short, value_name = "FORMAT[=FILE]", value_parser = OutputParser, default_value = "text")]
    pub output: Vec<ReviewOutput>,

    /// The least severity of a new finding that makes the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    pub fail_on: FailOn,

    /// Ask registries whether they have the images that the change brings; never with --offline
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub images: bool,

    /// Say what the releases of new images are: links and first lines, by the labels of the images and the API of the
    /// forge of their source (github.com, gitlab.com, codeberg.org, gitea.com), without a login there; never with
    /// --images=false
    #[arg(long, conflicts_with = "offline")]
    pub release_notes: bool,

    /// With --release-notes: the API of another forge [possible kinds: github, gitea, gitlab]
    #[arg(long, value_name = "KIND=URL", requires = "release_notes")]
    pub release_notes_api: Vec<ReleasesApi>,

    /// With -o gerrit: the label that gets +1, or -1 if there is a finding that makes the exit code 1;
    /// empty for no vote
    #[arg(long, value_name = "LABEL", default_value = "Verified")]
    pub gerrit_label: String,

    /// The comment at a request.
    #[command(flatten)]
    pub comment: CommentArgs,

    /// What to read
    #[command(flatten)]
    pub reading: Reading,
}

/// Arguments of `fleet diff`.
#[derive(Debug, Args)]
#[command(after_long_help = DIFF_HELP)]
pub struct Diff {
    /// The revision to compare from: any that git understands, for a URL a branch, tag or whole commit id
    #[arg(long, value_name = "REV")]
    pub from: String,

    /// The revision to compare with [default: the files on disk]
    #[arg(long, value_name = "REV")]
    pub to: Option<String>,

    /// The output format
    #[arg(long, short, value_enum, default_value_t = FleetDiffOutput::Text)]
    pub output: FleetDiffOutput,

    /// What to read
    #[command(flatten)]
    pub reading: Reading,
}

/// Output formats of `fleet diff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FleetDiffOutput {
    /// A line for each Kustomization, object and field
    Text,
    /// For a pull request: a short summary, and the rest folded
    Markdown,
    /// One document
    Json,
    /// A page
    Html,
}

/// Arguments of `fleet check`.
#[derive(Debug, Args)]
#[command(after_long_help = CHECK_HELP)]
pub struct Check {
    /// The output format
    #[arg(long, short, value_enum, default_value_t = CheckOutput::Text)]
    pub output: CheckOutput,

    /// The least severity that makes the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    pub fail_on: FailOn,

    /// Accept the findings that this file has, as --write-baseline writes them
    #[arg(long, value_name = "FILE", conflicts_with = "write_baseline")]
    pub baseline: Option<PathBuf>,

    /// Write the findings of today that nobody has accepted into a file for --baseline, and accept them
    #[arg(long, value_name = "FILE")]
    pub write_baseline: Option<PathBuf>,

    /// What to read
    #[command(flatten)]
    pub reading: Reading,
}

/// Output formats of `fleet check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckOutput {
    /// A line for each finding, and a summary
    Text,
    /// One document (docs/reference/findings.schema.json)
    Json,
    /// A SARIF 2.1.0 log, for code scanning
    Sarif,
    /// A JUnit XML document, for test reports
    Junit,
    /// Workflow commands of GitHub Actions
    Github,
    /// A page, for the artifacts of a job
    Html,
}

/// Severities of findings, for `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Something that goes wrong
    Error,
    /// Something that may go wrong
    Warning,
    /// Something that the check does not know
    Note,
}

/// Arguments of `fleet` without a command.
#[derive(Debug, Args)]
pub struct Show {
    /// The output format
    #[arg(long, short, value_enum, default_value_t = FleetOutput::Tree)]
    pub output: FleetOutput,

    /// Only these Kustomizations
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub kustomization: Vec<String>,

    /// What to read
    #[command(flatten)]
    pub reading: Reading,
}

/// What is read, and how.
#[derive(Debug, Args)]
pub struct Reading {
    /// Entries: folders or files that clusters reconcile, such as clusters/production, or
    /// https://host/org/repo//clusters/production?ref=main [default: folders with a
    /// Kustomization that reconciles them, as flux bootstrap makes]
    #[arg(value_name = "PATH|URL")]
    pub entries: Vec<String>,

    /// Read this revision instead of the files: a branch, tag or commit; in a local repository any revision of git
    #[arg(long = "ref", value_name = "REV")]
    pub revision: Option<String>,

    /// The root of the repository [default: the folder with .git above the first PATH]
    #[arg(long, value_name = "DIR")]
    pub path: Option<PathBuf>,

    /// The files of a source: a folder on disk, or of the repository when that is below its root
    #[arg(long = "source", value_name = "KIND/NAMESPACE/NAME=DIR")]
    pub sources: Vec<String>,

    /// Render HelmReleases; false: their charts are not looked into
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub helm: bool,

    /// A folder with charts, as NAME-VERSION.tgz or NAME, which take precedence over those of HelmRepositories and
    /// OCIRepositories
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub charts: Option<PathBuf>,

    /// The minor version of Kubernetes, such as 1.34 [default: the newest that is known]
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<String>,

    /// The time limit for each source, chart and remote base that is fetched, and for the repository itself if it is
    /// behind a URL [default: 1m; 5m for the repository]
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<GoDuration>,

    /// Use no network: other sources and remote bases are unknown
    #[arg(long)]
    pub offline: bool,

    /// Undefined variables are errors, as with the gate StrictPostBuildSubstitutions; false: they are empty
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub strict_substitute: bool,

    /// A file with age identities (or SSH keys) for decryption; other encrypted values become **SOPS**
    #[arg(long = "age-key-file", value_name = "FILE")]
    pub age_key_files: Vec<PathBuf>,

    /// A file with an armoured OpenPGP keyring without passphrase for decryption
    #[arg(long = "pgp-key-file", value_name = "FILE")]
    pub pgp_key_files: Vec<PathBuf>,

    /// Memory limit of builds [default: 2Gi]
    #[arg(long, value_name = "SIZE", help_heading = "Bounds")]
    pub build_memory: Option<ByteSize>,

    /// Limits on fetches.
    #[command(flatten)]
    pub bounds: FetchBounds,
}

impl Reading {
    /// The kinds of Kubernetes.
    pub(super) fn schemas(&self) -> Result<Schemas, CliError> {
        let schemas = Schemas::bundled(self.kubernetes_version.as_deref());
        schemas.at("--kubernetes-version")
    }

    /// The shared memory limit of the builds.
    pub(super) fn memory(&self) -> Share {
        let bytes = self.build_memory.map_or(budget::SINGLE, ByteSize::bytes);
        Memory::single(bytes, budget::BUILD_MEMORY).of("")
    }
}

/// Output formats of `fleet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FleetOutput {
    /// The Kustomizations as a tree, with their objects by kind
    Tree,
    /// A line for each object: Kustomization, tab, group/version/kind/namespace/name
    Names,
    /// The objects
    Yaml,
    /// One document
    Json,
}

const HELP: &str = "\
Reads what a cluster that reconciles PATH would have: builds the Flux Kustomizations found there, and those among their objects, and so \
on. Variables come from ConfigMaps and Secrets in the fleet. No cluster and no checkout are needed.

Examples:
  # The Kustomizations of a cluster, and what is in them
  bumpwright fleet clusters/production
  # What one of them would apply
  bumpwright fleet clusters/production --kustomization flux-system/apps \\
    --output yaml
  # Another revision, and a repository without a clone
  bumpwright fleet --ref v1.2.0 clusters/production
  bumpwright fleet \\
    https://git.example.com/acme/fleet//clusters/production?ref=main
  # An OCIRepository that CI pushes from a folder of this repository
  bumpwright fleet \\
    --source OCIRepository/flux-system/flux-system=kubernetes \\
    kubernetes/clusters/production

Exit codes:
  0  all of it was built
  1  something could not be built
  2  an error

Documentation: docs/cli.md, docs/guides/fleet.md";

const CHECK_HELP: &str = "\
Reads the fleet as `bumpwright fleet` does and says what would go wrong: builds that fail, fields that no schema has, references to what \
is not there, variables without value, markers that nothing follows, objects with two owners, Secrets in clear text. `bumpwright explain \
RULE` says what a finding means. Several clusters are checked together: a marker is unknown if none of them has its policy.

Examples:
  # What would go wrong in a cluster
  bumpwright fleet check clusters/production
  # All clusters, without a network, for the Kubernetes that they have
  bumpwright fleet check --offline --kubernetes-version 1.34 clusters/*
  # What is new since today
  bumpwright fleet check --write-baseline .bumpwright-baseline.json clusters/*
  bumpwright fleet check --baseline .bumpwright-baseline.json clusters/*
  # For code scanning at GitHub
  bumpwright fleet check --output sarif clusters/production > findings.sarif

Exit codes:
  0  nothing as bad as --fail-on
  1  findings
  2  an error

Documentation: docs/guides/fleet.md, docs/reference/findings.md";

const DIFF_HELP: &str = "\
Objects are compared as they would be applied. One that another Kustomization takes over has moved; one whose generated name has another \
hash is the same one. Values of Secrets are never shown. A Kustomization that cannot be built removes nothing.

Examples:
  # What this branch changes in the cluster
  bumpwright fleet diff --from main --to HEAD clusters/production
  # What is not committed yet
  bumpwright fleet diff --from HEAD clusters/production
  # For a comment on a pull request
  bumpwright fleet diff --from main --to HEAD --output markdown clusters/*

Exit codes:
  0  no difference
  1  differences
  2  an error

Documentation: docs/cli.md, docs/guides/fleet.md";

const REVIEW_HELP: &str = "\
Compares as `bumpwright fleet diff` does, says which workloads restart with which images, and finds what is new: all that `fleet check` \
finds and that was not there before, and what is dangerous about the change itself, such as a field that never changes, a claim that is \
deleted, more rights, or a suspended owner. `bumpwright explain RULE` says what a finding means. A comment that cannot be written is a \
warning, and the exit code stays that of the review.

Examples:
  # What this branch does to the clusters
  bumpwright fleet review --from origin/main clusters/*
  # In a job of CI: text in its log, files for its artifacts, and one comment
  bumpwright fleet review --from origin/main --to HEAD --output text \\
    --output sarif=review.sarif --output html=review.html --comment clusters/*
  # Elsewhere, with a token in BUMPWRIGHT_PULL_REQUEST_TOKEN
  bumpwright fleet review --from origin/main --comment=gitea --request 7 \\
    clusters/*
  # With what is new in images and charts
  bumpwright fleet review --from origin/main --release-notes clusters/*

Exit codes:
  0  nothing new as bad as --fail-on
  1  new findings
  2  an error

Documentation: docs/guides/reviews.md, docs/reference/findings.md";
