//! The command line: `args` (flags as typed), `plan` (jobs), and a file for each command.

mod access;
pub mod args;
mod author;
mod build;
pub mod build_args;
mod building;
mod built_files;
mod byte_size;
mod commit;
mod confined;
mod console;
mod controller;
pub mod controller_args;
mod crds;
mod demo;
mod demo_fleet;
mod diff;
mod fetch_bounds;
mod git_signer;
mod images;
mod install;
pub mod install_args;
mod install_manifests;
mod json;
mod kustomization;
mod kustomization_build;
mod kustomization_diff;
mod kustomization_objects;
mod load;
mod markdown;
mod message;
mod message_changes;
mod migrate;
mod migrate_files;
mod places;
mod plan;
mod policy;
mod policy_explain;
mod policy_find;
mod policy_flags;
mod policy_json;
mod policy_status;
mod policy_table;
mod progress;
mod pull_request;
mod remote_step;
mod signing;
mod target;
mod text;
mod typed;
mod update;
mod words;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    confined::memory();
    match Cli::parse().command {
        Command::Update(args) => update::run(&args),
        Command::Message(args) => message::run(&args),
        Command::Policy(args) => policy::run(&args),
        Command::Crds(args) => crds::run(&args),
        Command::Migrate(args) => migrate::run(&args),
        Command::Build(args) => build::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Controller(args) => controller::run(&args),
        Command::Install(args) => install::run(&args),
    }
}
