//! `bumpwright completions`: the completion script of a shell, generated from the flags of all commands.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::cli::console;

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_long_help = COMPLETIONS_HELP)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  bumpwright completions bash > /etc/bash_completion.d/bumpwright
  bumpwright completions zsh > /usr/local/share/zsh/site-functions/_bumpwright
  bumpwright completions fish > ~/.config/fish/completions/bumpwright.fish

Exit codes:
  0  printed
  2  an error

Documentation: docs/reference/commands.md";

/// Runs the command, for the commands of this command line.
#[must_use]
pub(crate) fn run(args: &Completions, mut command_line: Command) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command_line, "bumpwright", &mut script);
    console::end(console::print(&script).map_err(console::cannot_print))
}
