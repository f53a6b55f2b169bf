//! The flags of `policy`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args, ValueEnum};

/// Arguments of `policy`: the policies of manifests, or one from flags.
#[derive(Debug, Args)]
#[command(after_long_help = POLICY_HELP, group(ArgGroup::new("source").multiple(true).args(["filenames", "fleet", "image", "release"])))]
pub struct Policy {
    /// Only these policies of -f and --fleet, each as NAME or NAMESPACE/NAME; with --release the one in the cluster
    #[arg(value_name = "POLICY", conflicts_with = "image")]
    pub names: Vec<String>,

    /// Manifests: ImagePolicies with their ImageRepository, Secrets with logins; a file, a folder, or - for standard
    /// input
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR")]
    pub filenames: Vec<PathBuf>,

    /// Clusters: policies, repositories and Secrets as builds of these folders give them
    #[arg(long, value_name = "PATH", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub fleet: Vec<String>,

    /// Ignore unknown fields of manifests in -f
    #[arg(long)]
    pub allow_unknown_fields: bool,

    /// Without manifests: the image to try a rule on, without a tag
    #[arg(long, value_name = "IMAGE", requires = "rule", conflicts_with_all = ["filenames", "fleet"])]
    pub image: Option<String>,

    /// The highest version in this range
    #[arg(long, value_name = "RANGE", group = "rule", requires = "image")]
    pub semver: Option<String>,

    /// The last tag in alphabetical order, or the first
    #[arg(
        long,
        value_name = "ORDER",
        value_enum,
        ignore_case = true,
        group = "rule",
        requires = "image"
    )]
    pub alphabetical: Option<Order>,

    /// The largest number, or the smallest
    #[arg(
        long,
        value_name = "ORDER",
        value_enum,
        ignore_case = true,
        group = "rule",
        requires = "image"
    )]
    pub numerical: Option<Order>,

    /// Only tags that match this regular expression (RE2)
    #[arg(long, value_name = "PATTERN", requires = "image")]
    pub filter: Option<String>,

    /// The part of the match to compare, such as $1 or ${name} [default: the whole tag]
    #[arg(long, value_name = "TEMPLATE", requires = "filter")]
    pub extract: Option<String>,

    /// Explain step by step how this tag is judged
    #[arg(long, value_name = "TAG", value_parser = NonEmptyStringValueParser::new())]
    pub explain: Option<String>,

    /// Do not contact registries: show the status of policies
    #[arg(long, conflicts_with_all = ["image", "explain"])]
    pub offline: bool,

    /// Allow a version again that its rollout failed with, in the cluster of the kubeconfig: a tag, or TAG@DIGEST
    #[arg(
        long,
        value_name = "VERSION",
        value_parser = NonEmptyStringValueParser::new(),
        conflicts_with_all = ["filenames", "fleet", "image", "explain", "offline"]
    )]
    pub release: Option<String>,

    /// With --release: the kubeconfig file
    #[arg(long, value_name = "FILE", requires = "release")]
    pub kubeconfig: Option<PathBuf>,

    /// With --release: the context of the kubeconfig
    #[arg(long, value_name = "NAME", requires = "release")]
    pub context: Option<String>,

    /// The output format
    #[arg(long, short = 'o', value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// Output formats of `policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Text,
    /// For programs
    Json,
    /// A page, for the artifacts of a job
    Html,
}

/// The newest end of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// The last, or largest
    Asc,
    /// The first, or smallest
    Desc,
}

const POLICY_HELP: &str = "\
Registries are asked with the Secrets of -f, or with your own logins (docker, podman, credential helpers).

Examples:
  bumpwright policy -f clusters/production
  # As a cluster has them: with namespaces and patches of kustomizations
  bumpwright policy --fleet clusters/production
  # Why a tag is not chosen
  bumpwright policy -f policies.yaml flux-system/app --explain v1.4.0
  # Without manifests
  bumpwright policy --image ghcr.io/stefanprodan/podinfo --semver 6.x
  # Write a version again that failed in the cluster
  bumpwright policy --release 1.2.0 flux-system/web

Exit codes:
  0  every policy has an image, which an age, a signature or a window may still hold back
  2  an error: a registry that cannot be read, a policy without an image; the others are shown all the same

Documentation: docs/guides/policies.md";
