//! Kubeconfig files of this machine, with errors that name the file and the way out.

use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::connect::Connect;
use crate::error::ClusterError;
use bumpwright_text::{Cuts, Excerpt};

/// The settings of a kubeconfig, or of a pod where no file and no context is named.
///
/// # Errors
/// [`ClusterError::Connect`], without the text of the file: it may be a token.
pub(crate) async fn settings(connect: &Connect) -> Result<Config, ClusterError> {
    let options = KubeConfigOptions {
        context: connect.context.clone(),
        ..KubeConfigOptions::default()
    };
    let of_file = async |file: Kubeconfig| {
        let named = file.clone();
        let config = Config::from_custom_kubeconfig(file, &options).await;
        config.map_err(|error| fault(&error, connect, &named))
    };
    let unreadable = |error| fault(&error, connect, &Kubeconfig::default());
    match (&connect.kubeconfig, &connect.context) {
        (Some(path), _) => of_file(Kubeconfig::read_from(path).map_err(unreadable)?).await,
        // A pod has no contexts: they are in KUBECONFIG or the user's own file.
        (None, Some(_)) => of_file(Kubeconfig::read().map_err(unreadable)?).await,
        (None, None) => match Config::infer().await {
            Ok(config) => Ok(config),
            // Without a file this is neither a pod, or the file's error says what is wrong with it.
            Err(_) => of_file(Kubeconfig::read().map_err(unreadable)?).await,
        },
    }
}

/// What is wrong with a kubeconfig, and the way out.
fn fault(error: &KubeconfigError, connect: &Connect, file: &Kubeconfig) -> ClusterError {
    let place = place(connect);
    ClusterError::Connect(match error {
        KubeconfigError::ReadConfig(io, path) if connect.kubeconfig.is_none() && is_missing(io) => format!(
            "there is no kubeconfig at {}, and this is not a pod of a cluster: give --kubeconfig FILE, or set KUBECONFIG",
            path.display()
        ),
        KubeconfigError::ReadConfig(io, path) => {
            format!("cannot read the kubeconfig {}: {}", path.display(), words(io))
        }
        // What follows the first line quotes the file.
        KubeconfigError::Parse(error) => {
            let text = error.to_string();
            let line = text.first_line();
            format!("{place} is invalid: {}", line.trim_start_matches("error: "))
        }
        KubeconfigError::CurrentContextNotSet => match contexts(file) {
            none if none.is_empty() => format!("{place} is empty: it has no contexts"),
            contexts => format!("{place} has no current-context: choose one of {contexts} with --context"),
        },
        KubeconfigError::LoadContext(name) => {
            let contexts = contexts(file);
            let others = if contexts.is_empty() {
                "it has no contexts".to_owned()
            } else {
                format!("it has {contexts}")
            };
            format!("{place} has no context {name:?}; {others}")
        }
        KubeconfigError::LoadClusterOfContext(name) => {
            format!("{place} has no cluster {name:?}, which its context names")
        }
        KubeconfigError::MissingClusterUrl => format!("{place} has no server for the cluster of its context"),
        other => format!("{place}: {other}"),
    })
}

/// The file as typed, or where it comes from.
fn place(connect: &Connect) -> String {
    let path = connect.kubeconfig.clone();
    match path.or_else(|| {
        std::env::var_os("KUBECONFIG")
            .filter(|set| !set.is_empty())
            .map(PathBuf::from)
    }) {
        Some(path) => format!("the kubeconfig {}", Path::display(&path)),
        None => "the kubeconfig ~/.kube/config".to_owned(),
    }
}

/// The first contexts of a file.
fn contexts(file: &Kubeconfig) -> String {
    const FEW: usize = 8;
    let names = file.contexts.iter().map(|named| format!("{:?}", named.name));
    let shown: Vec<String> = names.take(FEW).collect();
    match file.contexts.len().saturating_sub(FEW) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn is_missing(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
}

/// The system's words, without its number.
fn words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.before(" (os error").to_owned()
}
