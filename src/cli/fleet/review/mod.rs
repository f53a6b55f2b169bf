//! `bumpwright fleet review`: what a change does to the clusters, for the people who decide about it.

mod comment;
mod job;
mod outputs;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::args::Review;
use super::check::is_as_bad;
use super::open;
use super::outside::UserRegistries;
use super::review_args::ReviewFormat;
use super::states::States;
use crate::cli::console::{end_with, print_error, say};
use crate::cli::error::CliError;
use crate::cli::render::building;
use crate::cli::update::{impact_block, impact_lines};
use bumpwright_findings::terminal::inline;
use bumpwright_findings::workflow_warning;
use bumpwright_fleet::{self as fleet, ImageRegistries, State, Vote, diff};
use bumpwright_forge::Login;
use bumpwright_pages::report::{Block, Cell, Report, Section};
use bumpwright_text::between;
use bumpwright_update::{AskedReleases, ImageRelease, ImageStep, ReleaseForges, ReleasesApi, ask_all};
use comment::{Comment, NoComment};

/// The exit code when there are findings.
const FOUND: u8 = 1;

/// The time limit of the releases of all images.
const RELEASES: Duration = Duration::from_secs(60);

/// A vote for a change of which nothing was looked at would let it in.
const NOTHING_CHECKED: &str =
    "no Kustomization was found, so the review has no vote: give the folder of each cluster, as in clusters/production";

pub(super) fn run(args: &Review) -> ExitCode {
    let code = code(args);
    if let Err(error) = &code
        && outputs::printed(&args.output) == Some(ReviewFormat::Json)
    {
        print_error(&error.to_string());
    }
    end_with(code)
}

/// Reviews, comments and writes; returns the exit code, which is that of the review alone.
fn code(args: &Review) -> Result<u8, CliError> {
    outputs::check(&args.output)?;
    let comment = Comment::wanted(args)?;
    let base = base(args)?;
    let review = review(args, &base)?;
    let missing = comment.and_then(|comment| keep(comment, &review).err());
    let rendered = |format| rendered(args, &review, &base, (format, missing.as_ref()));
    outputs::write(&args.output, &rendered)?;
    if missing.is_some() && outputs::printed(&args.output).is_none() {
        outputs::print_one(ReviewFormat::Markdown, &rendered)?;
    }
    Ok(if is_as_bad(&review.report, args.fail_on) {
        FOUND
    } else {
        0
    })
}

/// Keeps the comment; that there is none is reported.
fn keep(comment: Result<Comment, NoComment>, review: &fleet::Review) -> Result<(), NoComment> {
    let text = review.markdown();
    let kept = comment.and_then(|comment| comment.keep(&text, !review.is_empty()).map_err(NoComment::from));
    match &kept {
        Err(why @ NoComment::NoRequest) => say("note", &why.to_string()),
        Err(why) => say("warning", &why.to_string()),
        Ok(()) => {}
    }
    kept
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
    let mut review = fleet::review(before, after, &settings, env!("CARGO_PKG_VERSION"));
    registries.iter().for_each(|registries| registries.report());
    let changed = match open::disk(&args.reading)? {
        Some(root) => building::changed_files(&root, base, args.to.as_deref())?,
        None => states.changed_files(),
    };
    review.note_unread([before, after], &changed);
    review.note_gone(&states.gone());
    // The process ends soon: to free every object of two fleets by itself takes a part of its time.
    std::mem::forget((old, new));
    if let Some(registries) = registries.filter(|_| args.release_notes) {
        review.releases = releases(&review, &registries, &args.release_notes_api);
    }
    Ok(review)
}

/// What is known of the releases of new images. Whoever opens a request names the images: a token of the job would show
/// releases of private repositories to those who read the review, so there is none.
fn releases(review: &fleet::Review, registries: &UserRegistries, apis: &[ReleasesApi]) -> AskedReleases {
    let forges = ReleaseForges::new(Login::Nobody).and(apis);
    let ask = |step: &ImageStep| forges.of_image(step, |version| registries.origin(&step.reference(version)));
    let asked = ask_all(&review.image_steps(), RELEASES, ask);
    for note in &asked.notes {
        say("note", &review.hide(note));
    }
    if asked.left_out > 0 {
        say(
            "note",
            &format!("releases: {} images were not asked about", asked.left_out),
        );
    }
    asked
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
            let why = if building::is_shallow(&root) {
                building::IN_CI
            } else {
                "their histories are unrelated"
            };
            let text = format!(
                "{} and {to} have no commit in common here, so the two are compared as they are; {why}",
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
    let vote = Some(vote).filter(|vote| !vote.label.is_empty());
    let has_checked = !review.report.checked().is_empty();
    if !has_checked && vote.is_some() {
        say("warning", NOTHING_CHECKED);
    }
    Ok(review.gerrit(vote.filter(|_| has_checked), &changed))
}

/// The review in a format. Workflow commands have also that there is no comment.
fn rendered(
    args: &Review,
    review: &fleet::Review,
    base: &str,
    (format, missing): (ReviewFormat, Option<&NoComment>),
) -> Result<String, CliError> {
    let out = match format {
        ReviewFormat::Text => text(review),
        ReviewFormat::Markdown => review.markdown(),
        ReviewFormat::Json => review.json(),
        ReviewFormat::Sarif => review.report.sarif(),
        ReviewFormat::Junit => review.report.junit(),
        ReviewFormat::Github => review.report.github() + &command(missing),
        ReviewFormat::Gerrit => gerrit(args, review, base)?,
        ReviewFormat::Html => html(review)?,
    };
    Ok(match format {
        ReviewFormat::Json | ReviewFormat::Sarif | ReviewFormat::Gerrit => review.hide_json(&out),
        _ => review.hide(&out),
    })
}

fn command(missing: Option<&NoComment>) -> String {
    match missing {
        None | Some(NoComment::NoRequest) => String::new(),
        Some(why) => workflow_warning(&why.to_string()),
    }
}

fn text(review: &fleet::Review) -> String {
    let mut out = diff::to_text(&review.differences());
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
    for release in &review.releases.releases {
        let title = between(": ", Some(&release.title).filter(|title| !title.is_empty()), "");
        out.push_str(&inline(&format!("image {}{title}", release.step())));
        let link = release.release.as_ref().or(release.compare.as_ref());
        out.push_str(&format!("{}\n", between(" ", link, "")));
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
    let releases = Section {
        title: "Releases".to_owned(),
        blocks: review.releases.releases.iter().map(release).collect(),
    };
    let releases = (!releases.blocks.is_empty()).then_some(releases);
    let page = Report {
        title: "bumpwright fleet review".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sections: [findings, impact]
            .into_iter()
            .chain(charts)
            .chain(releases)
            .chain(diff::to_sections(&review.differences()))
            .collect(),
    };
    page.html().map_err(CliError::from)
}

/// The release of an image, with what its authors say as text.
fn release(release: &ImageRelease) -> Block {
    let title = match release.title.as_str() {
        "" => release.step(),
        title => format!("{}: {title}", release.step()),
    };
    let pages = [("release", &release.release), ("changes", &release.compare)];
    let pages = pages.into_iter().filter_map(|(name, url)| Some((name, url.clone()?)));
    let pages = pages.map(|(name, url)| Block::Text(Cell::text(name).linked(Some(url))));
    let lines = release.text.iter().map(Block::text);
    Block::Folded(Cell::text(title), pages.chain(lines).collect())
}
