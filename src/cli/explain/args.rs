//! The flags of `explain`.

use clap::{Args, ValueEnum};

/// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub struct Explain {
    /// A reason, a type of condition, the HTTP status of a webhook, or a rule of findings, in any
    /// case [default: list all]
    #[arg(value_name = "CODE")]
    pub code: Option<String>,

    /// The output format
    #[arg(long, short = 'o', value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Text,
    /// A page with all reasons (docs/reference/reasons.md), or the explanations of CODE
    Markdown,
    /// For programs: code, where it is said, what it means, and what to do
    Json,
}

const HELP: &str = "\
Examples:
  bumpwright explain
  # Why a marker was skipped
  bumpwright explain UnknownPolicy
  # The reason of a condition or an event
  bumpwright explain GitOperationFailed
  # A finding in a fleet
  bumpwright explain missing-source
  # All codes, for programs
  bumpwright explain -o json | jq -r '.codes[].code'

Exit codes:
  0  done
  2  there is no such code

Documentation: docs/reference/reasons.md, docs/reference/findings.md";
