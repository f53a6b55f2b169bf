//! Output of commands, and exit codes.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::json;

use crate::cli::error::CliError;
use crate::cli::words;

/// The exit code of a failed command.
pub(super) const FAILED: u8 = 2;

/// Prints bytes to standard output.
///
/// # Errors
/// Standard output cannot be written to.
pub(super) fn print(bytes: &[u8]) -> io::Result<()> {
    to(&mut io::stdout(), bytes)
}

/// Prints text to standard output, with colours where they are supported.
pub(super) fn print_styled(text: &str) -> io::Result<()> {
    to(&mut anstream::stdout(), text.as_bytes())
}

/// Prints text of an output that continues, as [`print_styled`]; false once its reader is gone.
pub(super) fn print_on(text: &str) -> io::Result<bool> {
    let mut stream = anstream::stdout();
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true),
    }
}

/// A closed pipe is not an error: the reader has what it wanted.
fn to(stream: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// An error of [`print`].
pub(super) fn cannot_print(error: io::Error) -> CliError {
    CliError::from(error).at("standard output")
}

/// Prints an error to standard error.
pub(super) fn complain(error: impl Display) {
    say("error", &error.to_string());
}

/// Prints the document of a command that has no result, for programs that read one.
pub(super) fn print_error(error: &str) {
    let document = json!({"version": 1, "error": error});
    let text = format!("{}\n", words::json(&format!("{document:#}")));
    if let Err(error) = print(text.as_bytes()).map_err(cannot_print) {
        complain(&error);
    }
}

/// Prints a note to standard error.
pub(super) fn say(what: &str, text: &str) {
    let _ = writeln!(anstream::stderr(), "{what}: {}", words::printable(text));
}

/// The exit code for the result of a command; an error is printed.
pub(super) fn end(done: Result<(), impl Into<CliError>>) -> ExitCode {
    end_with(done.map(|()| 0))
}

/// The exit code of a command that has several; an error is printed.
pub(super) fn end_with(done: Result<u8, impl Into<CliError>>) -> ExitCode {
    ExitCode::from(done.unwrap_or_else(|error| {
        complain(error.into());
        FAILED
    }))
}
