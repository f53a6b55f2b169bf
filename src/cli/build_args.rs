//! `build` and `diff` as typed: kustomize's flags under their names (kustomize v5.8, `kustomize build --help`).

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

/// Arguments of `build`.
#[derive(Debug, Args)]
#[command(after_help = BUILD_HELP)]
pub struct Build {
    /// A folder with a kustomization, or the URL of a repository: https://host/org/repo//path?ref=v1
    #[arg(value_name = "DIR|URL", default_value = ".")]
    pub target: String,

    /// Write to this file; in a folder that is there, a file for each object
    #[arg(long, short = 'o', value_name = "PATH")]
    pub output: Option<PathBuf>,

    /// How to build
    #[command(flatten)]
    pub building: Building,
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
#[command(after_help = DIFF_HELP)]
pub struct Diff {
    /// Two folders with kustomizations; with --from and --to one, in a repository
    #[arg(value_name = "DIR", num_args = 0..=2)]
    pub targets: Vec<String>,

    /// The revision to compare from: a branch, a tag, a commit
    #[arg(long, value_name = "REV", requires = "to")]
    pub from: Option<String>,

    /// The revision to compare with
    #[arg(long, value_name = "REV", requires = "from")]
    pub to: Option<String>,

    /// How to say what differs
    #[arg(long, value_enum, default_value_t = DiffOutput::Text)]
    pub output: DiffOutput,

    /// How to build
    #[command(flatten)]
    pub building: Building,
}

/// How `diff` says what differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiffOutput {
    /// A line for each object and each of its fields
    Text,
    /// One document
    Json,
}

/// How to build.
#[derive(Debug, Default, Args)]
#[allow(clippy::struct_excessive_bools)] // as kustomize has them
pub struct Building {
    /// Which files a kustomization may load: LoadRestrictionsRootOnly or LoadRestrictionsNone
    #[arg(long, value_name = "RESTRICTOR", default_value = "LoadRestrictionsRootOnly", action = ArgAction::Set, value_parser = restrictions)]
    pub load_restrictor: bool,

    /// Run plugins
    #[arg(long, alias = "enable_alpha_plugins")]
    pub enable_alpha_plugins: bool,

    /// Run functions that are programs; not for configurations of others
    #[arg(long)]
    pub enable_exec: bool,

    /// Inflate charts with helm
    #[arg(long)]
    pub enable_helm: bool,

    /// Label all objects as managed by kustomize
    #[arg(long)]
    pub enable_managedby_label: bool,

    /// The order of objects: legacy or none (default: what the kustomization says, else legacy)
    #[arg(long, value_enum, hide = true)]
    pub reorder: Option<Reorder>,

    /// The program that inflates charts
    #[arg(long, value_name = "PROGRAM", default_value = "helm")]
    pub helm_command: String,

    /// The version of Kubernetes that charts see
    #[arg(long, value_name = "VERSION", default_value = "")]
    pub helm_kube_version: String,

    /// API versions that charts see
    #[arg(long, value_name = "VERSION")]
    pub helm_api_versions: Vec<String>,

    /// Run helm with --debug
    #[arg(long)]
    pub helm_debug: bool,

    /// Of functions in containers, which are refused: accepted without effect
    #[arg(long, short = 'e', value_name = "NAME=VALUE", hide = true)]
    pub env: Vec<String>,

    /// Of functions in containers, which are refused: accepted without effect
    #[arg(long, hide = true)]
    pub as_current_user: bool,

    /// Of functions in containers, which are refused: accepted without effect
    #[arg(long, hide = true)]
    pub mount: Vec<String>,

    /// Of functions in containers, which are refused: accepted without effect
    #[arg(long, hide = true)]
    pub network: bool,

    /// Of functions in containers, which are refused: accepted without effect
    #[arg(long, hide = true, default_value = "bridge")]
    pub network_name: String,

    /// Accepted without effect: errors tell where they come from
    #[arg(long, hide = true)]
    pub stack_trace: bool,
}

/// The order of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reorder {
    /// What others need first
    Legacy,
    /// As they were found
    None,
}

/// Whether a kustomization is held below its folder.
fn restrictions(text: &str) -> Result<bool, String> {
    match text {
        "LoadRestrictionsRootOnly" | "rootOnly" => Ok(true),
        "LoadRestrictionsNone" | "none" => Ok(false),
        _ => Err("expected LoadRestrictionsRootOnly or LoadRestrictionsNone".to_owned()),
    }
}

const BUILD_HELP: &str = "\
Repositories are fetched with your own Git credentials, as far as their commits are not in the cache.

Exit codes:
  0  built
  2  an error

Environment:
  BUMPWRIGHT_CACHE        the folder of mirrors (default: your cache folder)
  KUSTOMIZE_PLUGIN_HOME   the folder of plugins (default: $XDG_CONFIG_HOME/kustomize/plugin)";

const DIFF_HELP: &str = "\
Objects count as the same by group, kind, namespace and name; one whose name has a hash, by its name without. Values of
Secrets are never shown.

Exit codes:
  0  no difference
  1  differences
  2  an error";
