//! The command line as typed, without reading files.

use clap::{CommandFactory, Parser, Subcommand};

use super::{
    check, controller, crds, demo, envsubst, events, explain, fleet, get, helm, init, install, kustomize, markers,
    message, migrate, policy, reconcile, render, status, suspend, trace, tree, ui, uninstall, update,
};
use crate::cli::process::time_limit;
use crate::cli::program::{completions, man, version};

/// Keeps Kubernetes clusters up to date from Git.
#[derive(Debug, Parser)]
#[command(name = "bumpwright", version, about, long_about = None, max_term_width = 110, after_long_help = HELP)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The command line, with the flags that all commands have.
#[must_use]
pub fn command() -> clap::Command {
    time_limit::everywhere(Cli::command())
}

const HELP: &str = "\
Examples:
  # Policies and markers for the images of this folder, from the tags that their registries have
  bumpwright init
  # What would change in this folder, with the image policies found in it
  bumpwright update --dry-run --output diff
  # Why a tag is not chosen
  bumpwright policy -f policies.yaml --explain v1.4.0
  # The controllers, in the cluster of the kubeconfig
  bumpwright install
  # What is behind, what is stuck and what changed there
  bumpwright status

Exit codes:
  0  done
  1  a difference: `diff`, and `update` with --exit-code; a finding: `fleet`
  2  an error
  3  something was skipped: `update` with --strict

Documentation: docs/cli.md, docs/reference/README.md";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Set the marked image fields of a folder or a Git repository
    Update(Box<update::args::Update>),
    /// Rewrite kustomization files byte by byte, or make one
    Kustomize(kustomize::args::Kustomize),
    /// Propose policies and markers for the images of a folder
    Init(init::args::Init),
    /// List markers, put them behind images, or remove them
    Markers(markers::args::Markers),
    /// Render a commit message from its template
    Message(message::args::Message),
    /// Show which image each policy chooses, and why
    Policy(Box<policy::args::Policy>),
    /// Print the CustomResourceDefinitions of all kinds
    Crds(crds::Crds),
    /// Rewrite manifests of older API versions or of other tools
    ///
    /// The rest of their files stays as it is.
    Migrate(migrate::args::Migrate),
    /// Build a kustomization, as `kustomize build` does
    Build(Box<render::args::Build>),
    /// Show what differs between two kustomizations or revisions
    Diff(Box<render::args::Diff>),
    /// Render Helm charts, without Helm
    Helm(helm::args::Helm),
    /// Substitute variables of the environment in a text
    ///
    /// As Kustomizations do after a build.
    Envsubst(envsubst::args::Envsubst),
    /// Show what a cluster that reconciles a folder would have
    Fleet(Box<fleet::args::Fleet>),
    /// Explain the reason of a condition, an event or a skip
    Explain(explain::args::Explain),
    /// Run `update` on an example fleet in a temporary repository
    Demo(demo::args::Demo),
    /// Run the controllers in a cluster, in the place of Flux's
    Controller(Box<controller::args::Controller>),
    /// Show a cluster in the browser
    ///
    /// What is behind, what is stuck, what changed.
    Ui(ui::args::UiCommand),
    /// Install the controllers into a cluster, or print their manifests
    Install(Box<install::args::Install>),
    /// Check whether an installation can be made, or is well
    Check(Box<check::args::Check>),
    /// Remove what `install` made
    ///
    /// Definitions and objects stay without --crds.
    Uninstall(Box<uninstall::args::Uninstall>),
    /// Show what is behind, what is stuck and what changed
    ///
    /// All of a cluster on one screen.
    Status(status::args::Status),
    /// Show images, automations, Kustomizations or sources of a cluster
    Get(get::args::Get),
    /// Show what a Kustomization has applied, as a tree
    Tree(tree::args::Tree),
    /// Trace an object back to its Kustomization, commit and tag
    ///
    /// And to the automation and the policy that wrote the tag.
    Trace(trace::args::Trace),
    /// Show events of sources, images, automations, Kustomizations
    Events(events::args::Events),
    /// Have an object reconciled now, and wait for the outcome
    Reconcile(reconcile::args::Reconcile),
    /// Suspend the reconciliation of objects
    Suspend(suspend::args::Suspend),
    /// Resume the reconciliation of objects
    Resume(suspend::args::Resume),
    /// Print the completion script of a shell
    Completions(completions::Completions),
    /// Print the manual page of a command, or write all of them
    Man(man::Man),
    /// Print what this binary was built from
    Version(version::Version),
}
