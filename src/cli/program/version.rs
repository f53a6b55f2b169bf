//! `bumpwright version`: what this binary was built from. Commit and date come from the environment of the build, where
//! a packager sets `BUMPWRIGHT_COMMIT` and `BUMPWRIGHT_COMMIT_DATE`; other builds do not know them.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::cli::console;
use crate::cli::error::CliError;
use crate::cli::flag_values::Format;

/// Arguments of `version`.
#[derive(Debug, Args)]
#[command(after_long_help = VERSION_HELP)]
pub struct Version {
    /// The output format
    #[arg(long, short = 'o', value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

const VERSION_HELP: &str = "\
Commit and date are known of packaged builds only. `bumpwright --version` prints the version alone.

Examples:
  bumpwright version
  bumpwright version --output json

Exit codes:
  0  printed
  2  an error

Documentation: docs/reference/commands.md";

/// The facts, by their names in JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BuildFacts<'a> {
    version: &'a str,
    commit: Option<&'a str>,
    commit_date: Option<&'a str>,
    rustc: Option<&'a str>,
    target: Option<&'a str>,
}

impl BuildFacts<'static> {
    fn of_this_binary() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: known(option_env!("BUMPWRIGHT_COMMIT")),
            commit_date: known(option_env!("BUMPWRIGHT_COMMIT_DATE")),
            rustc: known(option_env!("BUMPWRIGHT_RUSTC")),
            target: known(option_env!("BUMPWRIGHT_TARGET")),
        }
    }
}

impl BuildFacts<'_> {
    fn text(&self) -> String {
        let shown = |fact: Option<&str>| fact.unwrap_or("unknown").to_owned();
        format!(
            "version: {}\ncommit: {}\ncommit date: {}\nrustc: {}\ntarget: {}\n",
            self.version,
            shown(self.commit),
            shown(self.commit_date),
            shown(self.rustc),
            shown(self.target),
        )
    }
}

/// An empty variable counts as unset.
fn known(fact: Option<&str>) -> Option<&str> {
    fact.map(str::trim).filter(|fact| !fact.is_empty())
}

#[must_use]
pub(crate) fn run(args: &Version) -> ExitCode {
    let facts = BuildFacts::of_this_binary();
    let text = match args.output {
        Format::Text => Ok(facts.text()),
        Format::Json => serde_json::to_string_pretty(&facts).map(|text| text + "\n"),
    };
    let printed = text
        .map_err(CliError::from)
        .and_then(|text| console::print(text.as_bytes()).map_err(console::cannot_print));
    console::end(printed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn a_packaged_build_names_its_commit_and_others_say_unknown() {
        let mut facts = BuildFacts {
            version: "1.2.3",
            commit: known(Some("47c1513d ")),
            commit_date: known(Some("2026-01-31T08:00:00Z")),
            rustc: known(Some("rustc 1.95.0")),
            target: known(Some("x86_64-unknown-linux-musl")),
        };
        assert_eq!(
            facts.text(),
            "version: 1.2.3\ncommit: 47c1513d\ncommit date: 2026-01-31T08:00:00Z\nrustc: rustc 1.95.0\n\
             target: x86_64-unknown-linux-musl\n"
        );
        facts.commit = known(Some(""));
        facts.commit_date = known(None);
        assert!(facts.text().contains("commit: unknown\ncommit date: unknown\n"));
        let json = serde_json::to_value(&facts).unwrap();
        assert_eq!(
            (&json["commit"], &json["commitDate"]),
            (&serde_json::Value::Null, &serde_json::Value::Null)
        );
    }
}
