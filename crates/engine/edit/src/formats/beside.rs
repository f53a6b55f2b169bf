//! Keys of fields in files that are not YAML, and the tags and digests beside them that nothing sets, line by line: a
//! line has a key, `=` or `:`, and a value. Braces and headers in brackets hold lines together.

use std::collections::BTreeSet;

use crate::edits::pairs::is_version;
use crate::scanned::Scan;
use crate::site::Neighbour;
use bumpwright_text::Cuts;

/// Gives sites their keys and collections, and finds what is beside them.
pub(super) fn complete(text: &str, mut scan: Scan) -> Scan {
    if scan.sites.is_empty() {
        return scan;
    }
    let mut fields: Vec<Field<'_>> = Vec::new();
    let mut reader = Reader::default();
    for (n, line) in text.lines().enumerate() {
        if let Some((key, value)) = key_and_value(line) {
            let collection = reader.collection();
            let line = n + 1;
            fields.push(Field {
                line,
                collection,
                key,
                value,
            });
        }
        reader.pass(line);
    }
    let (mut collections, mut lines) = (BTreeSet::new(), BTreeSet::new());
    for site in &mut scan.sites {
        if let Ok(n) = fields.binary_search_by_key(&site.line, |field| field.line)
            && let Some(field) = fields.get(n)
        {
            site.collection = Some(field.collection);
            field.key.clone_into(&mut site.key);
            collections.insert(field.collection);
            lines.insert(field.line);
        }
    }
    for field in fields {
        let is_beside = collections.contains(&field.collection) && !lines.contains(&field.line);
        if is_beside && is_version(field.key, field.value) {
            scan.neighbours.push(Neighbour {
                collection: field.collection,
                key: field.key.to_owned(),
                line: field.line,
                column: 1,
                value: field.value.to_owned(),
            });
        }
    }
    scan
}

struct Field<'a> {
    line: usize,
    collection: usize,
    key: &'a str,
    value: &'a str,
}

/// The key of a line, its last word before the sign, and the value without quotes.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let is_comment = ["#", "//", ";", "!"]
        .iter()
        .any(|sign| line.trim_start().starts_with(sign));
    let (before, behind) = line.split_at_checked(line.find(['=', ':']).filter(|_| !is_comment)?)?;
    let of_key = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let before = before.trim_end_matches([' ', '\t', '"', '\'', '?', ':', '+']);
    let key = before
        .rsplit(|c: char| !of_key(c))
        .next()
        .filter(|key| !key.is_empty())?;
    let value = behind.trim_start_matches(['=', ':', ' ', '\t', '"', '\'']);
    let value = value.before(['"', '\'', ' ', '\t', ',', ';', '#']);
    Some((key, value))
}

/// Where lines are: below which header, in which braces.
#[derive(Default)]
struct Reader {
    count: usize,
    open: Vec<usize>,
    header: usize,
}

impl Reader {
    fn collection(&self) -> usize {
        self.open.last().copied().unwrap_or(self.header)
    }

    fn pass(&mut self, line: &str) {
        let trimmed = line.trim();
        if self.open.is_empty() && trimmed.starts_with('[') && trimmed.ends_with(']') {
            self.count += 1;
            self.header = self.count;
            return;
        }
        for brace in line.chars().filter(|c| matches!(c, '{' | '}')) {
            match brace {
                '{' => {
                    self.count += 1;
                    self.open.push(self.count);
                }
                _ => drop(self.open.pop()),
            }
        }
    }
}
