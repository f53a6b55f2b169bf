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

    /// The kinds to reconcile
    #[arg(
        long,
        value_name = "KINDS",
        value_delimiter = ',',
        default_value = INSTALLED_CONTROLLERS
    )]
    pub controllers: Vec<String>,

    /// Reconcile objects of all namespaces; if false, only those of --namespace, without rights elsewhere
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub watch_all_namespaces: bool,

    /// Add a NetworkPolicy that allows requests for metrics from inside the cluster only
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = ArgAction::Set)]
    pub network_policy: bool,

    /// Let objects use the identities of ServiceAccounts at clouds (gate ObjectLevelWorkloadIdentity): grants the right to
    /// issue tokens of all ServiceAccounts
    #[arg(long)]
    pub workload_identity: bool,

    /// The log level of the controllers: trace, debug, info or error
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: String,

    /// The kubeconfig file
    #[arg(long, value_name = "FILE", conflicts_with = "export")]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME", conflicts_with = "export")]
    pub context: Option<String>,

    /// Time limit for the definitions to become established
    #[arg(long, value_name = "DURATION", default_value = "1m")]
    pub timeout: GoDuration,
}

const INSTALL_HELP: &str = "\
Examples:
  bumpwright install
  # In a cluster that has Flux
  bumpwright install --beside-flux
  # To apply later, or from Git
  bumpwright install --export > bumpwright.yaml

Exit codes:
  0  installed, or printed
  2  an error

Documentation: docs/start/cluster.md, docs/guides/moving-from-flux.md";
