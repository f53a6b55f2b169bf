//! `bumpwright fleet review`: what a change does to the clusters, for the people who decide about it.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use super::args::{Review, ReviewOutput};
use super::check::is_as_bad;
use super::open;
use super::outside::UserRegistries;
use super::states::States;
use crate::cli::console::{cannot_print, end_with, print, print_error, print_styled, say};
use crate::cli::error::CliError;
use crate::cli::render::building;
use crate::cli::update::{impact_block, impact_lines};
use bumpwright_findings::terminal::inline;
use bumpwright_fleet::{self as fleet, ImageRegistries, State, Vote, diff};
use bumpwright_pages::report::{Block, Cell, Report, Section};

/// There are findings.
const FOUND: u8 = 1;

pub(super) fn run(args: &Review) -> ExitCode {
    let printed = base(args).and_then(|base| {
        let review = review(args, &base)?;
        print_review(args, &review, &base)?;
        Ok(if is_as_bad(&review.report, args.fail_on) {
            FOUND
        } else {
            0
        })
    });
    if let (Err(error), ReviewOutput::Json) = (&printed, args.output) {
        print_error(&error.to_string());
    }
    end_with(printed)
}

fn review(args: &Review, base: &str) -> Result<fleet::Review, CliError> {
    let mut states = States::open(&args.reading, base, args.to.as_deref())?;
    let mut settings = states.check_settings(&args.reading)?;
    let registries =
        (args.images && !args.reading.offline).then(|| Arc::new(UserRegistries::new(args.reading.timeout)));
    settings.registries = registries
        .clone()
        .map(|registries| registries as Arc<dyn ImageRegistries>);
    let (old, new) = states.fleets()?;
    let before = State {
        fleets: &old,
        repository: &*states.old.repository,
    };
    let after = State {
        fleets: &new,
        repository: &*states.new.repository,
    };
    let review = fleet::review(before, after, &settings, env!("CARGO_PKG_VERSION"));
    registries.iter().for_each(|registries| registries.report());
    // The process ends soon: to free every object of two fleets by itself takes a part of its time.
    std::mem::forget((old, new));
    Ok(review)
}

/// The revision to compare from: the last commit that it and the other one have in common, so that what was merged
/// meanwhile is not a change.
fn base(args: &Review) -> Result<String, CliError> {
    let Some(root) = open::disk(&args.reading)? else {
        return Ok(args.from.clone());
    };
    let to = args.to.as_deref().unwrap_or("HEAD");
    match building::merge_base(&root, &args.from, to) {
        Some(base) => Ok(base),
        // One that does not exist is an error of what follows.
        None if ![args.from.as_str(), to]
            .iter()
            .all(|one| building::has_commit(&root, one)) =>
        {
            Ok(args.from.clone())
        }
        None => {
            let text = format!(
                "{} and {to} have no commit in common here; fetch their history, or this compares the two",
                args.from
            );
            say("warning", &text);
            Ok(args.from.clone())
        }
    }
}

/// For a change at Gerrit. Of a repository at a URL it is not known which files the change has: findings are in the
/// message.
fn gerrit(args: &Review, review: &fleet::Review, base: &str) -> Result<String, CliError> {
    let changed = match open::disk(&args.reading)? {
        Some(root) => building::changed_files(&root, base, args.to.as_deref())?,
        None => BTreeSet::new(),
    };
    let vote = Vote {
        label: &args.gerrit_label,
        approves: !is_as_bad(&review.report, args.fail_on),
    };
    Ok(review.gerrit(Some(vote).filter(|vote| !vote.label.is_empty()), &changed))
}

fn print_review(args: &Review, review: &fleet::Review, base: &str) -> Result<(), CliError> {
    let out = match args.output {
        ReviewOutput::Text => text(review),
        ReviewOutput::Markdown => review.markdown(),
        ReviewOutput::Json => review.json(),
        ReviewOutput::Sarif => review.report.sarif(),
        ReviewOutput::Junit => review.report.junit(),
        ReviewOutput::Github => review.report.github(),
        ReviewOutput::Gerrit => gerrit(args, review, base)?,
        ReviewOutput::Html => html(review)?,
    };
    let out = review.hide(&out);
    match args.output {
        ReviewOutput::Text => print_styled(&out),
        _ => print(out.as_bytes()),
    }
    .map_err(cannot_print)
}

fn text(review: &fleet::Review) -> String {
    let mut out = diff::to_text(&review.clusters);
    if review.has_impact() {
        out.push('\n');
        out.extend(impact_lines(&review.impact).into_iter().map(|line| line + "\n"));
    }
    for chart in &review.charts {
        let releases = chart.releases.join(", ");
        out.push_str(&inline(&format!("chart {} of {releases}", chart.title())));
        out.push('\n');
        for line in chart.lines() {
            out.push_str(&format!("  {}\n", inline(&line)));
        }
    }
    out.push('\n');
    out.push_str(&review.report.text());
    if review.gone > 0 {
        out.push_str(&format!("{}\n", review.gone_words()));
    }
    out
}

fn html(review: &fleet::Review) -> Result<String, CliError> {
    let mut findings = review.report.section();
    findings.title = "New findings".to_owned();
    findings
        .blocks
        .extend((review.gone > 0).then(|| Block::text(review.gone_words())));
    let impact = Section {
        title: "Impact".to_owned(),
        blocks: vec![impact_block(&review.impact)],
    };
    let charts = review.charts.iter().map(|chart| {
        let title = format!("{} of {}", chart.title(), chart.releases.join(", "));
        Block::Folded(Cell::text(title), chart.lines().into_iter().map(Block::text).collect())
    });
    let charts = Section {
        title: "Charts".to_owned(),
        blocks: charts.collect(),
    };
    let charts = (!charts.blocks.is_empty()).then_some(charts);
    let page = Report {
        title: "bumpwright fleet review".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sections: [findings, impact]
            .into_iter()
            .chain(charts)
            .chain(diff::to_sections(&review.clusters))
            .collect(),
    };
    page.html().map_err(CliError::from)
}
