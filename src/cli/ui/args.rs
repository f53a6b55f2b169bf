//! The flags of the browser's view.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `ui`.
#[derive(Debug, Args)]
#[command(after_long_help = UI_HELP)]
pub struct UiCommand {
    /// The address to serve pages at; only this machine may be able to connect
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9393")]
    pub ui_addr: String,

    /// Only these namespaces, where you may not list the objects of all
    #[arg(long, short = 'n', value_name = "NAME", value_delimiter = ',')]
    pub namespace: Vec<String>,

    /// Let the pages reconcile, suspend, resume and release, with the rights of the kubeconfig
    #[arg(long)]
    pub ui_actions: bool,

    /// The kubeconfig file
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

const UI_HELP: &str = "\
Prints the address, and serves until it is interrupted. Pages show what your kubeconfig may list; kinds that it may not are left out, and the \
pages say so. Everybody who can connect to the address sees the same, and may do the same with --ui-actions: it is for a machine of your own.

Examples:
  bumpwright ui
  # A tenant, who may list the objects of two namespaces
  bumpwright ui --namespace apps,apps-staging --context prod

Exit codes:
  0  interrupted
  2  an error

Documentation: docs/guides/ui.md";

/// The browser's view of a controller.
#[derive(Debug, Args)]
#[command(next_help_heading = "Browser")]
pub struct Ui {
    /// The address to serve pages for browsers at [default: none]
    #[arg(long, value_name = "ADDR", default_value = "")]
    pub ui_addr: String,

    /// How it is known who looks [default: token; none where only this machine can connect]
    #[arg(long, value_name = "HOW", value_enum)]
    pub ui_auth: Option<UiAuth>,

    /// With --ui-auth=header: the header with the name of the user
    #[arg(long, value_name = "HEADER", default_value = "X-Forwarded-User")]
    pub ui_user_header: String,

    /// With --ui-auth=header: the header with the groups of the user, separated by commas
    #[arg(long, value_name = "HEADER", default_value = "X-Forwarded-Groups")]
    pub ui_groups_header: String,

    /// With --ui-auth=header: what is put before the names of users, as in `sso:`, so that they are not those of
    /// the cluster's own users
    #[arg(long, value_name = "PREFIX", default_value = "")]
    pub ui_user_prefix: String,

    /// With --ui-auth=header: what is put before the names of groups
    #[arg(long, value_name = "PREFIX", default_value = "")]
    pub ui_groups_prefix: String,

    /// With --ui-auth=header: the header by which the proxy proves itself
    #[arg(long, value_name = "HEADER", default_value = "X-Bumpwright-Secret")]
    pub ui_secret_header: String,

    /// With --ui-auth=header: the file with the value of that header
    #[arg(long, value_name = "FILE")]
    pub ui_secret_file: Option<PathBuf>,

    /// Let people reconcile, suspend, resume and release, with their own rights; needs the right to impersonate them
    #[arg(long)]
    pub ui_actions: bool,

    /// The name of the cluster, for the pages
    #[arg(long, value_name = "NAME", default_value = "")]
    pub ui_cluster: String,
}

/// How it is known who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UiAuth {
    /// By a token of the cluster
    Token,
    /// By headers of a proxy that signs people in
    Header,
    /// Not at all: everybody who can connect sees everything
    None,
}
