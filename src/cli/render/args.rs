//! `build` and `diff` as typed: kustomize's flags under their names (kustomize v5.8, `kustomize build --help`).

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use crate::cli::byte_size::ByteSize;
use crate::cli::error::CliError;
use crate::cli::fetch_bounds::FetchBounds;
use bumpwright_budget::{self as budget, Memory, Share};

/// Arguments of `build`.
#[derive(Debug, Args)]
#[command(after_long_help = BUILD_HELP)]
pub struct Build {
    /// A folder with a kustomization, or the URL of a repository: https://host/org/repo//path?ref=v1
    #[arg(value_name = "DIR|URL", default_value = ".", conflicts_with = "kustomization")]
    pub target: String,

    /// Write to this file; if it is a folder, a file for each object
    #[arg(long, short = 'o', value_name = "PATH")]
    pub output: Option<PathBuf>,

    /// A Flux Kustomization
    #[command(flatten)]
    pub flux: Flux,

    /// With -k: mask all encrypted values as **SOPS**, with keys or without
    #[arg(long, requires = "kustomization")]
    pub redact: bool,

    /// How to build
    #[command(flatten)]
    pub building: Building,
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
#[command(after_long_help = DIFF_HELP)]
pub struct Diff {
    /// Two folders with kustomizations, or URLs of repositories; with --from and --to one, in a repository
    #[arg(value_name = "DIR|URL", num_args = 0..=2, conflicts_with = "kustomization")]
    pub targets: Vec<String>,

    /// The revision to compare from: a branch, tag or commit; in a local repository any revision of git
    #[arg(long, value_name = "REV", requires = "to", conflicts_with = "kustomization")]
    pub from: Option<String>,

    /// The revision to compare with
    #[arg(long, value_name = "REV", requires = "from", conflicts_with = "kustomization")]
    pub to: Option<String>,

    /// The output format
    #[arg(long, value_enum, default_value_t = DiffOutput::Text)]
    pub output: DiffOutput,

    /// A Flux Kustomization
    #[command(flatten)]
    pub flux: Flux,

    /// With -k: the kubeconfig file
    #[arg(long, value_name = "FILE", requires = "kustomization")]
    pub kubeconfig: Option<PathBuf>,

    /// With -k: the context of the kubeconfig
    #[arg(long, value_name = "NAME", requires = "kustomization")]
    pub context: Option<String>,

    /// How to build
    #[command(flatten)]
    pub building: Building,
}

/// A Flux Kustomization, and the inputs of its controller.
#[derive(Debug, Default, Args)]
pub struct Flux {
    /// File with a Flux Kustomization: build what its controller would apply; - for standard input
    #[arg(short = 'k', long, value_name = "FILE", conflicts_with_all = OF_KUSTOMIZE)]
    pub kustomization: Option<PathBuf>,

    /// With -k: the name of the Kustomization, if the file has several
    #[arg(long, value_name = "[NAMESPACE/]NAME", requires = "kustomization")]
    pub name: Option<String>,

    /// With -k: ignore unknown fields of the Kustomization
    #[arg(long, requires = "kustomization")]
    pub allow_unknown_fields: bool,

    /// With -k: the root of the source, to which spec.path is relative [default: .]
    #[arg(long, value_name = "DIR", requires = "kustomization")]
    pub path: Option<PathBuf>,

    /// With -k: manifests of the ConfigMaps and Secrets that it refers to; a file or a folder
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR", requires = "kustomization")]
    pub filenames: Vec<PathBuf>,

    /// With -k: whether undefined variables are errors, as with the gate StrictPostBuildSubstitutions; false: they
    /// are empty [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", requires = "kustomization")]
    pub strict_substitute: Option<bool>,

    /// With -k: a file with age identities (or SSH keys) for decryption
    #[arg(long = "age-key-file", value_name = "FILE", requires = "kustomization")]
    pub age_key_files: Vec<PathBuf>,

    /// With -k: a file with an armoured OpenPGP keyring without passphrase for decryption
    #[arg(long = "pgp-key-file", value_name = "FILE", requires = "kustomization")]
    pub pgp_key_files: Vec<PathBuf>,

    /// Limits on fetches.
    #[command(flatten)]
    pub bounds: FetchBounds,
}

impl Flux {
    /// Refuses flags that require `-k`: clap does not detect them beside a folder, which `-k` excludes.
    pub fn check(&self) -> Result<(), CliError> {
        let given = self.path.is_some()
            || self.name.is_some()
            || self.allow_unknown_fields
            || !self.filenames.is_empty()
            || self.strict_substitute.is_some()
            || !self.age_key_files.is_empty()
            || !self.pgp_key_files.is_empty();
        if given && self.kustomization.is_none() {
            Err(CliError::new(
                "--name, --allow-unknown-fields, --path, -f, --strict-substitute and the key files need --kustomization (-k)",
            ))
        } else {
            Ok(())
        }
    }
}

/// The flags of [`Building`]: with `-k` they come from the Kustomization.
const OF_KUSTOMIZE: [&str; 15] = [
    "load_restrictor",
    "enable_alpha_plugins",
    "enable_exec",
    "enable_helm",
    "enable_managedby_label",
    "reorder",
    "helm_command",
    "helm_kube_version",
    "helm_api_versions",
    "helm_debug",
    "env",
    "as_current_user",
    "mount",
    "network",
    "network_name",
];

/// Output formats of `diff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiffOutput {
    /// A line for each object and each of its fields
    Text,
    /// One document
    Json,
}

