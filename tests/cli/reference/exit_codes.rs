//! The exit codes of each command, from its help.

use std::fmt::Write;

use super::commands::{after_help, all, name, program};
use super::markdown::{generated, parts};

/// `exit-codes.md`.
pub fn page() -> String {
    let mut page = "# Exit codes\n\n".to_owned();
    page.push_str(&generated("the help of each command"));
    page.push_str("A command that is typed wrongly ends with 2. A pipe closed by its reader is not an error.\n\n");
    page.push_str("| command | code | meaning |\n|---|---|---|\n");
    let program = program();
    for command in all(&program) {
        let help = after_help(command);
        let codes = parts(&help)
            .into_iter()
            .find(|(heading, _)| *heading == Some("Exit codes"));
        for line in codes.into_iter().flat_map(|(_, codes)| codes.lines()) {
            let (code, meaning) = line.trim().split_once(' ').unwrap();
            writeln!(page, "| `{}` | {code} | {} |", name(command), meaning.trim()).unwrap();
        }
    }
    page
}
