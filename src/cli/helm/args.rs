//! The flags of `helm`, as typed.

use crate::cli::error::CliError;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `helm`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct Helm {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What is done with charts.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Render a chart, as `helm template` of Helm 4 does
    Template(Box<Template>),
}

/// Arguments of `helm template`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP, args_override_self = true)]
pub struct Template {
    /// The name of the release, then the chart: a folder, a .tgz, an oci:// URL, or with --repo its name. The name
    /// may be left out
    #[arg(value_name = "[NAME] CHART", num_args = 1.., required = true)]
    pub name_and_chart: Vec<String>,

    /// Values, and the versions of the cluster
    #[command(flatten)]
    pub values: ValueArgs,

    /// The release
    #[command(flatten)]
    pub release: ReleaseArgs,

    /// What is printed
    #[command(flatten)]
    pub output: OutputArgs,

    /// From where the chart comes
    #[command(flatten)]
    pub remote: RemoteArgs,

    /// What Helm has and this command has not
    #[command(flatten)]
    pub unsupported: Unsupported,
}

/// Values of a release.
#[derive(Debug, Args)]
#[command(next_help_heading = "Values")]
pub struct ValueArgs {
    /// Files of values, the last one wins; - for standard input
    #[arg(short = 'f', long = "values", value_name = "FILE", value_delimiter = ',')]
    pub values: Vec<String>,

    /// Set values: a.b=1,c[0]=x
    #[arg(long, value_name = "PATH=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,

    /// Set values as strings, whatever they look like
    #[arg(long, value_name = "PATH=TEXT", allow_hyphen_values = true)]
    pub set_string: Vec<String>,

    /// Set values as JSON: a path and a value, or a whole object
    #[arg(long, value_name = "PATH=JSON", allow_hyphen_values = true)]
    pub set_json: Vec<String>,

    /// Set values to the content of files
    #[arg(long, value_name = "PATH=FILE", allow_hyphen_values = true)]
    pub set_file: Vec<String>,

    /// Set one value as a string without any escapes
    #[arg(long, value_name = "PATH=TEXT", allow_hyphen_values = true)]
    pub set_literal: Vec<String>,

    /// Do not compare the values with the chart's JSON schema
    #[arg(long)]
    pub skip_schema_validation: bool,

    /// A host, or HOST:PORT, from which schemas that the chart's schema refers to are fetched over https
    #[arg(long, value_name = "HOST")]
    pub schema_host: Vec<String>,
}

/// The release that a chart is rendered for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Release")]
pub struct ReleaseArgs {
    /// Its namespace
    #[arg(short, long, value_name = "NAME", env = "HELM_NAMESPACE", default_value = "default")]
    pub namespace: String,

    /// Its name, as a template
    #[arg(long, value_name = "TEMPLATE")]
    pub name_template: Option<String>,

    /// Name it after its chart and the time
    #[arg(short = 'g', long)]
    pub generate_name: bool,

    /// Render an upgrade, not an installation
    #[arg(long)]
    pub is_upgrade: bool,

    /// The version of Kubernetes that templates see [default: v1.37.0]
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    pub kube_version: String,

    /// More API versions that templates see
    #[arg(short, long, value_name = "VERSION", value_delimiter = ',')]
    pub api_versions: Vec<String>,
}

/// What is printed of a release.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print the definitions of the folders crds too
    #[arg(long)]
    pub include_crds: bool,

    /// Leave out hooks
    #[arg(long)]
    pub no_hooks: bool,

    /// Leave out tests
    #[arg(long)]
    pub skip_tests: bool,

    /// Print what these templates render, by path or pattern
    #[arg(short, long, value_name = "PATH")]
    pub show_only: Vec<String>,

    /// Write a file for each template into this folder
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,

    /// With --output-dir: put them below a folder with the name of the release
    #[arg(long)]
    pub release_name: bool,

    /// Print what was rendered although it is not YAML
    #[arg(long)]
    pub debug: bool,
}

/// From where a chart comes that is not on this machine.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Remote charts")]
pub struct RemoteArgs {
    /// The chart repository that CHART is a name in
    #[arg(long, value_name = "URL")]
    pub repo: Option<String>,

    /// The version of the chart, or a range of versions [default: the newest]
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    pub version: String,

    /// Take versions with a suffix, as -rc.1, too
    #[arg(long)]
    pub devel: bool,

