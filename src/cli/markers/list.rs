//! The list of markers.

use std::path::Path;

use serde::Serialize;

use super::paths;
use crate::cli::console::{cannot_print, complain, print, print_styled};
use crate::cli::error::CliError;
use crate::cli::files::find;
use crate::cli::flag_values::Format;
use crate::cli::markers::args::PlaceFlags;
use crate::cli::words;
use bumpwright_edit::{FileKind, Formats, LocalSkip, Reason, Site, kind_of};
use bumpwright_rules::Rules;
use bumpwright_update::rules_above;

/// A marker of a file, or a field that a rule names.
#[derive(Debug, Serialize)]
struct Row {
    path: String,
    line: usize,
    column: usize,
    /// `namespace/name`; empty for a comment that is not a marker.
    policy: String,
    /// What of the image the field holds.
    part: &'static str,
    value: String,
    /// The rule that names the field, if it has no marker.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// The image that the policy has to be of for the rule to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    /// Why the field is not edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    skip: Option<(Reason, String)>,
}

/// What programs read; fields may be added.
#[derive(Debug, Serialize)]
struct Document<'a> {
    version: u32,
    markers: &'a [Row],
}

/// Prints all markers, and the comments that only look like one.
pub(super) fn list(place: &PlaceFlags, output: Format) -> Result<(), CliError> {
    let mut rows = Vec::new();
    let rules = rules_above(Path::new(".")).unwrap_or_else(|fault| {
        rows.push(Row::skipped(
            &fault.path,
            (fault.line, fault.column),
            (fault.reason, fault.message),
        ));
        None
    });
    let are_for = |path: &str| rules.as_ref().is_some_and(|rules| rules.are_for(shown(path)));
    let is_wanted = |path: &str| any_kind(path).is_edited() || are_for(path);
    let mut files = find(&paths(place), &is_wanted);
    files.refuse_nothing()?;
    files.faults.iter().for_each(complain);
    for (path, bytes) in &files.files {
        rows.extend(of_file(&path.display().to_string(), bytes, rules.as_ref()));
    }
    rules.as_ref().map_or(Ok(()), Rules::check)?;
    match output {
        Format::Json => {
            let document = Document {
                version: 1,
                markers: &rows,
            };
            let text = serde_json::to_string_pretty(&document)?;
            print(format!("{text}\n").as_bytes()).map_err(cannot_print)?;
        }
        Format::Text => print_styled(&text(&rows)).map_err(cannot_print)?,
    }
    if files.faults.is_empty() {
        Ok(())
    } else {
        Err(CliError::new("some files were not read"))
    }
}

impl Row {
    fn of(path: &str, site: Site, rules: Option<&Rules>) -> Self {
        let rule = site.rule.as_ref().and_then(|by| rules?.rules().get(by.number));
        let mismatch = LocalSkip::of_mismatch(&site);
        Self {
            path: path.to_owned(),
            line: site.line,
            column: site.column,
            policy: site.setter.policy.to_string(),
            part: site.setter.part.word(),
            value: site.value,
            rule: rule.map(|rule| format!("{}:{}:{}", rule.source, rule.line, rule.column)),
            image: site.rule.and_then(|by| by.image),
            skip: mismatch.map(|skip| (skip.reason, skip.message)),
        }
    }

    fn skipped(path: &str, (line, column): (usize, usize), skip: (Reason, String)) -> Self {
        Self {
            path: path.to_owned(),
            line,
            column,
            policy: String::new(),
            part: "",
            value: String::new(),
            rule: None,
            image: None,
            skip: Some(skip),
        }
    }
}

/// A path as it is printed, and as rules know it.
fn shown(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

fn of_file(path: &str, bytes: &[u8], rules: Option<&Rules>) -> Vec<Row> {
    let path = shown(path);
    let scan = bumpwright_update::fields(path, any_kind(path), rules, bytes);
    let sites = scan.sites.into_iter().map(|site| Row::of(path, site, rules));
    let skips = scan.skips.into_iter();
    let skips = skips.map(|skip| Row::skipped(path, (skip.line, skip.column), (skip.reason, skip.message)));
    let mut rows: Vec<Row> = sites.chain(skips).collect();
    rows.sort_by_key(|row| (row.line, row.column));
    rows
}

fn text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no markers\n".to_owned();
    }
    let mut out = String::new();
    for row in rows {
        let place = format!("{}:{}:{}", words::inline(&row.path), row.line, row.column);
        out.push_str(&match &row.skip {
            None => {
                let value = words::inline(&row.value);
                format!("{place}  {}  {}  {value}{}\n", row.policy, row.part, by_rule(row))
            }
            Some((reason, message)) => format!("{place}  skipped: {reason:?}: {}\n", words::inline(message)),
        });
    }
    out
}

fn by_rule(row: &Row) -> String {
    match (&row.rule, &row.image) {
        (Some(rule), Some(image)) => format!("  (rule {rule}, if the policy is of {})", words::inline(image)),
        (Some(rule), None) => format!("  (rule {rule})"),
        (None, _) => String::new(),
    }
}

/// The kind of a file where all formats are read.
fn any_kind(path: &str) -> FileKind {
    kind_of(path, Formats::all())
}
