//! The command line: a folder for each command, whose `args` are its flags as typed.

mod access;
pub mod args;
mod build;
mod byte_size;
mod check;
mod cluster;
mod completions;
mod confined;
mod console;
mod controller;
mod crds;
mod demo;
mod explain;
mod fetch_bounds;
mod fleet;
mod images;
mod install;
mod installed;
mod key_files;
mod load;
mod man;
mod message;
mod migrate;
mod places;
mod policy;
mod progress;
mod ui;
mod uninstall;
mod update;
mod version;
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
        Command::Diff(args) => build::diff::run(&args),
        Command::Fleet(args) => fleet::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Controller(args) => controller::run(&args),
        Command::Install(args) => install::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Ui(args) => ui::run(&args),
        Command::Uninstall(args) => uninstall::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Version(args) => version::run(&args),
    }
}
