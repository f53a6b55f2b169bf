//! The flags of `install`.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use crate::cli::controller::args::INSTALLED_CONTROLLERS;
use bumpwright_api::GoDuration;

/// The default image of this version.
const IMAGE: &str = concat!("ghcr.io/bumpwright/bumpwright:v", env!("CARGO_PKG_VERSION"));

/// Arguments of `install`.
#[derive(Debug, Args)]
#[command(after_long_help = INSTALL_HELP)]
pub struct Install {
    /// Print the manifests instead of applying them
    #[arg(long)]
    pub export: bool,

    /// The namespace of the controllers
    #[arg(long, short = 'n', value_name = "NAME", default_value = "flux-system")]
    pub namespace: String,

    /// The image of the controllers, with its tag or digest
    #[arg(long, value_name = "IMAGE", default_value = IMAGE)]
    pub image: String,

    /// Flux runs in this cluster: leave its namespace and its sources alone, send events to its notification-controller
    #[arg(long)]
    pub beside_flux: bool,

    /// What to install: image-reflector, image-automation, source, kustomize; all for the four of them; helm for
    /// HelmRepositories and HelmCharts beside source; webhooks to listen for forges and registries as well
    #[arg(
        long,
        visible_alias = "controllers",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = INSTALLED_CONTROLLERS
    )]
    pub components: Vec<String>,

    /// Reconcile objects of all namespaces; if false, only those of --namespace, without rights elsewhere
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub watch_all_namespaces: bool,

    /// Add NetworkPolicies that let in what asks for metrics, artifacts and webhooks, and nothing else
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub network_policy: bool,

    /// Let objects use the identities of ServiceAccounts at clouds: grants the right to issue tokens of all
    /// ServiceAccounts
    #[arg(long)]
    pub workload_identity: bool,

    /// Grant the rights to read the workloads and pods that versions are promoted from (bumpwright.dev/promote-from)
    #[arg(long)]
    pub promotion: bool,

    /// Review the open pull requests of GitRepositories that ask for it (bumpwright.dev/review)
    #[arg(long)]
    pub reviews: bool,

    /// Serve pages for browsers, to people with a token of the cluster
    #[arg(long)]
    pub ui: bool,

    /// With --ui: let people act in the pages with their own rights; grants the right to impersonate all users
    #[arg(long, requires = "ui")]
    pub ui_actions: bool,

    /// So many processes, 2 or more, share the objects: a StatefulSet, with a volume for each, in the
    /// place of a Deployment
    #[arg(long, value_name = "N")]
    pub shards: Option<u32>,

    /// The log level of the controllers: trace, debug, info or error
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: String,

    /// The kubeconfig file
    #[arg(long, value_name = "FILE", conflicts_with = "export")]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME", conflicts_with = "export")]
    pub context: Option<String>,

    /// Wait until the controllers are ready
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub wait: bool,

    /// Time limit for the definitions to become established and the controllers ready
    #[arg(long, value_name = "DURATION", default_value = "5m")]
    pub timeout: GoDuration,
}

const INSTALL_HELP: &str = "\
Examples:
  bumpwright install
  # Sources and Kustomizations as well
  bumpwright install --components=all
  # In a cluster that has Flux
  bumpwright install --beside-flux
  # Three processes that share the objects
  bumpwright install --components=all --shards=3
  # To apply later, or from Git
  bumpwright install --components=all --export > bumpwright.yaml

It can be run again, to upgrade or to change its flags: what an earlier run installed and this one does not is deleted, but for \
definitions. So each run names all flags: without --shards there is one process again. One process and several never run at the same time: \
those before end first. Their volumes are kept, and the output names them.

Exit codes:
  0  installed, and ready unless --wait=false
  2  an error, or not ready in time; the message has the reason and what to do

Documentation: docs/start/cluster.md, docs/guides/moving-from-flux.md, docs/guides/shards.md";
