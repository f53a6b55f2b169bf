//! The flags that commands which look at a cluster have in common.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// A namespace of a cluster.
#[derive(Debug, Args)]
pub struct Place {
    /// The namespace of the objects
    #[arg(long, short = 'n', value_name = "NAME", default_value = "flux-system")]
    pub namespace: String,

    /// The kubeconfig file
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// A namespace of a cluster, or all of them.
#[derive(Debug, Args)]
pub struct Places {
    /// The cluster.
    #[command(flatten)]
    pub place: Place,

    /// All namespaces
    #[arg(long, short = 'A')]
    pub all_namespaces: bool,
}

impl Places {
    /// The namespace; none for all.
    pub(in crate::cli) fn namespace(&self) -> Option<&str> {
        (!self.all_namespaces).then_some(self.place.namespace.as_str())
    }
}

/// Output for people and programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// For people
    Text,
    /// For programs
    Json,
    /// For programs
    Yaml,
}
