//! The flags of `update`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgAction, Args, ValueEnum};

use super::request_args::Request;
use crate::cli::access::Access;
use crate::cli::fetch_bounds::FetchBounds;
use crate::cli::flag_values::folder;
use bumpwright_api::GoDuration;
use bumpwright_update::ReleasesApi;

/// Arguments of `update`.
#[derive(Debug, Args)]
#[command(after_long_help = UPDATE_HELP)]
pub struct Update {
    /// A folder, a file, a bare repository or a Git URL (file, http, https, ssh) [default: ., or the repositories of
    /// the automations in -f]
    pub target: Option<String>,

    /// Manifests: ImagePolicies with their ImageRepository, ImageUpdateAutomations with their GitRepository, Secrets; a
    /// file, a folder, or - for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR")]
    pub filenames: Vec<PathBuf>,

    /// Clusters: policies, repositories, automations and Secrets as builds of these folders give them, instead of
    /// those in the files of TARGET, and what the edits change there. Paths are on disk for a folder, and from the
    /// root for a Git URL
    #[arg(long, value_name = "PATH", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new(), help_heading = "Clusters")]
    pub fleet: Vec<String>,

    /// What has to succeed with the edits, in the clusters of --fleet, before they are written or pushed
    #[arg(long, value_enum, default_value_t = Verify::None, help_heading = "Clusters")]
    pub verify: Verify,

    /// Time limit for the impact on clusters, and for --verify
    #[arg(long, value_name = "DURATION", default_value = "1m", help_heading = "Clusters")]
    pub verify_timeout: GoDuration,

    /// With --fleet: render HelmReleases; false: what they install is not looked into
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set,
        help_heading = "Clusters")]
    pub helm: bool,

    /// With --fleet: a folder with charts, as NAME-VERSION.tgz or NAME, which take precedence over those of
    /// HelmRepositories and OCIRepositories
    #[arg(long, value_name = "DIR", value_parser = folder, requires = "fleet", help_heading = "Clusters")]
    pub charts: Option<PathBuf>,

    /// With --fleet: the minor version of Kubernetes that charts see, such as 1.34 [default: the newest that is known]
    #[arg(long, value_name = "VERSION", requires = "fleet", help_heading = "Clusters")]
    pub kubernetes_version: Option<String>,

    /// Say what the releases of new images are: links and first lines, by the labels of the images and the API of the
    /// forge of their source (github.com, gitlab.com, codeberg.org, gitea.com)
    #[arg(long, conflicts_with = "offline", help_heading = "Pull request")]
    pub release_notes: bool,

    /// With --release-notes: the API of another forge [possible kinds: github, gitea, gitlab]
    #[arg(
        long,
        value_name = "KIND=URL",
        requires = "release_notes",
        help_heading = "Pull request"
    )]
    pub release_notes_api: Vec<ReleasesApi>,

    /// With --verify server: the kubeconfig file
    #[arg(long, value_name = "FILE", help_heading = "Clusters")]
    pub kubeconfig: Option<PathBuf>,

    /// With --verify server: the context of the kubeconfig
    #[arg(long, value_name = "NAME", help_heading = "Clusters")]
    pub context: Option<String>,

    /// Ignore unknown fields of manifests in -f
    #[arg(long)]
    pub allow_unknown_fields: bool,

    /// Print what would happen, without writing or pushing anything
    #[arg(long)]
    pub dry_run: bool,

    /// Exit with 1 if anything changed (or would change)
    #[arg(long)]
    pub exit_code: bool,

    /// Exit with 3 if any marker was skipped, except in commented-out fields; alone it is --strict=all
    #[arg(long, value_name = "SKIPS", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_enum)]
    pub strict: Option<Strict>,

    /// Also report markers in commented-out fields, those that another automation of the same command follows, and with
    /// --strict=markers each one whose image --offline does not ask for
    #[arg(long)]
    pub verbose: bool,

    /// The output format
    #[arg(long, short = 'o', value_enum, default_value_t = Output::Text)]
    pub output: Output,

    /// Also append the summary in Markdown to this file, such as a CI job's page
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,

    /// Take this image for a policy, whatever its status and registries say; the other policies are updated as
    /// without it. A policy that no marker names is an error; a warning where its manifest is given, or where a
    /// marker could not be read
    #[arg(long = "set", value_name = "NS:POLICY=IMAGE[:TAG][@DIGEST]", help_heading = "Edits")]
    pub set: Vec<String>,

    /// Do not contact registries: use the images in the status of policies
    #[arg(long, help_heading = "Edits")]
    pub offline: bool,

    /// Only files below this path of the repository [default: the automation's update.path, or all]
    #[arg(long, value_name = "DIR", help_heading = "Edits")]
    pub path: Option<String>,

    /// Edit marked fields of these formats too: docker, env, hcl, ini, json, make, properties, shell, template, toml,
    /// or all; with commas [default: as the automation's annotation says]
    #[arg(long, value_name = "FORMATS", help_heading = "Edits")]
    pub formats: Option<bumpwright_edit::Formats>,

    /// Do not write a value again that somebody reverted in Git, until the policy chooses something newer; the
    /// number of commits to look at is 500 if it is left out [default: as the automation's annotation says]
    #[arg(long, value_name = "COMMITS", num_args = 0..=1, require_equals = true, default_missing_value = "500",
        value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Edits")]
    pub respect_reverts: Option<u32>,

    /// Write marked fields whatever they hold, and whatever becomes of a digest, as Flux does; without it a field that
    /// holds something else than its marker writes is left, and tag and digest change together
    #[arg(long, help_heading = "Edits")]
    pub overwrite_mismatches: bool,

    /// Push without asking. At a terminal, a run asks before its first push to a repository that a manifest names
    #[arg(long, help_heading = "Push")]
    pub push: bool,

    /// Commit the edits (implied when TARGET is a Git URL)
    #[arg(long, help_heading = "Commit")]
    pub commit: bool,

    /// The branch to start from [default: the automation's, or the repository's default branch]
    #[arg(long, value_name = "B", value_parser = NonEmptyStringValueParser::new(), help_heading = "Push")]
    pub branch: Option<String>,

    /// Push to this branch instead. It is replaced by one commit on top of the start branch: commits of others on it
    /// are lost, except with --pull-request, which leaves such a branch alone
    #[arg(long, value_name = "B", value_parser = NonEmptyStringValueParser::new(), help_heading = "Push")]
    pub push_branch: Option<String>,

    /// Also push to this destination, or only there without --push-branch
    #[arg(long = "refspec", value_name = "R", value_parser = NonEmptyStringValueParser::new(), help_heading = "Push")]
    pub refspecs: Vec<String>,

    /// Push a Gerrit change instead of a branch, with a Change-Id [default: for the checked-out branch]
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, require_equals = true, value_parser = NonEmptyStringValueParser::new(), help_heading = "Push")]
    pub gerrit: Option<Option<String>>,

    /// Send a push option to the server
    #[arg(long = "push-option", value_name = "K=V", value_parser = NonEmptyStringValueParser::new(), help_heading = "Push")]
    pub push_options: Vec<String>,

    /// Author and committer [default: the automation's, or git's user.name and user.email]
    #[arg(long, value_name = "'N <e>'", value_parser = NonEmptyStringValueParser::new(), help_heading = "Commit")]
    pub author: Option<String>,

    /// The commit message: text or a Go template [default: the automation's messageTemplate]
    #[arg(long, value_name = "TEXT|@FILE", help_heading = "Commit")]
    pub message: Option<String>,

    /// Sign the commit with this private key, OpenPGP (armoured) or SSH [default: the automation's signingKey, or git's
    /// commit.gpgsign and user.signingkey]
    #[arg(long, value_name = "FILE", help_heading = "Commit")]
    pub sign_key: Option<PathBuf>,

    /// File with the passphrase of --sign-key
    #[arg(long, value_name = "FILE", requires = "sign_key", help_heading = "Commit")]
    pub sign_passphrase_file: Option<PathBuf>,

    /// Do not sign, even if git's commit.gpgsign is set
    #[arg(long, conflicts_with = "sign_key", help_heading = "Commit")]
    pub no_sign: bool,

    /// The pull request.
    #[command(flatten)]
    pub request: Request,

    /// Connection to the remote.
    #[command(flatten)]
    pub access: Access,

    /// Limits on fetches.
    #[command(flatten)]
    pub bounds: FetchBounds,
}

