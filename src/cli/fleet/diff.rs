//! `bumpwright fleet diff`: what differs between two states of the clusters.

use std::process::ExitCode;

use super::args::{Diff, FleetDiffOutput};
use super::states::States;
use crate::cli::console::{cannot_print, end_with, print, print_styled};
use crate::cli::error::CliError;
use bumpwright_fleet::diff;
use bumpwright_fleet::{self as fleet, State};

/// The exit code when something differs.
const DIFFERENT: u8 = 1;

pub(super) fn run(args: &Diff) -> ExitCode {
    let differs = differences(args);
    end_with(differs.map(|differs| if differs { DIFFERENT } else { 0 }))
}

/// Prints the differences; returns whether there are any.
fn differences(args: &Diff) -> Result<bool, CliError> {
    let states = States::open(&args.reading, &args.from, args.to.as_deref())?;
    let (before, after) = states.differing()?;
    let old = State {
        fleets: &before,
        repository: &*states.old.repository,
    };
    let new = State {
        fleets: &after,
        repository: &*states.new.repository,
    };
    let diffs = fleet::diffs(old, new);
    match args.output {
        FleetDiffOutput::Text => print_styled(&diff::to_text(&diffs)),
        FleetDiffOutput::Markdown => print_styled(&diff::to_markdown(&diffs)),
        FleetDiffOutput::Json => print(diff::to_json(&diffs).as_bytes()),
        FleetDiffOutput::Html => {
            let html = diff::to_html(&diffs, env!("CARGO_PKG_VERSION"))?;
            print(html.as_bytes())
        }
    }
    .map_err(cannot_print)?;
    let differs = diffs.iter().any(|one| !one.is_empty());
    drop(diffs);
    // The process ends: to free every object of two fleets by itself takes a part of its time.
    std::mem::forget((before, after));
    Ok(differs)
}