/// Build options.
#[derive(Debug, Default, Args)]
#[allow(clippy::struct_excessive_bools)] // as kustomize has them
pub struct Building {
    /// Which files a kustomization may load: LoadRestrictionsRootOnly or LoadRestrictionsNone
    #[arg(long, value_name = "RESTRICTOR", default_value = "LoadRestrictionsRootOnly", action = ArgAction::Set, value_parser = restrictions)]
    pub load_restrictor: bool,

    /// Memory limit of builds [default: 2Gi]
    #[arg(long, value_name = "SIZE", help_heading = "Bounds")]
    pub build_memory: Option<ByteSize>,

    /// Run plugins
    #[arg(long, alias = "enable_alpha_plugins")]
    pub enable_alpha_plugins: bool,

    /// Run functions that are programs; not for configurations of others
    #[arg(long)]
    pub enable_exec: bool,

    /// Render charts: in process, or by the program of --helm-command
    #[arg(long)]
    pub enable_helm: bool,

    /// Label all objects as managed by kustomize
    #[arg(long)]
    pub enable_managedby_label: bool,

    /// The order of objects: legacy or none [default: the kustomization's, or legacy]
    #[arg(long, value_enum, hide = true)]
    pub reorder: Option<Reorder>,

    /// A helm program that renders the charts, as with kustomize [default: none, they are rendered in process]
    #[arg(long, value_name = "PROGRAM", default_value = "", hide_default_value = true)]
    pub helm_command: String,

    /// The Kubernetes version for charts
    #[arg(long, value_name = "VERSION", default_value = "")]
    pub helm_kube_version: String,

    /// The API versions for charts
    #[arg(long, value_name = "VERSION")]
    pub helm_api_versions: Vec<String>,

    /// Run helm with --debug
    #[arg(long)]
    pub helm_debug: bool,

    /// Accepted without effect: functions in containers are refused
    #[arg(long, short = 'e', value_name = "NAME=VALUE", hide = true)]
    pub env: Vec<String>,

    /// Accepted without effect: functions in containers are refused
    #[arg(long, hide = true)]
    pub as_current_user: bool,

    /// Accepted without effect: functions in containers are refused
    #[arg(long, hide = true)]
    pub mount: Vec<String>,

    /// Accepted without effect: functions in containers are refused
    #[arg(long, hide = true)]
    pub network: bool,

    /// Accepted without effect: functions in containers are refused
    #[arg(long, hide = true, default_value = "bridge")]
    pub network_name: String,

    /// Accepted without effect: errors always name their place
    #[arg(long, hide = true)]
    pub stack_trace: bool,
}

impl Building {
    /// The shared memory limit of a command's builds.
    pub(super) fn memory(&self) -> Share {
        let bytes = self.build_memory.map_or(budget::SINGLE, ByteSize::bytes);
        Memory::single(bytes, budget::BUILD_MEMORY).of("")
    }
}

/// The order of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reorder {
    /// Dependencies first
    Legacy,
    /// Input order
    None,
}

/// Whether a kustomization may only load files below its folder.
fn restrictions(text: &str) -> Result<bool, String> {
    match text {
        "LoadRestrictionsRootOnly" | "rootOnly" => Ok(true),
        "LoadRestrictionsNone" | "none" => Ok(false),
        _ => Err("expected LoadRestrictionsRootOnly or LoadRestrictionsNone".to_owned()),
    }
}

const BUILD_HELP: &str = "\
With -k objects have the labels of their owner and the common metadata, as they are applied. Values that SOPS encrypted need \
--age-key-file, --pgp-key-file, the Secret of spec.decryption in -f, or --redact.

Repositories are fetched with your own Git credentials, as far as their commits are not in the cache.

Examples:
  # What `kustomize build` prints
  bumpwright build overlays/production
  # What kustomize-controller would apply, with the ConfigMaps and Secrets of its variables
  bumpwright build -k apps.yaml --path . -f variables
  # The same without keys
  bumpwright build -k apps.yaml --path . -f variables --redact

Exit codes:
  0  built
  2  an error

Environment:
  BUMPWRIGHT_CACHE        the folder of mirrors (default: your cache folder)
  KUSTOMIZE_PLUGIN_HOME   the folder of plugins (default: $XDG_CONFIG_HOME/kustomize/plugin)

Documentation: docs/cli.md, docs/guides/kustomizations.md";

const DIFF_HELP: &str = "\
Objects count as the same by group, kind, namespace and name; one whose name has a hash, by its name without. Values of \
Secrets are never shown. With -k the API server is asked what applying would do (server-side dry runs), and nothing is written.

Examples:
  bumpwright diff overlays/staging overlays/production
  # Between two revisions of a repository
  bumpwright diff --from main --to HEAD overlays/production
  # What applying would change in the cluster of the kubeconfig
  bumpwright diff -k apps.yaml --path .

Exit codes:
  0  no difference
  1  differences
  2  an error

Documentation: docs/cli.md, docs/guides/kustomizations.md";
