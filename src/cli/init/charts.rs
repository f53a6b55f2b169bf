//! Which values of HelmReleases are images: their charts say it.

use super::args::Init;
use crate::cli::fleet::values::{ChartPlaces, image_values};
use crate::cli::words;
use bumpwright_adopt::Files;
use bumpwright_propose::{Rendered, Survey};

/// The releases that are named in a note.
const NAMED: usize = 3;

/// What the charts of the releases among the files make of their values; nothing without them.
pub(super) fn rendered(args: &Init, files: &Files<'_>) -> Rendered {
    if !args.helm {
        return Rendered::new();
    }
    let texts: Vec<&str> = files.parsed.iter().map(|file| file.text).collect();
    let places = ChartPlaces {
        folder: &args.path,
        charts: args.charts.clone(),
    };
    image_values(&texts, &places)
}

/// What is not known but guessed.
pub(super) fn guesses(survey: &Survey) -> Option<String> {
    let (_, why) = survey.guesses.first_key_value()?;
    let names: Vec<&str> = survey.guesses.keys().take(NAMED).map(String::as_str).collect();
    let more = match survey.guesses.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "which values of HelmRelease {}{more} are images is guessed by their keys, since the chart was not rendered: {}",
        names.join(", "),
        words::inline(why)
    ))
}
