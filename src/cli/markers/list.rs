//! The list of markers.

use serde::Serialize;

use super::paths;
use crate::cli::args::Format;
use crate::cli::console::{cannot_print, complain, print, print_styled};
use crate::cli::files::find;
use crate::cli::markers::args::PlaceFlags;
use crate::cli::words;
use bumpwright_edit::{FileKind, Formats, Part, Reason, kind_of, scan};

/// A marker of a file.
#[derive(Debug, Serialize)]
struct Row {
    path: String,
    line: usize,
    column: usize,
    /// `namespace/name`; empty for a comment that is no marker.
    policy: String,
    /// What of the image the field holds.
    part: &'static str,
    value: String,
    /// Why the field is not edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    skip: Option<(Reason, String)>,
}

/// Prints all markers, and the comments that only look like one.
pub(super) fn list(place: &PlaceFlags, output: Format) -> Result<(), String> {
    let is_wanted = |path: &str| any_kind(path) != FileKind::Other;
    let found = find(&paths(place), &is_wanted);
    found.faults.iter().for_each(|fault| complain(fault));
    let mut rows = Vec::new();
    for (path, bytes) in &found.files {
        rows.extend(of_file(&path.display().to_string(), bytes));
    }
    match output {
        Format::Json => {
            let text = serde_json::to_string_pretty(&rows).map_err(|error| error.to_string())?;
            print(format!("{text}\n").as_bytes()).map_err(cannot_print)?;
        }
        Format::Text => print_styled(&text(&rows)).map_err(cannot_print)?,
    }
    match found.faults.is_empty() {
        true => Ok(()),
        false => Err("some files were not read".to_owned()),
    }
}

fn of_file(path: &str, bytes: &[u8]) -> Vec<Row> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let scan = scan(any_kind(path), bytes);
    let mut rows: Vec<Row> = Vec::new();
    for site in scan.sites {
        rows.push(Row {
            path: path.to_owned(),
            line: site.line,
            column: site.column,
            policy: site.setter.policy.to_string(),
            part: match site.setter.part {
                Part::Reference => "image",
                Part::Name => "name",
                Part::Tag => "tag",
                Part::Digest => "digest",
            },
            value: site.value,
            skip: None,
        });
    }
    for skip in scan.skips {
        rows.push(Row {
            path: path.to_owned(),
            line: skip.line,
            column: skip.column,
            policy: String::new(),
            part: "",
            value: String::new(),
            skip: Some((skip.reason, skip.message)),
        });
    }
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
            None => format!("{place}  {}  {}  {}\n", row.policy, row.part, words::inline(&row.value)),
            Some((reason, message)) => format!("{place}  skipped: {reason:?}: {}\n", words::inline(message)),
        });
    }
    out
}

/// The kind of a file where all formats are read.
fn any_kind(path: &str) -> FileKind {
    kind_of(path, Formats::all())
}
