//! `policy --output text`: a table, or the explanation of one tag; with colours on terminals.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::find::{Counts, Finding};
use crate::cli::words;
use bumpwright_policy::LatestRef;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const WARN: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default();

/// Longer texts overflow their column.
const WIDEST: usize = 60;
/// The text of empty cells.
const NOTHING: &str = "-";
const HEADINGS: [&str; 5] = ["POLICY", "IMAGE", "CHOICE", "RUNNER-UPS", "TAGS"];
/// The column whose texts have the colour of their row.
const CHOICE: usize = 2;

/// A line for each policy; below it the guards that hold its choice back, or why it has none. Empty columns are left
/// out. Colours are always included: the output stream removes them.
#[must_use]
pub fn table(findings: &[Finding]) -> String {
    let rows: Vec<[String; 5]> = findings.iter().map(cells).collect();
    let mut widths = [None; 5];
    for (column, (width, heading)) in widths.iter_mut().zip(HEADINGS).enumerate() {
        let texts = || {
            rows.iter()
                .filter_map(|row| row.get(column))
                .filter(|text| !text.is_empty())
        };
        let longest = texts().map(|text| text.chars().count()).max();
        *width = longest.map(|longest| longest.clamp(heading.len(), WIDEST.max(heading.len())));
    }
    let mut out = String::new();
    line(&mut out, &HEADINGS.map(str::to_owned), &widths, |_| BOLD);
    for (finding, row) in findings.iter().zip(&rows) {
        let colour = colour(finding);
        line(&mut out, row, &widths, |column| {
            if column == CHOICE { colour } else { Style::new() }
        });
        details(&mut out, finding);
    }
    note_lines(&mut out, findings);
    out
}

/// The explanation of the tag, for each policy.
#[must_use]
pub fn explanations(findings: &[Finding], tag: &str) -> String {
    let mut out = String::new();
    for (n, finding) in findings.iter().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        let heading = [&*finding.name(), finding.image()].map(words::inline).join(" ");
        let _ = writeln!(out, "{BOLD}{}{BOLD:#}: the tag {}", heading.trim(), words::inline(tag));
        let steps = finding.explanation.iter().flat_map(|explained| &explained.steps);
        for (n, step) in steps.enumerate() {
            let _ = writeln!(out, "  {DIM}{}.{DIM:#} {}", n + 1, words::inline(step));
        }
        details(&mut out, finding);
    }
    note_lines(&mut out, findings);
    out
}

/// Notes, each once: several policies may share a repository.
#[must_use]
pub fn notes(findings: &[Finding]) -> Vec<&str> {
    let mut notes: Vec<&str> = Vec::new();
    for note in findings.iter().flat_map(|finding| &finding.notes) {
        if !notes.contains(&note.as_str()) {
            notes.push(note);
        }
    }
    notes
}

fn note_lines(out: &mut String, findings: &[Finding]) {
    for note in notes(findings) {
        let _ = writeln!(out, "{DIM}note:{DIM:#} {}", words::inline(note));
    }
}

/// Pads by the width of the text alone; the last column is not padded.
fn line(out: &mut String, texts: &[String; 5], widths: &[Option<usize>; 5], colour: impl Fn(usize) -> Style) {
    let shown = texts.iter().zip(widths).enumerate();
    let mut shown = shown
        .filter_map(|(column, (text, width))| Some((column, text.as_str(), (*width)?)))
        .peekable();
    while let Some((column, text, width)) = shown.next() {
        let text = if text.is_empty() { NOTHING } else { text };
        let style = colour(column);
        let _ = write!(out, "{style}{text}{style:#}");
        if shown.peek().is_some() {
            let gap = width.saturating_sub(text.chars().count()) + 2;
            out.push_str(&" ".repeat(gap));
        }
    }
    out.push('\n');
}

fn cells(finding: &Finding) -> [String; 5] {
    [
        finding.name(),
        finding.image().to_owned(),
        choice(finding),
        finding.runners_up.join(", "),
        tags_of(finding),
    ]
    .map(|text| words::inline(&text).into_owned())
}

/// The tag, and in brackets the status' tag if it differs.
pub(super) fn choice(finding: &Finding) -> String {
    let tag = finding.choice.as_ref().map(|image| image.tag.clone());
    let Some(before) = finding
        .previous
        .as_ref()
        .filter(|before| finding.choice.as_ref() != Some(*before))
    else {
        return tag.unwrap_or_default();
    };
    format!(
        "{} (was {})",
        tag.as_deref().unwrap_or(NOTHING),
        difference(before, finding.choice.as_ref())
    )
}

/// The part of an image that distinguishes it from another.
fn difference(before: &LatestRef, now: Option<&LatestRef>) -> String {
    match now {
        Some(now) if now.name == before.name && now.tag != before.tag => before.tag.clone(),
        Some(now) if now.name == before.name => match &before.digest {
            Some(digest) => digest.chars().take("sha256:".len() + 12).chain(['…']).collect(),
            None => "without a digest".to_owned(),
        },
        Some(_) => before.to_string(),
        None => before.tag.clone(),
    }
}

/// The counts of its tags; empty without them.
pub(super) fn tags_of(finding: &Finding) -> String {
    finding.tags.iter().map(tags).collect()
}