/// The skips that `--strict` does not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strict {
    /// Whatever was not edited
    All,
    /// What went wrong: wrong markers, policies without an image, missing digests and signatures; but nothing that is
    /// held on purpose, such as by a window, a hold, an age or a suspension
    Problems,
    /// Markers that have to be corrected, but no images that are held, too young or not known yet
    Markers,
}

/// Verifications before edits are written or pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Verify {
    /// Nothing: what the edits break is reported
    None,
    /// Every Kustomization that can be built without the edits can be built with them
    Build,
    /// The same, and the cluster of the kubeconfig accepts the objects that change, in dry runs with the
    /// ServiceAccount of their Kustomization
    Server,
}

/// Output formats of `update`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Text,
    /// A unified diff, fit for `git apply`
    Diff,
    /// For programs
    Json,
    /// A summary for a CI job or a merge request
    Markdown,
    /// A page, for the artifacts of a CI job
    Html,
}

const UPDATE_HELP: &str = "\
Examples:
  # What would change in this folder, with the policies found in it
  bumpwright update --dry-run --output diff
  # Change it, and commit
  bumpwright update --set flux-system:app=ghcr.io/acme/app:1.2.3 --commit
  # Fetch, commit and push
  bumpwright update -f policies.yaml https://git.example.com/acme/fleet.git
  # Every ImageUpdateAutomation of a folder
  bumpwright update -f clusters/production --output json
  # With the policies of a cluster as its Kustomizations build them, and what changes there
  bumpwright update --dry-run --fleet clusters/production

Exit codes:
  0  done (with --exit-code: nothing to change)
  1  with --exit-code: something changed, or would
  2  an error, also of only one of several automations, or of a registry that a field depends on
  3  with --strict: something was skipped
  130  interrupted; a push that had begun was waited for, and its outcome printed

Environment:
  BUMPWRIGHT_CACHE         mirrors and caches (default: the user's cache folder)
  BUMPWRIGHT_GIT_USERNAME, BUMPWRIGHT_GIT_PASSWORD, BUMPWRIGHT_GIT_TOKEN
  BUMPWRIGHT_GIT_SERVER    whom they are for where only manifests name repositories
  BUMPWRIGHT_PULL_REQUEST_TOKEN
  NO_COLOR                 no colours

Documentation: docs/cli.md, docs/start/ci.md";
