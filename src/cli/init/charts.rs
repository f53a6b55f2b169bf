//! Which values of HelmReleases are images: their charts say it.

use std::collections::BTreeMap;

use super::args::Init;
use crate::cli::fleet::values::{ChartPlaces, image_values};
use crate::cli::words;
use bumpwright_adopt::Files;
use bumpwright_propose::Rendered;

/// The releases that are named in a note.
const NAMED: usize = 3;

/// What the charts of the releases among the files make of their values; nothing without them.
pub(super) fn rendered(args: &Init, files: &Files<'_>) -> Rendered {
    if !args.helm {
        return Rendered::default();
    }
    let places = ChartPlaces {
        folder: &args.path,
        charts: args.charts.clone(),
    };
    image_values(files, &places)
}

/// What is not known but guessed: whose values, and why.
pub(in crate::cli) fn guesses(guesses: &BTreeMap<String, String>) -> Option<String> {
    let (_, why) = guesses.first_key_value()?;
    let names: Vec<&str> = guesses.keys().take(NAMED).map(String::as_str).collect();
    let more = match guesses.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "which values of {}{more} are images is guessed by their keys, since the chart was not rendered: {}",
        names.join(", "),
        words::inline(why)
    ))
}
