//! The command line as typed, without reading files.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

use crate::cli::fetch_bounds::FetchBounds;

/// Keeps Kubernetes clusters up to date from Git.
#[derive(Debug, Parser)]
#[command(name = "bumpwright", version, about, long_about = None, max_term_width = 110)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Set the marked image fields of a folder, a file or a Git repository
    Update(Box<Update>),
    /// Render a commit message from its template
    Message(Message),
    /// Show which image each policy chooses, and why
    Policy(Box<Policy>),
    /// Print the CustomResourceDefinitions of all kinds
    Crds(Crds),
    /// Rewrite manifests of older API versions to v1, leaving the rest of their files as it is
    Migrate(Migrate),
    /// Build a kustomization, as `kustomize build` does
    Build(Box<crate::cli::build::args::Build>),
    /// Show the differences between two kustomizations, or between two revisions of one
    Diff(Box<crate::cli::build::args::Diff>),
    /// Run `update` on an example fleet in a temporary repository
    Demo(Demo),
    /// Run the controllers in a cluster, in the place of Flux's
    Controller(Box<crate::cli::controller::args::Controller>),
    /// Install the controllers into a cluster, or print their manifests
    Install(Box<crate::cli::install::args::Install>),
}

/// Arguments of `update`.
#[derive(Debug, Args)]
#[command(after_help = UPDATE_HELP)]
pub struct Update {
    /// A folder, a file, a bare repository or a Git URL (file, http, https, ssh) [default: ., or the repositories of the
    /// automations in -f]
    pub target: Option<String>,

    /// Manifests: ImagePolicies with their ImageRepository, ImageUpdateAutomations with their GitRepository, Secrets; a file, a
    /// folder, or - for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR")]
    pub filenames: Vec<PathBuf>,

    /// Ignore unknown fields of manifests in -f
    #[arg(long)]
    pub allow_unknown_fields: bool,

    /// Print what would happen, without writing or pushing anything
    #[arg(long)]
    pub dry_run: bool,

    /// Exit with 1 if anything changed (or would change)
    #[arg(long)]
    pub exit_code: bool,

    /// Exit with 3 if any marker was skipped, except in commented-out fields
    #[arg(long)]
    pub strict: bool,

    /// Also report markers in commented-out fields
    #[arg(long)]
    pub verbose: bool,

    /// The output format
    #[arg(long, short = 'o', value_enum, default_value_t = Output::Text)]
    pub output: Output,

    /// Set the image of a policy, overriding its status and registries
    #[arg(long = "set", value_name = "NS:POLICY=IMAGE[:TAG][@DIGEST]")]
    pub set: Vec<String>,

    /// Do not contact registries: use the images in the status of policies
    #[arg(long)]
    pub offline: bool,

    /// Only files below this path of the repository [default: the automation's update.path, or all]
    #[arg(long, value_name = "DIR")]
    pub path: Option<String>,

    /// Commit the edits (implied when TARGET is a Git URL)
    #[arg(long)]
    pub commit: bool,

    /// The branch to start from [default: that of the automation, or the repository's default branch]
    #[arg(long, value_name = "B", value_parser = NonEmptyStringValueParser::new())]
    pub branch: Option<String>,

    /// Push to this branch instead, as one commit on the start branch
    #[arg(long, value_name = "B", value_parser = NonEmptyStringValueParser::new())]
    pub push_branch: Option<String>,

    /// Also push to this destination, or only there without --push-branch
    #[arg(long = "refspec", value_name = "R", value_parser = NonEmptyStringValueParser::new())]
    pub refspecs: Vec<String>,

    /// Push a Gerrit change instead of a branch, with a Change-Id [default: for the checked-out branch]
    #[arg(long, value_name = "BRANCH", num_args = 0..=1, require_equals = true, value_parser = NonEmptyStringValueParser::new())]
    pub gerrit: Option<Option<String>>,

    /// Open a pull request for the pushed branch, or update the open one [default: guessed from the host; at GitLab use
    /// --push-option merge_request.create]
    #[arg(long, value_name = "FORGE", num_args = 0..=1, require_equals = true, value_enum)]
    pub pull_request: Option<Option<Forge>>,

    /// The base branch of the pull request [default: the start branch]
    #[arg(long, value_name = "B", value_parser = NonEmptyStringValueParser::new())]
    pub pull_request_base: Option<String>,

    /// The API of the forge [default: derived from the repository's address]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    pub pull_request_api: Option<String>,

    /// File with a token for the API (or BUMPWRIGHT_PULL_REQUEST_TOKEN) [default: Git's credentials for the same server]
    #[arg(long, value_name = "FILE")]
    pub pull_request_token_file: Option<PathBuf>,

    /// Send a push option to the server
    #[arg(long = "push-option", value_name = "K=V", value_parser = NonEmptyStringValueParser::new())]
    pub push_options: Vec<String>,

    /// Author and committer [default: the automation's, or git's user.name and user.email]
    #[arg(long, value_name = "'N <e>'", value_parser = NonEmptyStringValueParser::new())]
    pub author: Option<String>,

    /// The commit message: text or a Go template [default: the automation's messageTemplate]
    #[arg(long, value_name = "TEXT|@FILE")]
    pub message: Option<String>,

    /// Sign the commit with this private key, OpenPGP (armoured) or SSH [default: the automation's signingKey, or git's
    /// commit.gpgsign and user.signingkey]
    #[arg(long, value_name = "FILE")]
    pub sign_key: Option<PathBuf>,

    /// File with the passphrase of --sign-key
    #[arg(long, value_name = "FILE", requires = "sign_key")]
    pub sign_passphrase_file: Option<PathBuf>,

    /// Do not sign, even if git's commit.gpgsign is set
    #[arg(long, conflicts_with = "sign_key")]
    pub no_sign: bool,

