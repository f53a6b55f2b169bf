//! What commands print, and how they end.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use super::words;

/// The exit code of a command that could not do its work.
const FAILED: u8 = 2;

/// Bytes as they are, on standard output.
///
/// # Errors
/// Standard output cannot be written to.
pub(super) fn print(bytes: &[u8]) -> io::Result<()> {
    to(&mut io::stdout(), bytes)
}

/// Text with colours where they are wanted, on standard output.
///
/// # Errors
/// As [`print`].
pub(super) fn print_styled(text: &str) -> io::Result<()> {
    to(&mut anstream::stdout(), text.as_bytes())
}

/// A reader that has gone away is content with what it got.
fn to(stream: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Words for an error of [`print`] where a command has none of its own.
pub(super) fn cannot_print(error: io::Error) -> String {
    format!("standard output: {error}")
}

/// An error, on standard error. When that is gone too, there is nobody left to tell.
pub(super) fn complain(error: &str) {
    say("error", error);
}

/// Something besides the result, on standard error.
pub(super) fn say(what: &str, text: &str) {
    let _ = writeln!(anstream::stderr(), "{what}: {}", words::printable(text));
}

/// How a command ends that is done, or could not do its work and says why.
pub(super) fn end(done: Result<(), impl Display>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(FAILED)
        }
    }
}
