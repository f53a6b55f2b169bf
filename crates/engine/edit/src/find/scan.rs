//! Finds the marked scalars of a file, and comments that only look like markers.

use super::sops::is_signed;
use super::walk;
use crate::file::{FileKind, Format, OTHER_LIMIT, YAML_LIMIT, keys, may_be_marked};
use crate::formats;
use crate::model::Reason;
use crate::scanned::{LocalSkip, Scan};

/// Finds the marked scalars of a file. A file without markers costs one search of its bytes.
pub fn scan(kind: FileKind, bytes: &[u8]) -> Scan {
    if !may_be_marked(kind, bytes) {
        return Scan::default();
    }
    let scan = scan_kind(kind, bytes);
    Scan {
        is_signed: !scan.sites.is_empty() && is_signed(bytes),
        ..scan
    }
}

fn scan_kind(kind: FileKind, bytes: &[u8]) -> Scan {
    match kind {
        FileKind::Other => Scan {
            skips: scan_other(bytes),
            ..Scan::default()
        },
        FileKind::Yaml => scan_yaml(bytes),
        FileKind::Prose => Scan::default(),
        FileKind::RuleFile => scan_rules(bytes),
        FileKind::Text(format) => scan_text(format, bytes),
        FileKind::YamlTemplate => match scan_yaml(bytes) {
            refused if refused.sites.is_empty() && is_template(bytes) && is_refused(&refused) => {
                scan_text(Format::Template, bytes)
            }
            scan => scan,
        },
    }
}

/// A file with rules, as it is where nobody follows it.
fn scan_rules(bytes: &[u8]) -> Scan {
    let mut scan = if may_be_marked(FileKind::Yaml, bytes) {
        scan_yaml(bytes)
    } else {
        Scan::default()
    };
    scan.skips.insert(0, LocalSkip::of_rule_file());
    scan
}

fn is_template(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, b"{{").is_some()
}

fn is_refused(scan: &Scan) -> bool {
    scan.skips.iter().any(|skip| skip.reason == Reason::Unparsable)
}

fn scan_text(format: Format, bytes: &[u8]) -> Scan {
    let refused = |at, reason, message| Scan::from(skip_at(bytes, at, reason, message));
    if bytes.len() > OTHER_LIMIT {
        let size = bytes.len();
        let message = format!("the file has {size} bytes, more than the {OTHER_LIMIT} that are read; split it");
        return refused(0, Reason::TooLarge, message);
    }
    match std::str::from_utf8(bytes) {
        Err(error) => {
            let message = "there is a byte that is not UTF-8; save the file as UTF-8".to_owned();
            refused(error.valid_up_to(), Reason::Unparsable, message)
        }
        Ok(text) => formats::scan(format, text),
    }
}

fn scan_yaml(bytes: &[u8]) -> Scan {
    if bytes.len() > YAML_LIMIT {
        let at = keys(bytes, b"\"'").next().unwrap_or_default();
        let size = bytes.len();
        let message = format!("the file has {size} bytes, more than the {YAML_LIMIT} that are read; split it");
        return skip_at(bytes, at, Reason::TooLarge, message).into();
    }
    match std::str::from_utf8(bytes) {
        Err(error) => {
            let message = "the YAML does not parse: a byte that is not UTF-8; save the file as UTF-8".to_owned();
            skip_at(bytes, error.valid_up_to(), Reason::Unparsable, message).into()
        }
        Ok(text) => walk::walk(text).unwrap_or_else(Scan::from),
    }
}

fn scan_other(bytes: &[u8]) -> Vec<LocalSkip> {
    if bytes.len() > OTHER_LIMIT || memchr::memchr(0, bytes).is_some() {
        return Vec::new();
    }
    let mut cursor = Cursor::default();
    keys(bytes, b"\"")
        .map(|at| {
            let place = cursor.place(bytes, marker_start(bytes, at));
            let message = "only *.yaml, *.yml and files named Kustomization are edited, and others with --formats; rename the file or remove the marker";
            LocalSkip::new(place, Reason::NotYaml, message.to_owned())
        })
        .collect()
}

/// From the key back to its `{` and `#`, if they precede it.
fn marker_start(bytes: &[u8], key: usize) -> usize {
    let back = |from: usize, wanted: u8| {
        let before = bytes.get(..from)?;
        let at = before.iter().rposition(|byte| !matches!(byte, b' ' | b'\t'))?;
        (bytes.get(at) == Some(&wanted)).then_some(at)
    };
    let Some(brace) = back(key, b'{') else { return key };
    back(brace, b'#').unwrap_or(brace)
}

fn skip_at(bytes: &[u8], at: usize, reason: Reason, message: String) -> LocalSkip {
    LocalSkip::new(Cursor::default().place(bytes, at), reason, message)
}

/// Converts rising offsets to lines and columns, reading each byte once.
#[derive(Debug)]
struct Cursor {
    at: usize,
    line: usize,
    column: usize,
}

impl Default for Cursor {
    fn default() -> Self {
        Self {
            at: 0,
            line: 1,
            column: 1,
        }
    }
}

impl Cursor {
    fn place(&mut self, bytes: &[u8], offset: usize) -> (usize, usize) {
        for index in self.at..offset {
            match (bytes.get(index), bytes.get(index + 1)) {
                (Some(b'\r'), Some(b'\n')) => {}
                (Some(b'\n' | b'\r'), _) => (self.line, self.column) = (self.line + 1, 1),
                // Bytes inside a UTF-8 character, and the first two of a byte order mark.
                (Some(0x80..=0xbf), _) => {}
                (Some(_), _) => self.column += 1,
                (None, _) => break,
            }
        }
        self.at = self.at.max(offset);
        (self.line, self.column)
    }
}