    /// Connection to the remote.
    #[command(flatten)]
    pub access: Access,

    /// Limits on fetches.
    #[command(flatten)]
    pub bounds: FetchBounds,
}

/// Credentials. A secret is never an argument itself: it comes from a file or the environment.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Access")]
pub struct Access {
    /// User name for basic authentication
    #[arg(long, value_name = "NAME", env = "BUMPWRIGHT_GIT_USERNAME")]
    pub username: Option<String>,

    /// File with the password for basic authentication (or BUMPWRIGHT_GIT_PASSWORD)
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,

    /// File with a bearer token (or BUMPWRIGHT_GIT_TOKEN)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["password_file"])]
    pub token_file: Option<PathBuf>,

    /// Private key for SSH [default: ssh-agent, then ~/.ssh]
    #[arg(long, value_name = "FILE")]
    pub ssh_key: Option<PathBuf>,

    /// Known host keys for SSH [default: ~/.ssh/known_hosts]
    #[arg(long, value_name = "FILE")]
    pub known_hosts: Option<PathBuf>,

    /// Key exchange algorithms for SSH, best first [default: the secure ones]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub ssh_kex_algos: Vec<String>,

    /// Host key algorithms for SSH, best first [default: those of the known hosts]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub ssh_hostkey_algos: Vec<String>,

    /// CA certificates for HTTPS, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}

/// APIs of forges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Forge {
    /// GitHub, also Enterprise
    Github,
    /// Gitea and Forgejo
    Gitea,
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
}

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

/// Arguments of `policy`: the policies of manifests, or one from flags.
#[derive(Debug, Args)]
#[command(after_help = POLICY_HELP, group(ArgGroup::new("source").required(true).args(["filenames", "image"])))]
pub struct Policy {
    /// Only these policies of -f, each as NAME or NAMESPACE/NAME
    #[arg(value_name = "POLICY", conflicts_with = "image")]
    pub names: Vec<String>,

    /// Manifests: ImagePolicies with their ImageRepository, Secrets with logins; a file, a folder, or - for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR")]
    pub filenames: Vec<PathBuf>,

    /// Ignore unknown fields of manifests in -f
    #[arg(long)]
    pub allow_unknown_fields: bool,

    /// Without manifests: the image to try a rule on, without a tag
    #[arg(long, value_name = "IMAGE", requires = "rule")]
    pub image: Option<String>,

    /// The highest version in this range
    #[arg(long, value_name = "RANGE", group = "rule", requires = "image")]
    pub semver: Option<String>,

    /// The last tag in alphabetical order, or the first
    #[arg(
        long,
        value_name = "ORDER",
        value_enum,
        ignore_case = true,
        group = "rule",
        requires = "image"
    )]
    pub alphabetical: Option<Order>,

    /// The largest number, or the smallest
    #[arg(
        long,
        value_name = "ORDER",
        value_enum,
        ignore_case = true,
        group = "rule",
        requires = "image"
    )]
    pub numerical: Option<Order>,

    /// Only tags that match this regular expression (RE2)
    #[arg(long, value_name = "PATTERN", requires = "image")]
    pub filter: Option<String>,

    /// The part of the match to compare, such as $1 or ${name} [default: the whole tag]
    #[arg(long, value_name = "TEMPLATE", requires = "filter")]
    pub extract: Option<String>,

    /// Explain step by step how this tag is judged
    #[arg(long, value_name = "TAG", value_parser = NonEmptyStringValueParser::new())]
    pub explain: Option<String>,

    /// Do not contact registries: show the status of policies
    #[arg(long, conflicts_with_all = ["image", "explain"])]
    pub offline: bool,

    /// The output format
    #[arg(long, short = 'o', value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

/// The newest end of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// The last, or largest
    Asc,
    /// The first, or smallest
    Desc,
}

/// Output formats for people and programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Arguments of `crds`.
#[derive(Debug, Args)]
pub struct Crds {
    /// Write one file for each kind into this folder instead
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Keep the repository in this folder, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

/// Arguments of `migrate`.
#[derive(Debug, Args)]
#[command(after_help = MIGRATE_HELP)]
pub struct Migrate {
    /// Manifests; folders are searched for YAML and JSON files
    #[arg(value_name = "FILE|DIR", required = true)]
    pub paths: Vec<PathBuf>,

    /// Write the files [default: print the changes as a unified diff]
    #[arg(long)]
    pub write: bool,
}

const MIGRATE_HELP: &str = "\
Kinds: ImageRepository, ImagePolicy, ImageUpdateAutomation, GitRepository, OCIRepository, Bucket, HelmRepository, HelmChart,
Kustomization. Objects whose meaning v1 cannot keep stay as they are, and are told with the reason.

Exit codes:
  0  done, or nothing to do
  2  an error, or something that could not be migrated; the rest was all the same";

const UPDATE_HELP: &str = "\
Exit codes:
  0  done (with --exit-code: nothing to change)
  1  with --exit-code: something changed, or would
  2  an error, also of only one of several automations
  3  with --strict: something was skipped

Environment:
  BUMPWRIGHT_CACHE         mirrors and caches (default: the user's cache folder)
  BUMPWRIGHT_GIT_USERNAME, BUMPWRIGHT_GIT_PASSWORD, BUMPWRIGHT_GIT_TOKEN
  BUMPWRIGHT_PULL_REQUEST_TOKEN
  NO_COLOR                 no colours";

const POLICY_HELP: &str = "\
Exit codes:
  0  every policy has an image, though a guard may hold it back
  2  an error: a registry that cannot be read, a policy without an image; the others are shown all the same

Registries are asked with the Secrets of -f, or with your own logins (docker, podman, credential helpers).";
