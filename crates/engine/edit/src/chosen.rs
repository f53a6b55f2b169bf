//! Fields that are chosen by the values of a file and by where they are, where no marker names them.

use std::ops::Range;

use super::file::{FileKind, Format, OTHER_LIMIT};
use super::find::values::Value;
use super::find::walk;
use super::formats;
use super::lines::Lines;
use super::model::{Reason, Setter};
use super::site::{ByRule, Choice, Site};
use crate::scanned::{LocalSkip, Scan};

/// Scans a file for fields that `choose` names when it sees the documents of the file; markers are not read.
///
/// # Errors
/// The file cannot be read.
pub fn choose(kind: FileKind, bytes: &[u8], choose: &dyn Fn(&[Value]) -> Choice) -> Result<Scan, LocalSkip> {
    let text = text(bytes)?;
    match kind {
        FileKind::Yaml | FileKind::YamlTemplate | FileKind::RuleFile => walk::walk_chosen(text, choose),
        FileKind::Text(format @ (Format::Json | Format::Toml | Format::Hcl)) => formats::choose(format, text, choose),
        FileKind::Text(_) | FileKind::Other | FileKind::Prose => Err(LocalSkip::new(
            (1, 1),
            Reason::NotYaml,
            "fields are found by a path in YAML, JSON, TOML and HCL only; give the rule a pattern".to_owned(),
        )),
    }
}

/// The text of a file in which fields are chosen.
///
/// # Errors
/// It is too large, or not UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, LocalSkip> {
    let refused = |reason, message| LocalSkip::new((1, 1), reason, message);
    if bytes.len() > OTHER_LIMIT {
        let size = bytes.len();
        let message = format!("the file has {size} bytes, more than the {OTHER_LIMIT} that rules read; split it");
        return Err(refused(Reason::TooLarge, message));
    }
    std::str::from_utf8(bytes).map_err(|_| {
        let message = "there is a byte that is not UTF-8; save the file as UTF-8".to_owned();
        refused(Reason::Unparsable, message)
    })
}

/// The fields at some places of a text that has no structure.
#[must_use]
pub fn spans(text: &str, mut fields: Vec<(Range<usize>, Setter, ByRule)>) -> Vec<Site> {
    let lines = Lines::of(text);
    fields.sort_by_key(|(span, ..)| span.start);
    let sites = fields.into_iter().filter_map(|(span, setter, rule)| {
        let place = lines.place(span.start);
        Some(Site {
            rule: Some(rule),
            ..Site::verbatim(setter, text, span, place)?
        })
    });
    sites.collect()
}
