//! `bumpwright fleet diff`: what differs between two states of the clusters.

use std::process::ExitCode;

use super::args::{Diff, FleetDiffOutput};
use super::open::Opened;
use crate::cli::console::{cannot_print, complain, end, print, print_styled};
use bumpwright_fleet::diff::{self, FleetDiff};
use bumpwright_fleet::{Fleet, Memo};

/// Something differs.
const DIFFERENT: u8 = 1;

/// Runs the command.
pub(super) fn run(args: &Diff) -> ExitCode {
    match differences(args) {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(DIFFERENT),
        Err(error) => end(Err(error)),
    }
}

/// Prints the differences; returns whether there are any.
fn differences(args: &Diff) -> Result<bool, String> {
    if args.reading.revision.is_some() {
        return Err("--ref is for one state: --from and --to name the two that are compared".to_owned());
    }
    let before = Opened::at(&args.reading, Some(&args.from))?;
    let after = before.other(&args.reading, args.to.as_deref())?;
    if before.entries.is_empty() && after.entries.is_empty() {
        return Err(before.no_entry());
    }
    // Of a misspelt one nothing would differ.
    let is_nowhere = |entry: &&String| !before.has(entry) && !after.has(entry);
    if let Some(entry) = before.entries.iter().chain(&after.entries).find(is_nowhere) {
        return Err(format!("{entry}: neither of the two states has such a file or folder"));
    }
    let memo = Memo::default();
    let old = before.fleets_or_none(&memo)?;
    let memo = before.known_for(&memo, &after);
    let new = after.fleets_or_none(&memo)?;
    for fleet in old.iter().chain(&new) {
        fleet.problems.iter().for_each(|problem| complain(problem));
    }
    let all = compared(&old, &new);
    match args.output {
        FleetDiffOutput::Text => print_styled(&diff::to_text(&all)),
        FleetDiffOutput::Markdown => print_styled(&diff::to_markdown(&all)),
        FleetDiffOutput::Json => print(diff::to_json(&all).as_bytes()),
        FleetDiffOutput::Html => {
            let html = diff::to_html(&all, env!("CARGO_PKG_VERSION")).map_err(|error| error.to_string())?;
            print(html.as_bytes())
        }
    }
    .map_err(cannot_print)?;
    Ok(all.iter().any(|one| !one.is_empty()))
}

/// The differences of each entry of either side.
fn compared(old: &[Fleet], new: &[Fleet]) -> Vec<FleetDiff> {
    let nothing = Fleet::default();
    let find = |fleets: &[Fleet], entry: &str| fleets.iter().position(|fleet| fleet.entry == entry);
    let mut all: Vec<FleetDiff> = new
        .iter()
        .map(|after| {
            let before = find(old, &after.entry).and_then(|at| old.get(at));
            diff::compare(before.unwrap_or(&nothing), after)
        })
        .collect();
    let gone = old.iter().filter(|before| find(new, &before.entry).is_none());
    all.extend(gone.map(|before| FleetDiff {
        entry: before.entry.clone(),
        ..diff::compare(before, &nothing)
    }));
    all
}
