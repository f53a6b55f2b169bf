//! The command line: a folder for each command, whose `args` are its flags as typed.

mod access;
pub mod args;
mod byte_size;
mod check;
mod cluster;
mod console;
mod controller;
mod crds;
mod demo;
mod envsubst;
mod error;
mod events;
mod explain;
mod fetch_bounds;
mod files;
mod flag_values;
mod fleet;
mod get;
mod helm;
mod images;
mod init;
mod install;
mod installed;
mod key_files;
mod kustomize;
mod load;
mod markers;
mod message;
mod migrate;
mod own_servers;
mod places;
mod policy;
mod process;
mod program;
mod reconcile;
mod render;
mod status;
mod suspend;
mod trace;
mod tree;
mod ui;
mod uninstall;
mod update;
mod view;
mod words;

use std::process::ExitCode;

use clap::{FromArgMatches as _, Parser as _};

use crate::cli::error::CliError;
use args::{Cli, Command};

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    process::confined::memory();
    let matches = program::groups::command()
        .try_get_matches()
        .unwrap_or_else(|error| program::guesses::with_tip(error).exit());
    let limit = process::time_limit::of(&matches);
    let is_json = process::time_limit::is_json(&matches);
    let typed = Cli::from_arg_matches(&matches);
    let command = typed.unwrap_or_else(|error| error.exit()).command;
    let late = late(&command, is_json);
    process::time_limit::within(limit, late, move || run(command))
}

/// How a command that is not done in time says so: programs that read its output still get their one document.
fn late(command: &Command, is_json: bool) -> Box<dyn FnOnce(&str)> {
    match command {
        Command::Update(args) => update::late(args),
        // Their --output is the name of a file or a folder.
        Command::Build(_) | Command::Helm(_) => Box::new(|error| console::complain(error)),
        _ if is_json => Box::new(process::time_limit::late_in_json),
        _ => Box::new(|error| console::complain(error)),
    }
}

/// The arguments of a typed command line of `update`.
fn typed_update(line: &[&str]) -> Result<Box<update::args::Update>, CliError> {
    match Cli::try_parse_from(line)?.command {
        Command::Update(args) => Ok(args),
        _ => Err(CliError::new("demo runs update")),
    }
}

fn run(command: Command) -> ExitCode {
    match command {
        Command::Update(args) => update::run(&args),
        Command::Kustomize(args) => kustomize::run(&args),
        Command::Helm(args) => helm::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Markers(args) => markers::run(&args),
        Command::Message(args) => message::run(&args),
        Command::Policy(args) => policy::run(&args),
        Command::Crds(args) => crds::run(&args),
        Command::Migrate(args) => migrate::run(&args),
        Command::Build(args) => render::run(&args),
        Command::Diff(args) => render::diff::run(&args),
        Command::Envsubst(args) => envsubst::run(&args),
        Command::Fleet(args) => fleet::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Demo(args) => demo::run(&args, typed_update),
        Command::Controller(args) => controller::run(&args),
        Command::Install(args) => install::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Ui(args) => ui::run(&args),
        Command::Uninstall(args) => uninstall::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Get(args) => get::run(&args),
        Command::Tree(args) => tree::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Events(args) => events::run(&args),
        Command::Reconcile(args) => reconcile::run(&args),
        Command::Suspend(args) => suspend::suspend(&args),
        Command::Resume(args) => suspend::resume(&args),
        Command::Completions(args) => program::completions::run(&args, args::command()),
        Command::Man(args) => program::man::run(&args, args::command()),
        Command::Version(args) => program::version::run(&args),
    }
}
