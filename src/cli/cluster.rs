//! Commands that talk to a cluster.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bumpwright_kube::{Cluster, ClusterError, Connect, Kind};
use clap::Args;
use tokio::runtime::{Builder, Runtime};

/// The cluster to talk to.
#[derive(Debug, Args)]
pub struct Target {
    /// The namespace of the controllers
    #[arg(long, short = 'n', value_name = "NAME", default_value = "flux-system")]
    pub namespace: String,

    /// The kubeconfig file
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// A runtime for a command.
pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Connects as a kubeconfig says, or a pod.
pub(super) async fn connect(kubeconfig: Option<PathBuf>, context: Option<String>) -> Result<Cluster, ClusterError> {
    connect_within(Duration::MAX, kubeconfig, context).await
}

/// The same for a command with a time limit of its own: no request takes longer.
pub(super) async fn connect_within(
    limit: Duration,
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
) -> Result<Cluster, ClusterError> {
    let usual = Connect::default();
    let connect = Connect {
        kubeconfig,
        context,
        patience: usual.patience.min(limit),
        ..usual
    };
    Cluster::connect(&connect, Arc::new(|_, _, _| {})).await
}

/// A kind as kubectl names it: `deployment.apps`.
pub(super) fn kind(kind: &Kind) -> String {
    let name = kind.kind.to_lowercase();
    match kind.group {
        "" => name,
        group => format!("{name}.{group}"),
    }
}
