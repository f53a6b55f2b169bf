//! `bumpwright fleet check`: what would go wrong in the clusters.

use std::fs;
use std::process::ExitCode;

use super::args::{Check, CheckOutput, FailOn};
use super::open::Opened;
use super::sync;
use crate::cli::console::{cannot_print, end_with, print, print_error, print_styled};
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_findings::{Baseline, Report, Severity};
use bumpwright_fleet::{check, checked, entries};

/// The exit code when there are findings.
const FOUND: u8 = 1;

pub(super) fn run(args: &Check) -> ExitCode {
    let code = checked_code(args);
    if let (Err(error), CheckOutput::Json) = (&code, args.output) {
        print_error(&error.to_string());
    }
    end_with(code)
}

/// Prints the findings; returns the exit code.
fn checked_code(args: &Check) -> Result<u8, CliError> {
    let report = report(args)?;
    match args.output {
        CheckOutput::Text => print_styled(&report.text()),
        CheckOutput::Json => print(report.json().as_bytes()),
        CheckOutput::Sarif => print(report.sarif().as_bytes()),
        CheckOutput::Junit => print(report.junit().as_bytes()),
        CheckOutput::Github => print(report.github().as_bytes()),
        CheckOutput::Html => print(report.html()?.as_bytes()),
    }
    .map_err(cannot_print)?;
    Ok(if is_as_bad(&report, args.fail_on) { FOUND } else { 0 })
}

/// Whether something is found that makes the exit code 1.
pub(super) fn is_as_bad(report: &Report, least: FailOn) -> bool {
    let least = match least {
        FailOn::Error => Severity::Error,
        FailOn::Warning => Severity::Warning,
        FailOn::Note => Severity::Note,
    };
    report.worst().is_some_and(|worst| worst >= least)
}

fn report(args: &Check) -> Result<Report, CliError> {
    let mut opened = Opened::new(&args.reading)?;
    let settings = opened.check_settings(&args.reading)?;
    let fleets = opened.fleets()?;
    sync::refuse_parents(&opened, &fleets)?;
    sync::tell(&opened, &fleets);
    let findings = check(&fleets, &*opened.repository, &settings);
    let kustomizations = checked(&fleets);
    let is_of_cluster = kustomizations.iter().any(|one| one.kustomization.is_some());
    // A path that is wrong would pass as long as nobody looks at the number. Without Flux any folder may be meant.
    let may_be_meant = !kustomizations.is_empty() && entries(&*opened.repository.tree()).is_empty();
    if findings.is_empty() && !is_of_cluster && !may_be_meant {
        return Err(sync::without_kustomizations(&opened, &fleets));
    }
    let report = Report::new(findings, kustomizations, env!("CARGO_PKG_VERSION"));
    with_baseline(args, report)
}

/// Accepts what a baseline has, or writes one.
fn with_baseline(args: &Check, report: Report) -> Result<Report, CliError> {
    if let Some(path) = &args.baseline {
        let place = || format!("--baseline {}", path.display());
        let bytes = fs::read(path).at(place())?;
        let baseline = Baseline::read(&bytes).at(place())?;
        return Ok(report.accepting(&baseline, &path.display().to_string()));
    }
    let Some(path) = &args.write_baseline else {
        return Ok(report);
    };
    let baseline = Baseline::of(report.open());
    fs::write(path, baseline.json()).at(format_args!("--write-baseline {}", path.display()))?;
    Ok(report.accepting(&baseline, &path.display().to_string()))
}
