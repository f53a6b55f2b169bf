//! The changes that are reviewed.

use serde::Serialize;

use super::super::frame::Frame;
use super::super::listing::Listing;
use super::super::request::{FindingSeverity, ReviewState, ReviewedChange, Tally};
use super::super::route::Route;
use super::super::subject::Subject;
use super::View;
use super::list::List;
use super::part::{Badge, Commit, Object, When, cell, is_safe};

/// What changes can be cut to.
const STATES: [&str; 6] = [
    "failure",
    "success",
    "waiting",
    "not reviewed",
    "not finished",
    "reviewed before, not kept here",
];

/// A change, in lists and at the head of its page.
#[derive(Serialize)]
pub(super) struct Row {
    /// `#7`; empty for a change without a number.
    number: String,
    kind: &'static str,
    group: &'static str,
    title: String,
    href: String,
    repository: Object,
    author: String,
    link: Option<String>,
    /// What it has to do with the branch, such as `into`; empty where the title says it.
    toward: &'static str,
    branch: String,
    /// The heading above it, where it is the first of its kind on the page.
    heading: Option<&'static str>,
    head: Option<Commit>,
    base: Option<Commit>,
    state: Badge,
    why: String,
    at: When,
    /// The numbers of objects and findings; empty where nothing is known of them.
    counts: String,
    findings: Vec<Badge>,
}

pub(super) fn row(now: i64, one: &ReviewedChange, tally: Tally) -> Row {
    let is_known = one.review().is_some();
    Row {
        number: one.subject.number(),
        kind: one.subject.kind(),
        group: one.subject.group(),
        title: cell(&one.full_title()),
        href: Route::Review(one.repository.clone(), one.subject.clone()).to_string(),
        repository: Object::new(&bumpwright_overview::Id::new("GitRepository", one.repository.clone())),
        author: cell(&one.author),
        link: Some(one.link.clone()).filter(|link| is_safe(link)),
        toward: match one.subject {
            Subject::Request(_) => "into",
            Subject::Push(_) => "to",
            Subject::NotApplied(_) => "",
        },
        branch: cell(&one.branch),
        heading: None,
        head: Commit::new(&one.head, None),
        base: Commit::new(&one.base, None),
        state: state(&one.state),
        why: cell(one.state.why()),
        at: When::new(now, one.at),
        counts: if is_known {
            objects(tally.objects)
        } else {
            String::new()
        },
        findings: if is_known { findings(tally) } else { Vec::new() },
    }
}

fn state(state: &ReviewState) -> Badge {
    let tone = match state {
        ReviewState::Waiting => "busy",
        ReviewState::Skipped(_) | ReviewState::NotKept(_) => "mute",
        ReviewState::Failed(_) => "warn",
        ReviewState::Reviewed(review) if review.has_errors => "bad",
        ReviewState::Reviewed(_) => "good",
    };
    Badge::new(state.words(), tone)
}

/// `3 objects differ`
pub(super) fn objects(count: usize) -> String {
    match count {
        0 => "no objects differ".to_owned(),
        1 => "1 object differs".to_owned(),
        count => format!("{count} objects differ"),
    }
}

/// The findings that are new, the worst first.
fn findings(tally: Tally) -> Vec<Badge> {
    let counts = [
        (FindingSeverity::Error, tally.errors),
        (FindingSeverity::Warning, tally.warnings),
        (FindingSeverity::Note, tally.notes),
    ];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    counts.map(|(severity, count)| severities(severity, count)).collect()
}

/// `2 errors`
fn severities(severity: FindingSeverity, count: usize) -> Badge {
    let word = severity.word();
    let word = if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    };
    Badge::new(word, tone(severity)).counted(count)
}

pub(super) fn tone(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Error => "bad",
        FindingSeverity::Warning => "warn",
        FindingSeverity::Note => "mute",
    }
}

pub(super) fn list(frame: &Frame<'_>, changes: &[(&ReviewedChange, Tally)], note: &str, listing: &Listing) -> View {
    // Those of one kind are together, in the order of each repository.
    let mut changes = changes.to_vec();
    changes.sort_by_key(|(one, _)| one.subject.group_order());
    let has_groups = changes.iter().any(|(one, _)| one.subject.group_order() > 0);
    let mut list = List::new(
        &Route::Reviews.to_string(),
        &changes,
        listing,
        &STATES,
        |(one, _), word| one.state.words() == word,
        |(one, _), words| {
            let text = format!(
                "{} {} {} {}",
                one.subject.number(),
                one.repository,
                one.full_title(),
                one.author
            );
            let text = format!("{text} {} {}", one.branch, one.head);
            text.to_lowercase().contains(words)
        },
        |(one, tally)| row(frame.now, one, *tally),
    );
    if has_groups {
        let mut last = "";
        for row in list.rows_mut() {
            row.heading = Some(row.group).filter(|group| *group != last);
            last = row.group;
        }
    }
    View::new("reviews.html", "Reviews", "reviews")
        .with("list", &list)
        .with("note", note)
}
