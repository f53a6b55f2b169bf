//! Why a command cannot show anything.

use std::io;

use crate::cli::words;
use bumpwright_kube::ClusterError;

/// Why a command cannot show anything.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ViewError {
    #[error("cannot start: {0}")]
    Start(io::Error),
    #[error(transparent)]
    Cluster(ClusterError),
    #[error("the API server {} cannot be reached: {why}", server.as_deref().unwrap_or("of the kubeconfig"))]
    Unreachable { server: Option<String>, why: String },
    #[error("the cluster does not have the kinds {}: {}", words::some(.0), missing(.0))]
    NoKinds(Vec<String>),
    #[error("{what} may not be read: {why}")]
    Denied { what: String, why: String },
    #[error("{0}")]
    Typed(String),
    #[error("there is no {kind} {name} in {}{hint}", place(namespace))]
    NotFound {
        kind: String,
        name: String,
        namespace: String,
        hint: String,
    },
    #[error("cannot write the document: {0}")]
    Document(String),
    #[error("standard output: {0}")]
    Print(io::Error),
    #[error("{0}")]
    Refused(String),
}

impl From<ClusterError> for ViewError {
    fn from(error: ClusterError) -> Self {
        match error {
            ClusterError::Unreachable(why) => Self::Unreachable { server: None, why },
            error => Self::Cluster(error),
        }
    }
}

impl ViewError {
    /// The error with the server that does not answer.
    pub(super) fn of_server(self, server: &str) -> Self {
        match self {
            Self::Unreachable { why, .. } => Self::Unreachable {
                server: Some(server.to_owned()),
                why,
            },
            error => error,
        }
    }
}

/// What is not installed where these kinds are missing.
fn missing(kinds: &[String]) -> &'static str {
    if kinds.iter().all(|kind| kind.starts_with("Helm")) {
        "Flux's helm-controller and source-controller are not installed there"
    } else {
        "neither Flux nor bumpwright is installed there; `bumpwright install` does it"
    }
}

/// A namespace in words; all of them with an empty one.
fn place(namespace: &str) -> String {
    match namespace {
        "" => "any namespace".to_owned(),
        namespace => format!("the namespace {namespace}"),
    }
}
