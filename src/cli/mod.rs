//! The command line: `args` (as typed), `plan` (as needed), one file per command.

/// Runs the command line of this process.
#[must_use]
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