    /// User name for the chart repository [default: of ~/.netrc; for registries: the logins of docker and podman]
    #[arg(long, value_name = "NAME", requires = "password_file")]
    pub username: Option<String>,

    /// File with the password for the chart repository
    #[arg(long, value_name = "FILE", requires = "username")]
    pub password_file: Option<PathBuf>,

    /// Send the login to the host of the archive too, if it is another one
    #[arg(long)]
    pub pass_credentials: bool,

    /// CA certificates for HTTPS, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    /// Talk to the registry without TLS
    #[arg(long)]
    pub plain_http: bool,
}

/// Flags of Helm that are refused with the reason, or that change nothing here: no cluster is asked,
/// and nothing is installed.
#[derive(Debug, Args)]
pub struct Unsupported {
    #[arg(long, hide = true)]
    validate: bool,
    #[arg(long, hide = true, value_name = "NAME")]
    post_renderer: Option<String>,
    #[arg(long, hide = true, value_name = "WORDS", allow_hyphen_values = true)]
    post_renderer_args: Vec<String>,
    #[arg(long, hide = true)]
    verify: bool,
    #[arg(long, hide = true)]
    enable_dns: bool,
    #[arg(long, hide = true, value_name = "PASSWORD")]
    password: Option<String>,
    #[arg(long, hide = true)]
    insecure_skip_tls_verify: bool,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "client", value_name = "HOW")]
    dry_run: Option<String>,

    #[arg(long, hide = true, alias = "atomic")]
    rollback_on_failure: bool,
    #[arg(long, hide = true)]
    create_namespace: bool,
    #[arg(long, hide = true)]
    dependency_update: bool,
    #[arg(long, hide = true, value_name = "TEXT")]
    description: Option<String>,
    #[arg(long, hide = true)]
    disable_openapi_validation: bool,
    #[arg(long, hide = true)]
    force: bool,
    #[arg(long, hide = true)]
    hide_notes: bool,
    #[arg(short, long, hide = true, value_name = "KEY=VALUE")]
    labels: Vec<String>,
    #[arg(long, hide = true)]
    render_subchart_notes: bool,
    #[arg(long, hide = true)]
    replace: bool,
    #[arg(long, hide = true)]
    skip_crds: bool,
    #[arg(long, hide = true)]
    take_ownership: bool,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, value_name = "HOW")]
    wait: Option<Option<String>>,
    #[arg(long, hide = true)]
    wait_for_jobs: bool,
}

impl Unsupported {
    /// # Errors
    /// The first flag that this command cannot do, with the reason and the way out.
    pub fn check(&self) -> Result<(), CliError> {
        let refused = [
            (
                self.validate,
                "--validate asks a cluster, and this command asks none: pipe the output to `kubectl apply --dry-run=server -f -`",
            ),
            (
                self.dry_run.as_deref() == Some("server"),
                "--dry-run=server asks a cluster, and this command asks none",
            ),
            (
                self.post_renderer.is_some() || !self.post_renderer_args.is_empty(),
                "--post-renderer runs a program, and this command runs none: pipe the output to it",
            ),
            (
                self.verify,
                "--verify reads provenance files, which are not supported: verify the archive with Helm, then give it as CHART",
            ),
            (
                self.enable_dns,
                "--enable-dns lets templates ask name servers, and the same chart give other documents: set the addresses as values",
            ),
            (
                self.password.is_some(),
                "--password shows the password to everyone who can list processes: use --password-file",
            ),
            (
                self.insecure_skip_tls_verify,
                "--insecure-skip-tls-verify sends the login to anyone who answers: give the server's certificate with --ca-file",
            ),
        ];
        match refused.iter().find(|(is_set, _)| *is_set) {
            Some((_, why)) => Err(CliError::new(*why)),
            None => Ok(()),
        }
    }
}

const HELP: &str = "\
Examples:
  # A chart of this folder, with values
  bumpwright helm template web ./charts/web -f values/production.yaml \\
    --namespace shop
  # A chart of a registry
  bumpwright helm template podinfo \\
    oci://ghcr.io/stefanprodan/charts/podinfo --version 6.x
  # A chart of a repository, with its definitions
  bumpwright helm template cert-manager cert-manager --repo \\
    https://charts.jetstack.io --include-crds
  # One template of it
  bumpwright helm template web ./charts/web \\
    --show-only templates/deployment.yaml

Exit codes:
  0  printed
  2  an error; nothing was printed

Documentation: docs/guides/helm.md";
