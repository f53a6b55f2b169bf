//! Commands that talk to a cluster.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

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
    let connect = Connect {
        kubeconfig,
        context,
        ..Connect::default()
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
