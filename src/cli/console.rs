//! Output of commands, and exit codes.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::cli::words;

/// The exit code of a failed command.
const FAILED: u8 = 2;

/// Prints bytes to standard output.
///
/// # Errors
/// Standard output cannot be written to.
pub(super) fn print(bytes: &[u8]) -> io::Result<()> {
    to(&mut io::stdout(), bytes)
}

/// Prints text to standard output, with colours where they are supported.
///
/// # Errors
/// As [`print`].
pub(super) fn print_styled(text: &str) -> io::Result<()> {
    to(&mut anstream::stdout(), text.as_bytes())
}

/// Prints text of an output that goes on, as [`print_styled`]; false once its reader is gone.
///
/// # Errors
/// As [`print`].
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

/// The message for an error of [`print`].
pub(super) fn cannot_print(error: io::Error) -> String {
    format!("standard output: {error}")
}

/// Prints an error to standard error.
pub(super) fn complain(error: &str) {
    say("error", error);
}

/// Prints a note to standard error.
pub(super) fn say(what: &str, text: &str) {
    let _ = writeln!(anstream::stderr(), "{what}: {}", words::printable(text));
}

/// The exit code for the result of a command; an error is printed.
pub(super) fn end(done: Result<(), impl Display>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(FAILED)
        }
    }
}
