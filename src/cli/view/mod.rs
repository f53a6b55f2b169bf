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
pub(super) mod read;
pub(super) mod table;
pub(super) mod text;
pub(super) mod watch;

use std::process::ExitCode;
use std::time::Duration;

use super::{cluster, console};
use crate::cli::process::waits::Wait;
use args::Place;
use bumpwright_kube::Cluster;
pub(super) use error::ViewError;

/// Connects to the cluster of a place, and does something there.
///
/// # Errors
/// The cluster cannot be connected to, and what the job says.
pub(super) fn at<T>(place: &Place, job: impl AsyncFnOnce(Cluster) -> Result<T, ViewError>) -> Result<T, ViewError> {
    at_within(Duration::MAX, place, job)
}

/// The same for a command with a time limit of its own: no request takes longer.
///
/// # Errors
/// As [`at`]
pub(super) fn at_within<T>(
    limit: Duration,
    place: &Place,
    job: impl AsyncFnOnce(Cluster) -> Result<T, ViewError>,
) -> Result<T, ViewError> {
    let runtime = cluster::runtime().map_err(ViewError::Start)?;
    let wait = Wait::new("asking the API server of the kubeconfig".to_owned());
    runtime.block_on(async {
        let cluster = cluster::connect_within(limit, place.kubeconfig.clone(), place.context.clone()).await?;
        let server = cluster.identity();
        wait.say(format!("asking {server}"));
        job(cluster).await.map_err(|error| error.of_server(&server))
    })
}

/// The exit code of a command that found something out: its own, or that of an error, which is printed.
pub(super) fn end(done: Result<u8, ViewError>) -> ExitCode {
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => console::end(Err(error)),
    }
}
