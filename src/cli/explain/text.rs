//! Explanations for people, with colours where the terminal has them.

use std::fmt::Write as _;

use anstyle::Style;

use super::groups::{Group, Section};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// All codes by group, each with its meaning.
pub(super) fn list(groups: &[Group]) -> String {
    let mut out = String::new();
    for group in groups {
        let _ = writeln!(out, "{BOLD}{}{BOLD:#}", group.title);
        let width = group.sections().map(|section| section.code.len()).max().unwrap_or(0);
        for section in group.sections() {
            let _ = writeln!(out, "  {:width$}  {DIM}{}{DIM:#}", section.code, section.sentence());
        }
        out.push('\n');
    }
    out.push_str("bumpwright explain CODE says what to do.\n");
    out
}

/// The explanations of one code.
pub(super) fn explanations(found: &[(&Group, &Section)]) -> String {
    let texts = found.iter().map(|(group, section)| {
        let Section {
            code,
            place,
            summary,
            rest,
        } = section;
        let mut out = format!(
            "{BOLD}{code}{BOLD:#} ({})\n{DIM}{place}{DIM:#}\n\n{summary}\n",
            group.title
        );
        if !rest.is_empty() {
            let _ = write!(out, "\n{rest}\n");
        }
        out
    });
    texts.collect::<Vec<_>>().join("\n")
}