/// Counts of all tags, of counted ones, and of others by verdict.
fn tags(counts: &Counts) -> String {
    let mut lost: Vec<String> = Vec::new();
    if counts.excluded > 0 {
        lost.push(format!("{} excluded", counts.excluded));
    }
    lost.extend(counts.dropped.iter().map(|(verdict, n)| dropped(verdict, *n)));
    if lost.is_empty() {
        counts.total.to_string()
    } else {
        format!("{} of {}: {}", counts.counted, counts.total, lost.join(", "))
    }
}

/// The number of tags with a verdict, in words.
fn dropped(verdict: &str, n: usize) -> String {
    match verdict {
        "Unmatched" => format!("{n} unmatched"),
        "SameValue" => format!("{n} with the value of another"),
        "NotAVersion" => words::count(n, "non-version"),
        "Prerelease" => words::count(n, "prerelease"),
        "OutOfRange" => format!("{n} out of range"),
        "NotANumber" => words::count(n, "non-number"),
        other => format!("{n} {other}"),
    }
}

fn colour(finding: &Finding) -> Style {
    match (&finding.choice, finding.guards.is_empty()) {
        (None, _) => Style::new(),
        (Some(_), true) => GOOD,
        (Some(_), false) => WARN,
    }
}

/// Texts that do not fit into columns.
fn details(out: &mut String, finding: &Finding) {
    if let Some(digest) = finding.choice.as_ref().and_then(|image| image.digest.as_deref()) {
        let _ = writeln!(out, "  {DIM}digest:{DIM:#} {}", words::inline(digest));
    }
    for guard in &finding.guards {
        let _ = writeln!(out, "  {WARN}guard:{WARN:#} {}", words::inline(&guard.to_string()));
    }
    if let Some(problem) = &finding.problem {
        let message = words::inline(&problem.message);
        let _ = writeln!(out, "  {BAD}error:{BAD:#} {:?}: {message}", problem.reason);
    }
}

#[cfg(test)]
mod tests {
    use super::super::find::Problem;
    use super::*;
    use bumpwright_edit::Reason;
    use bumpwright_policy::{GuardRefusal, Hold, PolicyName};

    fn image(name: &str, tag: &str, digest: Option<&str>) -> LatestRef {
        LatestRef {
            name: name.to_owned(),
            tag: tag.to_owned(),
            digest: digest.map(str::to_owned),
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn columns_are_as_wide_as_what_they_hold() {
        let short = Finding {
            policy: Some(PolicyName::new("fs", "a")),
            image: Some("app".to_owned()),
            choice: Some(image("app", "1.10.0", Some("sha256:00ff"))),
            previous: Some(image("app", "1.9.0", None)),
            guards: vec![GuardRefusal::Held(Hold {
                reason: "freeze".to_owned(),
                until: None,
            })],
            ..Finding::default()
        };
        let long = Finding {
            policy: Some(PolicyName::new("fs", "long")),
            image: Some("x".repeat(WIDEST + 5)),
            problem: Some(Problem::new(Reason::ScanFailed, "no\nanswer\u{1b}[31m")),
            notes: vec!["once".to_owned(), "once".to_owned()],
            ..Finding::default()
        };
        let expected = format!(
            "POLICY   IMAGE{}  CHOICE\nfs/a     app{}  1.10.0 (was 1.9.0)\n  digest: sha256:00ff\n  guard: held: freeze\n\
             fs/long  {}  -\n  error: ScanFailed: no\\nanswer\\u{{1b}}[31m\nnote: once\n",
            " ".repeat(WIDEST - 5),
            " ".repeat(WIDEST - 3),
            "x".repeat(WIDEST + 5),
        );
        assert_eq!(plain(&table(&[short, long])), expected);
    }

    #[test]
    fn what_the_status_has_is_shown_as_far_as_it_differs() {
        let (a, b) = (Some("sha256:aaaaaaaaaaaaaaaa"), Some("sha256:bbbbbbbbbbbbbbbb"));
        for (before, now, expected) in [
            (image("app", "1", None), Some(image("app", "1", None)), "1"),
            (image("app", "1", None), Some(image("app", "2", None)), "2 (was 1)"),
            (
                image("app", "1", a),
                Some(image("app", "1", b)),
                "1 (was sha256:aaaaaaaaaaaa…)",
            ),
            (
                image("app", "1", None),
                Some(image("app", "1", b)),
                "1 (was without a digest)",
            ),
            (image("old", "1", None), Some(image("app", "1", None)), "1 (was old:1)"),
            (image("app", "1", None), None, "- (was 1)"),
        ] {
            let finding = Finding {
                choice: now,
                previous: Some(before),
                ..Finding::default()
            };
            assert_eq!(choice(&finding), expected);
        }
    }

    #[test]
    fn tags_are_counted_in_words() {
        let mut counts = Counts {
            total: 3,
            counted: 3,
            ..Counts::default()
        };
        assert_eq!(tags(&counts), "3");
        counts.excluded = 2;
        counts.counted = 1;
        counts.total = 11;
        counts.dropped = [("NotAVersion", 1), ("OutOfRange", 3), ("Unmatched", 4)].into();
        assert_eq!(
            tags(&counts),
            "1 of 11: 2 excluded, 1 non-version, 3 out of range, 4 unmatched"
        );
    }
}
