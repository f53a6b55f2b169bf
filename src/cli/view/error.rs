//! Why a command cannot show anything.

use crate::cli::error::CliError;
use crate::cli::words;
use bumpwright_kube::ClusterError;

/// An error with the server that does not answer, if it is that.
pub(super) fn of_server(error: CliError, server: &str) -> CliError {
    match error.cause() {
        Some(ClusterError::Unreachable(why)) => {
            CliError::new(format!("the API server {server} cannot be reached: {why}"))
        }
        _ => error,
    }
}

/// That the cluster does not have some kinds, and what is not installed there.
pub(in crate::cli) fn no_kinds(kinds: &[&str]) -> CliError {
    let missing = if kinds.iter().all(|kind| kind.starts_with("Helm")) {
        "Flux's helm-controller and source-controller are not installed there"
    } else {
        "neither Flux nor bumpwright is installed there; `bumpwright install` does it"
    };
    let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    CliError::new(format!(
        "the cluster does not have the kinds {}: {missing}",
        words::some(&kinds)
    ))
}

/// That an object is not there; all namespaces with an empty one.
pub(in crate::cli) fn not_found(kind: &str, name: &str, namespace: &str) -> CliError {
    let place = match namespace {
        "" => "any namespace".to_owned(),
        namespace => format!("the namespace {namespace}"),
    };
    CliError::new(format!("there is no {kind} {name} in {place}"))
}
