//! `--timeout` of commands that have none of their own: the whole command ends with an error that says what it
//! was waiting for.

use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::cli::console::{FAILED, complain, print_error};
use crate::cli::process::{progress, waits};
use crate::cli::words;
use bumpwright_api::GoDuration;

/// Its name among the arguments; commands with a flag of this name have another one.
const ID: &str = "time-limit";

/// Its name as typed.
const FLAG: &str = "timeout";

/// Commands that are done at once, or that run until they are stopped.
const WITHOUT: [&str; 8] = [
    "controller",
    "ui",
    "completions",
    "man",
    "version",
    "explain",
    "crds",
    "help",
];

/// What the main thread of a process usually has.
const STACK: usize = 8 << 20;

/// Adds the flag to a command and those below it.
pub(crate) fn everywhere(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    // One that is changed goes to the end: all of them are, so that they keep their order.
    let command = names.iter().fold(command, |command, name| {
        let is_left = WITHOUT.contains(&name.as_str());
        command.mut_subcommand(name, |one| if is_left { one } else { everywhere(one) })
    });
    let has_own = command.get_arguments().any(|arg| arg.get_long() == Some(FLAG));
    // A command of commands does nothing itself.
    if has_own || command.is_subcommand_required_set() {
        return command;
    }
    let flag = Arg::new(ID)
        .long(FLAG)
        .value_name("DURATION")
        .value_parser(value_parser!(GoDuration))
        .help("End with an error that names what the command waits for, after this time [default: never]");
    command.arg(flag)
}

/// The limit that was typed.
pub(crate) fn of(matches: &ArgMatches) -> Option<Duration> {
    if let Some((_, below)) = matches.subcommand() {
        return of(below);
    }
    let limit = matches.try_get_one::<GoDuration>(ID).ok()??;
    Some(limit.as_std())
}

/// Whether the output is to be one JSON document.
pub(crate) fn is_json(matches: &ArgMatches) -> bool {
    if let Some((_, below)) = matches.subcommand() {
        return is_json(below);
    }
    let typed = matches.try_get_raw("output").ok().flatten();
    typed.and_then(Iterator::last).is_some_and(|typed| typed == "json")
}

/// Says that a command is not done, also to the program that reads its document.
pub(crate) fn late_in_json(error: &str) {
    print_error(error);
    complain(error);
}

/// Runs a command for so long at most; `late` says that it is not done. One that is late is left where it is: the
/// process ends when this returns.
pub(crate) fn within(
    limit: Option<Duration>,
    late: impl FnOnce(&str),
    run: impl FnOnce() -> ExitCode + Send + 'static,
) -> ExitCode {
    let Some(limit) = limit else { return run() };
    let (done, ended) = channel();
    let started = Builder::new().stack_size(STACK).spawn(move || {
        // Nobody waits any more if it is late.
        let _ = done.send(run());
    });
    if let Err(error) = started {
        complain(format!("cannot start the command: {error}"));
        return ExitCode::from(FAILED);
    }
    match ended.recv_timeout(limit) {
        Ok(code) => code,
        Err(RecvTimeoutError::Timeout) => {
            let waits = waits::all();
            let what = if waits.is_empty() {
                String::new()
            } else {
                format!(": {}", words::some(&waits))
            };
            let error = format!("not done within --timeout {}{what}", shown(limit));
            progress::aside(|| late(&error));
            ExitCode::from(FAILED)
        }
        // Its thread has reported how it ended.
        Err(RecvTimeoutError::Disconnected) => ExitCode::from(FAILED),
    }
}

fn shown(limit: Duration) -> String {
    bumpwright_gostd::Duration(i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX)).to_string()
}
