//! What commands that look at a cluster have in common: the objects, read once; kinds as people spell
//! them; tables and documents.
//!
//! ```text
//! cluster ─▶ read (a World of bumpwright_overview, and notes) ─▶ overview of a namespace ─▶ table, or document
//! ```

pub(super) mod args;
pub(super) mod controllers;
pub(super) mod document;
mod error;
pub(super) mod events;
pub(super) mod kinds;
pub(super) mod meant;
pub(super) mod read;
pub(super) mod table;
pub(super) mod text;
pub(super) mod watch;

use std::time::Duration;

use super::cluster;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::process::waits::Wait;
use args::Place;
use bumpwright_kube::Cluster;
use error::of_server;
pub(super) use error::{no_kinds, not_found};

/// Connects to the cluster of a place, and does something there.
///
/// # Errors
/// The cluster cannot be connected to, and what the job says.
pub(super) fn at<T>(place: &Place, job: impl AsyncFnOnce(Cluster) -> Result<T, CliError>) -> Result<T, CliError> {
    at_within(Duration::MAX, place, job)
}

/// The same for a command with a time limit of its own: no request takes longer.
pub(super) fn at_within<T>(
    limit: Duration,
    place: &Place,
    job: impl AsyncFnOnce(Cluster) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let runtime = cluster::runtime().at("cannot start")?;
    let wait = Wait::new("asking the API server of the kubeconfig".to_owned());
    runtime.block_on(async {
        let cluster = cluster::connect_within(limit, place.kubeconfig.clone(), place.context.clone()).await;
        let cluster = cluster.map_err(|error| of_server(error.into(), "of the kubeconfig"))?;
        let server = cluster.identity();
        wait.say(format!("asking {server}"));
        job(cluster).await.map_err(|error| of_server(error, &server))
    })
}
